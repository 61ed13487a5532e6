/* SPDX-License-Identifier: MIT */
/*
 * What was mapped at a pc, in any process at any time: ranges of modules as a list of
 * pieces that do not overlap, each with the ranges that contain it.  Forked children
 * share nearly all of their ranges, so equal ones are dropped when they are added.
 */
#include "places_priv.h"

#include <stdlib.h>
#include <string.h>

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    int c = compare_numbers(x->start, y->start);

    c = c ? c : compare_numbers(x->end, y->end);
    c = c ? c : compare_numbers((uintptr_t)x->mod, (uintptr_t)y->mod);
    return c ? c : compare_numbers(x->offset, y->offset);
}

size_t ranges_sort(struct ranges *r)
{
    size_t n = 0;

    if (r->n) {
        qsort(r->v, r->n, sizeof(*r->v), by_start);
    }
    for (size_t i = 0; i < r->n; i++) {
        if (!n || by_start(&r->v[n - 1], &r->v[i])) {
            r->v[n++] = r->v[i];
        }
    }
    return r->n = n;
}

struct range range_of_mapping(const struct ctr_mapping *m, struct mod *mod)
{
    return (struct range){m->start, m->end, mod,
                          mod_has_bytes(mod) ? m->offset : m->start - m->base, false};
}

bool ranges_add(struct ranges *r, const struct range *new)
{
    if (r->n == r->cap) {
        ranges_sort(r);
        if (r->n >= r->cap / 2) {
            size_t cap = 2 * r->cap + 64;
            struct range *v = realloc(r->v, cap * sizeof(*v));
            if (!v) {
                return false;
            }
            r->v = v;
            r->cap = cap;
        }
    }
    if (new->start < new->end) {
        r->v[r->n++] = *new;
    }
    return true;
}

void ranges_fini(struct ranges *r)
{
    free(r->v);
    free(r->pieces);
    free(r->list);
}

/* ------------------------------------------------------------------ pieces */

/* A bound, and the range that begins or ends there. */
struct bound {
    uint64_t at;
    uint32_t range;
    bool end;
};

static int by_place(const void *a, const void *b)
{
    const struct bound *x = a, *y = b;
    int c = compare_numbers(x->at, y->at);

    c = c ? c : (int)y->end - (int)x->end;
    return c ? c : compare_numbers(x->range, y->range);
}

/* The ranges that contain the current piece; the first RANGES_MAX of them are used. */
struct open_ranges {
    uint32_t *v;
    uint32_t *where; /* by range: its index in v */
    uint32_t n;
};

static bool same_meaning(const struct range *a, const struct range *b)
{
    return a->mod == b->mod && (!a->mod || a->offset - a->start == b->offset - b->start);
}

static void add_piece(struct ranges *r, const struct open_ranges *open, uint64_t start,
                      uint64_t end, uint32_t *used)
{
    struct range_piece *p = &r->pieces[r->nr_pieces++];
    uint32_t *list = r->list + *used;
    uint32_t n = 0;

    *p = (struct range_piece){start, end, *used, RANGES_MANY};
    for (uint32_t i = 0; i < open->n; i++) {
        uint32_t k = 0;
        while (k < n && !same_meaning(&r->v[list[k]], &r->v[open->v[i]])) {
            k++;
        }
        if (k == n && n == RANGES_MAX) {
            return;
        }
        if (k == n) {
            list[n++] = open->v[i];
        }
        if (i >= 16 * RANGES_MAX) {
            return;
        }
    }
    p->n = n;
    *used += n;
}

bool ranges_finish(struct ranges *r)
{
    struct bound *bounds;
    struct open_ranges open = {0};
    size_t nr_bounds;
    uint32_t used = 0;
    bool ok = false;

    ranges_sort(r);
    if (r->n > UINT32_MAX / (2 * RANGES_MAX + 2)) {
        return false;
    }
    nr_bounds = 2 * r->n;
    bounds = malloc((nr_bounds + 1) * sizeof(*bounds));
    open.v = malloc((r->n + 1) * sizeof(*open.v));
    open.where = malloc((r->n + 1) * sizeof(*open.where));
    r->pieces = malloc((nr_bounds + 1) * sizeof(*r->pieces));
    r->list = malloc((nr_bounds + 1) * RANGES_MAX * sizeof(*r->list));
    if (!bounds || !open.v || !open.where || !r->pieces || !r->list) {
        goto out;
    }
    for (uint32_t i = 0; i < r->n; i++) {
        bounds[2 * i] = (struct bound){r->v[i].start, i, false};
        bounds[2 * i + 1] = (struct bound){r->v[i].end, i, true};
    }
    if (nr_bounds) {
        qsort(bounds, nr_bounds, sizeof(*bounds), by_place);
    }
    for (size_t i = 0; i < nr_bounds; i++) {
        const struct bound *b = &bounds[i];
        if (i && open.n && bounds[i - 1].at < b->at) {
            add_piece(r, &open, bounds[i - 1].at, b->at, &used);
        }
        if (b->end) {
            uint32_t last = open.v[--open.n];
            open.v[open.where[b->range]] = last;
            open.where[last] = open.where[b->range];
        } else {
            open.where[b->range] = open.n;
            open.v[open.n++] = b->range;
        }
    }
    ok = true;
out:
    free(bounds);
    free(open.v);
    free(open.where);
    return ok;
}

const struct range_piece *ranges_find(const struct ranges *r, uint64_t pc)
{
    size_t low = 0, high = r->nr_pieces;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (r->pieces[mid].end <= pc) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < r->nr_pieces && r->pieces[low].start <= pc ? &r->pieces[low] : NULL;
}
