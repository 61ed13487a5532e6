/* SPDX-License-Identifier: MIT */
/*
 * tracesym --bbv: basic-block vectors for SimPoint, in the format of valgrind's exp-bbv.
 *
 * The instructions of a thread are split into intervals of exactly N.  For each there is
 * a line "T:id:count   :id:count   ..." with the number of its instructions in each
 * block.  The last interval may be shorter, so the sum of all counts is the number of
 * instructions.  Blocks are numbered from 1 in the order of their first appearance in the
 * trace; translations of the same code at the same address are one block.
 */
#ifndef TRACESYM_BBV_H
#define TRACESYM_BBV_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"
#include "symbols/places.h"

struct bbv_options {
    const char *prog;
    const char *path;
    uint64_t interval;
    const char *out; /* each thread's vectors are written to OUT.TID; NULL: the only
                        thread's to standard output */
    const char *pcs; /* file for "F:id:pc:function" of each block, or NULL */
    unsigned jobs;
    bool quiet;
    struct ctr_filter filter; /* pids, tids, from, to */
};

/* The reader of the output is gone. */
#define BBV_CUT_SHORT (-1)

/* Returns an exit status that does not include the status of the trace, or
 * BBV_CUT_SHORT.  places may be NULL if pcs is. */
int bbv_write(struct ctr_trace *tr, const struct places *places,
              const struct bbv_options *opt);

#endif
