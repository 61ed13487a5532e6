/* SPDX-License-Identifier: MIT */
/*
 * The work on one piece of a chunk: decodes it and calls back for all that it contains.
 */
#include "replay/replay.h"

/* What happened between the previous run and this one. */
static int do_between(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    const struct job_piece *p = &job->piece;
    struct walk *w = job->walk;
    int ret;
    while ((ret = walk_event(w)) == 1) {
        struct ctr_os_event *e = &w->events.ev;
        if (job->lanes.now && lanes_stop(&job->lanes)) {
            job->stops = 1;
            return 0;
        }
        if (e->ordinal >= p->place_hi) {
            break;
        }
        if (e->ordinal >= p->place_lo && walk_event_selected(w)) {
            e->thread = job->thread;
            ret = rp->ops->os(rp->arg, job, e);
            if (ret) {
                return ret;
            }
        }
        ret = evdec_next(&w->events);
        if (ret) {
            return ret;
        }
    }
    uint64_t place = walk_outs_key(w);
    if (ret < 0 || !w->view || w->outs_done || place >= p->place_hi) {
        return ret < 0 ? ret : 0;
    }
    walk_outs(w);
    if (!w->regs.nchanged) {
        return 0;
    }
    if (place < p->place_lo || !walk_out_selected(w)) {
        return 0;
    }
    for (uint32_t k = 0; k < w->regs.nchanged; k++) {
        struct ctr_reg_change c;
        walk_out_event(w, k, &c);
        ret = rp->ops->reg(rp->arg, job, &c);
        if (ret) {
            return ret;
        }
    }
    return 0;
}

/*
 * The instructions of the run. Compiled twice, as following registers makes it slower
 * where no callback needs them.
 */
EXPAND_INLINE int do_insns(struct ctr_job *job, struct regstate *regs)
{
    struct replay *rp = job->rp;
    const struct ctr_replay_ops *ops = rp->ops;
    const struct run *r = &job->walk->run;
    struct expand x;
    int ret = 0;
    expand_init(&x, &job->walk->sel, r, regs, &job->walk->reg_next, job->piece.lo,
                job->piece.hi);
    while (!ret && expand_step(&x, regs != NULL)) {
        if (x.exec && ops->exec) {
            struct ctr_exec e;
            expand_exec(&x, job->thread, &e);
            ret = ops->exec(rp->arg, job, &e);
        }
        for (uint32_t a = x.a; !ret && ops->mem && a < x.a_end; a++) {
            if (select_access(&job->walk->sel, r, a)) {
                struct ctr_mem m;
                expand_mem(&x, job->thread, a, &m);
                ret = ops->mem(rp->arg, job, &m);
            }
        }
        for (uint32_t k = 0; regs && !ret && k < regs->nchanged; k++) {
            struct ctr_reg_change c;
            expand_reg(&x, job->thread, k, &c);
            ret = ops->reg(rp->arg, job, &c);
        }
    }
    return ret;
}

static int do_insns_plain(struct ctr_job *job)
{
    return do_insns(job, NULL);
}

static int do_insns_regs(struct ctr_job *job)
{
    struct walk *w = job->walk;
    const struct ctr_replay_ops *ops = job->rp->ops;
    if (!ops->exec && !ops->mem && !w->sel.has_pcs && !w->sel.has_addrs) {
        return replay_reg_changes(job, &w->run, &w->reg_next);
    }
    regstate_settle(&w->regs); /* changes of skipped runs */
    return do_insns(job, &w->regs);
}

/* The accesses of the run that belong to this piece. */
static void piece_accesses(const struct ctr_job *job, struct ctr_run *run)
{
    const struct job_piece *p = &job->piece;
    const struct run *r = &job->walk->run;
    const struct ctr_access *a = r->access;
    uint32_t from = 0, to = r->naccess;
#define ORDINAL(i) (r->ordinal + a[i].insn - r->first)
    while (from < to && ORDINAL(from) < p->lo) {
        from++;
    }
    while (from < to && ORDINAL(to - 1) >= p->hi) {
        to--;
    }
#undef ORDINAL
    run->loads = r->loads;
    run->stores = r->stores;
    for (uint32_t i = from; i < to; i++) {
        run->stores += a[i].store;
        run->loads += !a[i].store;
    }
    if (job->rp->lists) {
        run->access = a + from;
        run->phys = r->phys ? r->phys + from : NULL;
        run->naccess = to - from;
    }
}

