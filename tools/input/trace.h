/* SPDX-License-Identifier: MIT */
/*
 * Opens a trace and determines the exit status at the end, with the same messages in
 * all tools.
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

/* Prints the error of a failed call of libctr for `path', on one line. */
void tool_trace_error(const char *prog, const char *path, int error,
                      const struct ctr_diag *diag);

/*
 * What was read of some events, named `what', before the work: TOOL_OK, or TOOL_PARTIAL after
 * one line on stderr if error (of libctr) is not 0.
 */
int tool_events_status(const char *prog, const char *path, const char *what, int error,
                       const struct ctr_diag *diag);

/*
 * Call after successful work: TOOL_OK, or TOOL_PARTIAL after one line on stderr if a
 * query of `m' (NULL is allowed) could not be answered, because map events are
 * damaged.
 */
int tool_mappings_status(const char *prog, const char *path, const struct mappings *m);

/*
 * Call after the work: TOOL_OK for a whole trace; TOOL_PARTIAL if the file or stream
 * is unfinished or truncated, or a process disappeared without an end event.  Then it
 * prints one line on stderr, unless `quiet'.
 */
int tool_trace_status(const char *prog, const char *path, const struct ctr_trace *tr,
                      bool quiet);

/* Whether a part was recorded that an option of the recorder ("--once") selected. */
bool tool_selected_by(const struct ctr_info *info, const char *option);

/* Says on stderr if only a part was recorded or kept, and what that means for the answer:
 * "counts are of that". */
void tool_note_part(const char *prog, const char *path, const struct ctr_trace *tr,
                    const char *meaning);

/* "complete", "unfinished", "truncated", "streaming" */
const char *tool_state_name(enum ctr_state state);

#endif
