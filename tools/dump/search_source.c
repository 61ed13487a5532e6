/* SPDX-License-Identifier: MIT */
/*
 * What one thread accessed, away from a moment; see search_priv.h.
 *
 * libctr finds the next chunk that has such an access, by the index.  The chunk's accesses
 * are read, and between which times each was made: events of the system have times.
 */
#include "dump/search_priv.h"

#include <stdlib.h>

#include "common/array.h"
#include "cannoli/events.h"

/* A time that is known before an instruction. */
struct anchor {
    uint64_t ordinal, ns;
};

struct reading {
    struct search_source *source;
    const struct search *s;
    struct anchor *anchors; /* in order */
    size_t nr_anchors, cap;
};

/* The first ordinal of the thread's last chunk that begins at a time or before; of its first
 * one if there is none.  Returns 0 or a negated CTR_E_*. */
static int find_time(struct search *s, const struct ctr_thread *t, uint64_t ns,
                     uint64_t *ordinal)
{
    uint64_t low = t->first, high = t->first + t->insns;

    *ordinal = t->first;
    while (low < high) {
        uint64_t mid = low + (high - low) / 2;
        struct ctr_chunk c;
        int ret = ctr_trace_find(s->tr, t->index, mid, &c, &s->diag);

        if (ret) {
            return ret;
        }
        if (c.start_ns <= ns) {
            *ordinal = c.first;
            low = c.first + c.insns > mid ? c.first + c.insns : mid + 1;
        } else {
            high = c.first < mid ? c.first : mid;
        }
    }
    return 0;
}

/* What another thread did later than this was after the moment. */
static uint64_t latest_ns(const struct search *s)
{
    return s->possible ? s->when.to_ns : s->when.from_ns;
}

int search_source_init(struct search_source *source, struct search *s,
                       const struct ctr_thread *t)
{
    const bool back = s->request->back, own = t->index == s->at.thread;

    *source = (struct search_source){.thread = t->index, .from = s->at};
    source->chunk.index = UINT64_MAX;
    source->flags = back ? CTR_SEARCH_BACK : 0;
    if (own) {
        source->flags |= s->at.before_system ? CTR_SEARCH_SYSTEM : CTR_SEARCH_POINT;
        return 0;
    }
    source->from =
        (struct ctr_moment){.thread = t->index, .ordinal = t->first + t->insns};
    source->flags |= back ? CTR_SEARCH_POINT : CTR_SEARCH_SYSTEM;
    source->done = !t->insns || (back && t->start_ns > latest_ns(s));
    return back || source->done ? 0
                                : find_time(s, t, s->when.from_ns, &source->from.ordinal);
}

void search_source_fini(struct search_source *source)
{
    free(source->v);
    search_near_reset(&source->near);
    search_bytes_fini(&source->rest);
}

/* Makes the bounds of the user's filter those of one thread. */
static void resolve_bounds(struct ctr_filter *f, uint32_t thread)
{
    if (f->from_thread && f->from_thread - 1 == thread) {
        f->from_ns = 0;
    } else if (f->from_thread) {
        f->from = 0;
    }
    if (f->to_thread && f->to_thread - 1 == thread) {
        f->to_ns = 0;
        if (!f->to) { /* before its first instruction: nothing */
            f->from = f->to = UINT64_MAX;
        }
    } else if (f->to_thread) {
        f->to = 0;
    }
    f->from_thread = f->to_thread = 0;
}

struct ctr_filter search_source_filter(const struct search_source *source,
                                       const struct search *s,
                                       const struct search_bytes *bytes)
{
    struct ctr_filter f = s->filter;

    resolve_bounds(&f, source->thread);
    f.kinds = s->request->kind | (s->opt->kinds & CTR_KIND_SYS);
    f.addrs = bytes->v;
    f.naddr = bytes->n;
    f.threads = &source->thread;
    f.nthread = 1;
    return f;
}

/* What to look for in the thread. */
static struct ctr_filter filter_of(const struct search_source *source,
                                   const struct search *s)
{
    struct ctr_filter f = search_source_filter(source, s, &s->left);

    if (source->thread != s->at.thread && s->request->back) {
        uint64_t to = latest_ns(s) + 1;

        f.to_ns = !f.to_ns || f.to_ns > to ? to : f.to_ns;
    }
    return f;
}

/* ---------------------------------------------------------- one chunk's accesses */

