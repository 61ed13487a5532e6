/* SPDX-License-Identifier: MIT */
/*
 * Of ctr_memory: what a thread, and the system for it, wrote between two places of it; what
 * key frames show counts as written there.
 */
#ifndef CTR_MEMORY_SINCE_H
#define CTR_MEMORY_SINCE_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

struct memory_since {
    uint32_t thread;
    uint64_t from, to; /* ordinals */
    uint64_t from_ns;  /* and not before that time */
    bool system;       /* what the system did right before `to' counts, too */
    bool first_key;    /* of key frames only those at `from' count: there are no others */
    uint64_t addr;
    uint32_t size; /* bytes from there on */
    /* Of each, allocated by memory_since_read: */
    uint8_t *value;   /* what was written last */
    uint8_t *written; /* 0: nothing was; 1; 2: without a value */
    uint64_t *at;     /* by this instruction */
};

/* jobs: workers that decode.  Returns 0 or a negated enum ctr_error. */
int memory_since_read(struct memory_since *s, struct ctr_trace *tr, unsigned jobs,
                      struct ctr_diag *diag);
void memory_since_free(struct memory_since *s);

#endif
