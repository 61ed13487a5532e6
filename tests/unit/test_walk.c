/* SPDX-License-Identifier: MIT */
/*
 * Instructions, register changes and events in one order: a random guest with
 * registers is written as a pipe would hold it, and as a list of what a reader must see.
 * Readers must see exactly that list, whatever the pieces, workers, filters and seeks.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "siderec.h"
#include "ctr_write.h"
#include "random.h"
#include "small.h"
#include "cannoli/events.h"
#include "cannoli/mempipe.h"

static uint64_t rng;

static uint32_t below(uint32_t n)
{
    return random_below(&rng, n);
}

/* -------------------------------------------------------------- the registers */

enum {
    R0,
    R1,
    V0_LOW,
    V0_MID,
    V0_TOP,
    LOST,
    NF,
    ZF,
    CF,
    VF,
    QF,
    GE,
    COND,
    UNCACHED,
    THUMB,
    DAIF,
    NREG
};

static const struct {
    const char *name;
    uint8_t size, flags;
} raw_regs[NREG] = {
    {"r0", 4, 0},
    {"r1", 4, 0},
    {"v0", 16, CTR_REG_PIECE | CTR_REG_VECTOR},
    {"v0", 8, CTR_REG_PIECE},
    {"v0", 4, 0},
    {"lost", 4, CTR_REG_RAW},
    {"NF", 4, CTR_REG_RAW},
    {"ZF", 4, CTR_REG_RAW},
    {"CF", 4, CTR_REG_RAW},
    {"VF", 4, CTR_REG_RAW},
    {"QF", 4, CTR_REG_RAW},
    {"GE", 4, CTR_REG_RAW},
    {"condexec_bits", 4, CTR_REG_RAW},
    {"uncached_cpsr", 4, CTR_REG_RAW},
    {"thumb", 1, CTR_REG_RAW},
    {"daif", 8, CTR_REG_RAW},
};

/* The registers that readers show. */
enum { SHOWN = 4, SHOWN_MAX = 28 };
static const struct {
    const char *name;
    uint32_t size, flags;
} shown_regs[SHOWN] = {
    {"r0", 4, 0}, {"r1", 4, 0}, {"v0", 28, CTR_REG_VECTOR}, {"cpsr", 4, CTR_REG_SPECIAL}};

struct regs {
    uint8_t v[NREG][16];
};

static uint32_t reg32(const struct regs *r, unsigned i)
{
    uint32_t v;
    memcpy(&v, r->v[i], 4);
    return v;
}

static void shown_value(const struct regs *r, unsigned i, uint8_t *out)
{
    memset(out, 0, SHOWN_MAX);
    if (i == 2) {
        memcpy(out, r->v[V0_LOW], 16);
        memcpy(out + 16, r->v[V0_MID], 8);
        memcpy(out + 24, r->v[V0_TOP], 4);
    } else if (i == 3) {
        uint32_t c = reg32(r, UNCACHED);
        c |= reg32(r, NF) & 0x80000000u;
        c |= reg32(r, ZF) == 0 ? 1u << 30 : 0;
        c |= reg32(r, CF) << 29;
        c |= reg32(r, VF) >> 31 << 28;
        c |= reg32(r, QF) << 27;
        c |= (reg32(r, COND) & 3) << 25 | (reg32(r, COND) & 0xfc) << 8;
        c |= reg32(r, GE) << 16 | (uint32_t)r->v[THUMB][0] << 5;
        c |= reg32(r, DAIF) & 0x1c0;
        memcpy(out, &c, 4);
    } else {
        memcpy(out, r->v[i], 4);
    }
}

/* A new value for a register, often the old one. */
static void new_value(const struct regs *r, unsigned i, uint8_t *out)
{
    memcpy(out, r->v[i], 16);
    if (below(3) == 0) {
        return;
    }
    switch (i) {
    case CF:
    case QF:
    case THUMB:
        out[0] = (uint8_t)below(2);
        break;
    case GE:
        out[0] = (uint8_t)below(16);
        break;
    case COND:
        out[0] = (uint8_t)below(256);
        break;
    case UNCACHED:
        out[0] = (uint8_t)(0x10 | below(2));
        break;
    case DAIF:
        out[0] = (uint8_t)(below(4) << 6);
        break;
    case ZF:
        memset(out, 0, 4);
        out[1] = (uint8_t)below(2);
        break;
    default:
        out[below(raw_regs[i].size)] = (uint8_t)below(256);
    }
}