static int do_run(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    const struct ctr_replay_ops *ops = rp->ops;
    const struct job_piece *p = &job->piece;
    struct walk *w = job->walk;
    const struct run *r = &w->run;
    uint64_t n = (uint64_t)(r->end - r->first);
    if (!walk_selects(w)) {
        return 0;
    }
    /*
     * Whether this piece delivers the run. A run that only has the rest of an
     * instruction belongs to the piece with that instruction.
     */
    int here = r->ordinal < p->hi && r->ordinal + n > p->lo;
    int rest = rp->counts && r->first && r->naccess && r->access[0].insn < r->first &&
               r->ordinal > p->lo && r->ordinal <= p->hi;
    if (ops->run && (here || rest) && select_block(&w->sel, &r->block->pub)) {
        unsigned skip = r->ordinal < p->lo ? (unsigned)(p->lo - r->ordinal) : 0;
        unsigned cut = r->ordinal + n > p->hi ? (unsigned)(r->ordinal + n - p->hi) : 0;
        struct ctr_run run = {
            .ordinal = r->ordinal + skip,
            .block = &r->block->pub,
            .first = (uint16_t)(r->first + skip),
            .end = (uint16_t)(r->end - cut),
            .flags = cut ? 0 : r->flags,
            .thread = job->thread,
        };
        if (rp->counts) {
            piece_accesses(job, &run);
        }
        int ret = ops->run(rp->arg, job, &run);
        if (ret) {
            return ret;
        }
    }
    if (!select_run(&w->sel, r)) {
        return 0;
    }
    if (w->view) {
        return do_insns_regs(job);
    }
    return ops->exec || ops->mem ? do_insns_plain(job) : 0;
}

/* The runs from the walk's place to the end of the piece, or of the lane's slice. */
static int do_runs(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    struct job_piece *p = &job->piece;
    struct walk *w = job->walk;
    int ret = 0;
    job->stops = 0;
    int pending = 0;
    for (; !ret; ret = ret || pending ? ret : walk_next(w)) {
        pending = 0;
        ret = walk_between(w) ? do_between(job) : 0;
        if (ret || p->result) {
            return ret ? ret : p->result; /* or out of memory in a callback */
        }
        if (job->stops || !w->more) {
            return 0;
        }
        if (walk_end(w) < p->lo) {
            ret = rp->fast != FAST_NOT && rp->fast != FAST_FULL
                      ? replay_skip(job, &pending)
                      : 0;
            continue;
        }
        ret = do_run(job);
        if (ret || p->result) {
            return ret ? ret : p->result;
        }
        if (job->out.n > job->flush_at) {
            if (replay_flush(job)) {
                job->stopped = 1;
                return 0;
            }
            job->flush_at = job->out.n + PIECE_FLUSH;
        }
        if (walk_end(w) > p->hi) {
            job->walk_on = 1;
            return 0;
        }
        if (rp->fast != FAST_NOT) {
            ret = replay_fast(job, &pending);
            if (ret || p->result) {
                return ret ? ret : p->result;
            }
        }
    }
    return ret;
}

/*
 * The walk of a piece. If the previous piece of this worker was of the same chunk,
 * decoding continues there: the run at which that piece ended comes again, as both may
 * have a share in it. (A run that ends exactly where the piece ends is not the last
 * one: a resumed run after it can have accesses of the same instruction.)
 */
static int begin_walk(struct ctr_job *job)
{
    struct job_piece *p = &job->piece;
    const int goes_on = job->walk_on && job->own.pub.index == job->pub.index;
    job->walk_on = 0;
    job->own.dec.count_lo = p->lo;
    job->own.dec.count_hi = p->hi;
    if (goes_on) {
        walk_diag(&job->own, &p->diag);
        return 0;
    }
    return walk_begin(&job->own, &job->rp->feed, &p->chunk->raw, &p->diag);
}

int replay_slice(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    const struct ctr_replay_ops *ops = rp->ops;
    int ret = 0;
    if (ops->begin) {
        ret = ops->begin(rp->arg, job);
    }
    if (!ret && rp->decodes && !job->lanes.now) {
        ret = begin_walk(job);
    }
    if (!ret && rp->decodes) {
        ret = do_runs(job);
    }
    if (!ret && job->stopped) {
        return 0;
    }
    if (!ret && ops->end) {
        ret = ops->end(rp->arg, job);
    }
    return ret;
}

int replay_piece(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    const struct raw_chunk *raw = &job->piece.chunk->raw;
    job->walk = &job->own;
    job->lanes.now = NULL;
    job->pub = raw->pub;
    job->thread = ctr_trace_thread(rp->tr, job->pub.thread);
    return replay_slice(job);
}
