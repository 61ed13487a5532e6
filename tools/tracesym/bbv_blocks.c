/* SPDX-License-Identifier: MIT */
/* The numbers of basic blocks; see bbv_blocks.h. */
#include "bbv_blocks.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const struct ctr_block *b)
{
    uint64_t h = b->pc * 0x9e3779b97f4a7c15u;

    h ^= (h >> 29) + b->off[b->ninsn];
    return (h * 0xbf58476d1ce4e5b9u) >> 17;
}

static bool same(const struct ctr_block *a, const struct ctr_block *b)
{
    size_t bytes = b->off[b->ninsn];

    return a->pc == b->pc && a->ninsn == b->ninsn && a->off[a->ninsn] == bytes &&
           a->mode == b->mode && !a->pcs == !b->pcs && !memcmp(a->code, b->code, bytes) &&
           (!a->pcs || !memcmp(a->pcs, b->pcs, b->ninsn * sizeof(*b->pcs)));
}

/* The slot of a block, or the slot where it belongs. */
static uint32_t *slot_of(const struct bbv_blocks *t, const struct ctr_block *b)
{
    uint32_t mask = t->nr_slots - 1;
    uint32_t i = (uint32_t)hash_of(b) & mask;

    while (t->slots[i] && !same(t->blocks[t->slots[i]], b)) {
        i = (i + 1) & mask;
    }
    return &t->slots[i];
}

/* Makes room for another number. */
static bool room(struct bbv_blocks *t)
{
    uint32_t n = t->cap ? 2 * t->cap : 1024;
    const struct ctr_block **blocks;
    uint32_t *slots;

    if (t->n + 1 < t->cap) {
        return true;
    }
    blocks = realloc(t->blocks, n * sizeof(*blocks));
    if (!blocks) {
        return false;
    }
    t->blocks = blocks;
    slots = calloc(2 * (size_t)n, sizeof(*slots));
    if (!slots) {
        return false;
    }
    free(t->slots);
    t->slots = slots;
    t->nr_slots = 2 * n;
    t->cap = n;
    for (uint32_t i = 1; i <= t->n; i++) {
        *slot_of(t, t->blocks[i]) = i;
    }
    return true;
}

static bool room_for_id(struct bbv_blocks *t, uint32_t id)
{
    uint32_t n = 2 * id + 1024;
    uint32_t *v;

    if (id < t->nr_ids) {
        return true;
    }
    v = realloc(t->by_id, n * sizeof(*v));
    if (!v) {
        return false;
    }
    memset(v + t->nr_ids, 0, (n - t->nr_ids) * sizeof(*v));
    t->by_id = v;
    t->nr_ids = n;
    return true;
}

uint32_t bbv_blocks_number(struct bbv_blocks *t, const struct ctr_block *b, bool *fresh)
{
    uint32_t *slot;

    *fresh = false;
    if (b->id < t->nr_ids && t->by_id[b->id]) {
        return t->by_id[b->id];
    }
    if (!room_for_id(t, b->id) || !room(t)) {
        return 0;
    }
    slot = slot_of(t, b);
    if (!*slot) {
        *slot = ++t->n;
        t->blocks[t->n] = b;
        *fresh = true;
    }
    t->by_id[b->id] = *slot;
    return *slot;
}

void bbv_blocks_fini(struct bbv_blocks *t)
{
    free(t->by_id);
    free(t->blocks);
    free(t->slots);
    *t = (struct bbv_blocks){0};
}
