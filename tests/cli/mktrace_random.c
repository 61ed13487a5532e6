/* SPDX-License-Identifier: MIT */
/* `mktrace random', `random-all' and `random-few', see mktrace.c. */
#include <elf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"

/* ---------------------------------------------------------- random traces */

#define NR_BLOCKS 300
#define NR_THREADS 4
#define START_NS 1000000000ull

/* Registers, with everything recorded. */
#define NR_REGS 7u
static const struct {
    const char *name;
    unsigned size, flags;
} regs[NR_REGS] = {
    {"r0", 4, 0},
    {"r1", 4, 0},
    {"r2", 4, 0},
    {"r3", 4, 0},
    {"sp", 4, 0},
    {"ctl", 2, CTR_REG_SPECIAL},
    {"v0", 16, CTR_REG_VECTOR},
};

static bool all; /* more than instructions and accesses */
static bool few; /* few addresses and values */

static uint64_t rng_state;

/* splitmix64 */
static uint64_t rng(void)
{
    uint64_t z = (rng_state += 0x9e3779b97f4a7c15ull);

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static unsigned below(unsigned n)
{
    return (unsigned)(rng() % n);
}

/* A guest thread and its position. */
struct walker {
    uint32_t thread;
    int32_t pid, tid;
    uint64_t ordinal; /* of its next instruction */
    /* cut inside the loop of an instruction, which continues in the next chunk */
    const struct block *cut;
    unsigned cut_insn, cut_rounds;
    uint8_t reg[NR_REGS][16];  /* current values */
    uint8_t next[NR_REGS][16]; /* values after the instruction */
    uint64_t pc;               /* of its last instruction in this chunk, or 0 */
    /* of an unfinished call: the begin of its object, "" if there is none; its memory */
    char call[200];
    char memory[1000];
    uint64_t call_ns;
    unsigned call_nr;
};

/* Some registers, in the order of the table, written by the latest instruction. */
static void maybe_registers(struct block *b)
{
    for (unsigned r = 0; all && r < NR_REGS; r++) {
        if (!below(5)) {
            block_reg(b, r, regs[r].size);
        }
    }
}

static void random_block(struct block *b, uint32_t id)
{
    static const char *const insns[] = {"\x10\x40\x2d\xe9", "\x00\x40\xa0\xe1",
                                        "\x04\x30\x90\x04", "\x00\x30\x84\xe5",
                                        "\xfc\xff\xff\x1a", "\x00\x00\x50\xe3"};
    unsigned n = 1 + below(below(4) ? 8 : 40);

    *b = (struct block){.id = id, .pc = 0x10000 + 4 * (uint64_t)below(1u << 20)};
    for (unsigned i = 0; i < n; i++) {
        block_insn(b, insns[below(6)], 4);
        if (below(3)) {
            maybe_registers(b);
            continue;
        }
        for (unsigned k = below(3); k; k--) {
            block_slot(b, 0, below(5) | (below(2) ? CTR_ACCESS_STORE : 0));
        }
        if (!below(3)) {
            unsigned group = b->ngroup + 1;
            block_slot(b, group, below(5));
            if (below(2)) {
                block_slot(b, group, below(5) | CTR_ACCESS_STORE);
            }
        }
        if (!below(4)) {
            block_slot(b, 0, below(5));
        }
        maybe_registers(b);
    }
}

/* A known call, and an unknown one, which has six arguments. */
static const char *call_name(unsigned nr)
{
    return nr < 5 ? "close" : "frobnicate";
}

/* A call whose object begins with `begin', and at whose end `result' is known. */
static void expect_call(const struct maker *m, const char *begin, const char *duration,
                        unsigned nr, const char *result, const char *memory)
{
    fprintf(m->expect, "%s%s,\"nr\":%u,\"name\":\"%s\",\"args\":[", begin, duration, nr,
            call_name(nr));
    for (unsigned i = 0; i < (nr < 5 ? 1 : 6); i++) {
        fprintf(m->expect, "%s%u", i ? "," : "", nr + i);
    }
    fprintf(m->expect, "],\"text\":[");
    for (unsigned i = 0; i < (nr < 5 ? 1 : 6); i++) {
        fprintf(m->expect, nr < 5 ? "%s\"%u\"" : "%s\"0x%x\"", i ? "," : "", nr + i);
    }
    fprintf(m->expect, "]%s", result);
    if (*memory) {
        fprintf(m->expect, ",\"memory\":[%s]", memory);
    }
    fprintf(m->expect, "}\n");
}

/* A call that did not return is reported before the next other event. */
static void expect_open_call(const struct maker *m, struct walker *w)
{
    if (w->call[0]) {
        expect_call(m, w->call, "", w->call_nr, "", w->memory);
        w->call[0] = 0;
    }
}

static uint64_t pc_of(const struct block *b, unsigned insn)
{
    return b->pc + 4 * insn;
}

static void expect_exec(const struct maker *m, struct walker *w, const struct block *b,
                        unsigned insn, bool faulted)
{
    const uint8_t *c = b->code + 4 * insn;

    expect_open_call(m, w);
    w->pc = pc_of(b, insn);
    fprintf(m->expect,
            "{\"kind\":\"exec\",\"ordinal\":%" PRIu64
            ",\"pid\":%d,\"tid\":%d,\"pc\":\"0x%" PRIx64
            "\",\"bytes\":\"%02x%02x%02x%02x\"%s}\n",
            w->ordinal, w->pid, w->tid, pc_of(b, insn), c[0], c[1], c[2], c[3],
            faulted ? ",\"faulted\":true" : "");
}

/* Digits of a little-endian number. */
static void expect_number(const struct maker *m, const uint8_t *v, unsigned size,
                          bool whole)
{
    unsigned n = size;

    while (!whole && n > 1 && !v[n - 1]) {
        n--;
    }
    fprintf(m->expect, whole ? "%02x" : "%x", v[n - 1]);
    while (--n) {
        fprintf(m->expect, "%02x", v[n - 1]);
    }
}

static void expect_access(const struct maker *m, struct walker *w, const struct block *b,
                          unsigned insn, bool store, uint64_t addr, unsigned size,
                          const uint8_t *data)
{
    expect_open_call(m, w);
    fprintf(m->expect,
            "{\"kind\":\"%s\",\"ordinal\":%" PRIu64
            ",\"pid\":%d,\"tid\":%d,\"pc\":\"0x%" PRIx64 "\",\"addr\":\"0x%" PRIx64
            "\",\"size\":%u",
            store ? "store" : "load", w->ordinal, w->pid, w->tid, pc_of(b, insn), addr,
            size);
    if (data && size <= 16) {
        fprintf(m->expect, ",\"value\":\"0x");
        expect_number(m, data, size, false);
        fprintf(m->expect, "\"");
    } else if (data) {
        fprintf(m->expect, ",\"data\":\"");
        for (unsigned i = 0; i < size; i++) {
            fprintf(m->expect, "%02x", data[i]);
        }
        fprintf(m->expect, "\"");
    }
    fprintf(m->expect, "}\n");
}

/* Register r gets a new value, which is reported if it differs. */
static void expect_register(const struct maker *m, struct walker *w, uint64_t pc,
                            unsigned r, const uint8_t *value, bool outside)
{
    uint64_t ordinal = outside && w->ordinal ? w->ordinal - 1 : w->ordinal;

    if (!memcmp(w->reg[r], value, regs[r].size)) {
        return;
    }
    expect_open_call(m, w);
    memcpy(w->reg[r], value, 16);
    memcpy(w->next[r], value, 16);
    fprintf(m->expect,
            "{\"kind\":\"reg\",\"ordinal\":%" PRIu64
            ",\"pid\":%d,\"tid\":%d,\"pc\":\"0x%" PRIx64
            "\",\"name\":\"%s\",\"value\":\"0x",
            ordinal, w->pid, w->tid, pc, regs[r].name);
    expect_number(m, value, regs[r].size, regs[r].flags & CTR_REG_VECTOR);
    fprintf(m->expect, "\"%s}\n", outside ? ",\"outside\":true" : "");
}

/* What a few bytes in a few places can be, so that neighbours often make a word. */
static uint8_t few_values(void)
{
    static const uint8_t values[] = "aaaaaabbbbbbbc\0\0";

    return values[below(sizeof(values) - 1)];
}

/* A place of up to `size' bytes among these. */
static uint64_t few_places(unsigned size)
{
    static uint64_t next;

    next = below(3) ? next + size : below(30);
    return 0x5000 + next % 30;
}

/* Sometimes any value, otherwise one of few, so that some equal the value before. */
static void random_value(uint8_t *v, unsigned size)
{
    memset(v, 0, 16);
    for (unsigned i = 0; i < size; i++) {
        v[i] = few ? few_values() : below(3) ? (uint8_t)below(2) : (uint8_t)rng();
    }
}

/* The register slot s: the value that its instruction writes. */
static void do_register(struct maker *m, struct walker *w, const struct block *b,
                        unsigned s)
{
    unsigned r = b->slot[s].group;
    uint8_t v[16];

    random_value(v, regs[r].size);
    put_data(m, v, regs[r].size);
    memcpy(w->next[r], v, 16);
}

/* Makes the access of slot s. */
static void do_slot(struct maker *m, struct walker *w, const struct block *b, unsigned s)
{
    static uint64_t stride;
    const struct slot *slot = &b->slot[s];
    unsigned size = CTR_ACCESS_SIZE(slot->access);
    uint8_t value[16];
    uint64_t addr = below(4) ? 0x40000000 + 16 * s + 4 * stride++ : rng() & 0xffffffff;

    addr = few ? few_places(size) : addr & 0xffffffff;
    put_addr(m, addr);
    if (all) {
        random_value(value, size);
        put_data(m, value, size);
    }
    expect_access(m, w, b, slot->insn, slot->access & CTR_ACCESS_STORE, addr, size,
                  all ? value : NULL);
}

static unsigned slots_of_group(const struct block *b, unsigned s)
{
    unsigned n = 1;

    while (s + n < b->nslot && b->slot[s + n].group == b->slot[s].group &&
           !(b->slot[s + n].access & CTR_ACCESS_REG)) {
        n++;
    }
    return n;
}

/* Some rounds of the group that begins with slot s; its slots are adjacent.
 * Returns the number of remaining rounds if the chunk must end in between. */
static unsigned do_group(struct maker *m, struct walker *w, const struct block *b,
                         unsigned s, unsigned rounds, bool may_cut)
{
    unsigned n = slots_of_group(b, s);

    for (; rounds; rounds--) {
        if (may_cut && !below(20)) {
            return rounds;
        }
        put_word(m, CTR_WORD_GROUP | b->slot[s].group);
        for (unsigned k = 0; k < n; k++) {
            do_slot(m, w, b, s + k);
        }
    }
    return 0;
}

/* Sometimes an access made by a helper. */
static void maybe_extra(struct maker *m, struct walker *w, const struct block *b,
                        unsigned insn)
{
    uint8_t data[1000];
    bool store;
    uint32_t size;
    uint64_t addr;

    if (below(40)) {
        return;
    }
    store = below(2);
    size = 1 + below(few ? 12 : all ? 40 : 1000);
    addr = few ? few_places(size) : rng() & 0x7fffffff;
    for (unsigned i = 0; i < size; i++) {
        data[i] = few ? few_values() : (uint8_t)rng();
    }
    put_extra(m, (uint16_t)insn, store, size, addr, all ? data : NULL);
    expect_access(m, w, b, insn, store, addr, size, all ? data : NULL);
}

/*
 * The accesses of one instruction from slot s on.  Returns the first slot of
 * the next instruction, or UINT32_MAX when the chunk ends inside a group.
 */
static unsigned do_accesses(struct maker *m, struct walker *w, const struct block *b,
                            unsigned insn, unsigned s, unsigned rounds, bool may_cut)
{
    bool extra_done = false;

    while (s < b->nslot && b->slot[s].insn == insn) {
        if (b->slot[s].access & CTR_ACCESS_REG) {
            if (!extra_done) { /* accesses come before registers */
                maybe_extra(m, w, b, insn);
                extra_done = true;
            }
            do_register(m, w, b, s);
            s++;
        } else if (b->slot[s].group) {
            unsigned r = rounds ? rounds : below(3) ? below(2) : below(30);
            unsigned left = do_group(m, w, b, s, r, may_cut);
            rounds = 0;
            if (left) {
                w->cut = b;
                w->cut_insn = insn;
                w->cut_rounds = left;
                return UINT32_MAX;
            }
            s += slots_of_group(b, s);
        } else {
            do_slot(m, w, b, s);
            s++;
        }
    }
    if (!extra_done) {
        maybe_extra(m, w, b, insn);
    }
    if (all && !below(30)) {
        unsigned reg = below(NR_REGS);
        uint8_t v[16];
        random_value(v, regs[reg].size);
        put_register(m, insn, reg, v);
        memcpy(w->next[reg], v, 16);
    }
    for (unsigned r = 0; all && r < NR_REGS; r++) {
        expect_register(m, w, pc_of(b, insn), r, w->next[r], false);
    }
    return s;
}

/* Runs a block; false if the chunk ended inside it. */
static bool do_run(struct maker *m, struct walker *w, const struct block *b, bool may_cut)
{
    unsigned s = 0, end = b->ninsn, why = below(16);
    bool faults = why == 1;

    if (why < 2) {
        end = 1 + below(b->ninsn);
    }
    put_word(m, b->id);
    for (unsigned i = 0; i < end; i++) {
        bool faulted = faults && i == end - 1;
        expect_exec(m, w, b, i, faulted);
        if (faulted) { /* before it made any access */
            w->ordinal++;
            break;
        }
        s = do_accesses(m, w, b, i, s, 0, may_cut);
        if (s == UINT32_MAX) {
            put_left(m, i + 1, CTR_LEFT_SUSPEND);
            return false;
        }
        w->ordinal++;
    }
    if (why < 2) {
        put_left(m, end, faults ? CTR_LEFT_FAULTED : 0);
    }
    return true;
}

/* Continues where the thread's previous chunk was cut; ends the block
 * after that instruction. */
static void do_resume(struct maker *m, struct walker *w)
{
    const struct block *b = w->cut;
    unsigned s = 0;

    while (b->slot[s].insn != w->cut_insn || !b->slot[s].group) {
        s++;
    }
    fprintf(m->cuts, "%d %" PRIu64 "\n", w->tid, w->ordinal);
    put_word(m, CTR_WORD_RESUME | w->cut_insn);
    put_word(m, b->id);
    do_accesses(m, w, b, w->cut_insn, s, w->cut_rounds, false);
    w->pc = pc_of(b, w->cut_insn);
    put_left(m, w->cut_insn + 1, 0);
    w->cut = NULL;
    w->ordinal++;
}

/* ----------------------------------------------- system events */

static double seconds(uint64_t ns)
{
    return (double)(ns - START_NS) / 1e9;
}

/* {"kind":...,"time":... of an event that happens now; returns its time. */
static uint64_t event_start(struct maker *m, const struct walker *w, const char *kind,
                            char *to, size_t size)
{
    uint64_t now = m->clock_ns += 1 + below(1000);

    snprintf(to, size,
             "{\"kind\":\"%s\",\"ordinal\":%" PRIu64
             ",\"pid\":%d,\"tid\":%d,\"time\":%.9f",
             kind, w->ordinal, w->pid, w->tid, seconds(now));
    return now;
}

static void put_call(struct maker *m, unsigned type, uint64_t time_ns, unsigned nr,
                     unsigned flags, int64_t result)
{
    uint8_t p[200];
    const char *name = call_name(nr);

    put_le(p, nr, 4);
    put_le(p + 4, flags, 4);
    put_le(p + 8, (uint64_t)result, 8);
    for (unsigned i = 0; i < 8; i++) {
        put_le(p + 16 + 8 * i, i + nr, 8);
    }
    put_le(p + 80, strlen(name), 2);
    memcpy(p + 82, name, strlen(name));
    put_event(m, type, time_ns, p, 82 + strlen(name));
}

static void do_call(struct maker *m, struct walker *w)
{
    expect_open_call(m, w);
    w->call_ns = event_start(m, w, "syscall", w->call, sizeof(w->call));
    w->call_nr = 1 + below(9);
    w->memory[0] = 0;
    put_call(m, CTR_EVENT_SYSCALL, w->call_ns, w->call_nr, 0, 0);
}

/* The open call returns; without one, a parent's call does. */
static void do_return(struct maker *m, struct walker *w)
{
    char begin[200], duration[64] = "", result[100] = "";
    uint64_t now = event_start(m, w, "syscall", begin, sizeof(begin));
    unsigned nr = w->call[0] ? w->call_nr : 1 + below(9), flags = 0;
    int64_t value = below(2) ? (int64_t)below(1000) : -2;

    if (!below(10)) {
        flags = CTR_SYSCALL_NORETURN;
    } else if (value < 0) {
        snprintf(result, sizeof(result),
                 ",\"result\":-1,\"errno\":\"ENOENT\",\"errno_number\":2");
    } else {
        snprintf(result, sizeof(result), ",\"result\":%d", (int)value);
    }
    put_call(m, CTR_EVENT_SYSRET, now, nr, flags, value);
    if (w->call[0]) {
        snprintf(duration, sizeof(duration), ",\"duration\":%.9f",
                 (double)(now - w->call_ns) / 1e9);
    }
    expect_call(m, w->call[0] ? w->call : begin, duration, nr, result,
                w->call[0] ? w->memory : "");
    w->call[0] = 0;
}

/* The system reads or writes memory: in the open call, or by itself. */
static void do_memory(struct maker *m, struct walker *w)
{
    uint8_t p[24 + 16];
    char text[200];
    unsigned n = below(17), write = below(2);
    size_t len = strlen(w->memory), at;
    uint64_t addr = few ? few_places(n) : below(1u << 30);

    put_le(p, addr, 8);
    put_le(p + 8, few && below(3) ? n : n + 5, 8);
    put_le(p + 16, write ? CTR_USERMEM_WRITE : 0, 4);
    put_le(p + 20, n, 4);
    at = (size_t)snprintf(text, sizeof(text),
                          "\"op\":\"%s\",\"addr\":\"0x%" PRIx64
                          "\",\"size\":%u,\"data\":\"",
                          write ? "write" : "read", addr, p[8]);
    for (unsigned i = 0; i < n; i++) {
        p[24 + i] = few ? few_values() : (uint8_t)rng();
        at += (size_t)snprintf(text + at, sizeof(text) - at, "%02x", p[24 + i]);
    }
    if (w->call[0] && len > 700) {
        return;
    }
    put_event(m, CTR_EVENT_USERMEM, 0, p, 24 + n);
    if (w->call[0]) {
        snprintf(w->memory + len, sizeof(w->memory) - len, "%s{%s\"}", len ? "," : "",
                 text);
        return;
    }
    fprintf(m->expect,
            "{\"kind\":\"memory\",\"ordinal\":%" PRIu64 ",\"pid\":%d,\"tid\":%d,%s\"}\n",
            w->ordinal, w->pid, w->tid, text);
}

static void do_signal(struct maker *m, struct walker *w)
{
    uint8_t p[64] = {0};
    char begin[200];
    uint64_t now;

    expect_open_call(m, w);
    now = event_start(m, w, "signal", begin, sizeof(begin));
    if (below(2)) {
        put_le(p, 0x1234, 8);
        put_event(m, CTR_EVENT_SIGRETURN, now, p, 8);
        fprintf(m->expect, "%s,\"op\":\"return\",\"pc\":\"0x1234\"}\n", begin);
        return;
    }
    put_le(p, 11, 4);
    put_le(p + 4, 1, 4);
    put_le(p + 16, 0x40, 8); /* si_addr */
    put_le(p + 32, 0x10400, 8);
    put_le(p + 40, 0x20400, 8);
    put_le(p + 48, CTR_SIGNAL_HANDLER | CTR_SIGNAL_SYNC, 4);
    put_event(m, CTR_EVENT_SIGNAL, now, p, 56);
    fprintf(m->expect,
            "%s,\"op\":\"deliver\",\"signal\":\"SIGSEGV\",\"number\":11,\"code\":1,"
            "\"code_name\":\"SEGV_MAPERR\",\"addr\":\"0x40\",\"pc\":\"0x10400\","
            "\"handler\":\"0x20400\",\"sync\":true}\n",
            begin);
}

/* Inside of a call as well as outside. */
static void do_map(struct maker *m, struct walker *w)
{
    uint8_t p[104] = {0};
    char begin[200];
    uint64_t now = event_start(m, w, "map", begin, sizeof(begin));
    uint64_t start = 0x40000000 + 0x1000 * (uint64_t)below(100);
    bool discard = !below(4); /* which has no protection and no flags */

    put_le(p, discard ? CTR_MAP_DISCARD : CTR_MAP_MMAP, 4);
    put_le(p + 4, discard ? 0 : 5, 4);
    put_le(p + 8, discard ? 0 : 0x22, 4);
    put_le(p + 16, start, 8);
    put_le(p + 24, 0x2000, 8);
    put_event(m, CTR_EVENT_MAP, now, p, 76);
    fprintf(m->expect,
            "%s,\"op\":\"%s\",\"start\":\"0x%" PRIx64 "\",\"end\":\"0x%" PRIx64
            "\",%s}\n",
            begin, discard ? "discard" : "mmap", start, start + 0x2000,
            discard ? "\"flags\":\"0x0\"" : "\"prot\":\"r-x\",\"flags\":\"0x22\"");
}

static void do_thread(struct maker *m, struct walker *w)
{
    uint8_t p[40] = {0};
    char begin[200];
    bool name = below(2);
    uint64_t now;

    if (!name) {
        expect_open_call(m, w);
    }
    now = event_start(m, w, "thread", begin, sizeof(begin));
    put_le(p, name ? CTR_THREAD_NAME : CTR_THREAD_END, 4);
    put_le(p + 4, (uint32_t)w->pid, 4);
    put_le(p + 8, (uint32_t)w->tid, 4);
    put_le(p + 20, name ? 0 : CTR_END_EXIT, 4);
    put_le(p + 24, name ? 0 : 7, 4);
    put_le(p + 28, name ? 2 : 0, 2);
    memcpy(p + 30, "ab", 2);
    put_event(m, CTR_EVENT_THREAD, now, p, name ? 32 : 30);
    fprintf(m->expect, "%s,%s}\n", begin,
            name ? "\"op\":\"name\",\"name\":\"ab\""
                 : "\"op\":\"end\",\"reason\":\"exit\",\"status\":7");
}

/* Register changes by the system come after its other effects. */
static void do_outside(struct maker *m, struct walker *w)
{
    for (unsigned r = 0; r < NR_REGS; r++) {
        uint8_t v[16];
        if (!below(3)) {
            random_value(v, regs[r].size);
            put_register(m, MEMPIPE_OUTSIDE, r, v);
            expect_register(m, w, w->pc, r, v, true);
        }
    }
}

/* Events between two blocks. */
static void do_between(struct maker *m, struct walker *w)
{
    for (unsigned n = below(4) ? 0 : below(6); n; n--) {
        switch (below(8)) {
        case 0:
        case 1:
            do_call(m, w);
            break;
        case 2:
        case 3:
            do_return(m, w);
            break;
        case 4:
            do_signal(m, w);
            break;
        case 5:
            do_map(m, w);
            break;
        case 6:
            do_thread(m, w);
            break;
        default:
            do_memory(m, w);
            break;
        }
    }
    if (!below(12)) {
        do_outside(m, w);
    }
}

void make_random(char **argv, bool with_all, bool with_few)
{
    static struct block blocks[NR_BLOCKS];
    struct maker m = {0};
    struct walker walkers[NR_THREADS] = {0};
    unsigned chunks, runs;
    uint32_t process = 0;
    char cuts[4096];

    all = with_all;
    few = with_few;
    rng_state = strtoull(argv[0], NULL, 0);
    chunks = (unsigned)strtoul(argv[1], NULL, 0);
    runs = (unsigned)strtoul(argv[2], NULL, 0);
    maker_open(&m, argv[3], "arm", EM_ARM, false, 32,
               all ? PROGRAM_EVENTS : CTR_EVENTS_EXEC | CTR_EVENTS_MEM);
    if (all) {
        uint8_t table[NR_REGS * 16];
        size_t n = 0;
        for (unsigned r = 0; r < NR_REGS; r++) {
            add_register(&m, table, &n, regs[r].name, regs[r].size, regs[r].flags);
        }
        write_registers(&m, table, n);
    }
    snprintf(cuts, sizeof(cuts), "%s.cut", argv[4]);
    m.expect = fopen(argv[4], "w");
    m.cuts = fopen(cuts, "w");
    if (!m.expect || !m.cuts) {
        perror(argv[4]);
        exit(1);
    }
    for (uint32_t i = 0; i < NR_BLOCKS; i++) {
        random_block(&blocks[i], 2 * i + 1);
        add_block(&m, &blocks[i]);
    }
    for (int i = 0; i < NR_THREADS; i++) {
        int32_t pid = i < 3 ? 100 : 200;
        if (i == 0 || i == 3) {
            process = add_process(&m, pid, 1);
        }
        walkers[i] = (struct walker){.pid = pid, .tid = pid + (i < 3 ? i : 0)};
        walkers[i].thread = add_thread(&m, process, walkers[i].tid, 0);
    }
    for (unsigned c = 0; c < chunks; c++) {
        struct walker *w = &walkers[below(NR_THREADS)];
        w->pc = 0;
        if (all) {
            for (unsigned r = 0; r < NR_REGS; r++) {
                memcpy(m.state + m.reg_off[r], w->reg[r], regs[r].size);
            }
            put_state(&m);
        }
        if (w->cut) {
            do_resume(&m, w);
        }
        for (unsigned r = 0; r < runs; r++) {
            if (all) {
                do_between(&m, w);
            }
            if (!do_run(&m, w, &blocks[below(NR_BLOCKS)], r + 10 > runs)) {
                break;
            }
        }
        if (all && !w->cut) {
            do_between(&m, w);
        }
        flush_chunk(&m, w->thread, 0);
    }
    for (unsigned i = 0; i < NR_THREADS; i++) {
        expect_open_call(&m, &walkers[i]);
    }
    maker_close(&m, true);
    if (fclose(m.expect) || fclose(m.cuts)) {
        perror(argv[4]);
        exit(1);
    }
}
