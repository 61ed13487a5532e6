/* SPDX-License-Identifier: MIT */
/* The calls that a thread is in at a moment, by the call tree. */
#ifndef TOOLS_CALLTREE_FRAMES_H
#define TOOLS_CALLTREE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "calltree.h"
#include "instants.h"
#include "query/moment.h"

/* A frame.  Of a process that was forked, the older ones are of its parent; of a machine's
 * task, they are of the vCPUs that ran it. */
struct call_frame {
    uint32_t function;
    struct instant from;   /* the function's first instruction */
    struct instant opened; /* after the call */
    struct instant now; /* the instruction that it is at: the call of the next frame, or
                              what follows it in a delay slot */
    bool unseen;        /* the trace does not have that instruction */
    bool midway, uncalled, running; /* as of struct call_span */
};

struct call_frames {
    struct calltree *tree;
    struct call_frame *v; /* the innermost last */
    uint32_t n;
};

/* Returns a TOOL_* status, after a message on stderr if it is not TOOL_OK.  To be freed in
 * any case.  The trace must be a file. */
int call_frames_find(struct call_frames *out, struct ctr_trace *tr, const char *path,
                     const struct places *places, const struct ctr_moment *at,
                     const struct calltree_options *opt);
void call_frames_free(struct call_frames *f);

#endif
