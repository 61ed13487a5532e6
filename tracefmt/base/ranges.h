/* SPDX-License-Identifier: MIT */
/* Lists of address ranges, as filters have them. */
#ifndef CTR_RANGES_H
#define CTR_RANGES_H

#include "ctr.h"

/* Whether anything from first to last (inclusive) is in one of the ranges. */
static inline int in_ranges(const struct ctr_range *r, uint32_t n, uint64_t first,
                            uint64_t last)
{
    for (uint32_t i = 0; i < n; i++) {
        if (first < r[i].to && last >= r[i].from) {
            return 1;
        }
        if (r[i].to == UINT64_MAX && last == UINT64_MAX) {
            return 1;
        }
    }
    return 0;
}

#endif
