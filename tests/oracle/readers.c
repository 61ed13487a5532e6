/* SPDX-License-Identifier: MIT */
/*
 * The readers of oracle-compare: QEMU's log and tracedump's JSON, each turned
 * into one struct insn per instruction executed.
 */
#include "compare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* QEMU's compile flags, as printed in the last field of a Trace line */
#define CF_COUNT_MASK 0x1ffu
#define CF_NO_GOTO_PTR 0x400u

/* The latest translation at a pc. */
struct code {
    uint64_t pc;
    bool used;   /* false: an empty place of the table */
    uint8_t len; /* 0: its bytes are not known */
    uint8_t bytes[INSN_CODE_MAX];
    char text[INSN_TEXT_MAX];
};

static void out_of_memory(void)
{
    fprintf(stderr, "oracle-compare: out of memory\n");
    exit(2);
}

void insn_add(struct insn *in, const struct access *acc)
{
    if (in->n == in->room) {
        in->room = in->room ? in->room * 2 : 8;
        in->acc = realloc(in->acc, in->room * sizeof(in->acc[0]));
        if (!in->acc) {
            out_of_memory();
        }
    }
    in->acc[in->n++] = *acc;
}

void insn_copy(struct insn *to, const struct insn *from, uint64_t number)
{
    to->pc = from->pc;
    to->number = number;
    to->n = 0;
    for (size_t i = 0; i < from->n && i < 32; i++) {
        insn_add(to, &from->acc[i]);
    }
}

bool same_but_own_number(struct own_number *own, const uint8_t *witness,
                         const uint8_t *trace, size_t n)
{
    bool used = false;

    for (size_t i = 0; i < n; i += 4) {
        uint32_t w = 0, t = 0;

        for (size_t k = 0; k < 4 && i + k < n; k++) {
            w |= (uint32_t)witness[i + k] << 8 * k;
            t |= (uint32_t)trace[i + k] << 8 * k;
        }
        if (w == t) {
            continue;
        }
        if (!own->trace || t != own->trace || i + 4 > n ||
            (own->witness && w != own->witness)) {
            return false;
        }
        own->witness = w;
        used = true;
    }
    own->used += used;
    return true;
}

char *next_line(struct lines *in)
{
    ssize_t len = getline(&in->line, &in->room, in->f);

    if (len < 0) {
        return NULL;
    }
    if (len > 0 && in->line[len - 1] == '\n') {
        in->line[len - 1] = '\0';
    }
    return in->line;
}

bool lines_open(struct lines *in, const char *file)
{
    in->f = fopen(file, "r");
    if (in->f) {
        setvbuf(in->f, NULL, _IOFBF, 1 << 18);
    }
    return in->f != NULL;
}

/* ---- the witness ------------------------------------------------------- */

static struct code *code_place(struct witness *w, uint64_t pc)
{
    size_t i = (size_t)((pc * 0x9e3779b97f4a7c15ull) >> 20) & (w->room - 1);

    while (w->codes[i].used && w->codes[i].pc != pc) {
        i = (i + 1) & (w->room - 1);
    }
    return &w->codes[i];
}

static void codes_grow(struct witness *w)
{
    struct code *old = w->codes;
    size_t n = w->room;

    w->room = n ? n * 2 : 1024;
    w->codes = calloc(w->room, sizeof(w->codes[0]));
    if (!w->codes) {
        out_of_memory();
    }
    for (size_t i = 0; i < n; i++) {
        if (old[i].used) {
            *code_place(w, old[i].pc) = old[i];
        }
    }
    free(old);
}

static bool is_execute(const struct witness *w, const struct code *c)
{
    return strcmp(w->target, "s390x") == 0 &&
           (c->bytes[0] == 0x44 || (c->bytes[0] == 0xc6 && (c->bytes[1] & 15) == 0));
}

/*
 * "0xPC:  HEX [HEX..]  mnemonic ..", HEX in units of the target, separated by one
 * space.  Targets with QEMU's own disassemblers may have no bytes: the table then
 * has only what the text shows.
 */
