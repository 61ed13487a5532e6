/* SPDX-License-Identifier: MIT */
/* The set of guest pages that a chunk touches, for the index. */
#ifndef CTR_PAGESET_H
#define CTR_PAGESET_H

#include <stdint.h>
#include "base/util.h"

#define PAGESET_FILTER 256u

struct pageset {
    uint64_t *slot; /* open addressing, page + 1, 0 is free */
    uint32_t mask;
    uint32_t n;
    uint8_t any; /* too many pages: the set is "any page" */
    uint64_t *sorted;
    uint64_t filter[PAGESET_FILTER]; /* page + 1 last met, by low bits */
};

int pageset_init(struct pageset *s);
void pageset_fini(struct pageset *s);
void pageset_clear(struct pageset *s);
/* Returns 0 or -1 (no memory). */
int pageset_insert(struct pageset *s, uint64_t page);

/* Most calls end here: pages come again and again. */
static inline int pageset_add(struct pageset *s, uint64_t page)
{
    uint64_t *f = &s->filter[page & (PAGESET_FILTER - 1)];
    if (__builtin_expect(*f == page + 1, 1)) {
        return 0;
    }
    *f = page + 1;
    return pageset_insert(s, page);
}

/* Appends the set as FORMAT.md has it in a PART's pages. */
int pageset_write(struct pageset *s, struct buf *out);

#endif
