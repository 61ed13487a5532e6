/* SPDX-License-Identifier: MIT */
/*
 * What a worker keeps for blocks of a trace, by their id. Bounded in a simple way: when
 * it has grown too large everything is forgotten, and made again for the blocks that
 * still run. How many blocks the trace has does not matter.
 */
#ifndef TOOLS_IDCACHE_H
#define TOOLS_IDCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idcache_entry {
    void *p; /* of malloc(3), or NULL */
    uint32_t id;
    uint32_t bytes;
};

struct idcache {
    struct idcache_entry *v; /* hash table, of ids as they are: neighbours run together */
    size_t mask;             /* its size, a power of two, minus 1 */
    size_t used;
    size_t bytes;
    size_t max_bytes;
};

/* Where an id stands, or the free place where it would; there is a table. */
static inline struct idcache_entry *idcache_place(const struct idcache *c, uint32_t id)
{
    size_t i = id & c->mask;

    while (c->v[i].p && c->v[i].id != id) {
        i = (i + 1) & c->mask;
    }
    return &c->v[i];
}

/* What is kept for an id, or NULL. */
static inline void *idcache_get(const struct idcache *c, uint32_t id)
{
    return c->v ? idcache_place(c, id)->p : NULL;
}

/*
 * Keeps `p', which took so many bytes of malloc(3), for an id, instead of what was there.
 * Everything else may be forgotten (freed) by that.  False: no memory, p is not kept.
 */
bool idcache_put(struct idcache *c, uint32_t id, void *p, size_t bytes);

void idcache_fini(struct idcache *c);

#endif
