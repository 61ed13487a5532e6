/* SPDX-License-Identifier: MIT */
/*
 * A set of bytes, see search_bytes.h: a sorted array, as what is searched for mostly is a
 * few ranges.  Thousands that single accesses leave are found by bisection.
 */
#include "dump/search_bytes.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

void search_bytes_fini(struct search_bytes *b)
{
    free(b->v);
    *b = (struct search_bytes){0};
}

bool search_bytes_append(struct search_bytes *b, uint64_t from, uint64_t to)
{
    if (from >= to) {
        return true;
    }
    if (b->n == UINT32_MAX ||
        !array_reserve(&b->v, &b->cap, b->n + (size_t)1, sizeof(*b->v))) {
        return false;
    }
    b->v[b->n++] = (struct ctr_range){from, to, 0};
    return true;
}

static int by_begin(const void *a, const void *b)
{
    const struct ctr_range *x = a, *y = b;

    return (x->from > y->from) - (x->from < y->from);
}

uint32_t search_bytes_join(struct ctr_range *v, uint32_t n)
{
    uint32_t kept = 0;

    if (n > 1) {
        qsort(v, n, sizeof(*v), by_begin);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct ctr_range *last = kept ? &v[kept - 1] : NULL;

        if (!last || v[i].from > last->to) {
            v[kept++] = v[i];
        } else if (v[i].to > last->to) {
            last->to = v[i].to;
        }
    }
    return kept;
}

void search_bytes_merge(struct search_bytes *b)
{
    b->n = search_bytes_join(b->v, b->n);
}

/* The first range that ends after an address, or b->n. */
static uint32_t first_after(const struct search_bytes *b, uint64_t addr)
{
    uint32_t low = 0, high = b->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (b->v[mid].to <= addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

bool search_bytes_remove(struct search_bytes *b, uint64_t from, uint64_t to)
{
    uint32_t i = first_after(b, from), end = i, n = 0;
    struct ctr_range rest[2]; /* what stays of the ranges that are touched */

    while (end < b->n && b->v[end].from < to) {
        end++;
    }
    if (i == end) {
        return true;
    }
    if (b->v[i].from < from) {
        rest[n++] = (struct ctr_range){b->v[i].from, from, 0};
    }
    if (b->v[end - 1].to > to) {
        rest[n++] = (struct ctr_range){to, b->v[end - 1].to, 0};
    }
    if (!array_reserve(&b->v, &b->cap, b->n + (size_t)1, sizeof(*b->v))) {
        return false;
    }
    memmove(&b->v[i + n], &b->v[end], (b->n - end) * sizeof(*b->v));
    memcpy(&b->v[i], rest, n * sizeof(*b->v));
    b->n = b->n - (end - i) + n;
    return true;
}

bool search_bytes_touch(const struct search_bytes *b, uint64_t from, uint64_t to)
{
    uint32_t i = first_after(b, from);

    return i < b->n && b->v[i].from < to;
}

bool search_bytes_part(const struct search_bytes *b, uint64_t from, uint64_t to,
                       struct search_bytes *part)
{
    for (uint32_t i = first_after(b, from); i < b->n && b->v[i].from < to; i++) {
        const struct ctr_range *r = &b->v[i];

        if (!search_bytes_append(part, r->from > from ? r->from : from,
                                 r->to < to ? r->to : to)) {
            return false;
        }
    }
    return true;
}

bool search_bytes_meet(const struct search_bytes *a, const struct search_bytes *b)
{
    const struct search_bytes *few = a->n < b->n ? a : b, *many = few == a ? b : a;

    for (uint32_t i = 0; i < few->n; i++) {
        if (search_bytes_touch(many, few->v[i].from, few->v[i].to)) {
            return true;
        }
    }
    return false;
}
