/* SPDX-License-Identifier: MIT */
/*
 * oracle-registers: compares the registers after every instruction with a witness.
 *
 *   oracle-registers [--skip NAME]... [--steps] [--from PC] [--limit N]
 *                    [--ignore NAME=MASK] --witness FILE TRACE
 *
 * The witness is the output of QEMU's execlog plugin with reg=*, or of gdbstep.py for a
 * program that it steps through in QEMU's gdbstub, in the same format: one line an
 * instruction,
 *
 *   VCPU, 0xPC, 0xCODE, "text"[, load|store, 0xADDR].. [, NAME -> 0xVALUE]..
 *
 * with the registers that the instruction changed.  The trace's changes of
 * that instruction, and those that the system made before the next one, must be
 * the same.  Both contain every change, so equal changes after an equal
 * beginning give an equal state after every instruction; and the trace's state at
 * some places (ctr_state_at) must be the result of its changes.
 *
 * With --steps, only registers that the witness ever reports are compared, and a line
 * may cover several instructions (gdbstub at a system call and between an
 * exclusive load and its store): the next line's pc shows how many.
 *
 * With --ignore the bits of MASK are not compared (0 in both).
 *
 * --machine and --until are those of oracle-compare.
 *
 * With --from the witness begins where the trace first executes PC, and its first
 * line has all registers.  --skip: a register that the trace does not have, or
 * whose meaning differs (a clock); a '*' matches any end of the name.
 */
#include "compare.h"
#include "ctr.h"

#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SKIPS 128
#define MAX_VALUE CTR_REG_STRIDE /* a multiple of 4 */
#define MAX_STEP 12              /* instructions of one line, with --steps */
#define STATE_EVERY 9973         /* instructions between calls of ctr_state_at */

struct value {
    uint32_t size;
    uint8_t bytes[MAX_VALUE];
};

struct registers {
    const char *name;
    uint32_t size;
    struct value trace, witness;
    uint32_t ignore;        /* bits of its first four bytes */
    bool touched, reported; /* by this instruction; ever by the witness */
};

/* An instruction of the witness. */
struct line {
    uint64_t pc;
    char *changes; /* ", NAME -> 0xVALUE" and so on; a copy */
    size_t room;
    char text[INSN_TEXT_MAX];
};

struct check {
    struct ctr_trace *trace;
    struct ctr_cursor *cursor;
    struct ctr_event ahead; /* the exec event that was already read */
    bool have_ahead, ended;
    struct registers *reg;
    uint32_t nreg;
    const char *skip[MAX_SKIPS];
    unsigned nskip;
    char *missing; /* names that only the witness has */
    struct own_number own;
    bool steps, machine;
    uint64_t until; /* 0: the end */
    uint64_t insns, changes, states, doubles;
};

static void fail(const char *what)
{
    printf("%s\n", what);
    exit(1);
}

static bool skipped(const struct check *c, const char *name)
{
    for (unsigned i = 0; i < c->nskip; i++) {
        size_t n = strlen(c->skip[i]);

        if (n && c->skip[i][n - 1] == '*' ? strncmp(name, c->skip[i], n - 1) == 0
                                          : strcmp(name, c->skip[i]) == 0) {
            return true;
        }
    }
    return false;
}

static struct registers *find(struct check *c, const char *name)
{
    for (uint32_t i = 0; i < c->nreg; i++) {
        if (strcmp(c->reg[i].name, name) == 0) {
            return &c->reg[i];
        }
    }
    return NULL;
}

static void load_registers(struct check *c)
{
    const struct ctr_reg *r;

    while ((r = ctr_trace_reg(c->trace, c->nreg))) {
        char *name = strdup(r->name);

        if (!name || r->size > MAX_VALUE) {
            fail("a register that is too large");
        }
        for (char *p = name; *p; p++) {
            *p = (char)tolower((unsigned char)*p); /* as execlog does */
        }
        c->reg = realloc(c->reg, (c->nreg + 1) * sizeof(c->reg[0]));
        if (!c->reg) {
            exit(2);
        }
        c->reg[c->nreg++] = (struct registers){.name = name, .size = r->size};
    }
}

/* Bytes after a value are 0: the same number with any number of leading zeros. */
static bool same(const struct value *a, const struct value *b)
{
    return memcmp(a->bytes, b->bytes, MAX_VALUE) == 0;
}

