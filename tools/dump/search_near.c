/* SPDX-License-Identifier: MIT */
/*
 * Which hits of a thread's chunk may have been at the same time as another thread's.
 *
 * It is called for each event found, so the hits are not looked at one by one: those between
 * two times are a group, of which only the bytes count.
 */
#include "dump/search_priv.h"

#include <stdlib.h>

#include "common/array.h"

void search_near_reset(struct search_near *near)
{
    free(near->groups);
    search_bytes_fini(&near->ranges);
    *near = (struct search_near){0};
}

static bool is_same(const struct search_span *a, const struct search_span *b)
{
    return a->from_ns == b->from_ns && a->to_ns == b->to_ns;
}

static int by_begin(const void *a, const void *b)
{
    const struct search_group *x = a, *y = b;

    return (x->span.from_ns > y->span.from_ns) - (x->span.from_ns < y->span.from_ns);
}

/* Makes one group of the first hits, which have one span; returns how many they are, or 0:
 * no memory. */
static size_t add_group(struct search_near *near, const struct search_hit *v, size_t n)
{
    struct search_bytes *b = &near->ranges;
    struct search_group g = {.span = v[0].span, .first = b->n};
    size_t i = 0;

    for (; i < n && is_same(&v[i].span, &g.span); i++) {
        if (!search_bytes_append(b, v[i].addr, search_hit_end(&v[i]))) {
            return 0;
        }
    }
    if (!array_reserve(&near->groups, &near->cap, near->nr_groups + 1, sizeof(g))) {
        return 0;
    }
    g.n = b->n > g.first ? search_bytes_join(&b->v[g.first], b->n - g.first) : 0;
    b->n = g.first + g.n;
    near->groups[near->nr_groups++] = g;
    return i;
}

/* 0 or DUMP_STOP_NOMEM. */
static int make(struct search_near *near, const struct search_hit *v, size_t n)
{
    uint64_t latest = 0;

    near->made = true;
    for (size_t i = 0, got; i < n; i += got) {
        got = add_group(near, &v[i], n - i);
        if (!got) {
            return DUMP_STOP_NOMEM;
        }
    }
    if (near->nr_groups > 1) {
        qsort(near->groups, near->nr_groups, sizeof(*near->groups), by_begin);
    }
    for (size_t i = 0; i < near->nr_groups; i++) {
        struct search_group *g = &near->groups[i];

        latest = g->span.to_ns > latest ? g->span.to_ns : latest;
        g->latest_ns = latest;
    }
    return 0;
}

/* How many groups begin before a time. */
static size_t begun_before(const struct search_near *near, uint64_t ns)
{
    size_t low = 0, high = near->nr_groups;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (near->groups[mid].span.from_ns < ns) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

int search_near_touches(struct search_near *near, const struct search_hit *v, size_t n,
                        const struct search_span *span, const struct search_bytes *bytes)
{
    int ret = near->made ? 0 : make(near, v, n);
    size_t i = ret ? 0 : begun_before(near, span->to_ns);

    while (i-- > 0 && near->groups[i].latest_ns > span->from_ns) {
        const struct search_group *g = &near->groups[i];
        struct search_bytes of = {.n = g->n};

        if (g->n && search_spans_overlap(&g->span, span)) {
            of.v = &near->ranges.v[g->first];
            if (search_bytes_meet(&of, bytes)) {
                return 1;
            }
        }
    }
    return ret;
}
