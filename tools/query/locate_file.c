/* SPDX-License-Identifier: MIT */
/* Locations in one file; see locate_file.h. */
#include "query/locate_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/locate_priv.h"

static enum located kind_of(enum why kind)
{
    switch (kind) {
    case WHY_MODULE:
        return LOCATED_NOT_MEANT;
    case WHY_NAME:
        return LOCATED_UNKNOWN;
    case WHY_BARE:
        return LOCATED_BARE;
    case WHY_EXACT:
        break;
    }
    return LOCATED_NOT;
}

enum located locate_in_file(const struct module *m, const char *item, bool functions,
                            enum locate_want want,
                            void (*fn)(void *arg, uint64_t from, uint64_t to), void *arg,
                            char *why, size_t size)
{
    const struct locate_request request = {
        .prog = "cannoli", .path = m->path, .option = item, .want = want};
    struct finder f = {.request = &request, .only = m};
    enum located result = LOCATED;

    if (functions) {
        finder_functions(&f, item);
    } else if (finder_item(&f, item) != TOOL_OK) {
        finder_why(&f, WHY_EXACT, "'%s' is empty", item);
        f.hits.n = 0;
    }
    if (f.hits.no_memory) {
        f.why[0] = '\0';
        finder_why(&f, WHY_EXACT, "out of memory");
        f.hits.n = 0;
    }
    for (uint32_t i = 0; i < f.hits.n; i++) {
        fn(arg, f.hits.v[i].from, f.hits.v[i].to);
    }
    if (!f.hits.n) {
        finder_why(&f, WHY_NAME, "nothing is named '%s'", item);
        snprintf(why, size, "%s", f.why);
        result = kind_of(f.kind);
    }
    free(f.hits.v);
    return result;
}

bool locate_can_be_in(const struct module *m, const char *item)
{
    const struct finder f = {.only = m};
    uint32_t len = (uint32_t)strlen(item), module = location_module(item, len);

    /* Of a range the second place may have another module before it. */
    return module == len || strchr(item, '-') || finder_module(&f, m, item, module);
}
