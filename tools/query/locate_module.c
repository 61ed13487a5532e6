/* SPDX-License-Identifier: MIT */
/* The modules that a name means. */
#include "query/locate_priv.h"

#include <stdlib.h>
#include <string.h>

const struct module *finder_nth(const struct finder *f, uint32_t i)
{
    if (f->only) {
        return i ? NULL : f->only;
    }
    return i < f->nr_modules ? f->modules[i] : NULL;
}

/* Whether a name is this text with a dot and more after it. */
static bool is_version(const char *name, const char *text, uint32_t len)
{
    return strncmp(name, text, len) == 0 && name[len] == '.';
}

bool finder_module(const struct finder *f, const struct module *m, const char *glob,
                   uint32_t len)
{
    char *text = len ? strndup(glob, len) : NULL;
    const char *list = text;
    bool fits = !len || (text && module_matches(m, &list, 1)) ||
                (f->only && is_version(m->name, glob, len));

    free(text);
    return fits;
}

const struct module *finder_module_named(const struct finder *f, const char *text,
                                         uint32_t len)
{
    const struct module *m;

    for (uint32_t i = 0; (m = finder_nth(f, i)) != NULL; i++) {
        if ((strlen(m->name) == len && !memcmp(m->name, text, len)) ||
            (strlen(m->path) == len && !memcmp(m->path, text, len)) ||
            (f->only && is_version(m->name, text, len))) {
            return m;
        }
    }
    return NULL;
}
