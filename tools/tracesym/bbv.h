/* SPDX-License-Identifier: MIT */
/*
 * tracesym --bbv: basic-block vectors for SimPoint, in the format of valgrind's exp-bbv.
 *
 * The instructions of a thread are cut into intervals of exactly N; of each there is a
 * line "T:id:count   :id:count   ...", with how many of its instructions were in each
 * block. The last interval may be shorter, so that the sum of all counts is the number of
 * instructions.  Blocks are numbered from 1 in the order in which they first appear in
 * the trace; translations of the same code at the same address are one block.
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
    const char *out; /* vectors of each thread go to OUT.TID; NULL: of the only thread, to
                        standard output */
    const char *pcs; /* "F:id:pc:function" of each block goes there, or NULL */
    unsigned jobs;
    bool quiet;
    struct ctr_filter filter; /* pids, tids, from, to */
};

/* Nobody reads the output any more. */
#define BBV_CUT_SHORT (-1)

/* Returns an exit status or BBV_CUT_SHORT, without the verdict on the trace.  places may
 * be NULL if pcs is. */
int bbv_write(struct ctr_trace *tr, const struct places *places,
              const struct bbv_options *opt);

#endif
