/* SPDX-License-Identifier: MIT */
/* --completion: prints a shell's completion of a program, made of its table of options. */
#ifndef COMMON_COMPLETION_H
#define COMMON_COMPLETION_H

#include "common/options.h"

/*
 * Call when tool_options_next has returned TOOL_OPT_COMPLETION.  Prints to standard output.
 * Returns TOOL_OK, or TOOL_USAGE after one line on stderr if o->arg is no shell.
 */
int tool_completion_print(struct tool_options *o);

#endif