static void print_value(const char *who, const struct value *v)
{
    printf(" %s 0x", who);
    for (uint32_t i = v->size; i-- > 0;) {
        printf("%02x", v->bytes[i]);
    }
}

/* ---- the trace --------------------------------------------------------- */

static int cursor_next(struct check *c, struct ctr_event *ev)
{
    struct ctr_diag diag;
    int r = ctr_cursor_next(c->cursor, ev, &diag);

    if (r < 0) {
        printf("the trace cannot be read: %s: %s\n", ctr_strerror(r), diag.text);
        exit(2);
    }
    return r;
}

/* The next instruction and its changes; false at the end. */
static bool trace_insn(struct check *c, struct ctr_exec *e)
{
    struct ctr_event ev;

    if (!c->have_ahead) {
        return false;
    }
    *e = c->ahead.exec;
    c->have_ahead = false;
    while (cursor_next(c, &ev) == 1) {
        if (ev.kind == CTR_CURSOR_EXEC) {
            c->ahead = ev;
            c->have_ahead = true;
            break;
        }
        if (ev.kind == CTR_CURSOR_REG) {
            struct registers *r = &c->reg[ev.reg.reg];

            r->trace.size = ev.reg.size;
            memcpy(r->trace.bytes, ev.reg.value, ev.reg.size);
            r->touched = true;
            c->changes++;
        }
    }
    return true;
}

static void begin_at(struct check *c, bool from, uint64_t pc)
{
    static const struct ctr_filter filter = {.kinds = CTR_KIND_EXEC | CTR_KIND_REG};
    struct ctr_diag diag;
    int r = ctr_cursor_open(&c->cursor, c->trace, &filter, &diag);

    while (r == 0 && !c->have_ahead) {
        if (cursor_next(c, &c->ahead) != 1) {
            fail("the trace does not come to the beginning");
        }
        c->have_ahead =
            c->ahead.kind == CTR_CURSOR_EXEC && (!from || c->ahead.exec.pc == pc);
    }
    if (r) {
        fail("the trace cannot be read");
    }
}

/* The library's state before instruction `ordinal'. */
static void read_state(struct check *c, uint64_t ordinal, struct value *out)
{
    uint8_t *state = calloc(c->nreg + 1, CTR_REG_STRIDE);
    struct ctr_diag diag;
    uint64_t pc, time;
    int r;

    if (!state) {
        exit(2);
    }
    r = ctr_state_at(c->trace, 0, ordinal, state, &pc, &time, &diag);
    if (r) {
        printf("no state at ordinal %" PRIu64 ": %s: %s\n", ordinal, ctr_strerror(r),
               diag.text);
        exit(1);
    }
    for (uint32_t i = 0; i < c->nreg; i++) {
        out[i].size = c->reg[i].size;
        memcpy(out[i].bytes, state + (size_t)i * CTR_REG_STRIDE, c->reg[i].size);
    }
    free(state);
}

static void check_state(struct check *c, uint64_t ordinal)
{
    struct value *state = calloc(c->nreg + 1, sizeof(*state));

    if (!state) {
        exit(2);
    }
    read_state(c, ordinal, state);
    for (uint32_t i = 0; i < c->nreg; i++) {
        if (!same(&state[i], &c->reg[i].trace)) {
            printf("difference: the state at ordinal %" PRIu64 " and the changes before "
                   "it, %s:",
                   ordinal, c->reg[i].name);
            print_value("state", &state[i]);
            print_value("changes", &c->reg[i].trace);
            fail("");
        }
    }
    c->states++;
    free(state);
}

/* ---- the witness ------------------------------------------------------- */

static bool witness_line(struct lines *in, struct line *out)
{
    char *line, *p, *text;

    while ((line = next_line(in))) {
        strtoul(line, &p, 10);
        if (p == line || strncmp(p, ", 0x", 4) != 0) {
            continue; /* the guest's own output, a blank line */
        }
        out->pc = strtoull(p + 2, &p, 16);
        text = strchr(p, '"');
        p = strrchr(line, '"');
        if (!text || p <= text) {
            continue;
        }
        snprintf(out->text, sizeof(out->text), "%.*s", (int)(p - text - 1), text + 1);
        if (strlen(p + 1) >= out->room) {
            out->room = strlen(p + 1) + 256;
            out->changes = realloc(out->changes, out->room);
            if (!out->changes) {
                exit(2);
            }
        }
        strcpy(out->changes, p + 1);
        return true;
    }
    return false;
}

