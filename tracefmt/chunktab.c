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

/*
 * A stretch of the order of time.  Stretch k begins when the first chunk of its group was
 * begun, and ends where the next one begins; the groups are in order of that, so its
 * chunks are in its group and in those of stretches before, as far as chunks of these
 * were begun late.  Where no others reach into it, and no two threads are in the group,
 * it is the group as it stands, and nothing need be read to know it.
 */
struct stretch {
    uint64_t begin;   /* time */
    uint64_t late_ns; /* when the last chunk of this group and those before was begun */
    uint32_t group;
    uint32_t n;      /* chunks */
    uint32_t *order; /* their numbers; NULL: the group as it stands, or not known yet */
    int known;
};

struct chunktab {
    struct ctr_trace *tr;
    struct chunk_group *group;
    uint32_t n, cap;
    uint64_t chunks;
    uint32_t filled; /* while opening: groups before this one have all their chunks */
    int indexed;
    struct stretch *stretch; /* one for each group */
    int falling;             /* times of a thread fall: chunks are taken as they stand */

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
    for (uint32_t i = 0; t->stretch && i < t->n; i++) {
        free(t->stretch[i].order);
    }
    free(t->stretch);
    free(t->group);
    t->stretch = NULL;
    t->group = NULL;
    t->n = t->cap = t->filled = t->nslots = 0;
    t->chunks = 0;
    t->indexed = t->falling = 0;
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

static struct chunk_group *new_group(struct chunktab *t, uint64_t first)
{
    if (t->n == t->cap) {
        const uint32_t cap = t->cap + t->cap / 2 + 64;
        void *p = realloc(t->group, cap * sizeof(t->group[0]));
        if (!p) {
            return NULL;
        }
        t->group = p;
        t->cap = cap;
    }
    t->group[t->n] = (struct chunk_group){.first = first, .span = CHUNK_SPAN_EMPTY};
    return &t->group[t->n++];
}

int chunktab_add_part(struct chunktab *t, const uint8_t *row, int spans,
                      struct ctr_diag *diag)
{
    const struct chunk_group *last = t->n ? &t->group[t->n - 1] : NULL;
    const uint64_t first = le64(row + RPART_FIRST);
    const uint32_t count = le32(row + RPART_CHUNKS);
    if (first != (last ? last->first + last->count : 0) || count > PART_MAX_CHUNKS) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "index",
                        "parts do not fit together");
    }
    struct chunk_group *g = new_group(t, first);
    if (!g) {
        return ctr_fail_nomem(diag);
    }
    g->off = le64(row + RPART_OFF);
    g->count = count;
    t->indexed = 1;
    if (spans) {
        g->chunk_off = le64(row + RPART_CHUNK_OFF);
        g->span = count ? span_get(row) : g->span;
        t->chunks += count;
        if (g->span.to_ns > t->tr->end_ns) {
            t->tr->end_ns = g->span.to_ns;
        }
    }
    return 0;
}