static void read_code(struct witness *w, char *line)
{
    uint64_t pc = strtoull(line, &line, 16);
    struct code c = {.pc = pc};
    char *p = line + 1;

    while (*p == ' ') {
        p++;
    }
    for (;;) {
        char *q = p;

        while ((*q >= '0' && *q <= '9') || (*q >= 'a' && *q <= 'f')) {
            q++;
        }
        if (q == p || (q - p) % 2 || (*q != ' ' && *q != '\0')) {
            break;
        }
        for (; p < q && c.len < INSN_CODE_MAX; p += 2) {
            char hex[3] = {p[0], p[1], '\0'};
            c.bytes[c.len++] = (uint8_t)strtoul(hex, NULL, 16);
        }
        p = q;
        if (p[0] != ' ' || p[1] == ' ') {
            break;
        }
        p++;
    }
    while (*p == ' ') {
        p++;
    }
    snprintf(c.text, sizeof(c.text), "%.60s", p);
    c.used = c.len || text_may_not_store(c.text);
    if (c.used) {
        struct code *place;

        if (w->ncodes * 2 >= w->room) {
            codes_grow(w);
        }
        place = code_place(w, pc);
        w->ncodes += !place->used;
        /* the target of an EXECUTE is listed at the same pc: keep the first */
        if (!place->used || !is_execute(w, place)) {
            *place = c;
        }
    }
}

/* "Trace N: HOST [CS_BASE/PC/FLAGS/CFLAGS] SYMBOL" */
static bool read_trace_line(char *line, struct insn *in)
{
    char *p = strchr(line, '[');
    char *end;

    if (!p) {
        return false;
    }
    in->cs_base = strtoull(p + 1, &end, 16);
    if (*end != '/') {
        return false;
    }
    in->pc = strtoull(end + 1, &end, 16);
    if (*end != '/') {
        return false;
    }
    in->flags = (uint32_t)strtoull(end + 1, &end, 16);
    if (*end != '/') {
        return false;
    }
    in->cflags = (uint32_t)strtoull(end + 1, &end, 16);
    in->n = 0;
    in->redone = false;
    return *end == ']';
}

const char *read_value(const char *p, uint64_t value[2])
{
    value[0] = value[1] = 0;
    for (p += 2; (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f'); p++) {
        value[1] = value[1] << 4 | value[0] >> 60;
        value[0] = value[0] << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
    }
    return p;
}

/* "PC,SYMBOL,VADDR,HWADDR,BITS,load|store,VALUE" */
static bool parse_access(char *line, uint64_t *pc, struct access *acc)
{
    uint64_t addr;
    unsigned long bits;
    char *p;

    *pc = strtoull(line, &p, 16);
    if (*p != ',' || !(p = strchr(p + 1, ','))) {
        return false;
    }
    addr = strtoull(p + 1, &p, 16);
    if (*p != ',') {
        return false;
    }
    strtoull(p + 1, &p, 16);
    if (*p != ',') {
        return false;
    }
    bits = strtoul(p + 1, &p, 10);
    if (*p != ',') {
        return false;
    }
    *acc =
        (struct access){.addr = addr, .size = (uint32_t)bits / 8, .store = p[1] == 's'};
    p = strchr(p + 1, ',');
    acc->has_value = p && p[1] == '0' && p[2] == 'x';
    if (acc->has_value) {
        read_value(p + 1, acc->value);
    }
    return true;
}

uint64_t region_end(const struct witness *w, const struct insn *in)
{
    /* TB_FLAG_GUSA_EXCLUSIVE; the region ends at r0, which is cs_base */
    return strcmp(w->target, "sh4") == 0 && (in->flags & 0x1000) ? in->cs_base : 0;
}

static bool read_access_line(struct witness *w, char *line, struct insn *in)
{
    struct access acc;
    uint64_t pc;

    if (!parse_access(line, &pc, &acc)) {
        return false;
    }
    if (w->machine && pc % MACHINE_PAGE == in->pc % MACHINE_PAGE) {
        pc = in->pc;
    }
    if (pc != in->pc && (pc < in->pc || pc >= region_end(w, in))) {
        w->bad =
            "witness: an access belongs to another instruction than the one that runs";
    }
    insn_add(in, &acc);
    return true;
}

bool witness_access(struct witness *w, uint64_t *pc, struct access *acc)
{
    char *line;

    while ((line = next_line(&w->in))) {
        char *p = line + 2;

        if (line[0] != '0' || line[1] != 'x') {
            continue;
        }
        while ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f')) {
            p++;
        }
        if (*p == ':') {
            read_code(w, line);
        } else if (*p == ',' && parse_access(line, pc, acc)) {
            return true;
        }
    }
    return false;
}

