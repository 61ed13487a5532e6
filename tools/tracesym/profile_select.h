/* SPDX-License-Identifier: MIT */
/*
 * The functions of a call tree that --module and --function select.
 */
#ifndef TRACESYM_PROFILE_SELECT_H
#define TRACESYM_PROFILE_SELECT_H

#include "calltree/calltree.h"

/* Globs, as of struct site_options; none: all. */
struct profile_selection {
    const char *const *modules, *const *functions;
    unsigned nr_modules, nr_functions;
};

/*
 * For each function of the tree whether it is selected.  Returns TOOL_OK and *wanted, which
 * the caller frees with free(3); after one line on stderr TOOL_NOTHING if nothing ran in a
 * selected function, TOOL_FAILED without memory.
 */
int profile_select(bool **wanted, const struct calltree *t, const char *path,
                   const struct places *places, const struct profile_selection *s);

#endif
