/* SPDX-License-Identifier: MIT */
/* What a thread accessed last on its stack, read at once: a search for each frame reads the
 * same chunks again and again. */
#ifndef TRACEDUMP_STACK_MEMORY_H
#define TRACEDUMP_STACK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"

struct stack_memory {
    struct ctr_trace *tr;
    const struct ctr_moment *at;
    unsigned jobs;
    /* The rest is zeroed at first. */
    unsigned windows; /* that were read */
    uint64_t base;
    struct stack_byte *v; /* of the bytes from base on; NULL: none was read */
};

/*
 * Reads n bytes at addr as they are at the moment: 1; 0: this does not know them all, and
 * memory.h may; or a negated enum ctr_error.
 */
int stack_memory_read(struct stack_memory *m, uint64_t addr, uint8_t *out, size_t n,
                      struct ctr_diag *diag);
void stack_memory_fini(struct stack_memory *m);

#endif
