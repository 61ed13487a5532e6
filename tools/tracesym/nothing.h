/* SPDX-License-Identifier: MIT */
/*
 * Why a profile, a call tree or vectors are empty.
 */
#ifndef TRACESYM_NOTHING_H
#define TRACESYM_NOTHING_H

#include "ctr.h"

/*
 * Call after a replay with `filter' that had no instructions: one line on stderr that says
 * why.  Returns TOOL_NOTHING; or TOOL_OK, without a line, if only the damage of a partial
 * trace can be the reason, which is the status of the trace.
 */
int nothing_ran(const char *prog, const char *path, const struct ctr_trace *tr,
                const struct ctr_filter *filter);

#endif
