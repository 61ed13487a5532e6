/* SPDX-License-Identifier: MIT */
/* Writes what QEMU executes the program with: cannoli/inputs.h. */
#ifndef EXPAND_INPUTS_H
#define EXPAND_INPUTS_H

#include "light.h"
#include "start.h"
#include "window.h"

/* Into a folder that is empty.  TOOL_OK, or TOOL_FAILED after one line on stderr. */
int inputs_write(const struct light *l, const struct start *start,
                 const struct window *window, const char *folder);

#endif
