/* SPDX-License-Identifier: MIT */
/* Which functions --function selects; see function_choice.h. */
#include "tracecov/function_choice.h"

#include "query/function_pattern.h"

bool function_chosen(const char *pattern, const struct module *m, const char *path,
                     const char *name, const char *linkage)
{
    struct function_pattern p;

    return !pattern ||
           (function_pattern_split(pattern, &p) && function_pattern_is_module(&p, m) &&
            (!*p.source || (path && sym_path_matches(path, p.source))) &&
            sym_name_matches(p.name, name, linkage));
}