/* ------------------------------------------------------------------- the run */

/* What a reader must see, or does see. */
struct item {
    uint8_t kind; /* 'x' instruction, 'r' register, 'o' event */
    uint8_t outside;
    uint16_t unknown; /* the pc of its instruction is in another chunk */
    uint32_t thread;
    uint64_t what; /* register, type of event; no padding, these are compared whole */
    uint64_t ordinal;
    uint64_t pc;
    uint64_t value; /* hash of value or payload */
};

struct items {
    struct item *i;
    size_t n, cap;
};

static void add_item(struct items *l, const struct item *item)
{
    if (l->n == l->cap) {
        l->cap = l->cap * 2 + 1000;
        l->i = realloc(l->i, l->cap * sizeof(l->i[0]));
        assert_non_null(l->i);
    }
    l->i[l->n++] = *item;
}

static uint64_t hash(const void *data, size_t n)
{
    const uint8_t *p = data;
    uint64_t h = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ p[i]) * 0x100000001b3ull;
    }
    return h;
}

enum { START = 1000000, BLOCKS = 12, MAX_INSN = 6, MAX_SLOT = 5, THREADS = 2, UNIT = 4 };

struct block {
    unsigned ninsn;
    unsigned nslot[MAX_INSN];
    uint8_t reg[MAX_INSN][MAX_SLOT];
    uint64_t pc;
    uint8_t def[512];
    size_t bytes;
};

struct thread {
    struct regs regs;
    struct items want;
    uint64_t ordinal;
    uint64_t last_pc; /* of the instruction before */
    uint64_t time;
    struct regs outside;   /* before the changes since the last run, */
    int between, at_begin; /* if there are any; and no run of the chunk came before */
    unsigned suspended;    /* instruction + 1 of a suspended block */
    unsigned block;
    /* for ctr_state_at: the registers before each instruction */
    struct regs *before;
    uint64_t *time_before;
    size_t nbefore, cap;
};

struct pipe {
    uint32_t words[4096];
    uint32_t n_words;
    uint32_t data[16384]; /* from the begin; reversed at the end */
    uint32_t n_units;
    struct sidebuf side;
};

struct world {
    struct block block[BLOCKS];
    struct thread thread[THREADS];
    struct ctr_trace *tr;
    struct items want; /* of all threads, in order of chunks */
};

/* Each block is placed after the one before it. */
static void make_block(struct block *b, unsigned number, uint64_t pc)
{
    uint8_t *p = b->def;
    memset(b, 0, sizeof(*b));
    b->ninsn = 1 + below(MAX_INSN);
    b->pc = pc;
    unsigned slots = 0;
    for (unsigned i = 0; i < b->ninsn; i++) {
        b->nslot[i] = below(MAX_SLOT);
        for (unsigned k = 0; k < b->nslot[i]; k++) {
            b->reg[i][k] = (uint8_t)below(NREG);
        }
        slots += b->nslot[i];
    }
    memcpy(p, &b->pc, 8);
    p[CTR_BLOCKDEF_NINSN] = (uint8_t)b->ninsn;
    p[CTR_BLOCKDEF_NSLOT] = (uint8_t)slots;
    p[CTR_BLOCKDEF_CODELEN] = (uint8_t)(b->ninsn * 4);
    p += CTR_BLOCKDEF_FIXED;
    memset(p, 4, b->ninsn);
    p += b->ninsn;
    memset(p, (int)number, b->ninsn * 4);
    p += b->ninsn * 4;
    for (unsigned i = 0; i < b->ninsn; i++) {
        for (unsigned k = 0; k < b->nslot[i]; k++) {
            unsigned reg = b->reg[i][k];
            uint8_t slot[CTR_BLOCKDEF_SLOT] = {
                (uint8_t)i,
                0,
                (uint8_t)reg,
                0,
                (uint8_t)(CTR_ACCESS_REG | __builtin_ctz(raw_regs[reg].size)),
                0};
            memcpy(p, slot, sizeof(slot));
            p += sizeof(slot);
        }
    }
    b->bytes = (size_t)(p - b->def);
}

