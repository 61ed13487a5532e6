/* SPDX-License-Identifier: MIT */
/*
 * A worker's cache of data for blocks of a trace, by block id.  When it exceeds its
 * bound it is emptied, and the data of blocks that still run is made again.  So its size
 * does not depend on the number of blocks in the trace.
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
    struct idcache_entry
        *v;      /* hash table; the hash is the id, as neighbours run together */
    size_t mask; /* its size, a power of two, minus 1 */
    size_t used;
    size_t bytes;
    size_t max_bytes;
};

/* The entry of an id, or the free entry where it belongs.  The table must exist. */
static inline struct idcache_entry *idcache_place(const struct idcache *c, uint32_t id)
{
    size_t i = id & c->mask;

    while (c->v[i].p && c->v[i].id != id) {
        i = (i + 1) & c->mask;
    }
    return &c->v[i];
}

/* The data of an id, or NULL. */
static inline void *idcache_get(const struct idcache *c, uint32_t id)
{
    return c->v ? idcache_place(c, id)->p : NULL;
}

/*
 * Stores `p', of that many bytes from malloc(3), for an id; replaces older data.  This
 * may free all other entries.  False: no memory, p is not stored.
 */
bool idcache_put(struct idcache *c, uint32_t id, void *p, size_t bytes);

void idcache_fini(struct idcache *c);

#endif
