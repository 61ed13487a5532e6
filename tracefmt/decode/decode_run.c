/* SPDX-License-Identifier: MIT */
/*
 * Decoding the runs of a chunk whose columns decode.c has split: the slots that each
 * run made, with addresses and values, and its extra accesses and register changes.
 */
#include "decode/decode_fast.h"
#include "decode/decode_value.h"

#include <string.h>

/* Applies the current extra change and reads the next one. */
static int take_reg_extra(struct decoder *d, struct reg_write *w)
{
    const struct reg_extra *x = &d->reg_extra;
    w->insn = (uint16_t)(x->which ? x->which - 1 : 0);
    w->reg = x->reg;
    for (unsigned k = 0; k < 2; k++) {
        uint64_t *word = &d->regs[x->reg * 2u + k];
        *word += unzigzag64(x->step[k]);
        put64(w->value + 8 * k, *word);
    }
    return decoder_next_reg_extra(d);
}

/* The changes from outside before the next run. */
static int take_outs(struct decoder *d, struct run *r)
{
    uint32_t n = 0;
    while (d->have_reg_extra && d->reg_extra.run == d->run && d->reg_extra.which == 0) {
        if (decoder_room(d, &d->out, &d->out_cap, n + 1u, sizeof(d->out[0]))) {
            return -CTR_E_NOMEM;
        }
        int err = take_reg_extra(d, &d->out[n++]);
        if (err) {
            return err;
        }
    }
    r->outs = d->out;
    r->nout = n;
    return 0;
}

/* The places of what was changed, in order. */
static void settle(struct decoder *d, const struct reg_write *w,
                   const struct reg_write *end)
{
    for (; w < end; w++) {
        d->regs[w->reg * 2u] = le64(w->value);
        d->regs[w->reg * 2u + 1] = le64(w->value + 8);
    }
}

/* Inserts the extra changes of this run after the slots of their instructions. */
static int merge_regs(struct decoder *d, struct run *r)
{
    uint32_t in = 0, out = 0, first = UINT32_MAX;
    unsigned last = 0;
    while (d->have_reg_extra && d->reg_extra.run == d->run) {
        unsigned which = d->reg_extra.which;
        if (which < last || which == 0 || which > r->end || which < r->first) {
            return decoder_bad(d, "chunk.regs", "a change out of place");
        }
        last = which;
        if (decoder_room(d, &d->reg_merged, &d->reg_merged_cap,
                         (size_t)out + 1 + (r->nreg - in), sizeof(d->reg[0]))) {
            return -CTR_E_NOMEM;
        }
        while (in < r->nreg && r->regs[in].insn < which) {
            d->reg_merged[out++] = r->regs[in++];
        }
        first = first < out ? first : out;
        int err = take_reg_extra(d, &d->reg_merged[out++]);
        if (err) {
            return err;
        }
    }
    while (in < r->nreg) {
        d->reg_merged[out++] = r->regs[in++];
    }
    if (first < out) {
        settle(d, d->reg_merged + first, d->reg_merged + out);
    }
    r->regs = d->reg_merged;
    r->nreg = out;
    return 0;
}

/* Inserts the extra accesses of this run at their places. */
static int merge_extras(struct decoder *d, struct run *r)
{
    uint32_t in = 0, out = 0;
    while (d->have_extra && d->extra.run == d->run) {
        if (d->extra.rel < in || d->extra.rel > r->naccess || d->extra.a.insn >= r->end ||
            d->extra.a.insn + 1u < r->first) {
            return decoder_bad(d, "chunk.extras", "an access out of place");
        }
        if (decoder_room(d, &d->merged, &d->merged_cap,
                         (size_t)out + 1 + (r->naccess - in), sizeof(d->merged[0]))) {
            return -CTR_E_NOMEM;
        }
        while (in < d->extra.rel) {
            d->merged[out++] = r->access[in++];
        }
        struct ctr_access *a = &d->merged[out++];
        *a = d->extra.a;
        unsigned h =
            (r->block->pub.id * 31 + a->insn * 2u + a->store) & (EXTRA_PREDS - 1);
        uint64_t step = d->extra_pred[h].step + a->addr;
        a->addr = d->extra_pred[h].last + step;
        d->extra_pred[h].last = a->addr;
        d->extra_pred[h].step = step;
        d->stores += a->store;
        d->loads += !a->store;
        int has_value = d->want & DEC_VAL && !(a->flags & CTR_ACC_NOVALUE);
        int err = has_value ? extra_data(d, a) : 0;
        if (!err) {
            err = decoder_next_extra(d);
        }
        if (err) {
            return err;
        }
    }
    while (in < r->naccess) {
        d->merged[out++] = r->access[in++];
    }
    r->access = d->merged;
    r->naccess = out;
    return 0;
}