static int add_hit(struct reading *r, struct search_hit h)
{
    struct search_source *source = r->source;

    if (!array_reserve(&source->v, &source->cap, source->n + 1, sizeof(*source->v))) {
        return DUMP_STOP_NOMEM;
    }
    h.seq = (uint32_t)source->n;
    source->v[source->n++] = h;
    return 0;
}

/* Whether an event is on the right side of the moment, as ctr_search counts. */
static bool is_side(const struct reading *r, uint64_t ordinal, bool system)
{
    const struct ctr_moment *at = &r->s->at;
    bool here = system && !at->before_system; /* it is before the moment */
    bool before = here ? ordinal <= at->ordinal : ordinal < at->ordinal;

    return r->source->thread != at->thread || before == r->s->request->back;
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct reading *r = arg;

    if (ctr_job_chunk(job)->index != r->source->chunk.index ||
        !is_side(r, m->ordinal, false)) {
        return 0;
    }
    return add_hit(
        r, (struct search_hit){.ordinal = m->ordinal, .addr = m->addr, .size = m->size});
}

bool search_wants(const struct search *s, const struct ctr_os_event *e,
                  struct ctr_usermem *m)
{
    return s->opt->kinds & CTR_KIND_SYS && !s->filter.npc && !ctr_parse_usermem(e, m) &&
           m->size &&
           s->request->kind ==
               (m->flags & CTR_USERMEM_WRITE ? CTR_KIND_STORE : CTR_KIND_LOAD);
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct reading *r = arg;
    struct ctr_usermem m;

    if (ctr_job_chunk(job)->index != r->source->chunk.index) {
        return 0;
    }
    if (e->time_ns) {
        if (!array_reserve(&r->anchors, &r->cap, r->nr_anchors + 1,
                           sizeof(*r->anchors))) {
            return DUMP_STOP_NOMEM;
        }
        r->anchors[r->nr_anchors++] = (struct anchor){e->ordinal, e->time_ns};
    }
    if (!search_wants(r->s, e, &m) || !is_side(r, e->ordinal, true)) {
        return 0;
    }
    return add_hit(r, (struct search_hit){.ordinal = e->ordinal,
                                          .addr = m.addr,
                                          .size = m.size,
                                          .after = r->nr_anchors,
                                          .system = true});
}

/* The time from the last of some of the chunk's times to the next. */
static struct search_span span_after(const struct reading *r, size_t n)
{
    const struct ctr_chunk *c = &r->source->chunk;
    struct search_span span = {c->start_ns, c->end_ns};

    span.from_ns = n ? r->anchors[n - 1].ns : span.from_ns;
    span.to_ns = n < r->nr_anchors ? r->anchors[n].ns : span.to_ns;
    /* Before any later slice of another thread, which has a later time. */
    span.to_ns = r->s->ordered || span.to_ns < span.from_ns ? span.from_ns : span.to_ns;
    return span;
}

/* Between which times an instruction ran; events at its ordinal were before it. */
static struct search_span span_of(const struct reading *r, uint64_t ordinal)
{
    size_t low = 0, high = r->nr_anchors;

    while (low < high) { /* the first one after it */
        size_t mid = low + (high - low) / 2;

        if (r->anchors[mid].ordinal <= ordinal) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return span_after(r, low);
}

static int in_order(const void *a, const void *b)
{
    const struct search_hit *x = a, *y = b;

    if (x->ordinal != y->ordinal) {
        return x->ordinal < y->ordinal ? -1 : 1;
    }
    if (x->system != y->system) { /* it comes before the instruction */
        return x->system ? -1 : 1;
    }
    return x->seq < y->seq ? -1 : 1;
}

static int in_reverse(const void *a, const void *b)
{
    return in_order(b, a);
}

/* Reads what has times in the chunk. */
static int read_events(struct reading *r, struct ctr_filter filter, struct ctr_diag *diag)
{
    const struct ctr_replay_ops ops = {.os = on_os};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};

    filter.kinds = r->s->timed ? CTR_KIND_BETWEEN : CTR_KIND_SYS;
    filter.npc = 0;
    filter.naddr = 0;
    return ctr_replay(r->s->tr, &ops, r, &opts, diag);
}

/* Fills in when the hits were, and forward drops those of another thread that were before
 * the moment. */
static void set_spans(struct reading *r)
{
    const struct search *s = r->s;
    const bool drop = !s->request->back && r->source->thread != s->at.thread;
    size_t n = 0;

    for (size_t i = 0; i < r->source->n; i++) {
        struct search_hit h = r->source->v[i];

        h.span = h.system ? span_after(r, h.after) : span_of(r, h.ordinal);
        if (!drop || h.span.to_ns > s->when.from_ns ||
            h.span.from_ns == s->when.from_ns) {
            r->source->v[n++] = h;
        }
    }
    r->source->n = n;
}