bool witness_is_blind(struct witness *w, uint64_t pc)
{
    struct known_bytes known;
    struct code *c = w->room ? code_place(w, pc) : NULL;

    return c && c->len && is_blind(w->target, c->bytes, c->len, &known);
}

bool witness_may_not_store(struct witness *w, uint64_t pc)
{
    struct code *c = w->room ? code_place(w, pc) : NULL;

    if (!c || !c->used) {
        return false;
    }
    return c->len ? may_not_store(w->target, c->bytes, c->len)
                  : text_may_not_store(c->text);
}

/* Does `next' show that `cur' was given up and runs again alone? */
static bool is_atomic_rerun(const struct insn *cur, const struct insn *next)
{
    return next->pc == cur->pc && (cur->cflags & CF_PARALLEL) &&
           !(next->cflags & CF_PARALLEL) && (next->cflags & CF_NO_GOTO_PTR) &&
           (next->cflags & CF_COUNT_MASK) == 1;
}

static void find_code(struct witness *w, struct insn *in)
{
    struct code *c = w->room ? code_place(w, in->pc) : NULL;

    in->code_len = 0;
    if (c && c->used && c->len) {
        in->code_len = c->len;
        memcpy(in->code, c->bytes, sizeof(in->code));
        memcpy(in->text, c->text, sizeof(in->text));
    }
}

struct insn *witness_next(struct witness *w)
{
    struct insn *cur = &w->ring[w->at];
    struct insn *next = &w->ring[(w->at + 1) % 3];
    bool is_s390x = strcmp(w->target, "s390x") == 0;
    char *line;

    while (!w->ended && !w->bad) {
        line = next_line(&w->in);
        if (!line) {
            w->ended = true;
            break;
        }
        if (line[0] == '0' && line[1] == 'x') {
            char *p = line + 2;

            while ((*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'f')) {
                p++;
            }
            if (*p == ':') {
                read_code(w, line);
                continue;
            }
            if (*p == ',' && w->aside) {
                continue;
            }
            if (*p == ',' && w->have_current && read_access_line(w, line, cur)) {
                continue;
            }
        } else if (strncmp(line, "Trace ", 6) == 0 && read_trace_line(line, next)) {
            w->aside = w->one_cpu && strtoul(line + 6, NULL, 10) != w->cpu;
            if (w->aside) {
                continue;
            }
            if (!w->have_current) {
                /* becomes the current one below */
            } else if (is_atomic_rerun(cur, next)) {
                w->counts->atomic++;
                cur->cflags = next->cflags;
                cur->flags = next->flags;
                cur->n = 0;
                continue;
            } else if (is_s390x && next->cs_base && next->pc == cur->pc &&
                       !w->execute_twice) {
                w->counts->execute++;
                cur->redone = true;
                continue;
            }
            next->number = w->number++;
            find_code(w, next);
            w->at = (w->at + 1) % 3;
            if (w->have_current) {
                return cur;
            }
            w->have_current = true;
            cur = next;
            next = &w->ring[(w->at + 1) % 3];
            continue;
        } else if (strncmp(line, "Stopped execution of TB chain before", 36) == 0) {
            if (w->aside) {
                continue;
            }
            w->counts->stopped++;
            w->have_current = false;
            w->number--;
            continue;
        } else if (line[0] == '\0' || strncmp(line, "----------------", 16) == 0 ||
                   strncmp(line, "IN:", 3) == 0 ||
                   strncmp(line, "insn_vaddr,", 11) == 0) {
            continue;
        }
        w->counts->other++;
    }
    if (w->have_current) {
        w->have_current = false;
        return cur;
    }
    return NULL;
}

/* Does the instruction after `in', the last one returned, directly follow it? */
bool witness_goes_on(const struct witness *w, const struct insn *in)
{
    return w->have_current && w->ring[w->at].pc == in->pc + in->code_len;
}

bool witness_open(struct witness *w, const char *file, const char *target,
                  struct counts *c)
{
    memset(w, 0, sizeof(*w));
    snprintf(w->target, sizeof(w->target), "%s", target);
    w->counts = c;
    return lines_open(&w->in, file);
}