/* The changes between two moments, as items. */
static void emit_changes(struct thread *t, uint32_t index, const struct regs *old,
                         uint64_t ordinal, int outside, int unknown, uint64_t pc)
{
    for (unsigned i = 0; i < SHOWN; i++) {
        uint8_t a[SHOWN_MAX], b[SHOWN_MAX];
        shown_value(old, i, a);
        shown_value(&t->regs, i, b);
        if (memcmp(a, b, sizeof(a)) != 0) {
            add_item(&t->want, &(struct item){'r', (uint8_t)outside, (uint16_t)unknown,
                                              index, i, ordinal, unknown ? 0 : pc,
                                              hash(b, shown_regs[i].size)});
        }
    }
}

/* The registers before the instruction that comes next. */
static void keep_state(struct thread *t)
{
    if (t->nbefore == t->cap) {
        t->cap = t->cap * 2 + 1000;
        t->before = realloc(t->before, t->cap * sizeof(t->before[0]));
        t->time_before = realloc(t->time_before, t->cap * sizeof(t->time_before[0]));
        assert_true(t->before && t->time_before);
    }
    t->before[t->ordinal] = t->regs;
    t->time_before[t->ordinal] = t->time;
    t->nbefore = t->ordinal + 1;
}

/* The register slots of an instruction, and perhaps more. */
static void run_slots(struct pipe *p, struct thread *t, const struct block *b,
                      unsigned insn)
{
    for (unsigned k = 0; k < b->nslot[insn]; k++) {
        unsigned reg = b->reg[insn][k];
        uint8_t value[16];
        new_value(&t->regs, reg, value);
        memcpy(t->regs.v[reg], value, 16);
        unsigned units = CTR_UNITS(raw_regs[reg].size, UNIT);
        for (unsigned u = 0; u < units; u++) {
            memcpy(&p->data[p->n_units + units - 1 - u], value + u * UNIT, UNIT);
        }
        p->n_units += units;
    }
    if (below(10) == 0) {
        struct side_reg x = {.reg = (uint16_t)below(NREG)};
        new_value(&t->regs, x.reg, x.value);
        memcpy(t->regs.v[x.reg], x.value, 16);
        side_regs(&p->side, p->n_words, p->n_units, insn, &x, 1);
    }
}

static void random_between(struct pipe *p, struct thread *t, uint32_t index, int first)
{
    static const uint32_t types[] = {CTR_EVENT_SYSCALL, CTR_EVENT_SYSRET,
                                     CTR_EVENT_THREAD};
    for (unsigned n = below(4); n; n--) {
        struct payload pay;
        uint32_t type = types[below(3)];
        if (type == CTR_EVENT_THREAD) {
            payload_thread(&pay, CTR_THREAD_NAME, 1, 2, "me");
        } else {
            payload_syscall(&pay, below(3), below(100), below(1000), "call");
        }
        uint64_t time = below(3) ? ++t->time : 0;
        side_event(&p->side, p->n_words, p->n_units, type, time, &pay);
        add_item(&t->want, &(struct item){'o', 0, 0, index, type, t->ordinal, time,
                                          hash(pay.p, pay.n)});
    }
    if (below(2)) {
        struct side_reg x[3];
        unsigned n = 1 + below(3);
        if (!t->between) {
            t->outside = t->regs;
            t->at_begin = first;
            t->between = 1;
        }
        for (unsigned i = 0; i < n; i++) {
            x[i] = (struct side_reg){.reg = (uint16_t)below(NREG)};
            new_value(&t->regs, x[i].reg, x[i].value);
            memcpy(t->regs.v[x[i].reg], x[i].value, 16);
        }
        side_regs(&p->side, p->n_words, p->n_units, MEMPIPE_OUTSIDE, x, n);
    }
}

/* All outside changes since the last run are reported together. */
static void end_between(struct thread *t, uint32_t index)
{
    if (t->between) {
        emit_changes(t, index, &t->outside, t->ordinal ? t->ordinal - 1 : 0, 1,
                     t->at_begin, t->last_pc);
    }
    t->between = 0;
}

/* One run of a block from instruction `from' on (after what is left of the one
 * before it), perhaps suspended. */
