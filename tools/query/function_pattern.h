/* SPDX-License-Identifier: MIT */
/*
 * Patterns of functions, as options of tracesym take them: "malloc", "str*",
 * "libc.so.6!malloc", "parse.c:total", "app!parse.c:total".  A module is a glob of its name
 * or path, a source file the end of a path (sym_path_matches), a name or glob as
 * sym_name_matches has it.
 */
#ifndef TOOLS_FUNCTION_PATTERN_H
#define TOOLS_FUNCTION_PATTERN_H

#include <stdbool.h>

#include "symbols/places.h"

struct function_pattern {
    char module[256]; /* "": any */
    char source[256]; /* "": any; else SYMFILE_LINES are needed */
    char name[2048];
};

/* False: a part is too long for a name. */
bool function_pattern_split(const char *text, struct function_pattern *out);

/* Whether a text has a source file in it, so that SYMFILE_LINES are needed. */
bool function_pattern_has_source(const char *text);

bool function_pattern_is_module(const struct function_pattern *p, const struct module *m);
/* Whether the source file, if there is one, declares a function of m (which may be NULL). */
bool function_pattern_is_source(const struct function_pattern *p, const struct module *m,
                                const struct sym_function *fn);

#endif
