/* SPDX-License-Identifier: MIT */
/* Open addressing; the table is at most half full. */
#include "common/map64.h"

#include <stdlib.h>
#include <string.h>

static struct map64_entry *place(const struct map64 *m, uint64_t key)
{
    size_t i = (size_t)(key ^ key >> 32) & m->mask;

    while (m->v[i].key && m->v[i].key != key) {
        i = (i + 1) & m->mask;
    }
    return &m->v[i];
}

uint32_t *map64_get(const struct map64 *m, uint64_t key)
{
    struct map64_entry *e = m->v ? place(m, key) : NULL;

    return e && e->key ? &e->value : NULL;
}

static bool grow(struct map64 *m)
{
    struct map64 bigger = {.mask = m->v ? 2 * m->mask + 1 : 255};

    bigger.v = calloc(bigger.mask + 1, sizeof(*bigger.v));
    if (!bigger.v) {
        return false;
    }
    for (size_t i = 0; m->v && i <= m->mask; i++) {
        if (m->v[i].key) {
            *place(&bigger, m->v[i].key) = m->v[i];
        }
    }
    bigger.used = m->used;
    free(m->v);
    *m = bigger;
    return true;
}

uint32_t *map64_put(struct map64 *m, uint64_t key, uint32_t value, bool *added)
{
    struct map64_entry *e;

    if ((!m->v || m->used > m->mask / 2) && !grow(m)) {
        return NULL;
    }
    e = place(m, key);
    *added = !e->key;
    if (*added) {
        e->key = key;
        e->value = value;
        m->used++;
    }
    return &e->value;
}

void map64_clear(struct map64 *m)
{
    if (m->used) {
        memset(m->v, 0, (m->mask + 1) * sizeof(*m->v));
        m->used = 0;
    }
}

void map64_fini(struct map64 *m)
{
    free(m->v);
    *m = (struct map64){0};
}
