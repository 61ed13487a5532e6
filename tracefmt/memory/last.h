/* SPDX-License-Identifier: MIT */
/* Of ctr_memory: which instructions of a thread stored last to some bytes, and what. */
#ifndef CTR_MEMORY_LAST_H
#define CTR_MEMORY_LAST_H

#include "memory/since.h"

/*
 * Of each byte what was stored last, unless `at' is not before that: value, written and `at' of
 * *s.  jobs: workers that decode.  Returns 0 or a negated enum ctr_error.
 */
int memory_last_stores(struct memory_since *s, struct ctr_trace *tr, unsigned jobs,
                       struct ctr_diag *diag);

#endif
