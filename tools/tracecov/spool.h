/* SPDX-License-Identifier: MIT */
/* Traces that come through a pipe, for work that must read them more than once. */
#ifndef TRACECOV_SPOOL_H
#define TRACECOV_SPOOL_H

#include "ctr.h"

/*
 * Opens a trace like tool_trace_open (input/trace.h); one that cannot be seeked is
 * copied to a temporary file without a name first.  Returns TOOL_OK, or TOOL_FAILED after
 * one line on stderr.
 */
int spool_open(struct ctr_trace **tr, const char *path, unsigned flags);

#endif
