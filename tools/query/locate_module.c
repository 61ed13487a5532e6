/* SPDX-License-Identifier: MIT */
/* The modules that a name means. */
#include "query/locate_priv.h"

#include <stdlib.h>
#include <string.h>

bool finder_module(const struct module *m, const char *glob, uint32_t len)
{
    char *text = len ? strndup(glob, len) : NULL;
    const char *list = text;
    bool fits = !len || (text && module_matches(m, &list, 1));

    free(text);
    return fits;
}

const struct module *finder_module_named(const struct finder *f, const char *text,
                                         uint32_t len)
{
    const struct modset *set = places_modset(f->request->places);
    const struct module *m;

    for (uint32_t i = 0; (m = modset_module(set, i)) != NULL; i++) {
        if ((strlen(m->name) == len && !memcmp(m->name, text, len)) ||
            (strlen(m->path) == len && !memcmp(m->path, text, len))) {
            return m;
        }
    }
    return NULL;
}
