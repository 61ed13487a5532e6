/* SPDX-License-Identifier: MIT */
/*
 * The runs of a piece as long as they are the usual ones: all of a block, nothing
 * between them, and all of it selected. Then the only check for each of them is whether
 * the next one is of that kind; what is delivered of a run is made from its block, and
 * only what differs is filled in. replay_work.c handles everything else.
 */
#include "decode/decode_fast.h"
#include "replay/replay.h"

#define ALWAYS_INLINE static inline __attribute__((always_inline))

enum fast_kind replay_fast_kind(const struct replay *rp)
{
    const struct ctr_replay_ops *ops = rp->ops;
    const struct feed *f = &rp->feed;
    const uint32_t both = CTR_KIND_LOAD | CTR_KIND_STORE;
    const int narrow = f->filter.npc || f->filter.naddr || f->filter.nphys;
    if (f->want & DEC_PHYS || !f->runs || f->filter.privileges || feed_chooses(f)) {
        return FAST_NOT;
    }
    if (f->want & (DEC_REG | DEC_VAL)) {
        return narrow || ops->exec || ops->mem ? FAST_NOT : FAST_FULL;
    }
    if (ops->exec || ops->mem) {
        int exec = !ops->exec || f->kinds & CTR_KIND_EXEC;
        int mem = !ops->mem || !(f->want & DEC_MEM) || (f->kinds & both) == both;
        return narrow || !exec || !mem ? FAST_NOT : FAST_EVENTS;
    }
    return !ops->run             ? FAST_NOT
           : f->want & DEC_MEM   ? FAST_ADDRS
           : f->want & DEC_COUNT ? FAST_COUNT
                                 : FAST_RUN;
}

/* The events of a run's instructions. */
static int call_events(struct ctr_job *job, const struct ctr_run *r,
                       const struct ctr_access *a, unsigned naccess)
{
    const struct ctr_replay_ops *ops = job->rp->ops;
    void *arg = job->rp->arg;
    const struct ctr_block *b = r->block;
    const struct ctr_access *const a_end = a + naccess;
    struct ctr_exec e = {.mode = b->mode, .block = b, .thread = job->thread};
    struct ctr_mem m = {.block = b, .thread = job->thread};
    for (unsigned i = 0; i < r->end; i++) {
        uint64_t pc = ctr_block_pc(b, i), ordinal = r->ordinal + i;
        if (ops->exec) {
            e.ordinal = ordinal;
            e.pc = pc;
            e.bytes = ctr_block_bytes(b, i);
            e.len = (uint8_t)ctr_block_len(b, i);
            e.insn = (uint16_t)i;
            e.flags = i + 1u == r->end ? r->flags : 0;
            int ret = ops->exec(arg, job, &e);
            if (ret) {
                return ret;
            }
        }
        for (; a < a_end && a->insn <= i; a++) {
            m.ordinal = ordinal;
            m.pc = pc;
            m.addr = a->addr;
            m.size = a->size;
            m.store = a->store;
            m.big_endian = (a->flags & CTR_ACC_BE) != 0;
            m.insn = a->insn;
            int ret = ops->mem(arg, job, &m);
            if (ret) {
                return ret;
            }
        }
    }
    return 0;
}

/* A run that was left early, or made groups, as replay_work.c delivers it. */
static void other_run(const struct ctr_job *job, const struct run *r, struct ctr_run *out)
{
    *out = (struct ctr_run){
        .ordinal = r->ordinal,
        .block = &r->block->pub,
        .end = r->end,
        .flags = r->flags,
        .thread = job->thread,
    };
    if (job->rp->counts) {
        out->loads = r->loads;
        out->stores = r->stores;
        for (uint32_t i = 0; i < r->naccess; i++) {
            out->stores += r->access[i].store;
            out->loads += !r->access[i].store;
        }
    }
    if (job->rp->lists) {
        out->access = r->access;
        out->naccess = r->naccess;
    }
}

