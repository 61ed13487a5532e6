/* SPDX-License-Identifier: MIT */
/* A shell's completion of a program, made of its table of options: --completion. */
#ifndef COMMON_COMPLETION_H
#define COMMON_COMPLETION_H

#include "common/options.h"

/* Writes the script.  Returns false if the shell is none of tool_shell_words. */
bool completion_print(const struct tool_options *o, const char *shell, FILE *out);

#endif
