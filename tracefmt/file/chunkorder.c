/* SPDX-License-Identifier: MIT */
/*
 * The time order of a file's chunks, computed in stretches as far as it is needed, and
 * scans that leave out groups without matches.
 */
#include "file/chunktab_priv.h"

static int by_begin(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    return (x->group > y->group) - (x->group < y->group);
}

/* Whether the last chunk of stretch j's group is after the beginning of stretch k. */
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

/* Whether a chunk begun at this time is in stretch k, or before it. */
static int is_before_end(const struct chunktab *t, uint32_t k, uint64_t ns,
                         uint64_t chunk)
{
    if (k + 1 == t->n) {
        return 1;
    }
    const struct stretch *next = &t->stretch[k + 1];
    return ns != next->begin ? ns < next->begin : chunk < t->group[next->group].first;
}

static int is_after_begin(const struct chunktab *t, uint32_t k, uint64_t ns,
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

/* Sorts a list, and keeps it as the order of a stretch. */
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
    int err = chunktab_rows(t, group, &s, diag);
    for (uint32_t i = 0; !err && i < g->count; i++) {
        /* What cannot be read comes at the latest time at which it can have begun. */
        const int good = i < s->good;
        const uint64_t ns = good ? s->row[i].pub.start_ns : g->span.late_ns;
        if (is_after_begin(t, k, ns, g->first + i) &&
            is_before_end(t, k, ns, g->first + i)) {
            l->v[l->n++] =
                (struct begun){ns, g->first + i, good ? s->row[i].pub.thread : NONE};
        }
    }
    pthread_mutex_unlock(&t->lock);
    return err;
}

/* A chunk of a thread must not have begun before an earlier one in the file. */
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
 * Threads are merged by time. Chunks are in a file in the order in which they were
 * finished, which says little about when they began, so readers of files order them by
 * their first moment, and those of one moment by their order in the file.
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
    /* They usually reach into the next one. */
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
    uint32_t lo = 0, hi = t->n;
    while (hi - lo > 1) {
        const uint32_t mid = lo + (hi - lo) / 2;
        *(is_after_begin(t, mid, row->pub.start_ns, chunk) ? &lo : &hi) = mid;
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

int chunktab_before(struct chunktab *t, uint64_t ns, uint64_t *at, struct ctr_diag *diag)
{
    uint32_t k = 0, hi = t->n;
    while (hi - k > 1) {
        const uint32_t mid = k + (hi - k) / 2;
        *(t->stretch[mid].begin <= ns ? &k : &hi) = mid;
    }
    int err = make_stretch(t, k, diag);
    /* All of a stretch may be later than its begin: then it is at the end of one before. */
    for (uint32_t n = err ? 0 : t->stretch[k].n; !err; n = t->stretch[k].n) {
        struct chunk_row row;
        uint32_t lo = 0;
        while (!err && lo < n) { /* the first one after it */
            const uint32_t mid = lo + (n - lo) / 2;
            err = chunktab_get_at(t, PLACE(k, mid), &row, diag);
            if (!err && row.pub.start_ns <= ns) {
                lo = mid + 1;
            } else {
                n = mid;
            }
        }
        *at = PLACE(k, lo ? lo - 1 : 0);
        if (err || lo || k == 0) {
            return err ? err : lo != 0;
        }
        err = make_stretch(t, --k, diag);
    }
    return err;
}

static int scan_wants(const struct chunk_scan *s, const struct chunk_span *g)
{
    return g->from <= s->to && g->to >= s->from && g->from_ns <= s->to_ns &&
           g->to_ns >= s->from_ns && g->thread <= s->last_thread &&
           g->last_thread >= s->thread && (s->flags == 0 || g->flags & s->flags);
}

/* Whether the scan wants anything of a stretch that is not known yet. */
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
            int err = chunktab_get_in(t, s->group, s->at++, out, diag);
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
            int err = chunktab_get_in(t, s->group, i, out, diag);
            s->at++;
            return err ? err : 1;
        }
        s->at = st->order ? s->at + 1 : PLACE(k + 1, 0);
    }
    return 0;
}

int chunktab_ordinal(struct chunktab *t, uint32_t thread, uint64_t ordinal, int or_before,
                     struct chunk_row *out, struct ctr_diag *diag)
{
    struct chunk_scan s = CHUNK_SCAN_ALL;
    struct chunk_row row;
    int got, found = 0;
    s.stored = 1; /* the same order within a thread */
    s.from = s.to = ordinal;
    s.thread = s.last_thread = thread;
    while ((got = chunktab_next(t, &s, &row, diag)) == 1) {
        const struct ctr_chunk *c = &row.pub;
        if (c->thread != thread || c->first > ordinal) {
            continue;
        }
        const int inside = ordinal - c->first < c->insns;
        if (inside || (or_before && ordinal - c->first == c->insns)) {
            *out = row;
            found = 1;
        }
        if (inside) {
            return 1;
        }
    }
    return got ? got : found;
}
