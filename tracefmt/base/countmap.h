/* SPDX-License-Identifier: MIT */
/* A map from 64-bit keys to counts, for few keys. */
#ifndef CTR_COUNTMAP_H
#define CTR_COUNTMAP_H

#include <stdint.h>

struct countmap_entry {
    uint64_t key; /* plus 1; 0 is free */
    uint64_t count;
};

struct countmap {
    struct countmap_entry *entry;
    uint32_t cap; /* a power of two, or 0 */
    uint32_t n;
};

/*
 * Adds to the count of key (below UINT64_MAX). Returns 0 or -1 (no memory), which
 * cannot happen for a key that is there.
 */
int countmap_add(struct countmap *m, uint64_t key, uint64_t count);
/* The count of a key, 0 if it is not there. */
uint64_t countmap_get(const struct countmap *m, uint64_t key);
void countmap_clear(struct countmap *m);
void countmap_fini(struct countmap *m);

/* Partial runs of a block are counted under (block, first, end). */
#define CUT_KEY(block, first, end)                                                       \
    ((uint64_t)(block) << 20 | (uint64_t)(first) << 10 | (uint64_t)(end))
#define CUT_BLOCK(key) ((uint32_t)((key) >> 20))
#define CUT_FIRST(key) ((uint32_t)((key) >> 10 & 0x3ff))
#define CUT_END(key) ((uint32_t)((key) & 0x3ff))

#endif
