/* SPDX-License-Identifier: MIT */
/* The chunks of a file (see chunktab.h). */
#include "trace.h"

#include <pthread.h>
#include <string.h>

#define SLOTS 128u /* 3.7 MB of rows, those of a file of some GiB */
#define SLOTS_MAX 1024u
#define NO_GROUP UINT32_MAX

/* The rows of a group. */
struct slot {
    uint32_t group; /* or NO_GROUP */
    uint32_t good;  /* rows before those that cannot be read, of which ... */
    struct ctr_diag why;
    uint64_t used; /* when last */
    struct chunk_row row[PART_MAX_CHUNKS];
};

/*
 * A stretch of the order of time, which is that of (time, number) of chunks.  Stretch k
 * begins with (begin, number of its group's first chunk), and ends where the next one
 * begins.  They are in order of that, so its chunks are in its group and in those of
 * stretches before, as far as chunks of these were begun late.  Where no others reach
 * into it, and no two threads are in the group, it is the group as it stands, and nothing
 * need be read to know it.
 */
struct stretch {
    uint64_t begin; /* time */
    uint32_t group;
    uint32_t before; /* nearest stretch before that reaches into this one, or NONE */
    uint32_t n;      /* chunks */
    int known;
    uint32_t *order; /* their numbers; NULL: the group as it stands, or not known yet */
};
#define NONE UINT32_MAX

struct chunktab {
    struct ctr_trace *tr;
    struct chunk_group *group;
    uint32_t n, cap;
    uint64_t chunks;
    uint32_t filled; /* while opening: groups before this one have all their chunks */
    int indexed;
    struct stretch *stretch; /* one for each group */
    int falling;             /* times of a thread fall: stretch 0 has all chunks */

    pthread_mutex_t lock; /* of all that follows */
    struct slot *slot[SLOTS_MAX];
    uint32_t nslots;
    uint32_t most; /* as many are enough; grows with threads that are slow */
    uint64_t uses;
    ZSTD_DCtx *dctx;
    struct buf payload, raw;
};