static void run_block(struct pipe *p, struct thread *t, uint32_t index,
                      const struct block *b, int suspend)
{
    unsigned from = t->suspended;
    unsigned end = b->ninsn;
    end_between(t, index);
    if (from) {
        struct regs old = t->regs;
        p->words[p->n_words++] = CTR_WORD_RESUME | (from - 1);
        p->words[p->n_words++] = (uint32_t)(b->def[CTR_BLOCKDEF_FIXED + b->ninsn] + 1);
        run_slots(p, t, b, from - 1);
        emit_changes(t, index, &old, t->ordinal - 1, 0, 0, b->pc + 4 * (from - 1));
    } else {
        p->words[p->n_words++] = (uint32_t)(b->def[CTR_BLOCKDEF_FIXED + b->ninsn] + 1);
    }
    if (suspend) {
        end = from + below(b->ninsn - from + 1);
        suspend = end > from;
        end = suspend ? end : b->ninsn;
    }
    for (unsigned i = from; i < end; i++) {
        struct regs old = t->regs;
        keep_state(t);
        add_item(&t->want,
                 &(struct item){'x', 0, 0, index, 0, t->ordinal, b->pc + 4 * i, 0});
        if (!suspend || i + 1 < end) {
            run_slots(p, t, b, i);
            emit_changes(t, index, &old, t->ordinal, 0, 0, b->pc + 4 * i);
        }
        t->last_pc = b->pc + 4 * i;
        t->ordinal++;
    }
    t->suspended = 0;
    if (suspend) {
        p->words[p->n_words++] = CTR_WORD_LEFT | CTR_LEFT_SUSPEND << 16 | end;
        p->words[p->n_words++] = p->n_units;
        t->suspended = end;
    }
}

static void put_state(struct pipe *p, const struct thread *t)
{
    uint8_t state[NREG * 16];
    uint32_t n = 0;
    for (unsigned i = 0; i < NREG; i++) {
        memcpy(state + n, t->regs.v[i], raw_regs[i].size);
        n += raw_regs[i].size;
    }
    side_state(&p->side, state, n);
}

/* One buffer; *first: no run of its chunk came before. */
static void fill_pipe(struct pipe *p, struct world *w, uint32_t index, int *first)
{
    struct thread *t = &w->thread[index];
    unsigned runs = below(12) == 0 ? 0 : 1 + below(60);
    p->n_words = p->n_units = 0;
    p->side.n = 0;
    put_state(p, t);
    for (unsigned i = 0; i < runs; i++) {
        if (!t->suspended) {
            t->block = below(BLOCKS);
            if (below(3) == 0) {
                random_between(p, t, index, *first);
            }
        }
        *first = 0;
        run_block(p, t, index, &w->block[t->block], i + 1 == runs && below(2));
    }
    if (!t->suspended && below(2)) {
        random_between(p, t, index, *first);
    }
    for (uint32_t i = 0; i < p->n_units / 2; i++) {
        uint32_t v = p->data[i];
        p->data[i] = p->data[p->n_units - 1 - i];
        p->data[p->n_units - 1 - i] = v;
    }
}

static void append_items(struct items *to, struct items *from, size_t *at)
{
    for (; *at < from->n; (*at)++) {
        add_item(to, &from->i[*at]);
    }
}

