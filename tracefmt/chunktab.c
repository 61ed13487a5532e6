/* SPDX-License-Identifier: MIT */
/* The chunks of a file (see chunktab.h). */
#include "trace.h"

#include <pthread.h>
#include <string.h>

#define SLOTS 128u /* 3.7 MB of rows, those of a file of some GiB */
#define NO_GROUP UINT32_MAX

/* The rows of a group. */
struct slot {
    uint32_t group; /* or NO_GROUP */
    uint64_t used;  /* when last */
    struct chunk_row row[PART_MAX_CHUNKS];
};

struct chunktab {
    struct ctr_trace *tr;
    struct chunk_group *group;
    uint32_t n, cap;
    uint64_t chunks;
    uint32_t filled; /* groups before this one have all their chunks */
    int indexed;

    /* Order of time, made while the file is opened. */
    uint64_t *begun; /* of each chunk; a thread's never fall */
    uint64_t begun_cap;
    int unsorted;
    uint32_t *order; /* NULL: as they stand */

    pthread_mutex_t lock; /* of all that follows */
    struct slot *slot[SLOTS];
    uint32_t nslots;
    uint64_t uses;
    ZSTD_DCtx *dctx;
    struct buf payload, raw;
};

struct chunktab *chunktab_new(struct ctr_trace *tr)
{
    struct chunktab *t = calloc(1, sizeof(*t));
    if (t) {
        t->tr = tr;
        pthread_mutex_init(&t->lock, NULL);
    }
    return t;
}

void chunktab_reset(struct chunktab *t)
{
    for (uint32_t i = 0; i < t->nslots; i++) {
        free(t->slot[i]);
    }
    free(t->group);
    free(t->begun);
    free(t->order);
    t->group = NULL;
    t->begun = NULL;
    t->order = NULL;
    t->n = t->cap = t->filled = t->nslots = 0;
    t->chunks = t->begun_cap = 0;
    t->indexed = t->unsorted = 0;
}

void chunktab_free(struct chunktab *t)
{
    if (t) {
        chunktab_reset(t);
        ZSTD_freeDCtx(t->dctx);
        buf_free(&t->payload);
        buf_free(&t->raw);
        pthread_mutex_destroy(&t->lock);
        free(t);
    }
}

/* ------------------------------------------------------------------- groups */

static const struct chunk_span empty_span = {
    .from = UINT64_MAX, .from_ns = UINT64_MAX, .thread = UINT32_MAX};

static void span_add(struct chunk_span *s, const struct ctr_chunk *c)
{
    const uint64_t end = c->first + c->insns;
    s->from = c->first < s->from ? c->first : s->from;
    s->to = end > s->to ? end : s->to;
    s->from_ns = c->start_ns < s->from_ns ? c->start_ns : s->from_ns;
    s->to_ns = c->end_ns > s->to_ns ? c->end_ns : s->to_ns;
    s->thread = c->thread < s->thread ? c->thread : s->thread;
    s->last_thread = c->thread > s->last_thread ? c->thread : s->last_thread;
    s->flags |= c->flags;
    s->chunks++;
}

static int new_group(struct chunktab *t, uint64_t off, uint64_t first, uint32_t count)
{
    if (t->n == t->cap) {
        const uint32_t cap = t->cap + t->cap / 2 + 64;
        void *p = realloc(t->group, cap * sizeof(t->group[0]));
        if (!p) {
            return -1;
        }
        t->group = p;
        t->cap = cap;
    }
    t->group[t->n++] = (struct chunk_group){off, first, count, 0, empty_span};
    return 0;
}

int chunktab_add_part(struct chunktab *t, uint64_t off, uint64_t first, uint32_t count,
                      struct ctr_diag *diag)
{
    t->indexed = 1;
    return new_group(t, off, first, count) ? ctr_fail_nomem(diag) : 0;
}

uint32_t chunktab_groups(const struct chunktab *t)
{
    return t->n;
}

const struct chunk_group *chunktab_group(const struct chunktab *t, uint32_t group)
{
    return &t->group[group];
}

