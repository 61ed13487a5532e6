/* SPDX-License-Identifier: MIT */
/*
 * Lists of address ranges, as filters have them.  A filter's ranges may belong to one
 * process each; so a lookup begins with the list that counts in a process.
 */
#ifndef CTR_RANGES_H
#define CTR_RANGES_H

#include "ctr.h"

/* Ascending and disjoint. */
struct ranges {
    const struct ctr_range *v;
    uint32_t n;
};

/* All ranges of a filter, and the list of each process that has ranges of its own. */
struct range_lists {
    struct ctr_range *v;
    struct range_list {
        uint32_t process; /* 1 + index; 0, the first: of all others */
        uint32_t first, n;
    } *list;
    uint32_t nlist;    /* 0: there are no ranges */
    struct ranges any; /* the ranges of all processes together */
};

/* Copies the ranges, in any order, empty ones too. Returns 0, or -1: no memory. */
int range_lists_make(struct range_lists *out, const struct ctr_range *v, uint32_t n);
void range_lists_free(struct range_lists *l);
/* The ranges that count in the process with this index. */
struct ranges range_lists_of(const struct range_lists *l, uint32_t process);

/* Lists up to this length are searched from the begin. */
#define RANGES_FEW 8u

/* The index of the first range that ends after `first', in a long list. */
static inline uint32_t ranges_after(const struct ranges *r, uint64_t first)
{
    uint32_t lo = 0, n = r->n;
    while (n) {
        uint32_t half = n / 2;
        const struct ctr_range *m = &r->v[lo + half];
        if (m->to <= first && m->to != UINT64_MAX) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return lo;
}

/* Whether anything from first to last (inclusive) is in one of the ranges. */
static inline int in_ranges(const struct ranges *r, uint64_t first, uint64_t last)
{
    uint32_t i = r->n > RANGES_FEW ? ranges_after(r, first) : 0;
    for (; i < r->n && last >= r->v[i].from; i++) {
        if (first < r->v[i].to || r->v[i].to == UINT64_MAX) {
            return 1;
        }
    }
    return 0;
}

#endif