static void make_world(struct world *w, uint64_t seed, unsigned chunks, unsigned flags,
                       int small)
{
    const struct ctr_meta meta = {
        .target = "arm",
        .events = CTR_EVENTS_EXEC | CTR_EVENTS_REG | CTR_EVENTS_SYS | CTR_EVENTS_THR,
        .elf_machine = 40,
        .addr_bits = 32,
    };
    struct ctr_dict *dict;
    struct ctr_encoder *enc;
    struct ctr_packed *packed;
    struct ctr_writer *wr;
    struct ctr_diag diag = {.text = ""};
    struct pipe *pipe = calloc(3, sizeof(*pipe));
    uint8_t table[1024];
    size_t n = 0, appended[THREADS] = {0};
    uint32_t index;
    memset(w, 0, sizeof(*w));
    rng = seed * 0x9e3779b97f4a7c15ull + 99;
    int fd = memfd_create("walk", MFD_CLOEXEC);
    assert_true(fd >= 0 && pipe);
    assert_int_equal(ctr_dict_new(&dict, meta.events), 0);
    assert_int_equal(ctr_encoder_new(&enc, dict, UNIT, 1), 0);
    if (small) { /* they end anywhere, and hold the state of that moment */
        small_chunks(enc, 1 + (uint32_t)seed % 5, 40 * (uint32_t)(seed % 7));
    }
    assert_int_equal(ctr_packed_new(&packed), 0);
    assert_int_equal(ctr_writer_new(&wr, fd, dict, &meta, 1, NULL), 0);
    for (unsigned i = 0; i < NREG; i++) {
        size_t len = strlen(raw_regs[i].name);
        uint8_t head[4] = {raw_regs[i].size, raw_regs[i].flags, (uint8_t)len, 0};
        memcpy(table + n, head, 4);
        memcpy(table + n + 4, raw_regs[i].name, len);
        n += 4 + len;
    }
    assert_int_equal(ctr_writer_regs(wr, NREG, table, n, NULL), 0);
    assert_int_equal(ctr_dict_regs(dict, NREG, table, n, NULL), 0);
    assert_int_equal(ctr_writer_process(wr, 1, 0, 0, &index, NULL), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_int_equal(ctr_writer_thread(wr, 0, 1 + (int)i, 0, 0, &index, NULL), 0);
        w->thread[i].time = 10;
    }
    for (unsigned i = 0; i < BLOCKS; i++) {
        const struct block *before = &w->block[i ? i - 1 : 0];
        make_block(&w->block[i], i, i ? before->pc + 4 * before->ninsn : 0x1000);
        assert_int_equal(
            ctr_dict_add(dict, i + 1, w->block[i].def, w->block[i].bytes, &diag), 0);
    }
    for (unsigned c = 0; c < chunks; c++) {
        uint32_t t = c % THREADS;
        unsigned segments = 1 + below(3);
        struct ctr_segment seg[3];
        int first = 1;
        memset(seg, 0, sizeof(seg));
        for (unsigned s = 0; s < segments; s++) {
            struct pipe *p = &pipe[s];
            fill_pipe(p, w, t, &first);
            seg[s] = (struct ctr_segment){
                .words = p->words,
                .n_words = p->n_words,
                .n_units = p->n_units,
                .data_end = p->data + p->n_units,
                .side = p->side.p,
                .side_bytes = (uint32_t)p->side.n,
                .start_ns = START + c,
                .end_ns = START + c + 1,
            };
        }
        for (unsigned done = 0, taken; done < segments; done += taken) {
            if (ctr_encoder_run_some(enc, seg + done, segments - done, &taken, packed,
                                     &diag) ||
                ctr_writer_chunk(wr, t, packed, &diag)) {
                fail_msg("seed %d chunk %u: %s: %s", (int)seed, c, diag.field, diag.text);
            }
        }
        end_between(&w->thread[t], t);
        append_items(&w->want, &w->thread[t].want, &appended[t]);
    }
    assert_int_equal(ctr_writer_finish(wr, NULL), 0);
    for (unsigned s = 0; s < 3; s++) {
        side_free(&pipe[s].side);
    }
    free(pipe);
    ctr_writer_free(wr);
    ctr_packed_free(packed);
    ctr_encoder_free(enc);
    ctr_dict_free(dict);
    if (flags & CTR_OPEN_STREAM) {
        lseek(fd, 0, SEEK_SET);
    }
    assert_int_equal(ctr_open_fd(&w->tr, fd, flags, &diag), 0);
}

static void free_world(struct world *w)
{
    ctr_close(w->tr);
    for (unsigned i = 0; i < THREADS; i++) {
        free(w->thread[i].want.i);
        free(w->thread[i].before);
        free(w->thread[i].time_before);
    }
    free(w->want.i);
}

/* -------------------------------------------------------------------- reading */

static int got_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)arg;
    struct item i = {'x', 0, 0, e->thread->index, 0, e->ordinal, e->pc, 0};
    return ctr_job_append(job, &i, sizeof(i));
}

static struct item item_of_reg(const struct ctr_reg_change *r)
{
    assert_true(r->size == shown_regs[r->reg].size);
    return (struct item){
        'r',        r->outside, r->block == NULL,       r->thread->index, r->reg,
        r->ordinal, r->pc,      hash(r->value, r->size)};
}

static int got_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r)
{
    (void)arg;
    struct item i = item_of_reg(r);
    return ctr_job_append(job, &i, sizeof(i));
}

static struct item item_of_os(const struct ctr_os_event *e)
{
    return (struct item){'o',     0,          0,          e->thread->index,
                         e->type, e->ordinal, e->time_ns, hash(e->payload, e->size)};
}

static int got_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    (void)arg;
    struct item i = item_of_os(e);
    return ctr_job_append(job, &i, sizeof(i));
}

static int got_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    (void)job;
    for (size_t at = 0; at < n; at += sizeof(struct item)) {
        add_item(arg, (const struct item *)((const uint8_t *)data + at));
    }
    return 0;
}

