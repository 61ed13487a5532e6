/* SPDX-License-Identifier: MIT */
/*
 * Second half of --bbv: merges the vectors of each thread in order and writes them.
 */
#ifndef TRACESYM_BBV_VECTORS_H
#define TRACESYM_BBV_VECTORS_H

#include "bbv.h"

/* How a callback stops ctr_replay. */
enum { BBV_STOP_NOMEM = 1, BBV_STOP_EPIPE, BBV_STOP_REPORTED };

struct thread_vectors;

/* Must be zeroed, except opt and trace. */
struct vectors {
    const struct bbv_options *opt;
    const struct ctr_trace *trace;
    struct thread_vectors *threads; /* by index in the trace */
    uint32_t nr_threads;
    uint32_t *sorted; /* numbers of the blocks of an interval */
    size_t nr_sorted;
};

/* Sets the interval for further additions to a thread; if it changes, writes the one
 * before.  Returns 0 or BBV_STOP_*. */
int vectors_interval(struct vectors *v, uint32_t thread, uint64_t interval);
/* Adds instructions of a block, by its number.  False: no memory. */
bool vectors_add(struct vectors *v, uint32_t thread, uint32_t number, uint64_t insns);
/* Writes the rest of all threads.  Returns 0 or BBV_STOP_*. */
int vectors_finish(struct vectors *v);
void vectors_fini(struct vectors *v);

/* Prints why a file cannot be written; returns BBV_STOP_REPORTED. */
int vectors_said(const struct bbv_options *opt, const char *name, int error);

#endif
