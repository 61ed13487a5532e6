/*
 * Execution tracing into shared memory: what is recorded only once
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With coverage a block, and where a library answers ONCE an instruction, is
 * recorded the first time that this process runs it; what its ancestors ran
 * before the fork counts.  After that its code has no hook.
 *
 * Most code runs only a few times, so translating all of it twice would cost
 * more than anything else here.  Hence a block that has something to record
 * once (tb->cannoli_once) is not linked to, not found by helper_lookup_tb_ptr,
 * and does not go on to other blocks by itself: only cpu_tb_exec enters it, and
 * it returns there.  C code writes its id before the run and knows after it
 * whether the block ran; an exit from its middle is seen by cannoli_loop_exit,
 * which knows the instruction from the state restore.  So the code itself has
 * no instrumentation, and after its run it is an ordinary block.
 *
 * Only where that is not enough to know what ran (an exit inside that is no
 * longjmp, a helper that may leave without a state restore, accesses,
 * registers) does the code itself record, as it does without a choice.  After
 * its run, it is stale: the next lookup discards it and translates again.
 *
 * Each thing that is recorded once has a mark.  A thread that runs the block
 * claims all of its marks first.  A thread that finds one claimed leaves
 * cpu_exec, as for an exit request, and tries again: it must not wait where
 * another thread might wait for it to stop.  Claims are held in translated code
 * only, thus not during a fork.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/cpu-common.h"
#include "exec/exec-all.h"
#include "exec/translation-block.h"
#include "pass.h"
#include "accel/tcg/internal-common.h"
#include "accel/tcg/tb-internal.h"

bool cannoli_once_on, cannoli_coverage;

typedef struct OncePart {
    CannoliMark *mark;
    unsigned number; /* of the instruction among those recorded */
} OncePart;

/* What a translation block records once. */
typedef struct CannoliOnce {
    CannoliBlock *block;
    bool code;     /* the code records it */
    bool resumes;  /* RESUME comes before the id */
    uint32_t insn; /* CannoliCPU.insn while it runs */
    unsigned nr_parts;
    OncePart parts[];
} CannoliOnce;

void cannoli_once_init(void)
{
    cannoli_coverage = cannoli_control()->coverage;
    if (cannoli_coverage) {
        cannoli_choosing = true;
        cannoli_once_on = true;
    }
}

/* ---- translation ---- */

/*
 * Must the code itself record how the block ran?  C code alone does not see
 * exits without longjmp, what a helper before the last instruction may do, or
 * whether the block reached the first instruction that is recorded.
 */
static bool needs_code(const CannoliPass *p)
{
    if (p->nr_slots || p->first > 0 || (cannoli_ctl->events & CTR_EVENTS_REG)) {
        return true;
    }
    for (int i = 0; i < p->nr_ops; i++) {
        const OpInfo *o = &p->ops[i];

        bool store;

        if (o->exit || (cannoli_ctl->events & CTR_EVENTS_PHYS &&
                        cannoli_is_access(o->op, &store))) {
            return true;
        }
        if (cannoli_is_real_call(o->op) && o->insn != p->nr_insns - 1 &&
            (o->insn < 0 || cannoli_is_inside(p, o->insn))) {
            return true;
        }
        if (cannoli_is_real_call(o->op) && cannoli_is_recorded(p, o->insn) &&
            (cannoli_ctl->events & CTR_EVENTS_MEM)) {
            return true;
        }
    }
    return false;
}

static CannoliOnce *make_once(CannoliPass *p, TranslationBlock *tb,
                              CannoliBlock *b, bool resumes, unsigned nr_parts)
{
    CannoliOnce *o =
        cannoli_alloc_passing(sizeof(*o) + nr_parts * sizeof(o->parts[0]));

    *o = (CannoliOnce){
        .block = b,
        .code = needs_code(p),
        .resumes = resumes,
        .nr_parts = nr_parts,
        .insn = CANNOLI_INSN_NONE,
    };
    if (p->last == p->nr_insns - 1) {
        o->insn = (p->nr_recorded - 1) | CANNOLI_INSN_LAST;
    }
    tb->cannoli_once = o;
    return o;
}

/* ---- instructions that are recorded once ---- */

typedef struct InsnMark {
    CannoliMark mark;
    uint64_t pc;
    uint8_t mode;
    uint8_t len;
    uint8_t bytes[];
} InsnMark;

/* Changed by one thread at a time, as translation is (pass.c). */
static struct {
    InsnMark **slots; /* open addressing, a power of two */
    uint32_t size, used;
} known;

static uint32_t insn_hash(const InsnMark *m)
{
    uint64_t h = (m->pc ^ m->mode) * 0x9e3779b97f4a7c15ull;

    return h ^ (h >> 32);
}

static InsnMark **find_place(const InsnMark *m)
{
    for (uint32_t i = insn_hash(m);; i++) {
        InsnMark **place = &known.slots[i & (known.size - 1)];

        if (!*place || ((*place)->pc == m->pc && (*place)->mode == m->mode &&
                        (*place)->len == m->len &&
                        !memcmp((*place)->bytes, m->bytes, m->len))) {
            return place;
        }
    }
}

