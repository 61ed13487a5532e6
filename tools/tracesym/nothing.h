/* SPDX-License-Identifier: MIT */
/*
 * Why a profile, a call tree, vectors or a list of calls are empty.
 */
#ifndef TRACESYM_NOTHING_H
#define TRACESYM_NOTHING_H

#include <stdbool.h>

#include "ctr.h"
#include "symbols/places.h"

/*
 * Call after a replay with `filter' that had no instructions: one line on stderr that says
 * why.  Returns TOOL_NOTHING; or TOOL_OK, without a line, if only the damage of a partial
 * trace can be the reason, which is the status of the trace.
 */
int nothing_ran(const char *prog, const char *path, struct ctr_trace *tr,
                const struct ctr_filter *filter);

/*
 * Whether no program or library of the trace has a function of that name (NAME, a glob,
 * MODULE!NAME; by sym_name_matches).  If so there is one line on stderr that says it, with
 * the name that was probably meant.  False also if that is not certain: for names that
 * tracesym itself gives to code without symbols.  calls: functions that are only inlined
 * have none, which the line says.
 */
bool nothing_named(const char *prog, const char *path, const struct places *places,
                   const char *pattern, bool calls);

#endif