static void same_items(const struct items *got, const struct items *want)
{
    for (size_t i = 0; i < got->n && i < want->n; i++) {
        const struct item *g = &got->i[i], *w = &want->i[i];
        if (memcmp(g, w, sizeof(*g)) != 0) {
            fail_msg("item %zu: %c %u %u %llu pc 0x%llx, wanted %c %u %u %llu pc 0x%llx",
                     i, g->kind, g->outside, (unsigned)g->what,
                     (unsigned long long)g->ordinal, (unsigned long long)g->pc, w->kind,
                     w->outside, (unsigned)w->what, (unsigned long long)w->ordinal,
                     (unsigned long long)w->pc);
        }
    }
    assert_int_equal(got->n, want->n);
}

static void replay(struct world *w, const struct ctr_filter *filter, unsigned kinds,
                   unsigned workers, uint32_t piece, const uint8_t *registers,
                   struct items *out)
{
    struct ctr_diag diag = {.text = ""};
    struct ctr_replay_ops ops = {.ordered = got_ordered};
    ops.exec = kinds & 1 ? got_exec : NULL;
    ops.reg = kinds & 2 ? got_reg : NULL;
    ops.os = kinds & 4 ? got_os : NULL;
    const struct ctr_replay_opts opts = {.workers = workers,
                                         .piece_insns = piece,
                                         .filter = filter,
                                         .registers = registers};
    out->n = 0;
    if (ctr_replay(w->tr, &ops, out, &opts, &diag)) {
        fail_msg("%s: %s", diag.field, diag.text);
    }
}

/* The wanted items of these kinds that a filter lets through. */
static void select_items(const struct world *w, const struct ctr_filter *f,
                         unsigned kinds, struct items *out)
{
    out->n = 0;
    for (size_t k = 0; k < w->want.n; k++) {
        const struct item *i = &w->want.i[k];
        unsigned kind = i->kind == 'x' ? 1 : i->kind == 'r' ? 2 : 4;
        uint32_t ctr_kind = i->kind == 'x'                ? CTR_KIND_EXEC
                            : i->kind == 'r'              ? CTR_KIND_REG
                            : i->what == CTR_EVENT_THREAD ? CTR_KIND_THR
                                                          : CTR_KIND_SYS;
        if (!(kinds & kind) || (f->kinds && !(f->kinds & ctr_kind)) ||
            i->ordinal < f->from || (f->to && i->ordinal >= f->to) ||
            (f->ntid && i->thread + 1 != (uint32_t)f->tids[0]) ||
            (f->npc && (i->kind == 'o' || i->unknown || i->pc < f->pcs[0].from ||
                        i->pc >= f->pcs[0].to))) {
            continue;
        }
        add_item(out, i);
    }
}

static void test_replay(void **unused)
{
    (void)unused;
    struct items got = {0}, want = {0};
    for (uint64_t seed = 1; seed <= 25; seed++) {
        struct world w;
        make_world(&w, seed, 12, seed % 3 == 0 ? CTR_OPEN_NO_INDEX : 0, 0);
        for (unsigned kinds = 1; kinds < 8; kinds++) {
            static const uint32_t pieces[] = {0, 1, 7, 50, 1000};
            const struct ctr_filter all = {0};
            select_items(&w, &all, kinds, &want);
            for (unsigned i = 0; i < 5; i++) {
                for (unsigned workers = 1; workers <= 3; workers += 2) {
                    replay(&w, NULL, kinds, workers, pieces[i], NULL, &got);
                    same_items(&got, &want);
                }
            }
        }
        free_world(&w);
        make_world(&w, seed, 12, CTR_OPEN_STREAM, 0);
        replay(&w, NULL, 7, 1, 20, NULL, &got);
        same_items(&got, &w.want);
        free_world(&w);
    }
    free(got.i);
    free(want.i);
}

/* Of some registers the changes are the same as with all others. */
static void test_registers(void **unused)
{
    (void)unused;
    struct items got = {0}, want = {0};
    for (uint64_t seed = 80; seed < 95; seed++) {
        struct world w;
        make_world(&w, seed, 12, 0, 0);
        for (unsigned i = 0; i < 60; i++) {
            const struct ctr_filter all = {0};
            const unsigned kinds = 2 | (i & 5);
            uint8_t registers[SHOWN];
            size_t n = 0;
            for (unsigned k = 0; k < SHOWN; k++) {
                registers[k] = below(i % 3 + 2) == 0;
            }
            select_items(&w, &all, kinds, &want);
            for (size_t k = 0; k < want.n; k++) {
                if (want.i[k].kind != 'r' || registers[want.i[k].what]) {
                    want.i[n++] = want.i[k];
                }
            }
            want.n = n;
            replay(&w, NULL, kinds, 1 + below(3), below(2) ? below(60) : 0, registers,
                   &got);
            same_items(&got, &want);
        }
        free_world(&w);
    }
    free(got.i);
    free(want.i);
}

