/* SPDX-License-Identifier: MIT */
/*
 * Which chunks a search reads, one after the other away from the place, and which of their
 * events is the nearest.
 *
 * Merged, first come all chunks that the time of the place is in, whenever they were begun,
 * then the others by the time at which they were begun: forward up to what was found.
 * Backward a chunk that was begun before that may have gone on after it; those are searched
 * last (search_more).
 */
#include "replay/search_priv.h"

#include <string.h>

/* ------------------------------------------------------------------- nearest */

static int compare(const struct search_key *a, const struct search_key *b)
{
    return a->ns != b->ns             ? (a->ns < b->ns ? -1 : 1)
           : a->thread != b->thread   ? (a->thread < b->thread ? -1 : 1)
           : a->ordinal != b->ordinal ? (a->ordinal < b->ordinal ? -1 : 1)
                                      : a->insn - b->insn;
}

static int is_nearer(const struct search *s, const struct searcher *me)
{
    if (s->order == SEARCH_MERGED) {
        const int order = compare(&me->key, &s->near);
        return s->back ? order > 0 : order < 0;
    }
    if (s->order == SEARCH_SLICES && me->key.ns != s->near.ns) {
        return s->back ? me->key.ns > s->near.ns : me->key.ns < s->near.ns;
    }
    return s->back ? me->at > s->best : me->at < s->best;
}

void search_keep(struct search *s, const struct searcher *me, int result)
{
    if (result && (!s->result || is_nearer(s, me))) {
        s->result = result;
        s->best = me->at;
        s->near = me->key;
        s->out = me->out;
        s->diag = me->diag;
    }
}

/* -------------------------------------------------------------------- across */

static int add_across(struct search *s, uint64_t chunk)
{
    if (s->nacross == s->across_cap) {
        const size_t cap = s->across_cap ? s->across_cap * 2 : 16;
        uint64_t *v = realloc(s->across, cap * sizeof(v[0]));
        if (!v) {
            return -1;
        }
        s->across = v;
        s->across_cap = cap;
    }
    s->across[s->nacross++] = chunk;
    return 0;
}

static int is_across(const struct ctr_chunk *c, uint64_t ns)
{
    return c->start_ns <= ns && c->end_ns >= ns;
}

/* Makes s->across the chunks that a time is in; `damaged': what cannot be read is none. */
static int find_across(struct search *s, uint64_t ns, int damaged, struct ctr_diag *diag)
{
    struct chunk_scan scan = CHUNK_SCAN_ALL;
    struct chunk_row row;
    int got;
    scan.stored = 1;
    scan.from_ns = scan.to_ns = ns;
    s->nacross = s->across_next = 0;
    while ((got = chunktab_next(s->tr->chunks, &scan, &row, diag)) != 0) {
        if (got < 0 && !(damaged && ctr_is_damage(got))) {
            break;
        }
        if (got == 1 && is_across(&row.pub, ns) && feed_chunk(&s->feed, &row.pub) &&
            add_across(s, row.pub.index)) {
            return ctr_fail_nomem(diag);
        }
    }
    return got;
}

int search_across(struct search *s, uint64_t ns, struct ctr_diag *diag)
{
    return find_across(s, ns, 0, diag);
}

/* Most that cannot be read is farther on, and must not hide what was found. */
int search_more(struct search *s, struct ctr_diag *diag)
{
    if (s->order != SEARCH_MERGED || !s->back || !s->result) {
        return 0;
    }
    int err = find_across(s, s->near.ns, 1, diag);
    size_t n = 0;
    for (size_t i = 0; !err && i < s->nacross; i++) {
        struct chunk_row row;
        err = chunktab_get(s->tr->chunks, s->across[i], &row, diag);
        /* The others were searched. */
        if (row.pub.start_ns < s->near.ns && !is_across(&row.pub, s->when)) {
            s->across[n++] = s->across[i];
        }
    }
    s->nacross = n;
    s->left = 0;
    s->feed.filter.most = 0;
    return err ? err : n != 0;
}

/* -------------------------------------------------------------------- taking */

/*
 * Whether a chunk is too far away to have anything nearer than what was found. With the
 * lock.
 */
