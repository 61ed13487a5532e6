/* SPDX-License-Identifier: MIT */
/* See rows.h. */
#include "rows.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"

static struct row_key *key_at(const struct rows *t, size_t i)
{
    return (struct row_key *)((char *)t->row + i * t->row_bytes);
}

static uint32_t *place_of(const struct rows *t, const void *key, size_t n)
{
    for (size_t i = (size_t)hash_bytes(HASH_START, key, n);; i++) {
        uint32_t *p = &t->index[i & (t->size - 1)];
        const struct row_key *k = *p ? key_at(t, *p - 1) : NULL;
        if (!k || (k->n == n && !memcmp(k->bytes, key, n))) {
            return p;
        }
    }
}

static bool grow(struct rows *t)
{
    size_t size = t->size ? 2 * t->size : 64;
    uint32_t *index = calloc(size, sizeof(*index));

    if (!index) {
        return false;
    }
    free(t->index);
    t->index = index;
    t->size = size;
    for (size_t i = 0; i < t->n; i++) {
        const struct row_key *k = key_at(t, i);
        *place_of(t, k->bytes, k->n) = (uint32_t)i + 1;
    }
    return true;
}

void *rows_get(struct rows *t, const void *key, size_t n)
{
    uint32_t *place;

    if (2 * t->n >= t->size && !grow(t)) {
        return NULL;
    }
    place = place_of(t, key, n);
    if (!*place) {
        void *copy = malloc(n);
        if (!copy || !array_reserve_zeroed(&t->row, &t->cap, t->n + 1, t->row_bytes)) {
            free(copy);
            return NULL;
        }
        memcpy(copy, key, n);
        *key_at(t, t->n++) = (struct row_key){copy, n};
        *place = (uint32_t)t->n;
    }
    return key_at(t, *place - 1);
}

void rows_sort(struct rows *t, int (*compare)(const void *, const void *))
{
    if (t->n) {
        qsort(t->row, t->n, t->row_bytes, compare);
    }
}

bool rows_more_text(struct textbuf *b, const struct rows *t)
{
    return t->n <= ROWS_TEXT ||
           textbuf_printf(b, "  and %zu more (--json)\n", t->n - ROWS_TEXT);
}

void rows_free(struct rows *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(key_at(t, i)->bytes);
    }
    free(t->row);
    free(t->index);
}
