/* SPDX-License-Identifier: MIT */
/* Which functions --function selects. */
#ifndef TRACECOV_FUNCTION_CHOICE_H
#define TRACECOV_FUNCTION_CHOICE_H

#include <stdbool.h>

#include "symbols/places.h"

/*
 * Whether a pattern (function_pattern.h; NULL: any function) means a function by its name
 * or linkage name.  path: of the source that declares it, NULL if none is known; m: NULL
 * or its module.
 */
bool function_chosen(const char *pattern, const struct module *m, const char *path,
                     const char *name, const char *linkage);

#endif