/* ---- the trace --------------------------------------------------------- */

static uint64_t json_number(const char *v)
{
    return strtoull(*v == '"' ? v + 1 : v, NULL, 0);
}

/* One flat object; unknown members are skipped. */
bool read_event(const char *p, struct event *e)
{
    memset(e, 0, sizeof(*e));
    while ((p = strchr(p, '"'))) {
        const char *key = p + 1;
        const char *end = strchr(key, '"');
        const char *v;
        size_t n;

        if (!end) {
            return false;
        }
        n = (size_t)(end - key);
        for (v = end + 1; *v == ' ' || *v == ':'; v++) {
        }
        if (n == 4 && memcmp(key, "kind", 4) == 0) {
            e->kind = strncmp(v, "\"exec\"", 6) == 0    ? 'e'
                      : strncmp(v, "\"load\"", 6) == 0  ? 'l'
                      : strncmp(v, "\"store\"", 7) == 0 ? 's'
                                                        : '-';
            if (e->kind == '-') {
                return true;
            }
        } else if (n == 7 && memcmp(key, "ordinal", 7) == 0) {
            e->ordinal = json_number(v);
        } else if (n == 3 && memcmp(key, "tid", 3) == 0) {
            e->tid = (int64_t)json_number(v);
        } else if (n == 3 && memcmp(key, "pid", 3) == 0) {
            e->pid = (int64_t)json_number(v);
        } else if (n == 2 && memcmp(key, "pc", 2) == 0) {
            e->pc = json_number(v);
        } else if (n == 4 && memcmp(key, "addr", 4) == 0) {
            e->addr = json_number(v);
        } else if (n == 4 && memcmp(key, "size", 4) == 0) {
            e->size = json_number(v);
        } else if (n == 5 && memcmp(key, "value", 5) == 0 && strncmp(v, "\"0x", 3) == 0) {
            e->has_value = true;
            read_value(v + 1, e->value);
        }
        if (*v == '"') {
            for (v++; *v && *v != '"'; v++) {
                v += *v == '\\' && v[1];
            }
            if (!*v) {
                return false;
            }
            v++;
        }
        for (p = v; *p && *p != ',' && *p != '}'; p++) {
        }
    }
    return e->kind != 0;
}

struct insn *trace_next(struct trace *t)
{
    struct insn *cur = &t->ring[t->at];
    struct insn *next = &t->ring[t->at ^ 1];
    struct event e;
    char *line;

    while (!t->ended && !t->bad) {
        line = next_line(&t->in);
        if (!line) {
            t->ended = true;
            break;
        }
        if (!read_event(line, &e)) {
            t->bad = "trace: a line that is no event";
            fprintf(stderr, "trace line: %s\n", line);
            break;
        }
        if (e.kind == '-') {
            continue;
        }
        if (e.kind != 'e') {
            if (!t->have_next || e.ordinal != cur->number || e.pc != cur->pc) {
                t->bad = "trace: an access does not follow its instruction";
                fprintf(stderr, "trace line: %s\n", line);
                break;
            }
            insn_add(cur, &(struct access){.addr = e.addr,
                                           .value = {e.value[0], e.value[1]},
                                           .size = (uint32_t)e.size,
                                           .store = e.kind == 's',
                                           .has_value = e.has_value});
            continue;
        }
        if (t->tid == 0) {
            t->tid = e.tid;
        }
        if (e.ordinal != (t->have_next ? cur->number + 1 : 0) || e.tid != t->tid) {
            t->bad = e.tid != t->tid ? "trace: more than one thread"
                                     : "trace: an ordinal is missing";
            fprintf(stderr, "trace line: %s\n", line);
            break;
        }
        next->pc = e.pc;
        next->number = e.ordinal;
        next->n = 0;
        t->at ^= 1;
        if (t->have_next) {
            return cur;
        }
        t->have_next = true;
        cur = next;
        next = &t->ring[t->at ^ 1];
    }
    if (t->have_next) {
        t->have_next = false;
        return cur;
    }
    return NULL;
}

bool trace_open(struct trace *t, const char *file)
{
    memset(t, 0, sizeof(*t));
    return lines_open(&t->in, file);
}
