/* SPDX-License-Identifier: MIT */
/*
 * Runs that make all unconditional accesses of their block and nothing else, which are
 * nearly all of them.  Their list of accesses stands laid out (decoder.slot), and only
 * the addresses move on.
 */
#ifndef CTR_DECODE_FAST_H
#define CTR_DECODE_FAST_H

#include "decode.h"
#include "le.h"

/* The address of a derived access; root: all accesses of its block. */
static inline uint64_t derived_addr(const struct derived_access *v,
                                    const struct ctr_access *access, uint64_t mask)
{
    const struct slot_derive how = {
        .delta = v->delta, .bits = v->bits, .is_signed = v->is_signed};
    uint64_t root = v->root == CTR_DERIVE_CONST ? 0 : access[v->root].addr;
    return slot_derive_addr(&how, root) & mask;
}

/*
 * The step of the next access of the column, which was foretold to be *step.  The caller
 * has made sure that there is one more.  Returns -1 if the column of steps ends.
 */
static inline int decoder_step(struct decoder *d, uint64_t *step)
{
    uint32_t i = d->addr_at++;
    if (d->hit_bits[i >> 3] >> (i & 7) & 1) {
        return 0;
    }
    uint32_t m = d->miss_at++;
    if (m >= d->miss_n) {
        return -1;
    }
    if (!(d->same_bits[m >> 3] >> (m & 7) & 1)) {
        uint64_t z;
        if (get_varint(&d->steps, d->steps_end, &z)) {
            return -1;
        }
        d->last_miss = unzigzag64(z);
    }
    *step = d->last_miss;
    return 0;
}

/* The addresses of a block's run, where not all are as foretold. */
int decoder_missed_addrs(struct decoder *d, const struct dlocal *l);

#define DECODER_HITS 56u /* bits that are looked at at once */

/* The addresses of a run that makes all unconditional accesses of its block. */
static inline int decoder_plain_addrs(struct decoder *d, const struct dlocal *l)
{
    const unsigned n = l->nown;
    const uint32_t at = d->addr_at;
    const uint64_t mask = d->addr_mask;
    struct ctr_access *a = d->slot + l->access;
    if (n) {
        const uint64_t *step = d->step + l->access;
        uint64_t hits = le64(d->hit_bits + (at >> 3)) >> (at & 7);
        if (n > DECODER_HITS || ~hits & ((1ull << n) - 1) || n > d->addr_n - at) {
            int err = decoder_missed_addrs(d, l);
            if (err) {
                return err;
            }
        } else {
            d->addr_at = at + n;
            if (l->nderived == 0) {
                for (unsigned i = 0; i < n; i++) {
                    a[i].addr = (a[i].addr + step[i]) & mask;
                }
            } else {
                const uint16_t *own = l->block->own;
                for (unsigned i = 0; i < n; i++) {
                    unsigned k = own[i];
                    a[k].addr = (a[k].addr + step[k]) & mask;
                }
            }
        }
    }
    if (l->nderived) {
        const struct derived_access *v = l->block->derived;
        for (unsigned i = 0; i < l->nderived; i++) {
            a[v[i].at].addr = derived_addr(&v[i], a, mask);
        }
    }
    return 0;
}

/* Is the next run one that makes all of its block, without any marker? */
static inline int decoder_at_plain(const struct decoder *d)
{
    return ((d->tok[d->at] | d->tok[d->at + 1]) >> 31) == 0;
}

/* ------------------------------------------------------------------ all others */

/* What the markers behind a block's token say. */
struct ending {
    uint32_t groups; /* first token behind the id */
    uint32_t groups_end;
    uint32_t slots;  /* LEFT_AT: unconditional slots passed, else maximum */
    uint32_t limit;  /* LEFT: slots made by this run, else maximum */
    uint32_t resume; /* instruction + 1, or 0 */
};

/* decode_slots.c: the accesses and registers of a run, whatever its markers say.  With
 * DEC_VAL data are offsets in decoder.data still. */
int decoder_slots(struct decoder *d, const struct dlocal *l, struct run *r,
                  const struct ending *e);
/* Room for the lists of a run. */
int decoder_slot_room(struct decoder *d, size_t accesses, size_t regs);

#endif
