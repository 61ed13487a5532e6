/* SPDX-License-Identifier: MIT */
/* --select: options of cannoli-record that choose instructions, as one text. */
#ifndef EXPAND_CHOICE_H
#define EXPAND_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

struct choice {
    char *words; /* each with a NUL */
    size_t n;    /* of them; 0: nothing is chosen */
};

/*
 * Splits the text at blanks, but not within quotes ('...' or "..."), as a shell does it; a
 * backslash is nothing special.  TOOL_OK; TOOL_USAGE, TOOL_FAILED after a line on stderr: it has
 * another option, lacks an argument or the end of a quote.  Call choice_free in any case.
 */
int choice_make(struct choice *c, const char *prog, const char *text);
void choice_free(struct choice *c);

#endif