struct chunktab *chunktab_new(struct ctr_trace *tr)
{
    struct chunktab *t = calloc(1, sizeof(*t));
    if (t) {
        t->tr = tr;
        t->most = SLOTS;
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

static int new_group(struct chunktab *t, const struct chunk_group *g)
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
    t->group[t->n++] = *g;
    return 0;
}

/* Is a group where it can be, so that a file has no more of them than it has room for? */
static int is_possible(const struct chunktab *t, const struct chunk_group *last,
                       const struct chunk_group *g)
{
    const uint64_t least =
        SECT_OFF_FRAMES + CHUNK_FRAMES * SECT_FRAME + CHUNK_BODY + SECT_HASH;
    const uint64_t size = t->tr->src.size;
    const uint64_t from = last ? last->chunk_off + last->count * least : t->tr->data_off;
    return g->count && g->off < size && g->chunk_off >= from && g->chunk_off < size &&
           size - g->chunk_off >= g->count * least &&
           g->span.last_thread >= g->span.thread;
}

int chunktab_add_part(struct chunktab *t, const uint8_t *row, int spans,
                      struct ctr_diag *diag)
{
    const struct chunk_group *last = t->n ? &t->group[t->n - 1] : NULL;
    struct chunk_group g = {
        .off = le64(row + RPART_OFF),
        .first = le64(row + RPART_FIRST),
        .count = le32(row + RPART_CHUNKS),
        .span = CHUNK_SPAN_EMPTY,
    };
    if (spans) {
        g.chunk_off = le64(row + RPART_CHUNK_OFF);
        g.span = span_get(row);
    }
    if (g.first != (last ? last->first + last->count : 0) || g.count > PART_MAX_CHUNKS ||
        (spans && !is_possible(t, last, &g))) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "index",
                        "parts do not fit together");
    }
    if (new_group(t, &g)) {
        return ctr_fail_nomem(diag);
    }
    t->indexed = 1;
    if (spans) {
        t->chunks += g.count;
        if (g.span.to_ns > t->tr->end_ns) {
            t->tr->end_ns = g.span.to_ns;
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
    struct slot *s = t->nslots < t->most ? malloc(sizeof(*s)) : NULL;
    uint32_t k = 0;
    if (s) {
        k = t->nslots++;
        t->slot[k] = s;
    } else if (any && t->nslots) {
        for (uint32_t i = 1; i < t->nslots; i++) {
            k = t->slot[i]->used < t->slot[k]->used ? i : k;
        }
        s = t->slot[k];
        if (s->group != NO_GROUP) {
            t->group[s->group].slot = 0;
        }
    } else {
        return NULL;
    }
    s->group = group;
    s->good = 0;
    s->used = ++t->uses;
    t->group[group].slot = k + 1;
    return s;
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

/* As many of the first rows as can be those of a group some of which cannot be read. */
static uint32_t likely_rows(const struct chunk_group *g, const struct chunk_row *row,
                            uint32_t n)
{
    uint32_t good = 0;
    for (; good < n; good++) {
        const struct ctr_chunk *c = &row[good].pub;
        if (c->start_ns < g->span.from_ns || c->start_ns > g->span.late_ns ||
            c->thread < g->span.thread || c->thread > g->span.last_thread ||
            c->first < g->span.from || c->first + c->insns > g->span.to ||
            c->end_ns > g->span.to_ns) {
            break;
        }
    }
    return good;
}

/*
 * Reads a group's rows.  Where a PART is damaged the chunks themselves tell; where one of
 * these is, too, only the rows before it are known.
 */
static int load(struct chunktab *t, uint32_t group, struct slot **out,
                struct ctr_diag *diag)
{
    const struct chunk_group *g = &t->group[group];
    struct slot *s = take_slot(t, group, 1);
    struct ctr_diag why;
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
        err = trace_part_rows(t->tr, g, t->dctx, &t->payload, &t->raw, s->row, &why);
        err = err ? err : check_rows(g, s->row, &why);
        s->good = err ? 0 : g->count;
    }
    if (err && err != -CTR_E_NOMEM) {
        uint32_t n = 0;
        const uint64_t end =
            group + 1 < t->n ? t->group[group + 1].chunk_off : t->tr->src.size;
        err = trace_scan_rows(t->tr, g, end, s->row, &n, &s->why);
        if (err) {
            s->good = likely_rows(g, s->row, n);
        } else {
            err = check_rows(g, s->row, &s->why);
            s->good = err ? 0 : n;
        }
    }
    if (err == -CTR_E_NOMEM) {
        give_up_slot(t, s);
        return ctr_fail_nomem(diag);
    }
    *out = s;
    return 0;
}

/* Finds a group's rows, with the lock. */
static int find_rows(struct chunktab *t, uint32_t group, struct slot **out,
                     struct ctr_diag *diag)
{
    struct chunk_group *g = &t->group[group];
    *out = g->slot ? t->slot[g->slot - 1] : NULL;
    int err = *out ? 0 : load(t, group, out, diag);
    if (!err) {
        (*out)->used = ++t->uses;
    }
    return err;
}

static int get(struct chunktab *t, uint32_t group, uint64_t i, struct chunk_row *out,
               struct ctr_diag *diag)
{
    struct slot *s;
    pthread_mutex_lock(&t->lock);
    int err = find_rows(t, group, &s, diag);
    if (!err) {
        const uint64_t k = i - t->group[group].first;
        if (k < s->good) {
            *out = s->row[k];
        } else {
            err = -s->why.code;
            if (diag) {
                *diag = s->why;
            }
        }
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
            const struct chunk_group g = {.first = i, .span = CHUNK_SPAN_EMPTY};
            if (new_group(t, &g)) {
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
        s->good++;
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

/* Is the last chunk of stretch j's group behind the begin of stretch k? */
static int reaches(const struct chunktab *t, uint32_t j, uint32_t k)
{
    const struct stretch *x = &t->stretch[j], *y = &t->stretch[k];
    const uint64_t late = t->group[x->group].span.late_ns;
    return late != y->begin ? late > y->begin : x->group > y->group;
}

/*
 * The next stretch before j whose group reaches into stretch k, or NONE.  What reaches
 * into k, and is before j, also reaches into j.
 */
static uint32_t reaching(const struct chunktab *t, uint32_t k, uint32_t j)
{
    do {
        j = t->stretch[j].before;
    } while (j != NONE && !reaches(t, j, k));
    return j;
}

/* Is a chunk begun at a time in stretch k, or before it? */
static int is_before_end(const struct chunktab *t, uint32_t k, uint64_t ns,
                         uint64_t chunk)
{
    if (k + 1 == t->n) {
        return 1;
    }
    const struct stretch *next = &t->stretch[k + 1];
    return ns != next->begin ? ns < next->begin : chunk < t->group[next->group].first;
}

static int is_behind_begin(const struct chunktab *t, uint32_t k, uint64_t ns,
                           uint64_t chunk)
{
    const struct stretch *s = &t->stretch[k];
    return ns != s->begin ? ns > s->begin : chunk >= t->group[s->group].first;
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

/* Keeps a list, sorted now, as the order of a stretch. */
static int keep_order(struct stretch *s, struct begun_list *l, struct ctr_diag *diag)
{
    uint32_t *order = malloc((l->n + 1) * sizeof(order[0]));
    if (!order) {
        return ctr_fail_nomem(diag);
    }
    qsort(l->v, l->n, sizeof(l->v[0]), by_time);
    for (size_t i = 0; i < l->n; i++) {
        order[i] = (uint32_t)l->v[i].chunk;
    }
    s->order = order;
    s->n = (uint32_t)l->n;
    s->known = 1;
    return 0;
}

/*
 * Times of a thread must not fall, but could up to version 5: then a chunk counts as
 * begun no earlier than those of its thread before it, and the order of all is made at
 * once.
 */
static int order_falling(struct chunktab *t, struct ctr_diag *diag)
{
    struct begun_list l = {.v = malloc((t->chunks + 1) * sizeof(l.v[0]))};
    int err = l.v ? 0 : ctr_fail_nomem(diag);
    for (uint32_t i = 0; i < t->tr->nthreads; i++) {
        trace_thread(t->tr, i)->begun_ns = 0;
    }
    for (uint64_t i = 0; !err && i < t->chunks; i++) {
        struct chunk_row row;
        err = chunktab_get(t, i, &row, diag);
        if (!err) {
            struct thread *th = trace_thread(t->tr, row.pub.thread);
            if (th->begun_ns < row.pub.start_ns) {
                th->begun_ns = row.pub.start_ns;
            }
            l.v[l.n++] = (struct begun){th->begun_ns, i, row.pub.thread};
        }
    }
    for (uint32_t k = 0; k < t->n; k++) {
        t->stretch[k].n = 0;
        t->stretch[k].known = 1;
    }
    err = err ? err : keep_order(&t->stretch[0], &l, diag);
    free(l.v);
    return err;
}

int chunktab_opened(struct chunktab *t, struct ctr_diag *diag)
{
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
        t->stretch[i] = (struct stretch){
            .group = i, .begin = g->span.from_ns, .n = g->count, .before = NONE};
    }
    if (t->falling) {
        return order_falling(t, diag);
    }
    qsort(t->stretch, t->n, sizeof(t->stretch[0]), by_begin);
    for (uint32_t k = 1; k < t->n; k++) {
        uint32_t j = k - 1;
        while (j != NONE && !reaches(t, j, k)) {
            j = t->stretch[j].before;
        }
        t->stretch[k].before = j;
    }
    return 0;
}

/* Adds the chunks of a group that are in stretch k. */
static int add_begun(struct chunktab *t, uint32_t k, uint32_t group, struct begun_list *l,
                     struct ctr_diag *diag)
{
    const struct chunk_group *g = &t->group[group];
    struct slot *s;
    if (l->n + g->count > l->cap) {
        const size_t cap = l->cap * 2 + PART_MAX_CHUNKS;
        void *p = realloc(l->v, cap * sizeof(l->v[0]));
        if (!p) {
            return ctr_fail_nomem(diag);
        }
        l->v = p;
        l->cap = cap;
    }
    pthread_mutex_lock(&t->lock);
    int err = find_rows(t, group, &s, diag);
    for (uint32_t i = 0; !err && i < g->count; i++) {
        /* What cannot be read comes when it can have been begun at the latest. */
        const int good = i < s->good;
        const uint64_t ns = good ? s->row[i].pub.start_ns : g->span.late_ns;
        if (is_behind_begin(t, k, ns, g->first + i) &&
            is_before_end(t, k, ns, g->first + i)) {
            l->v[l->n++] =
                (struct begun){ns, g->first + i, good ? s->row[i].pub.thread : NONE};
        }
    }
    pthread_mutex_unlock(&t->lock);
    return err;
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
    if (s->known) {
        return 0;
    }
    const struct chunk_group *g = &t->group[s->group];
    if (s->before == NONE && g->span.thread == g->span.last_thread &&
        is_before_end(t, k, g->span.late_ns, g->first + g->count - 1)) {
        s->known = 1;
        return 0;
    }
    struct begun_list l = {.v = NULL};
    uint32_t others = 0;
    int err = add_begun(t, k, s->group, &l, diag);
    for (uint32_t j = reaching(t, k, k); !err && j != NONE; j = reaching(t, k, j)) {
        err = add_begun(t, k, t->stretch[j].group, &l, diag);
        others++;
    }
    /* They reach into the next one, as a rule. */
    pthread_mutex_lock(&t->lock);
    if (others + SLOTS / 2 > t->most) {
        others += SLOTS;
        t->most = others < SLOTS_MAX ? others : SLOTS_MAX;
    }
    pthread_mutex_unlock(&t->lock);
    err = err ? err : check_threads(&l, diag);
    err = err ? err : keep_order(s, &l, diag);
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

int chunktab_place(struct chunktab *t, const struct chunk_row *row, uint64_t *at,
                   struct ctr_diag *diag)
{
    const uint64_t chunk = row->pub.index;
    uint32_t lo = 0, hi = t->falling ? 1 : t->n;
    while (hi - lo > 1) {
        const uint32_t mid = lo + (hi - lo) / 2;
        *(is_behind_begin(t, mid, row->pub.start_ns, chunk) ? &lo : &hi) = mid;
    }
    int err = make_stretch(t, lo, diag);
    const struct stretch *s = &t->stretch[lo];
    for (uint32_t i = 0; !err && i < s->n; i++) {
        *at = PLACE(lo, i);
        if (chunk_at(t, *at) == chunk) {
            return 0;
        }
    }
    return err ? err
               : ctr_fail(diag, CTR_E_CORRUPT, row->pub.off, "chunk",
                          "it is not where its time says");
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
    for (uint32_t j = k; j != NONE; j = reaching(t, k, j)) {
        if (scan_wants(s, &t->group[t->stretch[j].group].span)) {
            return 1;
        }
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
            int err = get(t, s->group, s->at++, out, diag);
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
            s->at++;
            return err ? err : 1;
        }
        s->at = st->order ? s->at + 1 : PLACE(k + 1, 0);
    }
    return 0;
}
