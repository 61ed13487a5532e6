/* SPDX-License-Identifier: MIT */
/* Sorted, disjoint ranges: insertion is slow and simple, lookup is fast. */
#include "common/ranges.h"

#include <stdlib.h>
#include <string.h>

bool range_set_add(struct range_set *set, uint64_t first, uint64_t last)
{
    size_t at = 0, end;

    if (set->n == set->cap) {
        size_t cap = set->cap ? 2 * set->cap : 8;
        struct range *r = realloc(set->r, cap * sizeof(*r));
        if (!r) {
            return false;
        }
        set->r = r;
        set->cap = cap;
    }
    /* [at, end): the ranges that the new one meets or touches */
    while (at < set->n && set->r[at].last < first && set->r[at].last + 1 != first) {
        at++;
    }
    for (end = at;
         end < set->n && (set->r[end].first <= last || set->r[end].first - 1 == last);
         end++) {
        if (set->r[end].first < first) {
            first = set->r[end].first;
        }
        if (set->r[end].last > last) {
            last = set->r[end].last;
        }
    }
    memmove(&set->r[at + 1], &set->r[end], (set->n - end) * sizeof(*set->r));
    set->r[at] = (struct range){first, last};
    set->n = set->n - (end - at) + 1;
    return true;
}

void range_set_fini(struct range_set *set)
{
    free(set->r);
    *set = (struct range_set){0};
}
