/* SPDX-License-Identifier: MIT */
/*
 * Queries of the history of address spaces.
 *
 * A record is a rectangle: addresses by moments, and no two of a process overlap. An
 * interval tree over the moments has each record in one node: of the moments in which
 * it exists, counted from 1, the one with the most zeros at the end of its binary
 * number. All records of a node exist at the node's moment, so they do not overlap and
 * a list by address is enough. What exists at a moment is in the lists between the
 * moment's node and the root (the parent of a node has one more zero at its end).
 */
#include "maps/maps.h"

#include <string.h>

/* The node that has a record, which must not have ended when it began. */
static uint32_t node_of(const struct map_record *r)
{
    uint32_t differs = r->from ^ r->to; /* the moments are from + 1 .. to */
    uint32_t zeros = 31u - (uint32_t)__builtin_clz(differs);
    return r->to >> zeros << zeros;
}

static uint32_t parent_of(uint32_t node)
{
    uint32_t low = node & (0 - node);
    return (node - low) | low << 1;
}

static int by_node(const void *a, const void *b)
{
    const struct map_record *x = a, *y = b;
    uint32_t p = node_of(x), q = node_of(y);
    if (p != q) {
        return p < q ? -1 : 1;
    }
    return (x->start > y->start) - (x->start < y->start);
}

int map_history_index(struct map_history *h)
{
    const uint32_t n = h->nrec;
    if (n == 0) {
        return 0;
    }
    void *p = realloc(h->time, h->moments * sizeof(h->time[0]));
    h->time = p ? p : h->time;
    h->node = malloc(((size_t)h->moments + 2) * sizeof(h->node[0]));
    if (!h->node) {
        return -1;
    }
    qsort(h->rec, n, sizeof(h->rec[0]), by_node);
    uint32_t at = 0;
    for (uint32_t k = 0; k < h->moments + 2; k++) {
        while (at < n && node_of(&h->rec[at]) < k) {
            at++;
        }
        h->node[k] = at;
    }
    return 0;
}

void ctr_maps_free(struct ctr_maps *m)
{
    if (!m) {
        return;
    }
    for (uint32_t i = 0; i < m->nprocess; i++) {
        free(m->process[i].time);
        free(m->process[i].rec);
        free(m->process[i].node);
    }
    for (uint32_t i = 0; i < m->nthread; i++) {
        free(m->thread[i].v);
    }
    free(m->thread);
    free(m->process);
    map_files_fini(m);
    free(m);
}

int ctr_maps_damage(const struct ctr_maps *m, uint64_t *from_ns, struct ctr_diag *diag)
{
    if (m->damage) {
        *from_ns = m->damage_ns;
        if (diag) {
            *diag = m->why;
        }
    }
    return m->damage;
}

/* The history of a process and the number of a moment, or NULL. */
static const struct map_history *at_time(const struct ctr_maps *m, uint32_t process,
                                         uint64_t ns, uint32_t *moment)
{
    const struct map_history *h = process < m->nprocess ? &m->process[process] : NULL;
    if (!h || !h->node) {
        return NULL;
    }
    /* Initial mappings existed before the time of their events. */
    uint32_t lo = 0, hi = h->moments;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        *(h->time[mid] <= ns ? &lo : &hi) = mid;
    }
    *moment = lo;
    return h;
}

static int exists(const struct map_record *r, uint32_t moment)
{
    return r->from <= moment && moment < r->to;
}

static void fill_mapping(const struct ctr_maps *m, const struct map_history *h,
                         const struct map_record *r, struct ctr_mapping *out)
{
    const struct map_file *f = &m->file[r->file];
    *out = (struct ctr_mapping){
        .start = r->start,
        .end = r->end,
        .offset = r->offset,
        .prot = r->prot,
        .process = (uint32_t)(h - m->process),
        .from_ns = h->time[r->from],
        .to_ns = r->to < h->moments ? h->time[r->to] : UINT64_MAX,
        .dev = f->dev,
        .inode = f->inode,
        .shared = (uint8_t)r->shared,
        .began = (uint8_t)r->began,
        .base = f->is_file ? map_base(m, r->start, r->offset, r->skew) : r->start,
        .path = f->path,
        .build_id = f->build_id,
        .build_id_bytes = f->build_id_bytes,
    };
}