static void random_filter(struct world *w, struct ctr_filter *f, int32_t *tid,
                          struct ctr_range *pc)
{
    uint64_t most = w->thread[0].ordinal;
    *f = (struct ctr_filter){0};
    *pc = (struct ctr_range){0};
    if (below(2)) {
        f->from = below((uint32_t)most + 2);
        f->to = below(4) ? f->from + 1 + below(100) : 0;
    }
    if (below(3) == 0) {
        *tid = 1 + (int)below(THREADS);
        f->tids = tid;
        f->ntid = 1;
    }
    if (below(3) == 0) {
        f->kinds = 1 + below(CTR_KIND_ALL); /* there is no memory */
    }
    if (below(4) == 0) {
        pc->from = w->block[below(BLOCKS)].pc;
        pc->to = pc->from + 4 + below(20);
        f->pcs = pc;
        f->npc = 1;
    }
}

static void cursor_items(struct ctr_cursor *c, struct items *out)
{
    struct ctr_event ev;
    struct ctr_diag diag = {.text = ""};
    int ret;
    out->n = 0;
    while ((ret = ctr_cursor_next(c, &ev, &diag)) == 1) {
        struct item i = {0};
        if (ev.kind == CTR_CURSOR_EXEC) {
            i = (struct item){'x',        0, 0, ev.exec.thread->index, 0, ev.exec.ordinal,
                              ev.exec.pc, 0};
        } else if (ev.kind == CTR_CURSOR_REG) {
            i = item_of_reg(&ev.reg);
        } else {
            assert_int_equal(ev.kind, CTR_CURSOR_OS);
            i = item_of_os(&ev.os);
        }
        add_item(out, &i);
    }
    if (ret) {
        fail_msg("%s: %s", diag.field, diag.text);
    }
}

static void test_filter(void **unused)
{
    (void)unused;
    struct items got = {0}, want = {0};
    for (uint64_t seed = 30; seed < 50; seed++) {
        struct world w;
        make_world(&w, seed, 12, seed % 3 == 0 ? CTR_OPEN_NO_INDEX : 0, 0);
        for (unsigned i = 0; i < 60; i++) {
            struct ctr_filter f;
            struct ctr_range pc;
            int32_t tid;
            random_filter(&w, &f, &tid, &pc);
            unsigned kinds = 1 + below(7);
            select_items(&w, &f, kinds, &want);
            replay(&w, &f, kinds, 1 + below(3), below(3) ? below(60) : 0, NULL, &got);
            same_items(&got, &want);
            struct ctr_cursor *c;
            assert_int_equal(ctr_cursor_open(&c, w.tr, &f, NULL), 0);
            select_items(&w, &f, 7, &want);
            cursor_items(c, &got);
            same_items(&got, &want);
            /* From an instruction on. */
            uint32_t thread = below(THREADS);
            uint64_t ordinal = below((uint32_t)w.thread[thread].ordinal);
            struct ctr_chunk chunk;
            if (below(2) && !ctr_trace_find(w.tr, thread, ordinal, &chunk, NULL)) {
                ordinal = chunk.first; /* events before it are in the chunk before */
            }
            if (f.ntid == 0 && ctr_cursor_seek_ordinal(c, thread, ordinal, NULL) == 0) {
                cursor_items(c, &got);
                const struct item *first = NULL;
                for (size_t k = 0; k < want.n && !first; k++) {
                    if (want.i[k].thread == thread && want.i[k].ordinal >= ordinal) {
                        first = &want.i[k];
                    }
                }
                for (size_t k = 0; k < got.n && first; k++) {
                    if (got.i[k].thread == thread) {
                        assert_memory_equal(&got.i[k], first, sizeof(*first));
                        break;
                    }
                }
            }
            ctr_cursor_close(c);
        }
        free_world(&w);
    }
    free(got.i);
    free(want.i);
}

struct wanted_states {
    const struct thread *thread;
    const uint64_t *ordinals;
    size_t seen;
};