static int is_beyond(struct search *s, const struct ctr_chunk *c)
{
    if (s->order == SEARCH_ALONE) {
        return s->result != 0;
    }
    if (s->order == SEARCH_MERGED) {
        return s->result &&
               (s->back ? c->start_ns < s->near.ns : c->start_ns > s->near.ns);
    }
    int beyond =
        s->result && (s->back ? s->first_ns <= s->near.ns : c->start_ns > s->near.ns);
    if (c->flags & CTR_CHUNK_FIRST) {
        s->first_ns = c->start_ns;
    }
    return beyond;
}

/* Moves to the next chunk in order of time. Returns 1, 0 at the end, or an error. */
static int step(struct search *s, struct searcher *me, struct chunk_row *row)
{
    while (s->left && (s->order != SEARCH_ALONE || !s->result)) {
        me->at = s->back ? s->at - 1 : s->at + 1; /* if there is an error */
        if (s->begun) {
            s->left = chunktab_step(s->tr->chunks, &s->at, s->back, &me->diag);
        }
        s->begun = 1;
        if (s->left <= 0) {
            return s->left;
        }
        me->at = s->at;
        const int err = chunktab_get_at(s->tr->chunks, s->at, row, &me->diag);
        if (err) {
            return err;
        }
        if (is_beyond(s, &row->pub)) {
            s->left = 0;
            break;
        }
        if (s->order != SEARCH_MERGED || !is_across(&row->pub, s->when)) {
            return 1;
        }
    }
    return 0;
}

/* The key of an error in a chunk: it may have something there. */
static void set_key(const struct search *s, struct searcher *me,
                    const struct ctr_chunk *c)
{
    uint64_t ns = s->back ? c->end_ns : c->start_ns;
    if (s->order == SEARCH_MERGED && (s->back ? ns > s->when : ns < s->when)) {
        ns = s->when;
    }
    me->key = (struct search_key){.ns = ns,
                                  .thread = c->thread,
                                  .ordinal = c->first + (s->back ? c->insns : 0),
                                  .insn = s->back};
}

/* The next chunk. Returns 1, 0 at the end, or an error. */
static int next_chunk(struct search *s, struct searcher *me, struct chunk_row *row)
{
    const int merged = s->order == SEARCH_MERGED;
    int got = 1;
    if (merged) { /* of an error: all that was begun before, or after, was taken */
        me->key =
            (struct search_key){.ns = s->first_ns, .thread = s->back ? 0 : UINT32_MAX};
    }
    if (s->across_next < s->nacross) {
        const uint64_t i = s->across[s->across_next++];
        const int err = chunktab_get(s->tr->chunks, i, row, &me->diag);
        got = err ? err : 1;
    } else {
        got = step(s, me, row);
        s->first_ns = merged && got == 1 ? row->pub.start_ns : s->first_ns;
        s->left = merged && got < 0 ? 0 : s->left;
    }
    if (got == 1) {
        set_key(s, me, &row->pub);
    }
    return got;
}

/* Takes no chunk any more, though what is searched for may be in the next ones. */
static int end(struct search *s, struct searcher *me, const char *why)
{
    s->left = 0;
    s->across_next = s->nacross;
    if (s->order == SEARCH_MERGED && s->back) { /* those begun after it were read */
        me->key.ns = s->first_ns;
    }
    return ctr_fail(&me->diag, CTR_E_LIMIT, CTR_NO_OFF, "search", "%s", why);
}

int search_take(struct search *s, struct searcher *me)
{
    struct chunk_row row;
    int got;
    while ((got = next_chunk(s, me, &row)) == 1) {
        const struct ctr_chunk *c = &row.pub;
        if (s->feed.filter.stop && s->feed.filter.stop(s->feed.filter.arg)) {
            return end(s, me, "it was stopped");
        }
        if (!feed_chunk(&s->feed, c)) {
            continue;
        }
        int may = s->feed.runs ? feed_may_match(&s->feed, c->index, &me->diag) : 0;
        if (may < 0) {
            return may;
        }
        struct feed *f = may ? &s->feed : &s->system;
        if (!may && !feed_chunk(f, c)) {
            continue;
        }
        if (s->feed.filter.most && s->taken == s->feed.filter.most) {
            return end(s, me, "it is not in the first chunks");
        }
        s->taken++;
        me->feed = f;
        may = feed_take(f, c, &me->raw, &me->diag);
        if (may) {
            return may;
        }
    }
    return got;
}