/* The first of a node's records that ends above addr. */
static uint32_t lower(const struct map_history *h, uint32_t k, uint64_t addr)
{
    uint32_t lo = h->node[k], hi = h->node[k + 1];
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (h->rec[mid].end > addr) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

int ctr_maps_find(const struct ctr_maps *m, uint32_t process, uint64_t time_ns,
                  uint64_t addr, struct ctr_mapping *out)
{
    uint32_t moment;
    const struct map_history *h = at_time(m, process, time_ns, &moment);
    if (!h) {
        return 0;
    }
    for (uint32_t k = moment + 1; (k & (0 - k)) <= h->moments; k = parent_of(k)) {
        if (k > h->moments) {
            continue;
        }
        uint32_t i = lower(h, k, addr);
        const struct map_record *r = &h->rec[i];
        if (i < h->node[k + 1] && r->start <= addr && exists(r, moment)) {
            if (out) {
                fill_mapping(m, h, r, out);
            }
            return 1;
        }
    }
    return 0;
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
    while (lo < hi) { /* the first change after the place */
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

/* Whether /proc/PID/maps would show these two, one after the other, as one. */
static int belongs_to(const struct ctr_maps *m, const struct map_record *a,
                      const struct map_record *b)
{
    return a->end == b->start && a->file == b->file && a->prot == b->prot &&
           a->shared == b->shared &&
           (!m->file[b->file].is_file || a->offset + (a->end - a->start) == b->offset);
}

#define NODES 32u /* between a moment and the root */

int ctr_maps_each(const struct ctr_maps *m, uint32_t process, uint64_t time_ns,
                  int (*fn)(void *arg, const struct ctr_mapping *mapping), void *arg)
{
    uint32_t moment, next[NODES], end[NODES], nodes = 0;
    const struct map_history *h = at_time(m, process, time_ns, &moment);
    if (!h) {
        return 0;
    }
    for (uint32_t k = moment + 1; (k & (0 - k)) <= h->moments; k = parent_of(k)) {
        if (k <= h->moments) {
            next[nodes] = h->node[k];
            end[nodes++] = h->node[k + 1];
        }
    }
    const struct map_record *last = NULL;
    struct ctr_mapping joined;
    for (;;) {
        /* The lowest of the remaining ones in all lists. */
        const struct map_record *r = NULL;
        uint32_t from = 0;
        for (uint32_t i = 0; i < nodes; i++) {
            while (next[i] < end[i] && !exists(&h->rec[next[i]], moment)) {
                next[i]++;
            }
            if (next[i] < end[i] && (!r || h->rec[next[i]].start < r->start)) {
                r = &h->rec[next[i]];
                from = i;
            }
        }
        struct ctr_mapping got;
        if (r) {
            next[from]++;
            fill_mapping(m, h, r, &got);
        }
        if (r && last && belongs_to(m, last, r)) {
            joined.end = got.end;
            joined.from_ns = got.from_ns > joined.from_ns ? got.from_ns : joined.from_ns;
            joined.to_ns = got.to_ns < joined.to_ns ? got.to_ns : joined.to_ns;
        } else {
            int ret = last ? fn(arg, &joined) : 0;
            if (ret || !r) {
                return ret;
            }
            joined = got;
        }
        last = r;
    }
}

/* ---------------------------------------------------------------- all of it */

/* Some neighbouring records, joined. */
struct joined {
    const struct map_record *first;
    const struct map_record *last;
};

/* Those of one time are together, by address. */
static int by_time(const void *a, const void *b)
{
    const struct map_record *x = ((const struct joined *)a)->first;
    const struct map_record *y = ((const struct joined *)b)->first;
    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    return (x->start > y->start) - (x->start < y->start);
}

static int by_address(const void *a, const void *b)
{
    const struct map_record *x = ((const struct joined *)a)->first;
    const struct map_record *y = ((const struct joined *)b)->first;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->from > y->from) - (x->from < y->from);
}

int ctr_maps_history(const struct ctr_maps *m, uint32_t process,
                     int (*fn)(void *arg, const struct ctr_mapping *mapping), void *arg)
{
    const struct map_history *h = process < m->nprocess ? &m->process[process] : NULL;
    if (!h || !h->node) {
        return 0;
    }
    uint32_t records = h->nrec, n = 0;
    struct joined *all = malloc(records * sizeof(all[0]));
    if (!all) {
        return -CTR_E_NOMEM;
    }
    for (uint32_t i = 0; i < records; i++) {
        all[i].first = all[i].last = &h->rec[i];
    }
    qsort(all, records, sizeof(all[0]), by_time);
    for (uint32_t i = 0; i < records; i++) {
        struct joined *j = n ? &all[n - 1] : NULL;
        const struct map_record *r = all[i].first;
        if (j && j->last->from == r->from && j->last->to == r->to &&
            j->last->began == r->began && belongs_to(m, j->last, r)) {
            j->last = r;
        } else {
            all[n++] = all[i];
        }
    }
    qsort(all, n, sizeof(all[0]), by_address);
    int ret = 0;
    for (uint32_t i = 0; !ret && i < n; i++) {
        struct ctr_mapping got;
        fill_mapping(m, h, all[i].first, &got);
        got.end = all[i].last->end;
        ret = fn(arg, &got);
    }
    free(all);
    return ret;
}
