/* SPDX-License-Identifier: MIT */
/*
 * What a worker keeps for blocks of a trace, by their id: found by one look into an
 * array. Bounded in a simple way: when it has grown too large everything is forgotten,
 * and made again for the blocks that still run.
 */
#ifndef TOOLS_IDCACHE_H
#define TOOLS_IDCACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct idcache_entry {
    void *p; /* of malloc(3), or NULL */
    size_t bytes;
};

struct idcache {
    struct idcache_entry *v;
    size_t n;
    size_t bytes;
    size_t max_bytes;
};

/* What is kept for an id, or NULL. */
static inline void *idcache_get(const struct idcache *c, uint32_t id)
{
    return id < c->n ? c->v[id].p : NULL;
}

/*
 * Keeps `p', which took so many bytes of malloc(3), for an id, instead of what was there.
 * Everything else may be forgotten (freed) by that.  False: no memory, p is not kept.
 */
bool idcache_put(struct idcache *c, uint32_t id, void *p, size_t bytes);

void idcache_fini(struct idcache *c);

#endif
