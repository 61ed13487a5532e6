/* SPDX-License-Identifier: MIT */
/*
 * Numbers made of pointers; see distance.h.  Distances are random multiples of pages, so that
 * other numbers hardly ever differ by them.
 */
#include "distance.h"

#define LEAST 0x100u /* small numbers differ for other reasons */

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

bool distance_explains(struct pair *p, uint64_t a, uint64_t b, unsigned n)
{
    const unsigned bits = !(a >> 32) && !(b >> 32) ? 32 : 8 * n;
    const uint64_t mask = bits < 64 ? (UINT64_C(1) << bits) - 1 : ~UINT64_C(0);

    if (n < 4 || n > 8 || ((b - a) & mask) < LEAST || ((a - b) & mask) < LEAST) {
        return false;
    }
    find(p);
    return is_made(p, b - a, mask);
}
