/* SPDX-License-Identifier: MIT */
/* Patterns of functions; see function_pattern.h. */
#include "query/function_pattern.h"

#include <fnmatch.h>
#include <string.h>

#include "query/location.h"

static bool copy(char *to, size_t size, const char *text, uint32_t len)
{
    if (len >= size) {
        return false;
    }
    location_name(text, len, to);
    return true;
}

bool function_pattern_split(const char *text, struct function_pattern *out)
{
    uint32_t len = (uint32_t)strlen(text), module = location_module(text, len);
    uint32_t file, file_len, name;

    *out->module = *out->source = 0;
    if (module < len) {
        if (!copy(out->module, sizeof(out->module), text, module)) {
            return false;
        }
        text += module + 1;
        len -= module + 1;
    }
    if (location_source(text, len, &file, &file_len, &name)) {
        if (!copy(out->source, sizeof(out->source), text + file, file_len)) {
            return false;
        }
        text += name;
        len -= name;
    }
    return copy(out->name, sizeof(out->name), text, len);
}

bool function_pattern_has_source(const char *text)
{
    struct function_pattern p;

    return function_pattern_split(text, &p) && *p.source;
}

bool function_pattern_is_module(const struct function_pattern *p, const struct module *m)
{
    return !*p->module ||
           (m && (!fnmatch(p->module, m->name, 0) || !fnmatch(p->module, m->path, 0)));
}

bool function_pattern_is_source(const struct function_pattern *p, const struct module *m,
                                const struct sym_function *fn)
{
    const char *path = m && m->file && fn
                           ? symfile_file(m->file, symfile_function_file(m->file, fn))
                           : NULL;

    return !*p->source || (path && sym_path_matches(path, p->source));
}
