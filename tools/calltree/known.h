/* SPDX-License-Identifier: MIT */
/* Whether calls can be found in a trace: whether the instructions of the machine are known,
 * and each one that ran was recorded, at least in some code. */
#ifndef TOOLS_CALLTREE_KNOWN_H
#define TOOLS_CALLTREE_KNOWN_H

#include "ctr.h"

/* TOOL_OK, or another status with the reason in why. */
#define CALLS_WHY 512
int calls_known(const struct ctr_trace *tr, char why[CALLS_WHY]);

/* The same, with the reason on stderr. */
int calls_are_known(const struct ctr_trace *tr, const char *prog, const char *path);

#endif
