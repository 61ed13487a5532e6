/* SPDX-License-Identifier: MIT */
#include "decode/lanes.h"

#include <string.h>

/* ----------------------------------------------------------------- bundles */

void bundle_free(struct bundle *b)
{
    for (unsigned i = 0; i < b->cap; i++) {
        buf_free(&b->v[i].payload);
    }
    free(b->v);
    *b = (struct bundle){.n = 0};
}

void bundles_init(struct bundles *s, struct feed *f)
{
    memset(s, 0, sizeof(*s));
    s->feed = f;
}

void bundles_fini(struct bundles *s)
{
    buf_free(&s->ahead.payload);
}

void bundles_forget(struct bundles *s)
{
    s->state = 0;
}

static int look_ahead(struct bundles *s)
{
    if (s->state == 0) {
        const int got = feed_next(s->feed, &s->ahead, &s->why);
        s->state = got ? got : 2;
    }
    return s->state;
}

/* Moves the chunk ahead into the bundle. */
static int take_ahead(struct bundles *s, struct bundle *b)
{
    if (b->n == b->cap) {
        const unsigned cap = b->cap ? b->cap * 2 : 4;
        struct raw_chunk *v = realloc(b->v, cap * sizeof(v[0]));
        if (!v) {
            return -1;
        }
        memset(v + b->cap, 0, (cap - b->cap) * sizeof(v[0]));
        b->v = v;
        b->cap = cap;
    }
    const struct raw_chunk old = b->v[b->n];
    b->v[b->n++] = s->ahead;
    s->ahead = old;
    s->state = 0;
    return 0;
}

int bundles_next(struct bundles *s, struct bundle *out, struct ctr_diag *diag)
{
    uint64_t end = 0, raw = 0;
    out->n = 0;
    while (look_ahead(s) == 1) {
        const struct ctr_chunk *c = &s->ahead.pub;
        const int more =
            out->n && s->feed->slices && c->start_ns < end && !s->feed->first;
        if (out->n && !more) {
            return 1;
        }
        end = c->end_ns > end ? c->end_ns : end;
        raw += c->raw_bytes;
        if (out->n && (out->n == BUNDLE_CHUNKS || raw > BUNDLE_RAW)) {
            return ctr_fail(diag, CTR_E_LIMIT, c->off, "chunk",
                            "too much happened at one time");
        }
        if (take_ahead(s, out)) {
            return ctr_fail_nomem(diag);
        }
        if (!s->feed->slices) {
            return 1;
        }
    }
    if (out->n || s->state == 2) {
        return out->n != 0;
    }
    if (diag) {
        *diag = s->why;
    }
    const int err = s->state;
    s->state = 0; /* what follows may be good */
    return err;
}

int bundle_begin(struct chunktab *t, uint64_t *at, struct ctr_diag *diag)
{
    struct chunk_row row;
    int got = 1;
    for (unsigned i = 0; i < BUNDLE_CHUNKS && got == 1; i++) {
        const int err = chunktab_get_at(t, *at, &row, diag);
        if (err || row.pub.flags & CTR_CHUNK_FIRST) {
            return err;
        }
        got = chunktab_step(t, at, 1, diag);
    }
    return got < 0 ? got : 0;
}

int bundle_end(struct chunktab *t, uint64_t *at, struct ctr_diag *diag)
{
    struct chunk_row row;
    uint64_t next = *at;
    for (unsigned i = 0; i < BUNDLE_CHUNKS; i++) {
        const int got = chunktab_step(t, &next, 0, diag);
        const int err = got == 1 ? chunktab_get_at(t, next, &row, diag) : got;
        if (err || got == 0 || row.pub.flags & CTR_CHUNK_FIRST) {
            return err;
        }
        *at = next;
    }
    return 0;
}

/* ------------------------------------------------------------------- lanes */

int lanes_needed(const struct ctr_trace *tr)
{
    return tr->events & CTR_HAS_ORDER && tr->src.seekable && tr->nthreads > 1;
}

void lanes_fini(struct lanes *l)
{
    for (unsigned i = 0; i < l->cap && l->v[i]; i++) {
        walk_fini(&l->v[i]->walk);
        free(l->v[i]);
    }
    free(l->v);
    *l = (struct lanes){.n = 0};
}

/* Room for n lanes; those that were made stay. */
static int make_lanes(struct lanes *l, unsigned n)
{
    if (n > l->cap) {
        struct lane **v = realloc(l->v, n * sizeof(v[0]));
        if (!v) {
            return -1;
        }
        memset(v + l->cap, 0, (n - l->cap) * sizeof(v[0]));
        l->v = v;
        l->cap = n;
    }
    for (unsigned i = 0; i < n; i++) {
        if (!l->v[i]) {
            struct lane *a = calloc(1, sizeof(*a));
            if (!a || walk_init(&a->walk)) {
                free(a);
                return -1;
            }
            l->v[i] = a;
        }
    }
    return 0;
}

int lanes_set(struct lanes *l, const struct bundle *b)
{
    l->n = 0;
    l->now = NULL;
    if (make_lanes(l, b->n)) {
        return -1;
    }
    for (unsigned i = 0; i < b->n; i++) {
        struct lane *a = l->v[i];
        a->raw = &b->v[i];
        a->after = NULL;
        a->next_ns = b->v[i].pub.start_ns;
        a->begun = 0;
        a->at_slice = 0;
        a->waits = 1;
        for (unsigned k = i; k-- > 0;) {
            if (b->v[k].pub.thread == b->v[i].pub.thread) {
                l->v[k]->after = a;
                a->waits = 0;
                break;
            }
        }
    }
    l->n = b->n;
    return 0;
}

int lanes_go(struct lanes *l, const struct feed *f, struct ctr_diag *diag)
{
    for (;;) {
        struct lane *a = NULL;
        for (unsigned i = 0; i < l->n; i++) {
            if (l->v[i]->waits && (!a || l->v[i]->next_ns < a->next_ns)) {
                a = l->v[i];
            }
        }
        l->now = a;
        if (!a) {
            return 0;
        }
        walk_diag(&a->walk, diag);
        if (a->begun) {
            return 1;
        }
        a->begun = 1;
        a->walk.dec.count_lo = a->raw->lo;
        a->walk.dec.count_hi = a->raw->hi;
        int ret = walk_begin(&a->walk, f, a->raw, diag);
        ret = ret ? ret : walk_event(&a->walk);
        if (ret < 0 || ret == 0 || !lanes_stop(l)) {
            return ret < 0 ? ret : 1;
        }
    }
}

void lanes_end(struct lanes *l)
{
    struct lane *a = l->now, *b = a->after;
    if (b) {
        /* In the same slice, unless chunks between them are not selected. */
        const uint64_t begin = b->raw->pub.start_ns;
        b->next_ns = a->next_ns > begin ? a->next_ns : begin;
        b->waits = 1;
    }
    a->waits = 0;
}

void lanes_trim(struct lanes *l)
{
    for (unsigned i = LANES_KEPT; i < l->cap && l->v[i]; i++) {
        walk_fini(&l->v[i]->walk);
        free(l->v[i]);
        l->v[i] = NULL;
    }
    l->n = 0;
    l->now = NULL;
}
