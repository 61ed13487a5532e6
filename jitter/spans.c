/* SPDX-License-Identifier: MIT */
/* Memory, sets of numbers, and places; see filter.h. */
#include "filter.h"

#include <stdlib.h>
#include <string.h>

void *filter_grow(void *array, size_t n, size_t *cap, size_t item_bytes)
{
    if (n == *cap) {
        *cap = *cap ? 2 * *cap : 8;
        array = reallocarray(array, *cap, item_bytes);
        if (!array) {
            abort();
        }
    }
    return array;
}

char *filter_copy(const char *text, size_t n)
{
    char *copy = strndup(text, n);

    if (!copy) {
        abort();
    }
    return copy;
}

void spans_add(struct spans *s, uint64_t start, uint64_t end)
{
    if (start < end) {
        s->v = filter_grow(s->v, s->n, &s->cap, sizeof(*s->v));
        s->v[s->n++] = (struct span){start, end};
    }
}

static int by_start(const void *a, const void *b)
{
    const struct span *x = a, *y = b;

    return x->start < y->start ? -1 : x->start > y->start;
}

void spans_finish(struct spans *s)
{
    size_t n = 0;

    if (s->n > 1) {
        qsort(s->v, s->n, sizeof(*s->v), by_start);
    }
    for (size_t i = 0; i < s->n; i++) {
        if (n && s->v[i].start <= s->v[n - 1].end) {
            if (s->v[i].end > s->v[n - 1].end) {
                s->v[n - 1].end = s->v[i].end;
            }
        } else {
            s->v[n++] = s->v[i];
        }
    }
    s->n = n;
}

bool spans_around(const struct spans *s, uint64_t x, struct span *around)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (x >= s->v[mid].end) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low < s->n && x >= s->v[low].start) {
        *around = s->v[low];
        return true;
    }
    around->start = low ? s->v[low - 1].end : 0;
    around->end = low < s->n ? s->v[low].start : UINT64_MAX;
    return false;
}

bool spans_hold(const struct spans *s, uint64_t x)
{
    struct span around;

    return spans_around(s, x, &around);
}

void spans_free(struct spans *s)
{
    free(s->v);
    *s = (struct spans){0};
}

void places_finish(struct places *p)
{
    for (unsigned i = 0; i < USES; i++) {
        spans_finish(&p->of[i]);
    }
}

void places_free(struct places *p)
{
    for (unsigned i = 0; i < USES; i++) {
        spans_free(&p->of[i]);
    }
}