/* *pending becomes 1 if the walk is at a run that was not delivered. */
ALWAYS_INLINE int fast_runs(struct ctr_job *job, const int kind, int *pending)
{
    const struct ctr_replay_ops *ops = job->rp->ops;
    void *arg = job->rp->arg;
    struct walk *w = job->walk;
    struct decoder *d = &w->dec;
    const int any = kind == FAST_EVENTS || kind == FAST_SKIP;
    const uint64_t hi = kind == FAST_SKIP ? job->piece.lo - 1 : job->piece.hi;
    const int mem = any ? (d->want & DEC_MEM) != 0 : kind == FAST_ADDRS;
    const int sums = any ? (d->want & (DEC_MEM | DEC_COUNT)) != 0 : kind != FAST_RUN;
    const int counts = kind == FAST_EVENTS ? job->rp->counts : kind != FAST_RUN;
    const int lists = kind == FAST_EVENTS ? job->rp->lists : kind == FAST_ADDRS;
    struct ctr_run run = {.thread = job->thread};
    uint64_t most = walk_runs_alone(w);
    uint64_t n = 0, loads = 0, stores = 0;
    int ret = 0;
    for (; n < most && d->at < d->ntok; n++) {
        const struct ctr_access *access = NULL;
        unsigned naccess = 0;
        if (__builtin_expect(decoder_at_plain(d), 1)) {
            const struct dlocal *l = &d->loc[d->tok[d->at]];
            const uint64_t end = d->ordinal + l->ninsn;
            if (end > hi) {
                break;
            }
            run.ordinal = d->ordinal;
            run.block = &l->block->pub;
            run.end = l->ninsn;
            run.flags = 0;
            if (mem) {
                ret = decoder_plain_addrs(d, l);
                if (ret) {
                    break;
                }
                access = &d->slot[l->access];
                naccess = l->nplain;
            }
            if (lists) {
                run.access = access;
                run.naccess = naccess;
            }
            if (counts) {
                run.loads = l->loads;
                run.stores = l->stores;
            }
            if (sums) {
                loads += l->loads;
                stores += l->stores;
            }
            d->at++;
            d->run++;
            d->ordinal = end;
        } else {
            w->run_at += n;
            most -= n;
            n = 0;
            ret = walk_next(w);
            w->run_at--;
            if (ret || !w->more || w->run.first || walk_end(w) > hi) {
                w->run_at++;
                *pending = 1;
                break;
            }
            if (kind != FAST_SKIP) {
                other_run(job, &w->run, &run);
                access = w->run.access;
                naccess = w->run.naccess;
            }
        }
        if (kind == FAST_SKIP) {
            continue;
        }
        if (kind != FAST_EVENTS || ops->run) {
            ret = ops->run(arg, job, &run);
        }
        if (kind == FAST_EVENTS && !ret) {
            ret = call_events(job, &run, access, ops->mem ? naccess : 0);
        }
        if (ret | job->piece.result || job->out.n > job->flush_at) {
            n++;
            break;
        }
    }
    w->run_at += n;
    d->loads += loads;
    d->stores += stores;
    return ret;
}

static int runs_only(struct ctr_job *job, int *pending)
{
    return fast_runs(job, FAST_RUN, pending);
}

static int runs_counted(struct ctr_job *job, int *pending)
{
    return fast_runs(job, FAST_COUNT, pending);
}

static int runs_with_addrs(struct ctr_job *job, int *pending)
{
    return fast_runs(job, FAST_ADDRS, pending);
}

static int runs_as_events(struct ctr_job *job, int *pending)
{
    return fast_runs(job, FAST_EVENTS, pending);
}

int replay_skip(struct ctr_job *job, int *pending)
{
    return fast_runs(job, FAST_SKIP, pending);
}

int replay_fast(struct ctr_job *job, int *pending)
{
    switch (job->rp->fast) {
    case FAST_RUN:
        return runs_only(job, pending);
    case FAST_COUNT:
        return runs_counted(job, pending);
    case FAST_ADDRS:
        return runs_with_addrs(job, pending);
    case FAST_EVENTS:
        return runs_as_events(job, pending);
    case FAST_FULL:
        return replay_full(job);
    default:
        return 0;
    }
}