static void grow_known(void)
{
    InsnMark **old = known.slots;
    uint32_t old_size = known.size;

    known.size = MAX(16 * 1024, old_size * 2);
    known.slots = cannoli_alloc(known.size * sizeof(*known.slots));
    for (uint32_t i = 0; i < old_size; i++) {
        if (old[i]) {
            *find_place(old[i]) = old[i];
        }
    }
}

static CannoliMark *find_mark(uint64_t pc, uint8_t mode, const uint8_t *bytes,
                              uint8_t len)
{
    union {
        InsnMark m;
        uint8_t room[sizeof(InsnMark) + 256];
    } key;
    InsnMark **place;

    if (known.used * 2 >= known.size) {
        grow_known();
    }
    key.m = (InsnMark){ .pc = pc, .mode = mode, .len = len };
    memcpy(key.m.bytes, bytes, len);
    place = find_place(&key.m);
    if (!*place) {
        *place = cannoli_alloc(sizeof(InsnMark) + len);
        memcpy(*place, &key, sizeof(InsnMark) + len);
        known.used++;
    }
    return &(*place)->mark;
}

void cannoli_once_choose(CannoliPass *p, CPUState *cpu, DisasContextBase *db)
{
    uint8_t mode = cannoli_block_mode(cpu, db->tb), bytes[256];

    for (int i = 0; i < p->nr_insns; i++) {
        InsnInfo *in = &p->insns[i];

        if (!in->recorded || in->choice != CANNOLI_ONCE || cannoli_coverage) {
            continue;
        }
        if (db->fake_insn) {
            /* The target of EXECUTE belongs to EXECUTE, which has just run. */
            in->recorded = false;
            continue;
        }
        qatomic_set(&cannoli_once_on, true);
        cannoli_insn_bytes(p, db, i, bytes);
        in->mark = find_mark(in->pc, mode, bytes, in->len);
        if (qatomic_load_acquire(&in->mark->state) == CANNOLI_MARK_DONE) {
            in->recorded = false;
            in->mark = NULL;
        }
        for (int j = 0; in->mark && j < i; j++) {
            if (p->insns[j].mark == in->mark) {
                in->recorded = false;
                in->mark = NULL;
            }
        }
    }
}

static bool once_insns(CannoliPass *p, TranslationBlock *tb, CannoliBlock *b,
                       bool resumes)
{
    unsigned nr = 0;
    CannoliOnce *o;

    for (int i = 0; i < p->nr_insns; i++) {
        nr += p->insns[i].mark != NULL;
    }
    if (!nr) {
        return true;
    }
    o = make_once(p, tb, b, resumes, nr);
    o->code |= nr < p->nr_recorded;
    nr = 0;
    for (int i = 0; i < p->nr_insns; i++) {
        if (p->insns[i].mark) {
            o->parts[nr++] = (OncePart){
                p->insns[i].mark,
                p->insns[i].number,
            };
        }
    }
    return o->code;
}

bool cannoli_once_block(CannoliPass *p, TranslationBlock *tb, CannoliBlock *b,
                        bool resumes)
{
    CannoliOnce *o;

    if (cannoli_coverage) {
        if (qatomic_read(&b->mark.state) == CANNOLI_MARK_DONE) {
            tb->cannoli = NULL;
            return false;
        }
        o = make_once(p, tb, b, resumes, 1);
        o->parts[0].mark = &b->mark;
        return o->code;
    }
    return once_insns(p, tb, b, resumes);
}

/* ---- at run time ---- */

/* Nothing is left to record: the block becomes an ordinary one. */
static void make_ordinary(TranslationBlock *tb)
{
    tb->cannoli = NULL;
    /* Pairs with the acquire in cannoli_once_stay. */
    qatomic_store_release(&tb->cannoli_once, NULL);
}

TranslationBlock *cannoli_once_find_fresh(TranslationBlock *tb)
{
    const CannoliOnce *o = qatomic_load_acquire(&tb->cannoli_once);
    unsigned done = 0;

    if (!o) {
        return tb;
    }
    for (unsigned i = 0; i < o->nr_parts; i++) {
        done +=
            qatomic_load_acquire(&o->parts[i].mark->state) == CANNOLI_MARK_DONE;
    }
    if (!done) {
        return tb;
    }
    if (done == o->nr_parts && !o->code) {
        make_ordinary(tb);
        return tb;
    }
    mmap_lock();
    tb_phys_invalidate(tb, -1);
    mmap_unlock();
    return NULL;
}

static void release(const CannoliOnce *o, unsigned nr)
{
    for (unsigned i = 0; i < nr; i++) {
        qatomic_store_release(&o->parts[i].mark->state, CANNOLI_MARK_NEW);
    }
}

static bool claim(const CannoliOnce *o)
{
    for (unsigned i = 0; i < o->nr_parts; i++) {
        if (qatomic_cmpxchg(&o->parts[i].mark->state, CANNOLI_MARK_NEW,
                            CANNOLI_MARK_CLAIMED) != CANNOLI_MARK_NEW) {
            release(o, i);
            return false;
        }
    }
    return true;
}