/* -------------------------------------------------------------------- runs */

static int read_ending(struct decoder *d, struct run *r, struct ending *e)
{
    const uint32_t *tok = d->tok;
    uint32_t i = d->at;
    e->groups = i;
    while (i < d->ntok && CTR_WORD_KIND(tok[i]) == CTR_WORD_GROUP) {
        i++;
    }
    e->groups_end = i;
    e->slots = e->limit = UINT32_MAX;
    r->end = r->block->pub.ninsn;
    if (i < d->ntok && CTR_WORD_KIND(tok[i]) == CTR_WORD_LEFT_AT) {
        r->end = (uint16_t)CTR_LEFT_AT_INSNS(tok[i]);
        e->slots = CTR_LEFT_AT_SLOTS(tok[i]);
        i++;
    } else if (i < d->ntok && CTR_WORD_KIND(tok[i]) == CTR_WORD_LEFT) {
        r->end = (uint16_t)CTR_LEFT_INSNS(tok[i]);
        r->flags = CTR_LEFT_FLAGS(tok[i]) & (CTR_EV_FAULTED | CTR_EV_UNSURE);
        e->limit = tok[i + 1];
        i += 2;
    }
    if (i < d->ntok && tok[i] >> 31 && CTR_WORD_KIND(tok[i]) != CTR_WORD_RESUME) {
        return decoder_bad(d, "chunk.words", "a marker out of place");
    }
    if (r->end > r->block->pub.ninsn || r->end < r->first || r->end == 0) {
        return decoder_bad(d, "chunk.words", "number of instructions");
    }
    d->at = i;
    return 0;
}

/*
 * Counts the accesses of a run that was not left early, if no list of them is needed.
 * Returns 1, 0 if it needs a list, or an error.
 */
static int count_run(struct decoder *d, const struct dlocal *l, struct run *r,
                     const struct ending *e, int plain)
{
    const struct block *b = l->block;
    uint64_t end = r->ordinal + r->end;
    if ((!plain && (e->resume || e->slots != UINT32_MAX || e->limit != UINT32_MAX)) ||
        (d->have_extra && d->extra.run == d->run) ||
        (r->ordinal < d->count_lo && end > d->count_lo) || end > d->count_hi) {
        return 0;
    }
    const uint16_t *group_loads = block_group_loads(b);
    const uint16_t *group_stores = block_group_stores(b);
    uint64_t loads = group_loads[0], stores = group_stores[0];
    for (uint32_t i = e->groups; !plain && i < e->groups_end; i++) {
        uint32_t group = CTR_GROUP_OF(d->tok[i]);
        if (group == 0 || group > b->pub.ngroup) {
            return decoder_bad(d, "chunk.words", "no such group");
        }
        loads += group_loads[group];
        stores += group_stores[group];
    }
    d->loads += loads;
    d->stores += stores;
    if (d->loads > d->pub.loads || d->stores > d->pub.stores) {
        return decoder_bad(d, "chunk.words", "counts are wrong");
    }
    r->loads = (uint32_t)loads;
    r->stores = (uint32_t)stores;
    return 1;
}

/* At the end everything must have been used, and the sums must match the header. */
static int check_end(struct decoder *d)
{
    const struct ctr_chunk *c = &d->pub;
    int err = d->want & DEC_MEM ? decoder_steps(d, d->addr_n) : 0;
    if (err) {
        return err;
    }
    if (d->ordinal - c->first != c->insns || d->run != c->runs) {
        return decoder_bad(d, "chunk.words", "counts are wrong");
    }
    if (d->want & DEC_MEM &&
        (d->addr_at != d->addr_n || d->miss_at != d->miss_n || d->steps != d->steps_end ||
         d->have_extra || d->loads != c->loads || d->stores != c->stores)) {
        return decoder_bad(d, "chunk.addrs", "counts are wrong");
    }
    if (d->want & DEC_COUNT &&
        (d->have_extra || d->loads != c->loads || d->stores != c->stores)) {
        return decoder_bad(d, "chunk.words", "counts are wrong");
    }
    if (d->want & DEC_VAL &&
        (d->vals.at != d->vals.n || d->vals.miss != d->vals.miss_end)) {
        return decoder_bad(d, "chunk.values", "data left over");
    }
    if (d->want & DEC_REG &&
        (d->reg_at != d->reg_n || d->have_reg_extra || d->regvals.at != d->regvals.n ||
         d->regvals.miss != d->regvals.miss_end)) {
        return decoder_bad(d, "chunk.regs", "counts are wrong");
    }
    return d->want & DEC_PHYS ? decoder_pages(d, phys_end(&d->phys, d->run)) : 0;
}

