/* SPDX-License-Identifier: MIT */
/* A set of bytes of memory, as ranges.  No state of its own: one set at a time. */
#ifndef TOOLS_SEARCH_BYTES_H
#define TOOLS_SEARCH_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"

/* All 0 is the empty set. */
struct search_bytes {
    struct ctr_range *v; /* ascending, with gaps between them */
    uint32_t n;
    size_t cap;
};

void search_bytes_fini(struct search_bytes *b);

/* Appends a range from <= to; search_bytes_merge is to be called before anything else.
 * False: no memory. */
bool search_bytes_append(struct search_bytes *b, uint64_t from, uint64_t to);
void search_bytes_merge(struct search_bytes *b);

/* Sorts ranges and joins those that touch; returns how many they are then. */
uint32_t search_bytes_join(struct ctr_range *v, uint32_t n);

/* False: no memory. */
bool search_bytes_remove(struct search_bytes *b, uint64_t from, uint64_t to);

/* Whether one of them is in the range. */
bool search_bytes_touch(const struct search_bytes *b, uint64_t from, uint64_t to);

/* Appends those in the range to part; false: no memory. */
bool search_bytes_part(const struct search_bytes *b, uint64_t from, uint64_t to,
                       struct search_bytes *part);

/* Whether two sets have a byte in common. */
bool search_bytes_meet(const struct search_bytes *a, const struct search_bytes *b);

#endif
