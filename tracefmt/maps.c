/* SPDX-License-Identifier: MIT */
/*
 * Asking the history of address spaces.
 *
 * A record is a rectangle: addresses by moments, and no two of a process overlap.
 * A tree over the moments (node k has the children 2k and 2k + 1, leaf i is
 * number moments + i) keeps each record in the few nodes that together cover its
 * time.  All records of a node exist during all of its time, so they do not overlap
 * and a list by address is enough; the answer for a moment is in the lists
 * between its leaf and the root.
 */
#include "maps.h"

#include <string.h>

struct by_start {
    uint64_t start;
    uint32_t rec;
};

static int ascending(const void *a, const void *b)
{
    const struct by_start *x = a, *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->rec > y->rec) - (x->rec < y->rec);
}

/* Calls for each node that covers a part of [from, to): counts, or fills. */
static void cover(struct map_history *h, const struct map_record *r, uint32_t rec,
                  int fill)
{
    uint32_t lo = r->from + h->moments, hi = r->to + h->moments;
    uint32_t *node = h->node;
    for (; lo < hi; lo >>= 1, hi >>= 1) {
        for (unsigned side = 0; side < 2; side++) {
            uint32_t *end = side ? &hi : &lo;
            if (*end & 1) {
                uint32_t k = side ? --*end : (*end)++;
                if (fill) {
                    h->list[node[k + 1]++] = rec;
                } else {
                    node[k + 2]++;
                }
            }
        }
    }
}

int map_history_index(struct ctr_maps *m, struct map_history *h)
{
    uint32_t n = h->end - h->first;
    if (n == 0) {
        return 0;
    }
    struct by_start *order = malloc(n * sizeof(order[0]));
    h->node = calloc(2 * (size_t)h->moments + 2, sizeof(h->node[0]));
    if (!order || !h->node) {
        free(order);
        return -1;
    }
    uint32_t live = 0;
    for (uint32_t i = h->first; i < h->end; i++) {
        if (m->rec[i].from < m->rec[i].to) {
            order[live++] = (struct by_start){m->rec[i].pub.start, i};
            cover(h, &m->rec[i], i, 0);
        }
    }
    for (uint32_t k = 2; k < 2 * h->moments + 2; k++) {
        h->node[k] += h->node[k - 1];
    }
    h->list = malloc(((size_t)h->node[2 * h->moments + 1] + 1) * sizeof(h->list[0]));
    if (!h->list) {
        free(order);
        return -1;
    }
    qsort(order, live, sizeof(order[0]), ascending);
    for (uint32_t i = 0; i < live; i++) {
        cover(h, &m->rec[order[i].rec], order[i].rec, 1);
    }
    free(order);
    return 0;
}

void ctr_maps_free(struct ctr_maps *m)
{
    if (!m) {
        return;
    }
    for (uint32_t i = 0; i < m->nprocess; i++) {
        free(m->process[i].time);
        free(m->process[i].node);
        free(m->process[i].list);
    }
    for (uint32_t i = 0; i < m->nthread; i++) {
        free(m->thread[i].v);
    }
    free(m->thread);
    free(m->process);
    free(m->rec);
    map_files_fini(m);
    free(m);
}

/* The history of a process and the leaf of a moment, or NULL. */
static const struct map_history *at_time(const struct ctr_maps *m, uint32_t process,
                                         uint64_t ns, uint32_t *leaf)
{
    const struct map_history *h = process < m->nprocess ? &m->process[process] : NULL;
    if (!h || !h->list) {
        return NULL;
    }
    /* What was there at first was there before it was told. */
    uint32_t lo = 0, hi = h->moments;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        *(h->time[mid] <= ns ? &lo : &hi) = mid;
    }
    *leaf = lo + h->moments;
    return h;
}