void cannoli_once_enter(CPUState *cpu, TranslationBlock *tb)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;
    const CannoliOnce *o = qatomic_load_acquire(&tb->cannoli_once);

    if (!o) {
        return;
    }
    if (!claim(o)) {
        if (tb_cflags(tb) & CF_NOIRQ) {
            cpu->cflags_next_tb = tb_cflags(tb);
        }
        sched_yield();
        cpu->exception_index = EXCP_INTERRUPT;
        cpu_loop_exit(cpu);
    }
    if (!o->code && cannoli_room(c) < 8 + MEMPIPE_SLACK) {
        cannoli_hand_over(cpu);
    }
    c->once = tb;
    c->once_words = c->words;
    c->once_seq = t->seq;
    if (!o->code) {
        if (o->resumes) {
            cannoli_word(c, CTR_WORD_RESUME);
        }
        cannoli_word(c, o->block->id);
        c->insn = o->insn;
    }
}

/*
 * How far did the block get?  Returns how many of its instructions ran,
 * according to what was recorded of this run, and whether an exit was recorded:
 * after an instruction, or by a state restore in the middle of one (undone).
 */
static unsigned how_far(const CannoliCPU *c, const CannoliOnce *o, bool *left,
                        bool *faulted, bool *undone)
{
    const uint32_t *w = c->once_words, *end = c->words;
    unsigned n = o->block->ninsn;
    bool recorded = false;

    *left = *faulted = *undone = false;
    if (c->once_seq != c->thread->seq) {
        /* It went on in another buffer. */
        w = (const uint32_t *)c->thread->base;
        recorded = true;
    }
    while (w < end) {
        switch (CTR_WORD_KIND(*w)) {
        case CTR_WORD_LEFT_AT:
            n = CTR_LEFT_AT_INSNS(*w);
            *left = true;
            w++;
            break;
        case CTR_WORD_LEFT:
            n = CTR_LEFT_INSNS(*w);
            *undone = !(CTR_LEFT_FLAGS(*w) & CTR_LEFT_RESTART);
            n -= !*undone;
            *left = true;
            *faulted = CTR_LEFT_FLAGS(*w) & CTR_LEFT_FAULTED;
            w += 2;
            break;
        case CTR_WORD_RESUME:
            recorded = true;
            w += 2;
            break;
        default:
            recorded = true;
            w++;
            break;
        }
    }
    return recorded ? n : 0;
}

/* This run need not be recorded, unless there is more of it than words. */
static void drop_words(CannoliCPU *c, const CannoliOnce *o)
{
    CannoliThread *t = c->thread;
    bool more = cannoli_ctl->events & (CTR_EVENTS_MEM | CTR_EVENTS_REG);

    if (c->once_seq == t->seq && !(o->code && more)) {
        memset(c->once_words, 0,
               (uint8_t *)c->words - (uint8_t *)c->once_words);
        c->words = c->once_words;
        t->left = false;
    }
}

/*
 * An exit by longjmp from the very end is a fault, if a state restore found it:
 * then it was recorded.  Else the instruction only leaves the block.
 */
static void block_left(CannoliCPU *c, TranslationBlock *tb,
                       const CannoliOnce *o, unsigned n, bool left,
                       bool faulted)
{
    CannoliMark *mark = &o->block->mark;
    unsigned progress = 2 * n - faulted;

    if (n && !left) {
        qatomic_store_release(&mark->state, CANNOLI_MARK_DONE);
        if (!o->code) {
            make_ordinary(tb);
        }
        return;
    }
    if (n == 0 || progress <= mark->progress) {
        drop_words(c, o);
    } else {
        mark->progress = progress;
    }
    qatomic_store_release(&mark->state, CANNOLI_MARK_NEW);
}

/*
 * An instruction that was left by a state restore is recorded again until it
 * reaches its end: it may have done nothing yet (whether it faulted is recorded
 * later).
 */
static void insns_left(CannoliCPU *c, TranslationBlock *tb,
                       const CannoliOnce *o, unsigned n, bool undone)
{
    bool all = true;

    for (unsigned i = 0; i < o->nr_parts; i++) {
        bool done = o->parts[i].number + undone < n;

        qatomic_store_release(&o->parts[i].mark->state,
                              done ? CANNOLI_MARK_DONE : CANNOLI_MARK_NEW);
        all &= done;
    }
    if (all && !o->code) {
        make_ordinary(tb);
    }
    if (n == 0) {
        drop_words(c, o);
    }
}

void cannoli_once_leave(CPUState *cpu, int tb_exit)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    TranslationBlock *tb = c->once;
    const CannoliOnce *o = tb->cannoli_once;
    bool left, faulted, undone;
    unsigned n;

    c->once = NULL;
    c->insn = CANNOLI_INSN_NONE;
    if (tb_exit == TB_EXIT_REQUESTED) {
        drop_words(c, o);
        release(o, o->nr_parts);
        return;
    }
    n = how_far(c, o, &left, &faulted, &undone);
    if (cannoli_coverage) {
        block_left(c, tb, o, n, left, faulted);
    } else {
        insns_left(c, tb, o, n, undone);
    }
}
