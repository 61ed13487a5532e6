/* SPDX-License-Identifier: MIT */
/*
 * The steps of addresses that were not predicted.  They are read some time before they are
 * needed, many at once: their sizes, and where they are missing, say nothing of each other, so
 * the processor would predict neither well among all else that is decoded.
 */
#include "decode/decode_fast.h"

#define WORD 64u /* accesses whose bits are read at once */

/* The bits of mispredicted ones among the accesses from number `at' of the column on. */
static uint64_t word_misses(const struct decoder *d, uint32_t at)
{
    const uint64_t miss = ~le64(d->hit_bits + at / 8);
    return d->addr_n - at < WORD ? miss & ((UINT64_C(1) << (d->addr_n - at)) - 1) : miss;
}

/* The steps of WORD accesses. */
static int read_word(struct decoder *d, uint32_t at, uint64_t miss)
{
    const uint8_t *p = d->steps, *const end = d->steps_end, *const same = d->same_bits;
    uint64_t *const to = &d->missed[at % DECODER_MISSED];
    uint64_t last = d->last_miss;
    uint32_t m = d->miss_at;
    for (; miss; miss &= miss - 1, m++) {
        if (m >= d->miss_n) {
            return -1;
        }
        /* The step before once more, or a new one: without a branch. */
        const uint64_t kept = 0 - (uint64_t)(same[m >> 3] >> (m & 7) & 1);
        const uint8_t *next = p;
        uint64_t z = 0;
        if (get_varint(&next, end, &z) && !kept) {
            return -1;
        }
        last = (last & kept) | (unzigzag64(z) & ~kept);
        p += (uint64_t)(next - p) & ~kept;
        to[__builtin_ctzll(miss)] = last;
    }
    d->steps = p;
    d->last_miss = last;
    d->miss_at = m;
    return 0;
}

int decoder_read_steps(struct decoder *d, uint32_t to)
{
    /* Those from `to' - DECODER_HITS on are still needed. */
    const uint32_t ahead = DECODER_MISSED - 4 * WORD;
    uint32_t at = d->missed_to;
    to = d->addr_n - to < ahead ? d->addr_n : to + ahead;
    for (; at < to; at += WORD) {
        const uint64_t miss = word_misses(d, at);
        if (miss && read_word(d, at, miss)) {
            return decoder_bad(d, "chunk.addrs", "steps missing");
        }
    }
    d->missed_to = at;
    return 0;
}

int decoder_misses(struct decoder *d, const struct dlocal *l, uint32_t at, unsigned n)
{
    const uint16_t *own = l->nderived ? block_own(l->block) : NULL;
    uint64_t *step = d->step + l->access;
    for (unsigned from = 0; from < n; from += DECODER_HITS) {
        unsigned some = n - from < DECODER_HITS ? n - from : DECODER_HITS;
        uint64_t miss = decoder_miss_bits(d, at + from, some);
        int err = miss ? decoder_steps(d, at + from + some) : 0;
        if (err) {
            return err;
        }
        for (; miss; miss &= miss - 1) {
            unsigned i = from + (unsigned)__builtin_ctzll(miss);
            step[own ? own[i] : i] = decoder_step(d, at + i);
        }
    }
    return 0;
}
