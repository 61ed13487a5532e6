/* SPDX-License-Identifier: MIT */
/* Open addressing, doubled when half full. */
#include "base/countmap.h"

#include <stdlib.h>
#include <string.h>

static uint32_t slot_of(const struct countmap_entry *e, uint32_t cap, uint64_t key)
{
    uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (cap - 1);
    while (e[at].key && e[at].key != key) {
        at = (at + 1) & (cap - 1);
    }
    return at;
}

static int grow(struct countmap *m)
{
    uint32_t cap = m->cap ? m->cap * 2 : 256;
    struct countmap_entry *e = cap ? calloc(cap, sizeof(e[0])) : NULL;
    if (!e) {
        return -1;
    }
    for (uint32_t i = 0; i < m->cap; i++) {
        if (m->entry[i].key) {
            e[slot_of(e, cap, m->entry[i].key)] = m->entry[i];
        }
    }
    free(m->entry);
    m->entry = e;
    m->cap = cap;
    return 0;
}

int countmap_add(struct countmap *m, uint64_t key, uint64_t count)
{
    struct countmap_entry *e =
        m->cap ? &m->entry[slot_of(m->entry, m->cap, key + 1)] : NULL;
    if (!e || (e->key == 0 && m->n >= m->cap / 2)) {
        if (grow(m)) {
            return -1;
        }
        e = &m->entry[slot_of(m->entry, m->cap, key + 1)];
    }
    m->n += e->key == 0;
    e->key = key + 1;
    e->count += count;
    return 0;
}

uint64_t countmap_get(const struct countmap *m, uint64_t key)
{
    return m->cap ? m->entry[slot_of(m->entry, m->cap, key + 1)].count : 0;
}

void countmap_clear(struct countmap *m)
{
    if (m->n) {
        memset(m->entry, 0, m->cap * sizeof(m->entry[0]));
        m->n = 0;
    }
}

void countmap_fini(struct countmap *m)
{
    free(m->entry);
    memset(m, 0, sizeof(*m));
}