static void parse_value(const char *hex, struct value *v)
{
    size_t n = strspn(hex, "0123456789abcdef");

    memset(v, 0, sizeof(*v));
    v->size = (uint32_t)((n + 1) / 2);
    for (size_t i = 0; i < n && i / 2 < MAX_VALUE; i++) {
        char digit = hex[n - 1 - i];
        unsigned d = (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);

        v->bytes[i / 2] |= (uint8_t)(d << i % 2 * 4);
    }
}

static void note_missing(struct check *c, const char *name)
{
    size_t n = c->missing ? strlen(c->missing) : 0;
    char *at = c->missing, *all;
    size_t len = strlen(name);

    while (at && (at = strstr(at, name))) {
        if (at[len] == ' ' && (at == c->missing || at[-1] == ' ')) {
            return;
        }
        at += len;
    }
    all = realloc(c->missing, n + len + 2);
    if (!all) {
        exit(2);
    }
    c->missing = all;
    sprintf(all + n, "%s ", name);
}

static void witness_changes(struct check *c, const struct line *l)
{
    char *p = l->changes, *arrow;

    while ((arrow = strstr(p, " -> 0x"))) {
        char *name = arrow;
        struct registers *r;

        while (name > l->changes && name[-1] != ' ') {
            name--;
        }
        *arrow = '\0';
        p = arrow + 6;
        r = find(c, name);
        if (r && !skipped(c, name)) {
            parse_value(p, &r->witness);
            r->touched = true;
            r->reported = true;
        } else if (!r && !skipped(c, name)) {
            note_missing(c, name);
        }
        *arrow = ' ';
    }
}

/* ---- both -------------------------------------------------------------- */

static void clear_bits(struct value *v, uint32_t bits)
{
    for (unsigned i = 0; i < 4; i++) {
        v->bytes[i] &= (uint8_t)~(bits >> 8 * i);
    }
}

static void compare_touched(struct check *c, const struct ctr_exec *e,
                            const struct line *l)
{
    bool bad = false;

    for (uint32_t i = 0; i < c->nreg; i++) {
        struct registers *r = &c->reg[i];
        struct value w = r->witness, t = r->trace;

        clear_bits(&w, r->ignore);
        clear_bits(&t, r->ignore);
        if (c->steps && w.size < t.size) { /* gdbstub cuts mips's 64-bit registers */
            memset(t.bytes + w.size, 0, t.size - w.size);
        }
        if (r->touched && !skipped(c, r->name) && (r->reported || !c->steps) &&
            !same_but_own_number(&c->own, w.bytes, t.bytes, MAX_VALUE)) {
            if (!bad) {
                printf("difference after ordinal %" PRIu64 " pc 0x%" PRIx64 " \"%s\":\n",
                       e->ordinal, e->pc, l->text);
            }
            printf("  %s:", r->name);
            print_value("witness", &r->witness);
            print_value("trace", &r->trace);
            printf("\n");
            bad = true;
        }
        r->touched = false;
    }
    if (bad) {
        exit(1);
    }
}

/* "NAME=MASK" */
static void ignore_bits(struct check *c, const char *what)
{
    const char *sign = strchr(what, '=');
    char *name = sign ? strndup(what, (size_t)(sign - what)) : NULL;
    struct registers *r = name ? find(c, name) : NULL;

    if (!r) {
        fail("--ignore: no such register");
    }
    r->ignore = (uint32_t)strtoul(sign + 1, NULL, 0);
    free(name);
}

