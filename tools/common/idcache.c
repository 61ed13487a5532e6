/* SPDX-License-Identifier: MIT */
/* What is kept for blocks, by id; see idcache.h. */
#include "common/idcache.h"

#include <stdlib.h>
#include <string.h>

static void forget_all(struct idcache *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->v[i].p);
        c->v[i] = (struct idcache_entry){0};
    }
    c->bytes = 0;
}

static bool room_for(struct idcache *c, uint32_t id)
{
    size_t n = c->n ? c->n : 1024;
    struct idcache_entry *v;

    while (n <= id) {
        n *= 2;
    }
    if (n == c->n) {
        return true;
    }
    v = realloc(c->v, n * sizeof(*v));
    if (!v) {
        return false;
    }
    memset(v + c->n, 0, (n - c->n) * sizeof(*v));
    c->v = v;
    c->n = n;
    return true;
}

bool idcache_put(struct idcache *c, uint32_t id, void *p, size_t bytes)
{
    if (c->bytes > c->max_bytes) {
        forget_all(c);
    }
    if (!room_for(c, id)) {
        return false;
    }
    c->bytes += bytes - c->v[id].bytes;
    free(c->v[id].p);
    c->v[id] = (struct idcache_entry){p, bytes};
    return true;
}

void idcache_fini(struct idcache *c)
{
    forget_all(c);
    free(c->v);
    *c = (struct idcache){0};
}
