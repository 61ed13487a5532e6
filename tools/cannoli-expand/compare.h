/* SPDX-License-Identifier: MIT */
/* Compares the second execution with the light trace. */
#ifndef EXPAND_COMPARE_H
#define EXPAND_COMPARE_H

#include <stdbool.h>

#include "light.h"
#include "window.h"

/*
 * Compares every instruction and every event that both traces have.  TOOL_OK: they are equal;
 * TOOL_FAILED: after a message on stderr, in *differs whether it is about a difference.  *differs
 * is set before if QEMU has ended the second execution because it did something else, and has
 * said so.
 */
int compare(const struct light *l, const struct window *window, const char *path,
            bool quiet, bool *differs);

/*
 * The same of a second execution of which instructions were chosen (--select): what it has of
 * each thread must be there in the light trace, too, in this order.
 */
int compare_chosen(const struct light *l, const char *path, bool *differs);

#endif