static void compare(struct check *c, struct lines *in, uint64_t limit)
{
    struct value *state = calloc(c->nreg + 1, sizeof(*state));
    struct line lines[2] = {0}; /* this one and the next */
    bool have = witness_line(in, &lines[0]);
    unsigned at = 0;
    struct ctr_exec e;

    if (!state) {
        exit(2);
    }
    c->own.trace = (uint32_t)c->ahead.exec.thread->tid;
    read_state(c, c->ahead.exec.ordinal, state);
    for (uint32_t i = 0; i < c->nreg; i++) {
        c->reg[i].trace = state[i];
        /* of a register that it never reports, only changes can be compared */
        c->reg[i].witness = state[i];
    }
    free(state);
    for (; c->insns < limit && have; c->insns++) {
        struct line *l = &lines[at], *next = &lines[at ^= 1];

        if (!trace_insn(c, &e)) {
            fail("difference: the trace ends here");
        }
        if (c->machine ? (e.pc ^ l->pc) % MACHINE_PAGE : e.pc != l->pc) {
            printf("difference at ordinal %" PRIu64 ": pc 0x%" PRIx64
                   " instead of 0x%" PRIx64 " \"%s\"\n",
                   e.ordinal, e.pc, l->pc, l->text);
            exit(1);
        }
        if (c->until && e.pc == c->until) {
            return;
        }
        have = witness_line(in, next);
        for (int i = 0; i < MAX_STEP && c->steps && have && c->have_ahead &&
                        c->ahead.exec.pc != next->pc;
             i++) {
            trace_insn(c, &e);
            c->doubles++;
        }
        witness_changes(c, l);
        if (c->have_ahead &&
            (have || !c->steps)) { /* the last one's changes are not known */
            compare_touched(c, &e, l);
        }
        if (c->have_ahead && (c->insns % STATE_EVERY == 0 || c->insns < 3)) {
            check_state(c, c->ahead.exec.ordinal);
        }
    }
    if (c->until) {
        fail("difference: neither comes to the place of --until");
    }
    if (c->insns < limit && c->have_ahead) {
        fail("difference: the witness ends here");
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"skip", required_argument, NULL, 's'},
        {"steps", no_argument, NULL, 'd'},
        {"from", required_argument, NULL, 'f'},
        {"limit", required_argument, NULL, 'l'},
        {"witness", required_argument, NULL, 'w'},
        {"ignore", required_argument, NULL, 'i'},
        {"machine", no_argument, NULL, 'm'},
        {"until", required_argument, NULL, 'u'},
        {NULL, 0, NULL, 0},
    };
    struct check c = {0};
    struct ctr_diag diag = {0};
    const char *witness = NULL, *ignore = NULL;
    uint64_t pc = 0, limit = UINT64_MAX;
    struct lines in = {0};
    bool from = false;
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 's' && c.nskip < MAX_SKIPS) {
            c.skip[c.nskip++] = optarg;
        } else if (opt == 'm') {
            c.machine = true;
        } else if (opt == 'u') {
            c.until = strtoull(optarg, NULL, 0);
        } else if (opt == 'd') {
            c.steps = true;
        } else if (opt == 'f') {
            pc = strtoull(optarg, NULL, 0);
            from = true;
        } else if (opt == 'l') {
            limit = strtoull(optarg, NULL, 0);
        } else if (opt == 'i') {
            ignore = optarg;
        } else if (opt == 'w') {
            witness = optarg;
        } else {
            return 2;
        }
    }
    if (!witness || optind + 1 != argc) {
        fprintf(stderr, "usage: oracle-registers --witness FILE TRACE\n");
        return 2;
    }
    if (!lines_open(&in, witness)) {
        perror("oracle-registers");
        return 2;
    }
    if (ctr_open(&c.trace, argv[optind], 0, &diag)) {
        printf("the trace cannot be read: %s\n", diag.text);
        return 2;
    }
    load_registers(&c);
    if (c.nreg == 0) {
        fail("the trace has no registers");
    }
    if (ignore) {
        ignore_bits(&c, ignore);
    }
    begin_at(&c, from, pc);
    compare(&c, &in, limit);
    if (c.insns == 0 || c.changes == 0) {
        fail("nothing to compare");
    }
    printf("equal: %" PRIu64 " instructions, %" PRIu64 " changes, %" PRIu64
           " states, %" PRIu64 " stepped over; reported:",
           c.insns, c.changes, c.states, c.doubles);
    for (uint32_t i = 0; i < c.nreg; i++) {
        printf("%s%s", c.reg[i].reported ? " " : "",
               c.reg[i].reported ? c.reg[i].name : "");
    }
    printf("; not in the trace: %s\n", c.missing ? c.missing : "none");
    ctr_cursor_close(c.cursor);
    ctr_close(c.trace);
    return 0;
}
