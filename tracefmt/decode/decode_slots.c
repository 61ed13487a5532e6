/* SPDX-License-Identifier: MIT */
/*
 * The slots of runs that make something other than all unconditional ones of their
 * block.
 */
#include "decode/decode_fast.h"
#include "decode/decode_value.h"

#include <string.h>

/* The next access of the column of addresses. */
static inline int step_access(struct decoder *d, struct ctr_access *a, uint64_t *step)
{
    if (d->addr_at == d->addr_n) {
        return decoder_bad(d, "chunk.words", "a slot out of place");
    }
    const uint32_t at = d->addr_at++;
    if (decoder_miss_bits(d, at, 1)) {
        int err = decoder_steps(d, at + 1);
        if (err) {
            return err;
        }
        *step = decoder_step(d, at);
    }
    a->addr = (a->addr + *step) & d->addr_mask;
    return 0;
}

/* Number of a derived access among the derived ones of its block. */
static const struct derived_access *find_derived(const struct block *b, unsigned at)
{
    const struct derived_access *derived = block_derived(b);
    unsigned lo = 0, hi = b->nderived;
    while (hi - lo > 1) {
        unsigned mid = lo + (hi - lo) / 2;
        *(derived[mid].at <= at ? &lo : &hi) = mid;
    }
    return &derived[lo];
}

/* The address of slot k; begun: the first slot of this run. */
static int next_addr(struct decoder *d, const struct dlocal *l, unsigned k,
                     unsigned begun)
{
    const struct block *b = l->block;
    unsigned at = block_at(b)[k];
    struct ctr_access *access = &d->slot[l->access], *a = &access[at];
    if (b->pub.slots[k].derived) {
        const struct derived_access *v = find_derived(b, at);
        if (v->root_slot < begun) {
            return decoder_bad(d, "chunk.words",
                               "an access without what it follows from");
        }
        a->addr = derived_addr(v, access, d->addr_mask);
        return 0;
    }
    return step_access(d, a, &d->step[l->access + at]);
}

/* Decodes slot k of a block; the caller has made room. begun as in next_addr. */
static inline int next_slot(struct decoder *d, const struct dlocal *l, unsigned k,
                            unsigned begun, struct run *r)
{
    const struct block *b = l->block;
    const struct ctr_slot *s = &b->pub.slots[k];
    if (s->reg) {
        if (!(d->want & DEC_REG)) {
            return 0;
        }
        if (d->reg_at == d->reg_n) {
            return decoder_bad(d, "chunk.words", "a slot out of place");
        }
        d->reg_at++;
        return next_reg(d, &d->regvals, slot_pieces(d, (size_t)l->slot + k), s,
                        &d->reg[r->nreg++]);
    }
    if (!(d->want & (DEC_MEM | DEC_COUNT))) {
        return 0;
    }
    struct ctr_access *a = &d->access[r->naccess++];
    d->stores += s->store;
    d->loads += !s->store;
    if (!(d->want & DEC_MEM)) {
        *a = slot_access(s);
        return d->loads > d->pub.loads || d->stores > d->pub.stores
                   ? decoder_bad(d, "chunk.words", "counts are wrong")
                   : 0;
    }
    int err = next_addr(d, l, k, begun);
    if (err) {
        return err;
    }
    *a = d->slot[l->access + block_at(b)[k]];
    a->data = NULL;
    return d->want & DEC_VAL && !s->novalue
               ? next_data(d, &d->vals, slot_pieces(d, (size_t)l->slot + k), s, a)
               : 0;
}

int decoder_slot_room(struct decoder *d, size_t accesses, size_t regs)
{
    int err = decoder_room(d, &d->access, &d->access_cap, accesses, sizeof(d->access[0]));
    return err ? err : decoder_room(d, &d->reg, &d->reg_cap, regs, sizeof(d->reg[0]));
}

/* Slots of a run with markers; mirrors the encoder's run_slots. */
static int slow_slots(struct decoder *d, const struct dlocal *l, struct run *r,
                      const struct ending *e)
{
    const struct block *b = l->block;
    const struct ctr_slot *slot = b->pub.slots;
    const uint32_t nslot = b->pub.nslot;
    uint32_t next = 0, begun = 0, uncond = 0, made = 0;

#define MAKE(k)                                                                          \
    do {                                                                                 \
        if (made == e->limit) {                                                          \
            goto out;                                                                    \
        }                                                                                \
        if (slot[k].insn >= r->end || slot[k].insn + 1u < e->resume) {                   \
            return decoder_bad(d, "chunk.words", "a slot out of place");                 \
        }                                                                                \
        int err = decoder_slot_room(d, (size_t)r->naccess + 1, (size_t)r->nreg + 1);     \
        err = err ? err : next_slot(d, l, (k), begun, r);                                \
        if (err) {                                                                       \
            return err;                                                                  \
        }                                                                                \
        made++;                                                                          \
    } while (0)

    if (e->resume) {
        next = slots_resume_at(slot, nslot, e->resume - 1);
        begun = next;
        for (uint32_t k = 0; k < next; k++) {
            uncond += slot_group(&slot[k]) == 0;
        }
    }
    for (uint32_t i = e->groups; i < e->groups_end; i++) {
        uint32_t group = CTR_GROUP_OF(d->tok[i]);
        if (group == 0 || group > b->pub.ngroup) {
            return decoder_bad(d, "chunk.words", "no such group");
        }
        uint32_t g = block_group_first(b)[group];
        for (; g < nslot && next < g; next++) {
            if (slot_group(&slot[next]) == 0) {
                MAKE(next);
                uncond++;
            }
        }
        for (uint32_t k = g, end = block_group_end(b)[group]; k < end; k++) {
            if (slot_group(&slot[k]) == group) {
                MAKE(k);
            }
        }
    }
    for (; next < nslot && uncond < e->slots; next++) {
        if (slot_group(&slot[next]) == 0) {
            MAKE(next);
            uncond++;
        }
    }
    if ((e->limit != UINT32_MAX && made != e->limit) ||
        (e->slots != UINT32_MAX && uncond != e->slots)) {
        return decoder_bad(d, "chunk.words", "number of slots");
    }
out:
#undef MAKE
    return 0;
}

