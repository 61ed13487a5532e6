/* SPDX-License-Identifier: MIT */
/*
 * With a ring: finishes the trace of a recorder that was killed, in another process, when
 * the guest has ended.  What the guest had written into the pipe is in the trace then,
 * wherever the recorder had it.
 */
#ifndef RECORDER_RESCUE_H
#define RECORDER_RESCUE_H

#include "ctr_write.h"
#include "journal.h"
#include "mempipe_host.h"
#include "output.h"
#include "ring.h"

struct rescue_will {
    struct ring *ring;
    struct journal *journal;
    const char *name; /* of the output, for messages */
    struct output out;
    unsigned workers;
    int level;
    struct ctr_meta meta; /* what is known before the guest runs */
};

/* A copy with strings of its own.  Returns 0, or -CTR_E_NOMEM. */
int rescue_copy(struct rescue_will *to, const struct rescue_will *from);

/* Writes the trace and closes it, and says so, or why not, in one line. */
void rescue_execute(struct rescue_will *will, struct mempipe_host *host);

#endif
