/* SPDX-License-Identifier: MIT */
/* Which mappings are of memory that others can write; see outside.h. */
#include "outside.h"

#include <stdio.h>
#include <string.h>

#include "cannoli/events.h"
#include "mapping.h"

#define MAX_NAMED 64u

void outside_fini(struct outside *o)
{
    map64_fini(&o->named);
}

static bool begins(struct ctr_str path, const char *with)
{
    return path.n >= strlen(with) && !memcmp(path.p, with, strlen(with));
}

/* Anonymous memory that is shared is a file, too: only children have it. */
static bool is_anonymous(struct ctr_str path)
{
    return !path.n || begins(path, "/dev/zero");
}

static bool is_in_memory(struct ctr_str path)
{
    return begins(path, "/dev/") || begins(path, "/memfd:");
}

bool outside_found(struct outside *o, const struct ctr_map *m, char *name, size_t size)
{
    const uint64_t kind = 1 + (m->op == CTR_MAP_SHMAT); /* each has inodes of its own */
    bool added;

    switch (m->op) {
    case CTR_MAP_SHMAT:
        snprintf(name, size, "System V shared memory");
        break;
    case CTR_MAP_INITIAL:
    case CTR_MAP_MMAP:
        if (!(m->flags & MAPPING_SHARED) || is_anonymous(m->path) ||
            !(m->prot & MAPPING_WRITES || is_in_memory(m->path))) {
            return false;
        }
        snprintf(name, size, "%.*s", (int)m->path.n, m->path.p);
        break;
    default:
        return false;
    }
    return o->named.used < MAX_NAMED &&
           map64_put(&o->named, map64_mix(map64_mix(kind, m->dev), m->inode), 0,
                     &added) &&
           added;
}
