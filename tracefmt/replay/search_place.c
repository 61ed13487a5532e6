/* SPDX-License-Identifier: MIT */
/* Where a search begins: the place of its chunk, and its time where threads are merged or
 * have slices. */
#include "replay/search_priv.h"

/* Then chunks are in the right order, and no time is needed. */
static int is_alone(const struct search *s)
{
    const struct ctr_filter *f = &s->feed.filter;
    const struct ctr_thread *t;
    if (f->nthread == 1) {
        return f->threads[0] == s->thread;
    }
    for (uint32_t i = 0; (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (i != s->thread && feed_thread(&s->feed, t)) {
            return 0;
        }
    }
    return 1;
}

enum search_order search_order_of(const struct search *s)
{
    return lanes_needed(s->tr)
               ? (s->feed.filter.nthread == 1 && s->feed.filter.threads[0] == s->thread
                      ? SEARCH_ALONE
                      : SEARCH_SLICES)
           : s->tr->nthreads < 2 || is_alone(s) ? SEARCH_ALONE
                                                : SEARCH_MERGED;
}

/* --------------------------------------------------------------------- slices */

/* A time in the slice of the place, which is in this chunk; and where to begin. */
static int find_slice(struct search *s, const struct ctr_chunk *c, struct ctr_diag *diag)
{
    struct raw_chunk raw = {.pub = *c};
    struct evdec *e = &s->feed.times;
    s->when = c->start_ns;
    int err = feed_read(&s->feed, c, &raw, diag);
    err =
        err ? err : evdec_begin(e, &raw.sec, &raw.payload, &raw.pub, s->feed.dctx, diag);
    for (; !err && e->have; err = evdec_next(e)) {
        if (e->ev.ordinal + s->system_here > s->ordinal) {
            break;
        }
        if (e->ev.type == CTR_EVENT_SLICE) {
            s->when = e->ev.time_ns;
        }
    }
    buf_free(&raw.payload);
    return err       ? err
           : s->back ? bundle_end(s->tr->chunks, &s->at, diag)
                     : bundle_begin(s->tr->chunks, &s->at, diag);
}

/* --------------------------------------------------------------------- merged */

/*
 * The time of the chunk's thread at an ordinal, after the system's events there; or, with
 * `first', when the first of these was. Returns 1, 0: there is no such event, or an error.
 */
static int read_time(struct search *s, const struct ctr_chunk *c, uint64_t ordinal,
                     int first, uint64_t *ns, struct ctr_diag *diag)
{
    struct raw_chunk raw = {.pub = *c};
    struct evdec *e = &s->system.times;
    int found = !first;
    int err = feed_read(&s->system, c, &raw, diag);
    *ns = c->start_ns;
    err = err ? err
              : evdec_begin(e, &raw.sec, &raw.payload, &raw.pub, s->system.dctx, diag);
    for (; !err && e->have && e->ev.ordinal <= ordinal; err = evdec_next(e)) {
        *ns = search_time(c, *ns, &e->ev);
        if (first && e->ev.ordinal == ordinal) {
            found = 1;
            break;
        }
    }
    buf_free(&raw.payload);
    return err ? err : found;
}

/* The chunk of an instruction, or a thread's last one for the ordinal after its end. */
static int find_chunk(struct search *s, uint64_t ordinal, struct ctr_chunk *out,
                      struct ctr_diag *diag)
{
    struct chunk_row row;
    const int got = chunktab_ordinal(s->tr->chunks, s->thread, ordinal, 1, &row, diag);
    *out = row.pub;
    return got;
}

/* When the system's first event before the instruction was; `c' is its chunk. Returns 1, 0:
 * there is none, or an error. */
static int find_system(struct search *s, const struct ctr_chunk *c, struct ctr_diag *diag)
{
    struct ctr_chunk before;
    int got = s->ordinal ? find_chunk(s, s->ordinal - 1, &before, diag) : 0;
    if (got == 1) {
        got = before.index == c->index
                  ? 0
                  : read_time(s, &before, s->ordinal, 1, &s->when, diag);
    }
    return got ? got : read_time(s, c, s->ordinal, 1, &s->when, diag);
}

/*
 * The time of the place; `c' is its chunk. What the system did before an instruction may
 * have taken long: of a place before it, forward, that is after the instruction before, and
 * backward right before the system's first event.
 */
static int find_time(struct search *s, const struct ctr_chunk *c, struct ctr_diag *diag)
{
    const uint64_t start_ns = ctr_trace_thread(s->tr, s->thread)->start_ns;
    int got = 0;
    if (s->system_here && !s->back) {
        if (s->ordinal) {
            got = read_time(s, c, s->ordinal - 1, 0, &s->when, diag);
        } else {
            s->when = start_ns < c->start_ns ? start_ns : c->start_ns;
        }
        return got < 0 ? got : 0;
    }
    if (s->system_here) {
        got = find_system(s, c, diag);
        if (got) {
            return got < 0 ? got : 0;
        }
    }
    if (s->ordinal - c->first < c->insns) {
        got = read_time(s, c, s->ordinal, 0, &s->when, diag);
    } else {
        s->when = c->end_ns;
    }
    return got < 0 ? got : 0;
}

/* Chunks that the time is in are searched first, then those begun after, or before. */
static int begin_merged(struct search *s, struct ctr_diag *diag)
{
    const int got = chunktab_before(s->tr->chunks, s->when, &s->at, diag);
    s->left = !s->back || got;
    s->begun = !s->back && got;
    s->first_ns = s->when;
    return got < 0 ? got : search_across(s, s->when, diag);
}

/* ------------------------------------------------------------------- all of them */

int search_find_place(struct search *s, struct ctr_diag *diag)
{
    struct chunk_row row;
    int got = 0;
    if (s->found) {
        return begin_merged(s, diag);
    }
    if (s->system_here && !s->back && s->ordinal) { /* it may be in the chunk before */
        got = chunktab_ordinal(s->tr->chunks, s->thread, s->ordinal - 1, 0, &row, diag);
    }
    if (!got) {
        got = chunktab_ordinal(s->tr->chunks, s->thread, s->ordinal, s->back || s->point,
                               &row, diag);
    }
    s->left = got;
    if (got != 1) {
        return got ? got
                   : ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "search",
                              "no such instruction");
    }
    if (s->order == SEARCH_MERGED) {
        const int err = find_time(s, &row.pub, diag);
        return err ? err : begin_merged(s, diag);
    }
    const int err = chunktab_place(s->tr->chunks, &row, &s->at, diag);
    return err || s->order == SEARCH_ALONE ? err : find_slice(s, &row.pub, diag);
}
