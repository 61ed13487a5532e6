/* SPDX-License-Identifier: MIT */
/*
 * Sets of numbers given as ranges: what --pc, --addr, --pid and --thread hold.
 * An empty set means "no such filter".
 */
#ifndef TOOLS_RANGES_H
#define TOOLS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both ends belong to the range, so that the last address can be named. */
struct range {
    uint64_t first, last;
};

/* Zero is the empty set.  After range_set_add the ranges are sorted and do
 * not touch, so that a lookup is a short binary search. */
struct range_set {
    struct range *r;
    size_t n, cap;
};

/* Adds first..last.  Returns false when there is no memory. */
bool range_set_add(struct range_set *set, uint64_t first, uint64_t last);
void range_set_fini(struct range_set *set);

/* Does any number of first..last belong to the set? */
static inline bool range_set_meets(const struct range_set *set, uint64_t first,
                                   uint64_t last)
{
    size_t lo = 0, hi = set->n;

    while (lo < hi) { /* the first range that does not end before `first' */
        size_t mid = (lo + hi) / 2;
        if (set->r[mid].last < first) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < set->n && set->r[lo].first <= last;
}

static inline bool range_set_has(const struct range_set *set, uint64_t value)
{
    return range_set_meets(set, value, value);
}

/* The same for a filter: an empty set lets everything pass. */
static inline bool range_set_passes(const struct range_set *set, uint64_t value)
{
    return !set->n || range_set_has(set, value);
}

#endif