uint64_t chunktab_chunks(const struct chunktab *t)
{
    return t->chunks;
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

/* Are these the rows of a group? */
static int check_rows(const struct chunk_group *g, const struct chunk_row *row,
                      struct ctr_diag *diag)
{
    struct chunk_span span = CHUNK_SPAN_EMPTY;
    uint32_t good = 0;
    for (; good < g->count && row[good].pub.index == g->first + good; good++) {
        span_add(&span, &row[good].pub);
    }
    if (good < g->count || memcmp(&span, &g->span, sizeof(span)) != 0 ||
        row[0].pub.off != g->chunk_off) {
        return ctr_fail(diag, CTR_E_CORRUPT, g->chunk_off, "chunk",
                        "chunks %llu to %llu are not those that were there",
                        (unsigned long long)g->first,
                        (unsigned long long)(g->first + g->count - 1));
    }
    return 0;
}

/* Reads a group's rows.  Where a PART is damaged the chunks themselves tell. */
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
    int err = -CTR_E_CORRUPT;
    if (t->indexed) {
        err = trace_part_rows(t->tr, g, t->dctx, &t->payload, &t->raw, s->row, diag);
        err = err ? err : check_rows(g, s->row, diag);
    }
    if (err == -CTR_E_CORRUPT || err == -CTR_E_TRUNCATED || err == -CTR_E_UNSUPPORTED) {
        err = trace_scan_rows(t->tr, g, s->row, diag);
        err = err ? err : check_rows(g, s->row, diag);
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

int chunktab_add(struct chunktab *t, const struct chunk_row *row, struct ctr_diag *diag)
{
    const uint64_t i = row->pub.index;
    struct thread *th = trace_thread(t->tr, row->pub.thread);
    if (!t->indexed) {
        if (t->n == 0 || t->group[t->n - 1].count == PART_MAX_CHUNKS) {
            if (!new_group(t, i)) {
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
    t->falling |= row->pub.start_ns < th->begun_ns;
    th->begun_ns = row->pub.start_ns;
    g->chunk_off = i == g->first ? row->pub.off : g->chunk_off;
    span_add(&g->span, &row->pub);
    t->chunks++;
    struct slot *s = g->slot         ? t->slot[g->slot - 1]
                     : i == g->first ? take_slot(t, t->filled, 0)
                                     : NULL;
    if (s) {
        s->row[i - g->first] = *row;
    }
    return 0;
}

/* -------------------------------------------------------------------- order */

static int by_begin(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    return (x->group > y->group) - (x->group < y->group);
}

int chunktab_opened(struct chunktab *t, struct ctr_diag *diag)
{
    uint64_t late = 0;
    if (t->chunks > UINT32_MAX) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "chunk", "too many chunks");
    }
    t->stretch = calloc(t->n + (size_t)1, sizeof(t->stretch[0]));
    if (!t->stretch) {
        return ctr_fail_nomem(diag);
    }
    for (uint32_t i = 0; i < t->n; i++) {
        const struct chunk_group *g = &t->group[i];
        if (g->count && g->span.last_thread >= t->tr->nthreads) {
            return ctr_fail(diag, CTR_E_CORRUPT, g->off, "index",
                            "a thread is not known");
        }
        t->stretch[i] =
            (struct stretch){.group = i, .begin = g->span.from_ns, .n = g->count};
        t->stretch[i].known = t->falling;
    }
    if (!t->falling) {
        qsort(t->stretch, t->n, sizeof(t->stretch[0]), by_begin);
    }
    for (uint32_t k = 0; k < t->n; k++) {
        const uint64_t ns = t->group[t->stretch[k].group].span.late_ns;
        late = ns > late ? ns : late;
        t->stretch[k].late_ns = late;
    }
    return 0;
}

/* When stretch k ends; no chunk was begun at UINT64_MAX, or it is in the last one. */
static uint64_t stretch_end(const struct chunktab *t, uint32_t k)
{
    return k + 1 < t->n ? t->stretch[k + 1].begin : UINT64_MAX;
}

/* The stretch before k, counting down, whose group reaches into k; UINT32_MAX: none. */
static uint32_t reaches_into(const struct chunktab *t, uint32_t k, uint32_t from)
{
    const uint64_t begin = t->stretch[k].begin;
    while (from && t->stretch[from - 1].late_ns >= begin) {
        from--;
        if (t->group[t->stretch[from].group].span.late_ns >= begin) {
            return from;
        }
    }
    return UINT32_MAX;
}

struct begun {
    uint64_t ns;
    uint64_t chunk;
    uint32_t thread;
};

static int by_time(const void *a, const void *b)
{
    const struct begun *x = a, *y = b;
    if (x->ns != y->ns) {
        return x->ns < y->ns ? -1 : 1;
    }
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

static int by_thread(const void *a, const void *b)
{
    const struct begun *x = a, *y = b;
    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    return by_time(a, b);
}

struct begun_list {
    struct begun *v;
    size_t n, cap;
};

/* Adds the chunks of a group that are in stretch k. */
static int add_begun(struct chunktab *t, uint32_t k, uint32_t group, struct begun_list *l,
                     struct ctr_diag *diag)
{
    const struct chunk_group *g = &t->group[group];
    const uint64_t begin = t->stretch[k].begin, end = stretch_end(t, k);
    if (l->n + g->count > l->cap) {
        const size_t cap = l->cap * 2 + PART_MAX_CHUNKS;
        void *p = realloc(l->v, cap * sizeof(l->v[0]));
        if (!p) {
            return ctr_fail_nomem(diag);
        }
        l->v = p;
        l->cap = cap;
    }
    for (uint64_t i = g->first; i < g->first + g->count; i++) {
        struct chunk_row row;
        int err = get(t, group, i, &row, diag);
        if (err) {
            return err;
        }
        const uint64_t ns = row.pub.start_ns;
        if (ns >= begin && (ns < end || end == UINT64_MAX)) {
            l->v[l->n++] = (struct begun){ns, i, row.pub.thread};
        }
    }
    return 0;
}

/* No chunk of a thread may have been begun before one that stands before it. */
static int check_threads(struct begun_list *l, struct ctr_diag *diag)
{
    qsort(l->v, l->n, sizeof(l->v[0]), by_thread);
    for (size_t i = 1; i < l->n; i++) {
        if (l->v[i].thread == l->v[i - 1].thread && l->v[i].chunk < l->v[i - 1].chunk) {
            return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "chunk",
                            "times of a thread fall");
        }
    }
    return 0;
}

/*
 * Threads are merged by time.  Chunks stand in a file as they were finished, which
 * tells little of when they began, so readers of files take them by their first
 * moment, those of one moment as they stand.
 */
static int make_stretch(struct chunktab *t, uint32_t k, struct ctr_diag *diag)
{
    struct stretch *s = &t->stretch[k];
    const struct chunk_span *span = &t->group[s->group].span;
    uint32_t other = reaches_into(t, k, k);
    if (s->known || (other == UINT32_MAX && span->thread == span->last_thread &&
                     (span->late_ns < stretch_end(t, k) || k + 1 == t->n))) {
        s->known = 1;
        return 0;
    }
    struct begun_list l = {.v = NULL};
    int err = add_begun(t, k, s->group, &l, diag);
    for (; !err && other != UINT32_MAX; other = reaches_into(t, k, other)) {
        err = add_begun(t, k, t->stretch[other].group, &l, diag);
    }
    if (!err) {
        err = check_threads(&l, diag);
    }
    uint32_t *order = err ? NULL : malloc((l.n + 1) * sizeof(order[0]));
    if (order) {
        qsort(l.v, l.n, sizeof(l.v[0]), by_time);
        for (size_t i = 0; i < l.n; i++) {
            order[i] = (uint32_t)l.v[i].chunk;
        }
        s->order = order;
        s->n = (uint32_t)l.n;
        s->known = 1;
    } else if (!err) {
        err = ctr_fail_nomem(diag);
    }
    free(l.v);
    return err;
}

/* A place: the number of a stretch, and of a chunk in it. */
#define PLACE(k, i) ((uint64_t)(k) << 32 | (i))
#define PLACE_STRETCH(at) ((uint32_t)((at) >> 32))
#define PLACE_CHUNK(at) ((uint32_t)(at))

static uint64_t chunk_at(const struct chunktab *t, uint64_t at)
{
    const struct stretch *s = &t->stretch[PLACE_STRETCH(at)];
    return s->order ? s->order[PLACE_CHUNK(at)]
                    : t->group[s->group].first + PLACE_CHUNK(at);
}

int chunktab_get_at(struct chunktab *t, uint64_t at, struct chunk_row *out,
                    struct ctr_diag *diag)
{
    return chunktab_get(t, chunk_at(t, at), out, diag);
}

int chunktab_step(struct chunktab *t, uint64_t *at, int back, struct ctr_diag *diag)
{
    uint32_t k = PLACE_STRETCH(*at), i = PLACE_CHUNK(*at);
    if (back ? i > 0 : i + 1 < t->stretch[k].n) {
        *at += back ? UINT64_MAX : 1;
        return 1;
    }
    while (back ? k-- > 0 : ++k < t->n) {
        int err = make_stretch(t, k, diag);
        if (err) {
            return err;
        }
        if (t->stretch[k].n) {
            *at = PLACE(k, back ? t->stretch[k].n - 1 : 0);
            return 1;
        }
    }
    return 0;
}

static int scan_wants(const struct chunk_scan *s, const struct chunk_span *g)
{
    return g->from <= s->to && g->to >= s->from && g->from_ns <= s->to_ns &&
           g->to_ns >= s->from_ns && g->thread <= s->last_thread &&
           g->last_thread >= s->thread && (s->flags == 0 || g->flags & s->flags);
}

/* Anything of a stretch that is not known yet? */
static int scan_wants_any(const struct chunktab *t, const struct chunk_scan *s,
                          uint32_t k)
{
    uint32_t other = k;
    while (other != UINT32_MAX) {
        if (scan_wants(s, &t->group[t->stretch[other].group].span)) {
            return 1;
        }
        other = reaches_into(t, k, other);
    }
    return 0;
}

static int next_stored(struct chunktab *t, struct chunk_scan *s, struct chunk_row *out,
                       struct ctr_diag *diag)
{
    while (s->at < t->chunks) {
        s->group = chunktab_find(t, s->at, s->group);
        const struct chunk_group *g = &t->group[s->group];
        if (scan_wants(s, &g->span)) {
            int err = get(t, s->group, s->at, out, diag);
            s->at += !err;
            return err ? err : 1;
        }
        s->at = g->first + g->count;
    }
    return 0;
}

int chunktab_next(struct chunktab *t, struct chunk_scan *s, struct chunk_row *out,
                  struct ctr_diag *diag)
{
    if (s->stored) {
        return next_stored(t, s, out, diag);
    }
    for (uint32_t k; (k = PLACE_STRETCH(s->at)) < t->n;) {
        const struct stretch *st = &t->stretch[k];
        if (!st->known && scan_wants_any(t, s, k)) {
            int err = make_stretch(t, k, diag);
            if (err) {
                return err;
            }
        }
        if (!st->known || PLACE_CHUNK(s->at) >= st->n) {
            s->at = PLACE(k + 1, 0);
            continue;
        }
        const uint64_t i = chunk_at(t, s->at);
        s->group = chunktab_find(t, i, s->group);
        if (scan_wants(s, &t->group[s->group].span)) {
            int err = get(t, s->group, i, out, diag);
            s->at += !err;
            return err ? err : 1;
        }
        s->at = st->order ? s->at + 1 : PLACE(k + 1, 0);
    }
    return 0;
}
