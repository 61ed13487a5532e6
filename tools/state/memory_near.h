/* SPDX-License-Identifier: MIT */
/*
 * For memory.h: the accesses around a place of a thread, kept, so that one who goes from
 * instruction to instruction does not read the trace for each.
 */
#ifndef TOOLS_MEMORY_NEAR_H
#define TOOLS_MEMORY_NEAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"

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
    uint64_t from, to;     /* ordinals that are kept */
    struct near_access *v; /* by ordinal */
    size_t n, cap;
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
