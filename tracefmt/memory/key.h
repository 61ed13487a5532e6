/* SPDX-License-Identifier: MIT */
/* Of ctr_memory: the last key frames of pages, kept for the places that follow. */
#ifndef CTR_MEMORY_KEY_H
#define CTR_MEMORY_KEY_H

#include <stdint.h>

#include "ctr.h"

#define MEMORY_KEY_PAGES 16u

/* Zeroed: nothing kept yet. */
struct memory_key {
    struct key_entry {
        uint64_t page; /* its number */
        uint32_t thread;
        uint64_t upto; /* searched from this ordinal on, backward; 0: the entry is free */
        int found;
        struct ctr_key_page key;
    } entry[MEMORY_KEY_PAGES]; /* by page number */
};

/*
 * A key frame of the page of addr that a thread made before the instruction `ordinal', not
 * many before the last one: 1 and *out (valid until the next call), 0: there is none, or a
 * negated enum ctr_error.
 */
int memory_key_find(struct memory_key *k, struct ctr_trace *tr, uint32_t thread,
                    uint64_t ordinal, uint64_t addr, const struct ctr_key_page **out,
                    struct ctr_diag *diag);

#endif