static int holds(const struct chunktab *t, uint32_t group, uint64_t i)
{
    return group < t->n && i - t->group[group].first < t->group[group].count;
}

uint32_t chunktab_find(const struct chunktab *t, uint64_t i, uint32_t hint)
{
    for (uint32_t near = hint ? hint - 1 : 0; near < hint + 2; near++) {
        if (holds(t, near, i)) {
            return near;
        }
    }
    uint32_t lo = 0, hi = t->n;
    while (hi - lo > 1) {
        const uint32_t mid = lo + (hi - lo) / 2;
        *(t->group[mid].first <= i ? &lo : &hi) = mid;
    }
    return lo;
}

/* -------------------------------------------------------------------- slots */

/*
 * Gives a group a slot: a new one, or with `any' that of the group that was not used for
 * longest.  NULL: there is none.
 */
static struct slot *take_slot(struct chunktab *t, uint32_t group, int any)
{
    uint32_t k = 0;
    if (t->nslots < SLOTS) {
        struct slot *s = malloc(sizeof(*s));
        if (!s) {
            return NULL;
        }
        k = t->nslots++;
        t->slot[k] = s;
    } else if (any) {
        for (uint32_t i = 1; i < SLOTS; i++) {
            k = t->slot[i]->used < t->slot[k]->used ? i : k;
        }
        if (t->slot[k]->group != NO_GROUP) {
            t->group[t->slot[k]->group].slot = 0;
        }
    } else {
        return NULL;
    }
    t->slot[k]->group = group;
    t->slot[k]->used = ++t->uses;
    t->group[group].slot = k + 1;
    return t->slot[k];
}

/* Nothing useful is in it. */
static void give_up_slot(struct chunktab *t, struct slot *s)
{
    t->group[s->group].slot = 0;
    s->group = NO_GROUP;
    s->used = 0;
}

/* Reads a group's rows again, which must be what they were. */
static int load(struct chunktab *t, uint32_t group, struct slot **out,
                struct ctr_diag *diag)
{
    const struct chunk_group *g = &t->group[group];
    struct slot *s = take_slot(t, group, 1);
    if (s && !t->dctx) {
        t->dctx = ZSTD_createDCtx();
    }
    if (!s || !t->dctx) {
        if (s) {
            give_up_slot(t, s);
        }
        return ctr_fail_nomem(diag);
    }
    int err = t->indexed
                  ? trace_part_rows(t->tr, g, t->dctx, &t->payload, &t->raw, s->row, diag)
                  : trace_scan_rows(t->tr, g, s->row, diag);
    struct chunk_span span = empty_span;
    uint32_t good = 0;
    for (; !err && good < g->count && s->row[good].pub.index == g->first + good; good++) {
        span_add(&span, &s->row[good].pub);
    }
    if (!err && (good < g->count || memcmp(&span, &g->span, sizeof(span)) != 0)) {
        err = ctr_fail(diag, CTR_E_CORRUPT, g->off, "chunk",
                       "the file has changed since it was opened");
    }
    if (err) {
        give_up_slot(t, s);
    }
    *out = s;
    return err;
}

static int get(struct chunktab *t, uint32_t group, uint64_t i, struct chunk_row *out,
               struct ctr_diag *diag)
{
    int err = 0;
    pthread_mutex_lock(&t->lock);
    struct chunk_group *g = &t->group[group];
    struct slot *s = g->slot ? t->slot[g->slot - 1] : NULL;
    if (!s) {
        err = load(t, group, &s, diag);
    }
    if (!err) {
        s->used = ++t->uses;
        *out = s->row[i - g->first];
    }
    pthread_mutex_unlock(&t->lock);
    return err;
}

int chunktab_get(struct chunktab *t, uint64_t i, struct chunk_row *out,
                 struct ctr_diag *diag)
{
    return get(t, chunktab_find(t, i, 0), i, out, diag);
}

/* ------------------------------------------------------------------- adding */

