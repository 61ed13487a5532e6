/* SPDX-License-Identifier: MIT */
/*
 * tracesym --timeline: what a machine did, over time, as JSON trace events, which Perfetto
 * draws: of each vCPU which task it ran, with the exceptions and interrupts in it, when it
 * waited, and the privilege of its code; of each task on which vCPU it ran.
 */
#ifndef TRACESYM_TIMELINE_H
#define TRACESYM_TIMELINE_H

#include <stdbool.h>

#include "ctr.h"

struct timeline_options {
    const char *path;
    const char *out; /* what standard output is, for messages; NULL: just that */
    bool quiet;
    struct ctr_filter filter;
};

/* The reader of the output is gone. */
#define TIMELINE_CUT_SHORT (-1)

/* Writes to standard output.  Returns an exit status that does not include the status of the
 * trace, or TIMELINE_CUT_SHORT. */
int timeline_write(struct ctr_trace *tr, const struct timeline_options *opt);

#endif
