/* SPDX-License-Identifier: MIT */
/*
 * For ctr_memory: when a machine was loaded from a snapshot.  Accesses before that say nothing of
 * memory after it, nor the other way round.
 */
#ifndef CTR_MEMORY_EPOCH_H
#define CTR_MEMORY_EPOCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"

/* Zeroed: none. */
struct memory_epochs {
    struct memory_load {
        uint32_t thread;
        uint64_t ordinal, time_ns;
    } *v; /* in their order; without events of RAM each vCPU has one of each load */
    size_t n, cap;
};

/* Reads all loads of a trace, as far as it is not damaged.  Returns 0 or -CTR_E_NOMEM. */
int memory_epochs_read(struct memory_epochs *e, struct ctr_trace *tr);
void memory_epochs_free(struct memory_epochs *e);

/* Limits a filter to the time before the moment (back), or after it, in which memory was not
 * replaced. */
void memory_epochs_limit(const struct memory_epochs *e, const struct ctr_moment *at,
                         bool back, struct ctr_filter *filter);

#endif
