/* SPDX-License-Identifier: MIT */
/*
 * Of ctr_memory: the accesses around a place of a thread, kept, so that one who goes from
 * instruction to instruction does not read the trace for each.
 */
#ifndef CTR_MEMORY_NEAR_H
#define CTR_MEMORY_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

/* An access of the thread, or of the system for it. */
struct near_access {
    uint64_t ordinal; /* of its instruction; of the system's: of the one before it */
    uint64_t addr, size;
    uint8_t data[16]; /* its bytes, if there are `size' of them: */
    bool has_data;
    bool write;
    bool anything; /* the system changed the address space: all of it may be different */
};

/* Zeroed: nothing kept yet. */
struct memory_near {
    uint32_t thread;
    uint64_t from, to;   /* ordinals that are kept */
    struct buf accesses; /* struct near_access, by ordinal */
};

/* The most instructions between two places that are near to each other. */
#define MEMORY_NEAR 1024u

/*
 * The accesses of instructions from (included) to `to' of a thread, at most MEMORY_NEAR of
 * them, in order: *v and *n, valid until the next call.  Returns 0 or a negated enum
 * ctr_error.
 */
int memory_near_find(struct memory_near *w, struct ctr_trace *tr, uint32_t thread,
                     uint64_t from, uint64_t to, const struct near_access **v, size_t *n,
                     struct ctr_diag *diag);

void memory_near_free(struct memory_near *w);

#endif
