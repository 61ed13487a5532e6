/* SPDX-License-Identifier: MIT */
/* A cache of data for blocks, by id; see idcache.h. */
#include "input/idcache.h"

#include <stdlib.h>
#include <string.h>

/* Overhead of an entry: of malloc, and of a table that is half full. */
#define ENTRY_BYTES (16 + 2 * sizeof(struct idcache_entry))

static void forget_all(struct idcache *c)
{
    for (size_t i = 0; c->v && i <= c->mask; i++) {
        free(c->v[i].p);
        c->v[i] = (struct idcache_entry){0};
    }
    c->used = 0;
    c->bytes = 0;
}

/* Makes room for one more; the table is never more than half full. */
static bool room(struct idcache *c)
{
    struct idcache old = *c;
    size_t n = c->v ? 2 * (c->mask + 1) : 1024;

    if (c->v && 2 * (c->used + 1) <= c->mask + 1) {
        return true;
    }
    c->v = calloc(n, sizeof(*c->v));
    if (!c->v) {
        c->v = old.v;
        return false;
    }
    c->mask = n - 1;
    for (size_t i = 0; old.v && i <= old.mask; i++) {
        if (old.v[i].p) {
            *idcache_place(c, old.v[i].id) = old.v[i];
        }
    }
    free(old.v);
    return true;
}

bool idcache_put(struct idcache *c, uint32_t id, void *p, size_t bytes)
{
    struct idcache_entry *e;

    if (c->bytes + c->used * ENTRY_BYTES > c->max_bytes) {
        forget_all(c);
    }
    if (bytes > UINT32_MAX || !room(c)) {
        return false;
    }
    e = idcache_place(c, id);
    c->used += !e->p;
    c->bytes += bytes - e->bytes;
    free(e->p);
    *e = (struct idcache_entry){p, id, (uint32_t)bytes};
    return true;
}

void idcache_fini(struct idcache *c)
{
    forget_all(c);
    free(c->v);
    *c = (struct idcache){0};
}
