/* SPDX-License-Identifier: MIT */
/* From which process, and when, another one was forked. */
#ifndef TOOLS_FORK_H
#define TOOLS_FORK_H

#include "ctr.h"
#include "query/moment.h"

/*
 * The moment, in the thread that made it, of the fork that made a process: 1 and *out; 0:
 * it was not made so, or by none that is recorded; or a negated enum ctr_error.  It is
 * exact if system calls were recorded, else as good as the times known.  Files only.
 */
int fork_find(struct ctr_trace *tr, uint32_t process, struct moment *out,
              struct ctr_diag *diag);

#endif