/*
 * Unconditional accesses up to number `to', from the next one on. At the start none was
 * made, so roots come before what is derived from them.
 */
struct plain_at {
    unsigned next, own, derived;
};

static int plain_up_to(struct decoder *d, const struct dlocal *l, struct plain_at *at,
                       unsigned to, unsigned end)
{
    const struct block *b = l->block;
    const uint16_t *own = block_own(b);
    const struct derived_access *derived = block_derived(b);
    struct ctr_access *a = &d->slot[l->access];
    uint64_t *step = &d->step[l->access];
    if (to <= at->next) {
        return 0;
    }
    if (a[to - 1].insn >= end) {
        return decoder_bad(d, "chunk.words", "a slot out of place");
    }
    for (; at->own < b->nown && own[at->own] < to; at->own++) {
        int err = step_access(d, &a[own[at->own]], &step[own[at->own]]);
        if (err) {
            return err;
        }
    }
    for (; at->derived < b->nderived && derived[at->derived].at < to; at->derived++) {
        const struct derived_access *v = &derived[at->derived];
        a[v->at].addr = derived_addr(v, a, d->addr_mask);
    }
    at->next = to;
    return 0;
}

/* Copies accesses of a block to the run's list. */
static int take_accesses(struct decoder *d, struct run *r, const struct ctr_access *a,
                         unsigned n)
{
    int err = decoder_slot_room(d, (size_t)r->naccess + n, 0);
    if (!err && n) {
        memcpy(&d->access[r->naccess], a, n * sizeof(a[0]));
        r->naccess += n;
    }
    return err;
}

/*
 * The same for a run from the block's beginning that was not interrupted, if only
 * accesses are wanted: the case of most runs with markers.
 */
static int mem_slots(struct decoder *d, const struct dlocal *l, struct run *r,
                     const struct ending *e)
{
    const struct block *b = l->block;
    const uint16_t *number = block_at(b);
    struct ctr_access *a = &d->slot[l->access];
    struct plain_at at = {0};
    for (uint32_t i = e->groups; i < e->groups_end; i++) {
        uint32_t group = CTR_GROUP_OF(d->tok[i]);
        if (group == 0 || group > b->pub.ngroup) {
            return decoder_bad(d, "chunk.words", "no such group");
        }
        unsigned k = block_group_first(b)[group], from = at.next;
        const unsigned group_end = block_group_end(b)[group];
        int err = 0;
        if (k < b->pub.nslot) {
            err = plain_up_to(d, l, &at, k + b->nplain - number[k], r->end);
            err = err ? err : take_accesses(d, r, a + from, at.next - from);
        }
        for (; !err && k < group_end; k++) {
            if (b->pub.slots[k].group == group) {
                unsigned m = number[k];
                if (a[m].insn >= r->end) {
                    return decoder_bad(d, "chunk.words", "a slot out of place");
                }
                err = step_access(d, &a[m], &d->step[l->access + m]);
                err = err ? err : take_accesses(d, r, &a[m], 1);
            }
        }
        if (err) {
            return err;
        }
    }
    unsigned from = at.next, to = b->nplain;
    if (e->slots != UINT32_MAX) {
        if (e->slots < from || e->slots > to) {
            return decoder_bad(d, "chunk.words", "number of slots");
        }
        to = e->slots;
    }
    int err = plain_up_to(d, l, &at, to, r->end);
    if (!err && r->naccess == 0) {
        r->access = a;
        r->naccess = to;
    } else if (!err) {
        err = take_accesses(d, r, a + from, to - from);
        r->access = d->access;
    }
    for (uint32_t i = 0; !err && i < r->naccess; i++) {
        d->stores += r->access[i].store;
        d->loads += !r->access[i].store;
    }
    return err;
}

int decoder_slots(struct decoder *d, const struct dlocal *l, struct run *r,
                  const struct ending *e)
{
    if (d->want == DEC_MEM && !e->resume && e->limit == UINT32_MAX &&
        l->block->nreg == 0) {
        return mem_slots(d, l, r, e);
    }
    int err = slow_slots(d, l, r, e);
    r->access = d->access;
    r->regs = d->reg;
    return err;
}