/* Reads the accesses of the chunk that touch bytes that are left. */
static int read_chunk(struct search_source *source, struct search *s)
{
    const struct ctr_replay_ops ops = {.mem = on_mem};
    struct ctr_filter filter = filter_of(source, s);
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    const struct ctr_chunk *c = &source->chunk;
    struct reading r = {.source = source, .s = s};
    uint64_t first = c->first ? c->first - 1 : 0;
    int ret;

    source->n = source->next = 0;
    search_near_reset(&source->near);
    filter.kinds = s->request->kind;
    /* A chunk may begin with the rest of an instruction's accesses. */
    filter.from = first > filter.from ? first : filter.from;
    if (!filter.to || filter.to > c->first + c->insns) {
        filter.to = c->first + c->insns + 1;
    }
    ret = ctr_replay(s->tr, &ops, &r, &opts, &s->diag);
    if (!ret && (s->timed || s->opt->kinds & CTR_KIND_SYS)) {
        ret = read_events(&r, filter, &s->diag);
    }
    if (!ret && s->timed) {
        set_spans(&r);
    }
    if (!ret && source->n > 1) {
        qsort(source->v, source->n, sizeof(*source->v),
              s->request->back ? in_reverse : in_order);
    }
    free(r.anchors);
    return ret;
}

/* ------------------------------------------------------------------- from chunk to chunk */

/* Finds the chunk with the event closest to source->from: 1, 0 or an error. */
static int find_chunk(struct search_source *source, struct search *s)
{
    struct ctr_filter filter = filter_of(source, s);
    uint64_t before = source->chunk.index;
    struct ctr_found found;
    int ret;

    ret = ctr_search(s->tr, &filter, source->thread, source->from.ordinal, source->flags,
                     s->opt->jobs, &found, &s->diag);
    source->flags &= CTR_SEARCH_BACK; /* it goes on from a chunk */
    if (ret == 1) {
        ret = ctr_trace_chunk(s->tr, found.chunk, &source->chunk, &s->diag);
        source->again = found.chunk == before ? source->again + 1 : 0;
        return ret ? ret : 1;
    }
    return ret;
}

/* Where to go on after a chunk.  What the system did after its last instruction, or the rest
 * of the accesses of the one before its first, may be found there again. */
static struct ctr_moment after_chunk(const struct search_source *source, bool back)
{
    uint64_t first = source->chunk.first, last = first + source->chunk.insns;
    uint64_t again = source->again;

    return (struct ctr_moment){.thread = source->thread,
                               .ordinal = back ? first - (again < first ? again : first)
                                               : last - (last > first) + again};
}

/* Whether one of the chunk's hits touches bytes that are left: source->next is the first. */
bool search_source_has_next(struct search_source *source, const struct search *s)
{
    while (source->next < source->n &&
           !search_touches(&s->left, &source->v[source->next])) {
        source->next++;
    }
    return source->next < source->n;
}

int search_source_next(struct search_source *source, struct search *s)
{
    int ret;

    while (!search_source_has_next(source, s)) {
        if (source->done || !s->left.n) {
            return 0;
        }
        ret = find_chunk(source, s);
        if (ret != 1) {
            source->done = true;
            return ret;
        }
        ret = read_chunk(source, s);
        if (ret) {
            return ret;
        }
        source->from = after_chunk(source, s->request->back);
        source->done = source->again > 2; /* a damaged chunk could be found for ever */
    }
    return 1;
}

int search_moment_span(struct search *s)
{
    struct search_source own = {.thread = s->at.thread};
    struct reading r = {.source = &own, .s = s};
    struct ctr_filter filter = {.threads = &own.thread, .nthread = 1};
    uint64_t ordinal = s->at.ordinal;
    int ret = ctr_trace_find(s->tr, own.thread, ordinal, &own.chunk, &s->diag);

    if (!ret) {
        filter.from = own.chunk.first;
        filter.to = own.chunk.first + own.chunk.insns + 1;
        ret = read_events(&r, filter, &s->diag);
    }
    if (!ret) {
        /* Before the events at the ordinal is after the instruction before it. */
        s->when = span_of(&r, ordinal - (s->at.before_system && ordinal != 0));
    }
    free(r.anchors);
    free(own.v);
    return ret;
}
