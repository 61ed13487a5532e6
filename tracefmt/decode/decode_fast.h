/* SPDX-License-Identifier: MIT */
/*
 * Runs that make all unconditional accesses of their block and nothing else, as nearly
 * all do. Their list of accesses is prepared (decoder.slot), and only the addresses
 * change.
 */
#ifndef CTR_DECODE_FAST_H
#define CTR_DECODE_FAST_H

#include "decode/decode.h"
#include "base/le.h"

/* The address of a derived access; root: all accesses of its block. */
static inline uint64_t derived_addr(const struct derived_access *v,
                                    const struct ctr_access *access, uint64_t mask)
{
    const struct slot_derive how = {
        .delta = v->delta, .bits = v->bits, .is_signed = v->is_signed};
    uint64_t root = v->root == CTR_DERIVE_CONST ? 0 : access[v->root].addr;
    return slot_derive_addr(&how, root) & mask;
}

#define DECODER_HITS 56u /* number of bits tested at once */

/*
 * Which of the next n accesses, DECODER_HITS at most, were mispredicted: lowest bit
 * first.
 */
static inline uint64_t decoder_miss_bits(const struct decoder *d, uint32_t at, unsigned n)
{
    return ~(le64(d->hit_bits + (at >> 3)) >> (at & 7)) & ((1ull << n) - 1);
}

/* decode_steps.c: has the steps of all mispredicted accesses before number `to' of the column
 * read, and of some after it. */
int decoder_read_steps(struct decoder *d, uint32_t to);

/*
 * Before decoder_step of accesses from `to' - DECODER_HITS on, if any of them was
 * mispredicted.  `to' must never decrease by more than that.
 */
static inline int decoder_steps(struct decoder *d, uint32_t to)
{
    return to > d->missed_to ? decoder_read_steps(d, to) : 0;
}

/* The step of access number `at' of the column, which was mispredicted. */
static inline uint64_t decoder_step(const struct decoder *d, uint32_t at)
{
    return d->missed[at % DECODER_MISSED];
}

/*
 * Sets the steps of the mispredicted ones among the n accesses from number `at' of the
 * column on, which belong to a run of block l.
 */
int decoder_misses(struct decoder *d, const struct dlocal *l, uint32_t at, unsigned n);

/* The addresses of a run that makes all unconditional accesses of its block. */
static inline int decoder_plain_addrs(struct decoder *d, const struct dlocal *l)
{
    const unsigned n = l->nown;
    const uint64_t mask = d->addr_mask;
    struct ctr_access *a = d->slot + l->access;
    if (n) {
        const uint64_t *step = d->step + l->access;
        const uint32_t at = d->addr_at;
        if (n > d->addr_n - at) {
            return decoder_bad(d, "chunk.words", "slots missing");
        }
        d->addr_at = at + n;
        if (n > DECODER_HITS || decoder_miss_bits(d, at, n)) {
            int err = decoder_misses(d, l, at, n);
            if (err) {
                return err;
            }
        }
        if (l->nderived == 0) {
            for (unsigned i = 0; i < n; i++) {
                a[i].addr = (a[i].addr + step[i]) & mask;
            }
        } else {
            const uint16_t *own = block_own(l->block);
            for (unsigned i = 0; i < n; i++) {
                unsigned k = own[i];
                a[k].addr = (a[k].addr + step[k]) & mask;
            }
        }
    }
    if (l->nderived) {
        const struct derived_access *v = block_derived(l->block);
        for (unsigned i = 0; i < l->nderived; i++) {
            a[v[i].at].addr = derived_addr(&v[i], a, mask);
        }
    }
    return 0;
}

/*
 * decode_plain.c: the values of the accesses of such a run, and what it writes into
 * registers, l->nreg in d->reg.
 */
int decoder_plain_data(struct decoder *d, const struct dlocal *l);
int decoder_plain_regs(struct decoder *d, const struct dlocal *l);

/* All that is wanted of such a run. */
static inline int decoder_plain(struct decoder *d, const struct dlocal *l)
{
    int err = d->want & DEC_MEM ? decoder_plain_addrs(d, l) : 0;
    if (!err && d->want & DEC_VAL) {
        err = decoder_plain_data(d, l);
    }
    if (!err && d->want & DEC_REG) {
        err = decoder_plain_regs(d, l);
    }
    return err;
}

/* Whether the next run is one that makes all of its block, without any marker. */
static inline int decoder_at_plain(const struct decoder *d)
{
    return ((d->tok[d->at] | d->tok[d->at + 1]) >> 31) == 0;
}

/* ------------------------------------------------------------------ all others */

/* The contents of the markers after a block's token. */
struct ending {
    uint32_t groups; /* first token after the id */
    uint32_t groups_end;
    uint32_t slots;  /* LEFT_AT: unconditional slots passed, else maximum */
    uint32_t limit;  /* LEFT: slots that this run made, else maximum */
    uint32_t resume; /* instruction + 1, or 0 */
};

/*
 * decode_slots.c: the accesses and registers of a run with any markers. With DEC_VAL,
 * data are still offsets in decoder.data.
 */
int decoder_slots(struct decoder *d, const struct dlocal *l, struct run *r,
                  const struct ending *e);
/* Room for the lists of a run. */
int decoder_slot_room(struct decoder *d, size_t accesses, size_t regs);

#endif