/*
 * A run that makes all unconditional slots of its block. Its list of accesses is the
 * block's; there are no lists of anything else that is not wanted.
 */
static int plain_slots(struct decoder *d, const struct dlocal *l, struct run *r)
{
    int err = decoder_plain(d, l);
    if (d->want & DEC_MEM) {
        d->loads += l->loads;
        d->stores += l->stores;
        r->access = &d->slot[l->access];
        r->naccess = l->nplain;
    }
    if (d->want & DEC_REG) {
        r->regs = d->reg;
        r->nreg = l->nreg;
    }
    return err;
}

/* Any other run; the addresses of all data are set at the end. */
static int other_slots(struct decoder *d, const struct dlocal *l, struct run *r,
                       const struct ending *e)
{
    int err = decoder_slots(d, l, r, e);
    if (err) {
        return err;
    }
    if (d->have_extra && d->extra.run == d->run) {
        err = merge_extras(d, r);
    }
    if (!err && d->want & DEC_VAL) {
        struct ctr_access *a = r->access == d->merged ? d->merged : d->access;
        for (uint32_t i = 0; i < r->naccess; i++) {
            if (!(a[i].flags & CTR_ACC_NOVALUE)) {
                a[i].data = d->data.p + (uintptr_t)a[i].data;
            }
        }
    }
    return err;
}

static int run_slots(struct decoder *d, const struct dlocal *l, struct run *r,
                     struct ending *e, int plain)
{
    int err;
    d->data.n = 0;
    if (plain && !(d->have_extra && d->extra.run == d->run) && !(d->want & DEC_COUNT)) {
        err = plain_slots(d, l, r);
    } else {
        if (plain) {
            /* Without GROUP words only the unconditional slots are made. */
            e->groups = e->groups_end = d->at;
            e->slots = e->limit = UINT32_MAX;
        }
        err = other_slots(d, l, r, e);
    }
    if (!err && d->have_reg_extra && d->reg_extra.run == d->run) {
        err = merge_regs(d, r);
    }
    return err;
}

int decoder_next(struct decoder *d, struct run *r)
{
    *r = (struct run){.ordinal = d->ordinal};
    if (d->want & DEC_REG) {
        int err = take_outs(d, r);
        if (err) {
            return err;
        }
    }
    if (d->at >= d->ntok) {
        return check_end(d);
    }
    int plain = decoder_at_plain(d);
    uint32_t tok = d->tok[d->at++];
    struct ending e = {.resume = 0};
    if (tok >> 31) {
        /* decode_words.c only allows RESUME here, with a block after it */
        e.resume = CTR_RESUME_INSN(tok) + 1;
        tok = d->tok[d->at++];
    }
    const struct dlocal *l = &d->loc[tok];
    r->block = l->block;
    r->first = (uint16_t)e.resume;
    if (plain) {
        r->end = l->ninsn;
    } else {
        if (e.resume > l->ninsn || (e.resume && d->ordinal == 0)) {
            return decoder_bad(d, "chunk.words", "a run resumed out of place");
        }
        int err = read_ending(d, r, &e);
        if (err) {
            return err;
        }
    }
    int done = d->want == 0;
    if (d->want == DEC_COUNT) {
        done = count_run(d, l, r, &e, plain);
    }
    if (done == 0) {
        done = run_slots(d, l, r, &e, plain);
    }
    if (done < 0) {
        return done;
    }
    if (d->want & DEC_PHYS) {
        int err = decoder_pages(d, phys_run(&d->phys, d->run, r->access, r->naccess));
        if (err) {
            return err;
        }
        r->phys = d->phys.out;
    }
    d->run++;
    d->ordinal += (uint64_t)(r->end - r->first);
    return 1;
}
