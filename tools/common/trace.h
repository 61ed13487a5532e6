/* SPDX-License-Identifier: MIT */
/*
 * Opening a trace and judging it in the end, as every tool does: the same
 * messages and the same exit statuses.
 */
#ifndef TOOLS_TRACE_H
#define TOOLS_TRACE_H

#include <stdbool.h>

#include "ctr.h"

/*
 * Opens `path' ("-": standard input) with CTR_OPEN_* flags.  Returns TOOL_OK,
 * or TOOL_FAILED after one line on stderr.
 */
int tool_trace_open(const char *prog, const char *path, unsigned flags,
                    struct ctr_trace **tr);

struct mappings;

/* Prints what a failed call of libctr says about `path', on one line. */
void tool_trace_error(const char *prog, const char *path, int error,
                      const struct ctr_diag *diag);

/*
 * After work that went well: TOOL_OK, or TOOL_PARTIAL after one line on stderr if `m'
 * (NULL is allowed) was asked for mappings that cannot be known, since the events that
 * tell of them are damaged.
 */
int tool_mappings_verdict(const char *prog, const char *path, const struct mappings *m);

/*
 * After the work: TOOL_OK for a whole trace; TOOL_PARTIAL if the file or stream
 * is unfinished or truncated, or a process vanished without an end; then one
 * line on stderr says so, unless `quiet'.
 */
int tool_trace_verdict(const char *prog, const char *path, const struct ctr_trace *tr,
                       bool quiet);

/* "complete", "unfinished", "truncated", "streaming" */
const char *tool_state_name(enum ctr_state state);

#endif