/* When a chunk was begun, for the order of time. */
static int note_begun(struct chunktab *t, const struct ctr_chunk *c)
{
    struct thread *th = trace_thread(t->tr, c->thread);
    if (t->indexed && t->tr->nthreads < 2) {
        return 0;
    }
    if (c->index == t->begun_cap) {
        const uint64_t cap = t->begun_cap + t->begun_cap / 2 + 64;
        void *p = realloc(t->begun, cap * sizeof(t->begun[0]));
        if (!p) {
            return -1;
        }
        t->begun = p;
        t->begun_cap = cap;
    }
    th->begun_ns = c->start_ns > th->begun_ns ? c->start_ns : th->begun_ns;
    t->begun[c->index] = th->begun_ns;
    t->unsorted |= c->index && t->begun[c->index - 1] > th->begun_ns;
    return 0;
}

int chunktab_add(struct chunktab *t, const struct chunk_row *row, struct ctr_diag *diag)
{
    const uint64_t i = row->pub.index;
    if (!t->indexed) {
        if (t->n == 0 || t->group[t->n - 1].count == PART_MAX_CHUNKS) {
            if (new_group(t, row->pub.off, i, 0)) {
                return ctr_fail_nomem(diag);
            }
            t->filled = t->n - 1;
        }
        t->group[t->filled].count++;
    }
    while (!holds(t, t->filled, i)) {
        t->filled++;
    }
    struct chunk_group *g = &t->group[t->filled];
    span_add(&g->span, &row->pub);
    t->chunks++;
    struct slot *s = g->slot         ? t->slot[g->slot - 1]
                     : i == g->first ? take_slot(t, t->filled, 0)
                                     : NULL;
    if (s) {
        s->row[i - g->first] = *row;
    }
    return note_begun(t, &row->pub) ? ctr_fail_nomem(diag) : 0;
}

/* -------------------------------------------------------------------- order */

static int by_time(const void *a, const void *b, void *arg)
{
    const uint64_t *begun = arg;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if (begun[x] != begun[y]) {
        return begun[x] < begun[y] ? -1 : 1;
    }
    return (x > y) - (x < y);
}

/*
 * Threads are merged by time.  Chunks stand in a file as they were finished, which
 * tells little of when they began, so readers of files take them by their first
 * moment.  Within a thread that must not change their order, whatever times a
 * file tells: a chunk counts as begun no earlier than those before it.
 */
int chunktab_sort(struct chunktab *t, struct ctr_diag *diag)
{
    const uint64_t n = t->chunks;
    int err = 0;
    if (n > UINT32_MAX) {
        err = ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "chunk", "too many chunks");
    } else if (t->unsorted) {
        t->order = malloc(n * sizeof(t->order[0]));
        if (t->order) {
            for (uint32_t i = 0; i < n; i++) {
                t->order[i] = i;
            }
            qsort_r(t->order, n, sizeof(t->order[0]), by_time, t->begun);
        } else {
            err = ctr_fail_nomem(diag);
        }
    }
    free(t->begun);
    t->begun = NULL;
    t->begun_cap = 0;
    return err;
}

uint64_t chunktab_at(const struct chunktab *t, uint64_t at)
{
    return t->order ? t->order[at] : at;
}

static int scan_wants(const struct chunk_scan *s, const struct chunk_span *g)
{
    return g->from <= s->to && g->to >= s->from && g->from_ns <= s->to_ns &&
           g->to_ns >= s->from_ns && g->thread <= s->last_thread &&
           g->last_thread >= s->thread && (s->flags == 0 || g->flags & s->flags);
}

int chunktab_next(struct chunktab *t, struct chunk_scan *s, struct chunk_row *out,
                  struct ctr_diag *diag)
{
    while (s->at < t->chunks) {
        const int stored = s->stored || !t->order;
        const uint64_t i = stored ? s->at : t->order[s->at];
        s->group = chunktab_find(t, i, s->group);
        const struct chunk_group *g = &t->group[s->group];
        if (scan_wants(s, &g->span)) {
            int err = get(t, s->group, i, out, diag);
            s->at += !err;
            return err ? err : 1;
        }
        s->at += stored ? g->first + g->count - i : 1;
    }
    return 0;
}
