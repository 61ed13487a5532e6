/* SPDX-License-Identifier: MIT */
/*
 * A hash set of page numbers that grows as needed up to MAX_PAGES; beyond, it
 * says "any page", which is never wrong, only less useful.
 */
#include "model/pageset.h"

#include <string.h>
#include "base/format.h"
#include "base/le.h"

#define FIRST_SLOTS 1024u

int pageset_init(struct pageset *s)
{
    memset(s, 0, sizeof(*s));
    s->slot = calloc(FIRST_SLOTS, sizeof(s->slot[0]));
    s->mask = FIRST_SLOTS - 1;
    return s->slot ? 0 : -1;
}

void pageset_fini(struct pageset *s)
{
    free(s->slot);
    free(s->sorted);
    memset(s, 0, sizeof(*s));
}

void pageset_clear(struct pageset *s)
{
    if (s->n) {
        memset(s->slot, 0, ((size_t)s->mask + 1) * sizeof(s->slot[0]));
    }
    memset(s->filter, 0, sizeof(s->filter));
    s->n = 0;
    s->any = 0;
}

static inline uint32_t hash_page(uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 40);
}

static void place(uint64_t *slot, uint32_t mask, uint64_t key)
{
    uint32_t i = hash_page(key) & mask;
    while (slot[i]) {
        i = (i + 1) & mask;
    }
    slot[i] = key;
}

static int grow(struct pageset *s)
{
    uint32_t n = (s->mask + 1) * 2;
    uint64_t *slot = calloc(n, sizeof(slot[0]));
    if (!slot) {
        return -1;
    }
    for (uint32_t i = 0; i <= s->mask; i++) {
        if (s->slot[i]) {
            place(slot, n - 1, s->slot[i]);
        }
    }
    free(s->slot);
    s->slot = slot;
    s->mask = n - 1;
    return 0;
}

int pageset_insert(struct pageset *s, uint64_t page)
{
    uint64_t key = page + 1;
    if (s->any) {
        return 0;
    }
    uint32_t i = hash_page(key) & s->mask;
    while (s->slot[i]) {
        if (s->slot[i] == key) {
            return 0;
        }
        i = (i + 1) & s->mask;
    }
    if (s->n >= MAX_PAGES) {
        s->any = 1;
        return 0;
    }
    s->slot[i] = key;
    s->n++;
    return s->n * 2 > s->mask ? grow(s) : 0;
}

int pageset_write(struct pageset *s, struct buf *out)
{
    if (buf_reserve(out, VARINT_MAX + (size_t)s->n * VARINT_MAX)) {
        return -1;
    }
    if (s->any) {
        out->n += put_varint(out->p + out->n, 0);
        return 0;
    }
    uint64_t *list = realloc(s->sorted, ((size_t)s->n + 1) * sizeof(list[0]));
    if (!list) {
        return -1;
    }
    s->sorted = list;
    uint32_t n = 0;
    for (uint32_t i = 0; i <= s->mask; i++) {
        if (s->slot[i]) {
            list[n++] = s->slot[i] - 1;
        }
    }
    qsort(list, n, sizeof(list[0]), ctr_by_u64);
    out->n += put_varint(out->p + out->n, (uint64_t)n + 1);
    uint64_t last = 0;
    for (uint32_t i = 0; i < n; i++) {
        out->n += put_varint(out->p + out->n, list[i] - last);
        last = list[i];
    }
    return 0;
}
