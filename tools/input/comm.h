/* SPDX-License-Identifier: MIT */
/*
 * The names that threads had, those that the kernel shows as comm, and the arguments of the
 * programs that they ran, from the events of threads.
 */
#ifndef TOOLS_COMM_H
#define TOOLS_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"
#include "input/args.h"

struct comm_table;

/* Reads them all from a file; a stream, or a trace without such events, has none.  Returns 0
 * or a negated enum ctr_error. */
int comm_load(struct comm_table **out, struct ctr_trace *tr, struct ctr_diag *diag);
/* NULL is allowed. */
void comm_free(struct comm_table *t);

/*
 * The same for one who replays a trace anyway: a table that is empty (NULL: no memory);
 * comm_take in the callback `os' appends to the job's data what the event says, if anything
 * (0 or -CTR_E_NOMEM); comm_put in `ordered' puts this into the table.  It returns the bytes
 * of what is at `data', or 0: no memory.  They begin with a u32 that is not 0, so that
 * the caller can distinguish other data.
 */
struct comm_table *comm_new(void);
int comm_take(struct ctr_job *job, const struct ctr_os_event *e);
size_t comm_put(struct comm_table *t, const struct ctr_thread *thread, const void *data);

/* What an event said; strings are valid until the next comm_put. */
struct comm {
    const char *name;       /* "": nothing about it */
    struct program program; /* args.n 0: nothing about it */
};

/* Goes through what is known of a thread (an index), in the order of time; *at is 0 at
 * first.  False: there is no more. */
bool comm_next(const struct comm_table *t, uint32_t thread, uint32_t *at,
               struct comm *out);
/* The last name of a thread, or "". */
const char *comm_last(const struct comm_table *t, uint32_t thread);
/* The last arguments of a process (an index). */
struct program comm_program(const struct comm_table *t, uint32_t process);

#endif
