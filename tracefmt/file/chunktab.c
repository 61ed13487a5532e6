/* SPDX-License-Identifier: MIT */
/* The chunks of a file: groups of them, and their rows (see chunktab.h). */
#include "file/chunktab_priv.h"

#include <string.h>

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
    t->n = t->cap = t->nslots = 0;
    t->chunks = 0;
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

/*
 * Whether a group is at a possible place, so that a file has no more groups than it has
 * room for.
 */
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

int chunktab_add_part(struct chunktab *t, const uint8_t *row, struct ctr_diag *diag)
{
    const struct chunk_group *last = t->n ? &t->group[t->n - 1] : NULL;
    struct chunk_group g = {
        .off = le64(row + RPART_OFF),
        .first = le64(row + RPART_FIRST),
        .count = le32(row + RPART_CHUNKS),
        .chunk_off = le64(row + RPART_CHUNK_OFF),
        .span = span_get(row),
    };
    if (g.first != (last ? last->first + last->count : 0) || g.count > PART_MAX_CHUNKS ||
        !is_possible(t, last, &g)) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "index",
                        "parts do not fit together");
    }
    if (new_group(t, &g)) {
        return ctr_fail_nomem(diag);
    }
    t->chunks += g.count;
    if (g.span.to_ns > t->tr->end_ns) {
        t->tr->end_ns = g.span.to_ns;
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
 * Gives a group a slot: a new one, or with `any' the least recently used one. NULL:
 * there is none.
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

/* Releases a slot without useful contents. */
static void give_up_slot(struct chunktab *t, struct slot *s)
{
    t->group[s->group].slot = 0;
    s->group = NO_GROUP;
    s->used = 0;
}

/* Whether these are the rows of a group. */
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

/*
 * The number of first rows that may belong to a group some of whose rows cannot be
 * read.
 */
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
 * Reads a group's rows. Where a PART is damaged they are read from the chunks
 * themselves; where one of these is, too, only the rows before it are known.
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
    if (g->off) { /* from the index */
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

int chunktab_rows(struct chunktab *t, uint32_t group, struct slot **out,
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

int chunktab_get_in(struct chunktab *t, uint32_t group, uint64_t i, struct chunk_row *out,
                    struct ctr_diag *diag)
{
    struct slot *s;
    pthread_mutex_lock(&t->lock);
    int err = chunktab_rows(t, group, &s, diag);
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
    return chunktab_get_in(t, chunktab_find(t, i, 0), i, out, diag);
}

/* ------------------------------------------------------------------- adding */

int chunktab_add(struct chunktab *t, const struct chunk_row *row, struct ctr_diag *diag)
{
    const uint64_t i = row->pub.index;
    if (t->n == 0 || t->group[t->n - 1].count == PART_MAX_CHUNKS) {
        const struct chunk_group more = {.first = i, .span = CHUNK_SPAN_EMPTY};
        if (new_group(t, &more)) {
            return ctr_fail_nomem(diag);
        }
    }
    struct chunk_group *g = &t->group[t->n - 1];
    g->count++;
    g->chunk_off = i == g->first ? row->pub.off : g->chunk_off;
    span_add(&g->span, &row->pub);
    t->chunks++;
    struct slot *s = g->slot         ? t->slot[g->slot - 1]
                     : i == g->first ? take_slot(t, t->n - 1, 0)
                                     : NULL;
    if (s) {
        s->row[i - g->first] = *row;
        s->good++;
    }
    return 0;
}
