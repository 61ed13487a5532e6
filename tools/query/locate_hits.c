/* SPDX-License-Identifier: MIT */
/* What a search for a location has found, or why it has found nothing. */
#include "query/locate_priv.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/array.h"

bool hits_add(struct hits *h, const struct module *m, uint64_t from, uint64_t to)
{
    if (!array_reserve(&h->v, &h->cap, h->n + (size_t)1, sizeof(*h->v))) {
        h->no_memory = true;
        return false;
    }
    h->v[h->n++] = (struct hit){m, from, to};
    return true;
}

void finder_why(struct finder *f, enum why kind, const char *format, ...)
{
    va_list ap;

    if (f->why[0]) {
        return;
    }
    f->kind = kind;
    va_start(ap, format);
    vsnprintf(f->why, sizeof(f->why), format, ap);
    va_end(ap);
}

void finder_why_module(struct finder *f, const char *glob, uint32_t len)
{
    finder_why(f, WHY_MODULE, "no program or library '%.*s' ran", (int)len, glob);
}
