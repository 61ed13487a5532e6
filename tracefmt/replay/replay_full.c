/* SPDX-License-Identifier: MIT */
/*
 * As replay_fast.c, for callbacks that get values or register changes: the usual runs of a
 * piece one after the other, as long as there is nothing between them.
 */
#include "decode/decode_fast.h"
#include "replay/replay.h"

/*
 * The writes i..end-1 of an instruction.  One that changes one register is the usual case;
 * that register is in *one then.  Returns how many registers it changed; they are in
 * regs->changed, unless it is *one.
 */
static inline uint32_t make_writes(struct regstate *regs, const struct reg_write *w,
                                   const struct reg_write *end, uint16_t *one)
{
    const struct reg_write *only = NULL;
    for (const struct reg_write *k = w; k < end; k++) {
        const uint8_t way = regs->way[k->reg].way;
        if (way == WAY_NONE) {
            continue;
        }
        if (only || way != WAY_NUMBER) {
            for (; w < end; w++) {
                regstate_write(regs, w->reg, w->value);
            }
            regstate_settle(regs);
            *one = NO_REG;
            return regs->nchanged;
        }
        only = k;
    }
    if (!only) {
        return 0;
    }
    *one = regs->way[only->reg].shown;
    return (uint32_t)regstate_write_number(regs, &regs->way[only->reg], only->value);
}

int replay_reg_changes(struct ctr_job *job, const struct run *r, uint32_t *next)
{
    const struct ctr_replay_ops *ops = job->rp->ops;
    void *arg = job->rp->arg;
    struct regstate *regs = &job->walk->regs;
    struct ctr_reg_change c = {.block = &r->block->pub, .thread = job->thread};
    uint32_t i = *next;
    int ret = 0;
    regstate_settle(regs); /* changes of what was passed over */
    while (!ret && i < r->nreg && r->regs[i].insn < r->end) {
        const unsigned insn = r->regs[i].insn;
        c.ordinal = r->ordinal + insn - r->first;
        if (c.ordinal >= job->piece.hi) {
            break;
        }
        uint16_t one;
        uint32_t end = i + 1, n;
        while (end < r->nreg && r->regs[end].insn == insn) {
            end++;
        }
        n = make_writes(regs, &r->regs[i], &r->regs[end], &one);
        i = end;
        if (!n || c.ordinal < job->piece.lo) {
            continue;
        }
        c.insn = (uint16_t)insn;
        c.pc = ctr_block_pc(c.block, insn);
        for (uint32_t k = 0; !ret && k < n; k++) {
            c.reg = one != NO_REG ? one : regs->changed[k];
            c.size = regs->view->reg[c.reg].pub.size;
            c.value = regstate_value(regs, c.reg);
            ret = ops->reg(arg, job, &c);
        }
    }
    *next = i;
    return ret;
}

/* Decodes the next run, which is a usual one, of a block. */
static inline int decode(struct decoder *d, const struct dlocal *l)
{
    const int ret = decoder_plain(d, l);
    d->at++;
    d->run++;
    d->ordinal += l->ninsn;
    d->loads += l->loads;
    d->stores += l->stores;
    return ret;
}

int replay_full(struct ctr_job *job)
{
    const struct replay *rp = job->rp;
    struct walk *w = job->walk;
    struct decoder *d = &w->dec;
    const uint64_t most = walk_runs_alone(w);
    struct ctr_run run = {.thread = job->thread};
    struct run made = {.block = NULL}; /* as the walk has it */
    uint64_t n = 0;
    int ret = 0;
    while (!ret && n < most && d->at < d->ntok && decoder_at_plain(d)) {
        const struct dlocal *l = &d->loc[d->tok[d->at]];
        uint32_t next = 0;
        if (d->ordinal + l->ninsn > job->piece.hi) {
            break;
        }
        run.ordinal = made.ordinal = d->ordinal;
        run.block = &l->block->pub;
        made.block = l->block;
        run.end = made.end = l->ninsn;
        ret = decode(d, l);
        if (ret) {
            break;
        }
        n++;
        if (rp->lists) {
            run.access = &d->slot[l->access];
            run.naccess = l->nplain;
        }
        if (rp->counts) {
            run.loads = l->loads;
            run.stores = l->stores;
        }
        if (rp->ops->run) {
            ret = rp->ops->run(rp->arg, job, &run);
        }
        if (!ret && w->view && l->nreg) {
            made.regs = d->reg;
            made.nreg = l->nreg;
            ret = replay_reg_changes(job, &made, &next);
        }
        if (job->piece.result || job->out.n > job->flush_at) {
            break;
        }
    }
    w->run_at += n;
    if (n) {
        made.nreg = 0; /* they are made */
        w->run = made;
        w->reg_next = 0;
        w->outs_done = 1;
    }
    return ret;
}
