/* SPDX-License-Identifier: MIT */
/* A hash table from two numbers to two counts, at most half full; see hist.h. */
#include "hist.h"

#include <stdlib.h>

static bool is_free(const struct hist_entry *e)
{
    return !e->n[0] && !e->n[1];
}

/* The entry of a key, or the free one where it belongs. */
static struct hist_entry *find(const struct hist_table *t, uint64_t a, uint64_t b)
{
    uint64_t hash = (a ^ b * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xff51afd7ed558ccd);
    size_t i = (size_t)(hash >> 32) & (t->size - 1);

    while (!is_free(&t->v[i]) && (t->v[i].a != a || t->v[i].b != b)) {
        i = (i + 1) & (t->size - 1);
    }
    return &t->v[i];
}

static bool grow(struct hist_table *t)
{
    struct hist_table new = {.size = t->size ? 2 * t->size : 64, .used = t->used};

    new.v = calloc(new.size, sizeof(*new.v));
    if (!new.v) {
        return false;
    }
    for (size_t i = 0; i < t->size; i++) {
        if (!is_free(&t->v[i])) {
            *find(&new, t->v[i].a, t->v[i].b) = t->v[i];
        }
    }
    free(t->v);
    *t = new;
    return true;
}

bool hist_add(struct hist_table *t, uint64_t a, uint64_t b, unsigned which,
              uint64_t count)
{
    struct hist_entry *e;

    if (!count) {
        return true;
    }
    if (t->used >= t->size / 2 && !grow(t)) {
        return false;
    }
    e = find(t, a, b);
    if (is_free(e)) {
        e->a = a;
        e->b = b;
        t->used++;
    }
    e->n[which] = count > UINT64_MAX - e->n[which] ? UINT64_MAX : e->n[which] + count;
    return true;
}

bool hist_add_all(struct hist_table *to, const struct hist_table *from)
{
    for (size_t i = 0; i < from->size; i++) {
        const struct hist_entry *e = &from->v[i];
        for (unsigned which = 0; which < 2; which++) {
            if (e->n[which] && !hist_add(to, e->a, e->b, which, e->n[which])) {
                return false;
            }
        }
    }
    return true;
}

void hist_compact(struct hist_table *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->size; i++) {
        if (!is_free(&t->v[i])) {
            t->v[n++] = t->v[i];
        }
    }
}

void hist_fini(struct hist_table *t)
{
    free(t->v);
    *t = (struct hist_table){0};
}