static int check_values(void *arg, size_t i, const struct ctr_state_point *s)
{
    struct wanted_states *w = arg;
    uint64_t o = w->ordinals[i];
    const struct regs *want =
        o < w->thread->ordinal ? &w->thread->before[o] : &w->thread->regs;
    assert_int_equal(i, w->seen++);
    for (unsigned k = 0; k < SHOWN; k++) {
        uint8_t v[SHOWN_MAX];
        shown_value(want, k, v);
        assert_memory_equal(s->values + k * CTR_REG_STRIDE, v, shown_regs[k].size);
    }
    assert_int_equal(s->pc != 0, o < w->thread->ordinal);
    return 0;
}

static int stop_at_third(void *arg, size_t i, const struct ctr_state_point *s)
{
    (void)arg, (void)s;
    return i == 2 ? 77 : 0;
}

static void test_states(void **unused)
{
    (void)unused;
    for (uint64_t seed = 60; seed < 70; seed++) {
        struct world w;
        make_world(&w, seed, 12, 0, seed % 3);
        for (uint32_t t = 0; t < THREADS; t++) {
            struct wanted_states want = {.thread = &w.thread[t]};
            uint64_t ordinals[500];
            size_t n = 0;
            for (uint64_t o = below(4); n < 500 && o <= want.thread->ordinal;
                 o += below(3)) {
                ordinals[n++] = o;
            }
            want.ordinals = ordinals;
            assert_int_equal(ctr_states(w.tr, t, ordinals, n, check_values, &want, NULL),
                             0);
            assert_int_equal(want.seen, n);
            if (n > 3 && ordinals[n - 1] > ordinals[0]) {
                assert_int_equal(
                    ctr_states(w.tr, t, ordinals, n, stop_at_third, NULL, NULL), 77);
                ordinals[0] = ordinals[n - 1];
                assert_int_equal(
                    ctr_states(w.tr, t, ordinals, 2, stop_at_third, NULL, NULL),
                    ordinals[1] < ordinals[0] ? -CTR_E_INVAL : 0);
            }
        }
        free_world(&w);
    }
}

static void test_state(void **unused)
{
    (void)unused;
    static uint8_t values[SHOWN * CTR_REG_STRIDE];
    for (uint64_t seed = 60; seed < 70; seed++) {
        struct world w;
        make_world(&w, seed, 12, 0, seed % 3);
        for (unsigned i = 0; i < SHOWN; i++) {
            const struct ctr_reg *r = ctr_trace_reg(w.tr, i);
            assert_non_null(r);
            assert_int_equal(r->index, i);
            assert_string_equal(r->name, shown_regs[i].name);
            assert_int_equal(r->size, shown_regs[i].size);
            assert_int_equal(r->flags, shown_regs[i].flags);
        }
        assert_null(ctr_trace_reg(w.tr, SHOWN));
        for (uint32_t t = 0; t < THREADS; t++) {
            const struct thread *th = &w.thread[t];
            uint64_t pc, time;
            for (uint64_t o = 0; o <= th->ordinal; o += 1 + below(5)) {
                /* What follows a suspended instruction is its own rest. */
                const struct regs *want = o < th->ordinal ? &th->before[o] : &th->regs;
                assert_int_equal(ctr_state_at(w.tr, t, o, values, &pc, &time, NULL), 0);
                for (unsigned i = 0; i < SHOWN; i++) {
                    uint8_t v[SHOWN_MAX];
                    shown_value(want, i, v);
                    assert_memory_equal(values + i * CTR_REG_STRIDE, v,
                                        shown_regs[i].size);
                }
                /* Or the chunk's begin, if there was no event in it. */
                assert_true(o == th->ordinal || time == th->time_before[o] ||
                            (time >= START && time < START + 12));
                assert_int_equal(pc != 0, o < th->ordinal);
            }
            assert_int_equal(
                ctr_state_at(w.tr, t, th->ordinal + 1, values, &pc, &time, NULL),
                -CTR_E_INVAL);
        }
        uint64_t pc, time;
        assert_int_equal(ctr_state_at(w.tr, THREADS, 0, values, &pc, &time, NULL),
                         -CTR_E_INVAL);
        free_world(&w);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay), cmocka_unit_test(test_registers),
        cmocka_unit_test(test_filter), cmocka_unit_test(test_state),
        cmocka_unit_test(test_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
