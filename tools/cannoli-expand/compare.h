/* SPDX-License-Identifier: MIT */
/* Compares the second execution with the light trace. */
#ifndef EXPAND_COMPARE_H
#define EXPAND_COMPARE_H

#include <stdbool.h>

#include "light.h"
#include "window.h"

/*
 * Compares every instruction and every event that both traces have.  TOOL_OK: they are equal;
 * TOOL_FAILED: after a message on stderr, in *differs whether it is about a difference.
 */
int compare(const struct light *l, const struct window *window, const char *path,
            bool quiet, bool *differs);

#endif