/* The first of a node's records that ends above addr. */
static uint32_t lower(const struct ctr_maps *m, const struct map_history *h, uint32_t k,
                      uint64_t addr)
{
    uint32_t lo = h->node[k], hi = h->node[k + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (m->rec[h->list[mid]].pub.end > addr) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

const struct ctr_mapping *ctr_maps_find(const struct ctr_maps *m, uint32_t process,
                                        uint64_t time_ns, uint64_t addr)
{
    uint32_t k;
    const struct map_history *h = at_time(m, process, time_ns, &k);
    for (; h && k; k >>= 1) {
        uint32_t i = lower(m, h, k, addr);
        if (i < h->node[k + 1] && m->rec[h->list[i]].pub.start <= addr) {
            return &m->rec[h->list[i]].pub;
        }
    }
    return NULL;
}

uint64_t ctr_maps_time(const struct ctr_maps *m, const struct ctr_chunk *chunk,
                       uint64_t ordinal, uint64_t *until)
{
    *until = UINT64_MAX;
    if (chunk->thread >= m->nthread) {
        return chunk->start_ns;
    }
    const struct map_changes *c = &m->thread[chunk->thread];
    uint32_t lo = 0, hi = c->n;
    while (lo < hi) { /* the first change behind the place */
        uint32_t mid = lo + (hi - lo) / 2;
        if (c->v[mid].ordinal <= ordinal) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    if (lo < c->n) {
        *until = c->v[lo].ordinal;
    }
    return lo && c->v[lo - 1].time_ns > chunk->start_ns ? c->v[lo - 1].time_ns
                                                        : chunk->start_ns;
}

/* Would /proc/PID/maps show these two, one behind the other, as one? */
static int belongs_to(const struct ctr_maps *m, const struct ctr_mapping *a,
                      const struct map_record *last, const struct map_record *b)
{
    return a->end == b->pub.start && last->file == b->file &&
           last->pub.prot == b->pub.prot && last->shared == b->shared &&
           (!m->file[b->file].is_file ||
            last->pub.offset + (last->pub.end - last->pub.start) == b->pub.offset);
}

int ctr_maps_each(const struct ctr_maps *m, uint32_t process, uint64_t time_ns,
                  int (*fn)(void *arg, const struct ctr_mapping *mapping), void *arg)
{
    uint32_t leaf, next[33], nodes = 0, node[33];
    const struct map_history *h = at_time(m, process, time_ns, &leaf);
    for (uint32_t k = leaf; h && k; k >>= 1) {
        node[nodes] = k;
        next[nodes++] = h->node[k];
    }
    const struct map_record *last = NULL;
    struct ctr_mapping joined;
    for (;;) {
        /* The lowest of what is left in all lists. */
        const struct map_record *r = NULL;
        uint32_t from = 0;
        for (uint32_t i = 0; i < nodes; i++) {
            if (next[i] < h->node[node[i] + 1]) {
                const struct map_record *c = &m->rec[h->list[next[i]]];
                if (!r || c->pub.start < r->pub.start) {
                    r = c;
                    from = i;
                }
            }
        }
        if (r) {
            next[from]++;
        }
        if (r && last && belongs_to(m, &joined, last, r)) {
            joined.end = r->pub.end;
            joined.from_ns =
                r->pub.from_ns > joined.from_ns ? r->pub.from_ns : joined.from_ns;
            joined.to_ns = r->pub.to_ns < joined.to_ns ? r->pub.to_ns : joined.to_ns;
        } else {
            int ret = last ? fn(arg, &joined) : 0;
            if (ret || !r) {
                return ret;
            }
            joined = r->pub;
        }
        last = r;
    }
}

/* ---------------------------------------------------------------- all of it */

/* Some records that are neighbours, as one. */
struct joined {
    struct ctr_mapping pub;
    const struct map_record *last; /* of them */
};

/* Those of one time are together, by address. */
static int by_time(const void *a, const void *b)
{
    const struct joined *x = a, *y = b;
    if (x->last->from != y->last->from) {
        return x->last->from < y->last->from ? -1 : 1;
    }
    if (x->last->to != y->last->to) {
        return x->last->to < y->last->to ? -1 : 1;
    }
    return (x->pub.start > y->pub.start) - (x->pub.start < y->pub.start);
}

static int by_address(const void *a, const void *b)
{
    const struct joined *x = a, *y = b;
    if (x->pub.start != y->pub.start) {
        return x->pub.start < y->pub.start ? -1 : 1;
    }
    return (x->last->from > y->last->from) - (x->last->from < y->last->from);
}

int ctr_maps_history(const struct ctr_maps *m, uint32_t process,
                     int (*fn)(void *arg, const struct ctr_mapping *mapping), void *arg)
{
    const struct map_history *h = process < m->nprocess ? &m->process[process] : NULL;
    if (!h || !h->list) {
        return 0;
    }
    struct joined *all = malloc((h->end - h->first) * sizeof(all[0]));
    if (!all) {
        return -CTR_E_NOMEM;
    }
    size_t live = 0, n = 0;
    for (uint32_t i = h->first; i < h->end; i++) {
        if (m->rec[i].from < m->rec[i].to) {
            all[live++] = (struct joined){m->rec[i].pub, &m->rec[i]};
        }
    }
    qsort(all, live, sizeof(all[0]), by_time);
    for (size_t i = 0; i < live; i++) {
        struct joined *j = n ? &all[n - 1] : NULL;
        const struct map_record *r = all[i].last;
        if (j && j->last->from == r->from && j->last->to == r->to &&
            belongs_to(m, &j->pub, j->last, r)) {
            j->pub.end = r->pub.end;
            j->last = r;
        } else {
            all[n++] = all[i];
        }
    }
    qsort(all, n, sizeof(all[0]), by_address);
    int ret = 0;
    for (size_t i = 0; !ret && i < n; i++) {
        ret = fn(arg, &all[i].pub);
    }
    free(all);
    return ret;
}
