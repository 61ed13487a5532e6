/* SPDX-License-Identifier: MIT */
/*
 * Numbers made of pointers; see distance.h.  Distances are random multiples of pages, so that
 * other numbers hardly ever differ by them.
 */
#include "distance.h"

#define LEAST 0x100u          /* small numbers differ for other reasons ... */
#define LEAST_STORED 0x10000u /* ... and of those in memory many are small */
/* Numbers in memory that differ by less, but for the zeros that this ends with, differ for
 * other reasons, too: a flag has changed, or a counter. */
#define DISTINCT 0x1000u

/* Finds the distances anew if a mapping has changed. */
static void find(struct pair *p)
{
    const uint32_t changes = p->space[0].changes + p->space[1].changes;
    const struct space *x = &p->space[0], *y = &p->space[1];

    if (p->apart_known && p->apart_as_of == changes) {
        return;
    }
    p->apart_known = true;
    p->apart_as_of = changes;
    p->nr_apart = 0;
    for (size_t i = 0; i < x->nregions; i++) {
        for (size_t k = 0; k < y->nregions && p->nr_apart < PAIR_APART; k++) {
            const struct region *a = &x->region[i], *b = &y->region[k];
            const uint64_t d = (b->start - b->off) - (a->start - a->off);
            bool is_new = a->key && a->key == b->key && d;

            for (unsigned m = 0; is_new && m < p->nr_apart; m++) {
                is_new = p->apart[m] != d;
            }
            if (is_new) {
                p->apart[p->nr_apart++] = d;
            }
        }
    }
}

/* Whether a difference is that of a pointer, times or by a power of two; `mask' has the bits
 * that the numbers have. */
static bool is_scaled(uint64_t differ, uint64_t d, uint64_t mask)
{
    for (unsigned k = 0; k < 32; k++) {
        const uint64_t less = d >> k, signed_less = (uint64_t)((int64_t)d >> k);

        if (!((differ ^ d << k) & mask) || !((differ ^ less) & mask) ||
            !((differ ^ signed_less) & mask)) {
            return true;
        }
    }
    return false;
}

static bool is_made(const struct pair *p, uint64_t differ, uint64_t mask)
{
    for (unsigned i = 0; i < p->nr_apart; i++) {
        if (is_scaled(differ, p->apart[i], mask) ||
            is_scaled(0 - differ, p->apart[i], mask)) {
            return true;
        }
        for (unsigned k = 0; k < i; k++) {
            const uint64_t sum = p->apart[i] + p->apart[k];
            const uint64_t less = p->apart[i] - p->apart[k];

            if (!((differ ^ sum) & mask) || !((differ + sum) & mask) ||
                !((differ ^ less) & mask) || !((differ + less) & mask)) {
                return true;
            }
        }
    }
    return false;
}

static uint64_t mask_of(unsigned bytes)
{
    return bytes < 8 ? (UINT64_C(1) << 8 * bytes) - 1 : ~UINT64_C(0);
}

/* The bits that both numbers of n bytes may have. */
static uint64_t mask_for(uint64_t a, uint64_t b, unsigned n)
{
    return mask_of(!(a >> 32) && !(b >> 32) ? 4 : n);
}

bool distance_explains(struct pair *p, uint64_t a, uint64_t b, unsigned n)
{
    const uint64_t mask = mask_for(a, b, n);

    if (n < 4 || n > 8 || ((b - a) & mask) < LEAST || ((a - b) & mask) < LEAST) {
        return false;
    }
    find(p);
    return is_made(p, b - a, mask);
}

static bool is_distinct(uint64_t differ, uint64_t mask)
{
    const uint64_t more = differ & mask, less = (0 - differ) & mask;
    const uint64_t least = more < less ? more : less;

    return least && least >= LEAST_STORED && least / (least & (0 - least)) >= DISTINCT;
}

bool distance_explains_word(struct pair *p, uint64_t a, uint64_t b)
{
    const uint64_t mask = mask_for(a, b, p->guest[0].word);

    if (!is_distinct(b - a, mask)) {
        return false;
    }
    find(p);
    for (unsigned i = 0; i < p->nr_apart; i++) {
        if (is_scaled(b - a, p->apart[i], mask) || is_scaled(a - b, p->apart[i], mask)) {
            return true;
        }
    }
    return false;
}

/* Whether an address in a mapping has these upper bits. */
static bool is_upper(const struct space *s, uint64_t bits, unsigned shift)
{
    for (size_t i = 0; bits && i < s->nregions; i++) {
        const struct region *r = &s->region[i];

        if (r->start >> shift <= bits && bits <= (r->end - 1) >> shift) {
            return true;
        }
    }
    return false;
}

bool distance_explains_low(struct pair *p, uint64_t a, uint64_t b, unsigned n)
{
    if (!is_distinct(b - a, mask_of(n))) {
        return false;
    }
    find(p);
    for (unsigned i = 0; i < p->nr_apart; i++) {
        if (!((b - a - p->apart[i]) & mask_of(n))) {
            return true;
        }
    }
    return false;
}

bool distance_explains_high(struct pair *p, uint64_t a, uint64_t b, unsigned n)
{
    const unsigned shift = 8 * (p->guest[0].word - n);

    if (!is_upper(&p->space[0], a, shift) || !is_upper(&p->space[1], b, shift)) {
        return false;
    }
    find(p);
    for (unsigned i = 0; i < p->nr_apart; i++) {
        const uint64_t carry = (b - a - (p->apart[i] >> shift)) & mask_of(n);

        if (carry <= 1 && is_distinct(p->apart[i], ~UINT64_C(0))) {
            return true;
        }
    }
    return false;
}
