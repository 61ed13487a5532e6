/* SPDX-License-Identifier: MIT */
/*
 * The names that threads had: those that the kernel shows as comm, from the events of
 * threads.
 */
#ifndef TOOLS_COMM_H
#define TOOLS_COMM_H

#include <stdint.h>

#include "ctr.h"

struct comm_table;

/* Reads all names of a file; a stream, or a trace without such events, has none.  Returns 0
 * or a negated enum ctr_error. */
int comm_load(struct comm_table **out, struct ctr_trace *tr, struct ctr_diag *diag);
/* NULL is allowed. */
void comm_free(struct comm_table *t);

/* Name number i of a thread (an index), in the order of time; NULL: it had no more. */
const char *comm_name(const struct comm_table *t, uint32_t thread, uint32_t i);
/* The last one, or "". */
const char *comm_last(const struct comm_table *t, uint32_t thread);

#endif
