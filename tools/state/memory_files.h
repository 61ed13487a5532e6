/* SPDX-License-Identifier: MIT */
/* The memory of a process at a moment (ctr_memory) with the contents of its files. */
#ifndef TOOLS_MEMORY_FILES_H
#define TOOLS_MEMORY_FILES_H

#include "ctr.h"
#include "symbols/places.h"

/*
 * ctr_memory_open with the files of a trace.  places: which must outlive it; NULL: without
 * contents of files.  jobs: workers of a search.  Returns 0 or a negated enum ctr_error.
 */
int memory_open(struct ctr_memory **out, struct ctr_trace *tr,
                const struct places *places, const struct ctr_moment *at, unsigned jobs,
                struct ctr_diag *diag);

#endif
