/* SPDX-License-Identifier: MIT */
/*
 * Which threads are compared: the first thread of the first process with the first of the
 * first, and so on, in order of creation; or those that the user pairs.
 */
#ifndef TRACEDIFF_PAIRS_H
#define TRACEDIFF_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"
#include "query/threads.h"
#include "side.h"

struct thread_pair {
    const struct ctr_thread *thread[2]; /* NULL: the other one has no counterpart */
};

struct pairs {
    struct thread_pair *v;
    uint32_t n;
};

/*
 * of: only these threads of a, empty: all; with: these of b are their counterparts, in this
 * order; empty: those at the same place in the order of creation.  Returns TOOL_OK, or after a
 * line on stderr TOOL_NOTHING (a name is of no thread) or TOOL_FAILED.
 */
int pairs_make(struct pairs *out, const struct side *a, const struct side *b,
               const struct thread_names *of, const struct thread_names *with,
               const char *prog);
void pairs_free(struct pairs *p);

#endif
