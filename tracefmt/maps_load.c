/* SPDX-License-Identifier: MIT */
/*
 * Making the history of address spaces from the map events of a trace.
 *
 * All threads of a process change one address space, so the events of a process
 * are sorted by time first; those of one thread keep their order.  Then they are
 * done one after the other (maps_space.c).
 */
#include "maps_space.h"

#include "cannoli/events.h"
#include "walk.h"

/* ----------------------------------------------------------------- process */

/* All events of one process; they are in order. */
static int do_process(struct ctr_maps *m, const struct map_event *e, uint32_t n,
                      struct ctr_diag *diag)
{
    struct map_space s = {.m = m, .h = &m->process[e->process], .diag = diag};
    int err = 0;
    s.h->first = m->nrec;
    for (uint32_t i = 0; !err && i < n; i++) {
        err = map_space_event(&s, &e[i]);
    }
    err = err ? err : map_space_end(&s);
    map_space_fini(&s);
    s.h->end = m->nrec;
    if (!err && map_history_index(m, s.h)) {
        err = ctr_fail_nomem(diag);
    }
    return err;
}

/* -------------------------------------------------------------------- load */

struct loading {
    struct ctr_maps *m;
    struct map_event *event;
    uint32_t n, cap;
    uint64_t *last; /* of each thread: no event is earlier than those before */
    struct ctr_diag *diag;
};

static int keep_change(struct loading *l, const struct ctr_os_event *ev,
                       const struct ctr_thread *t)
{
    struct map_changes *c = &l->m->thread[t->index];
    if (c->n == c->cap) {
        uint32_t cap = c->cap * 2 + 16;
        void *p = realloc(c->v, cap * sizeof(c->v[0]));
        if (!p) {
            return ctr_fail_nomem(l->diag);
        }
        c->v = p;
        c->cap = cap;
    }
    c->v[c->n++] = (struct map_change){ev->ordinal, ev->time_ns};
    return 0;
}

static int keep_event(struct loading *l, const struct ctr_os_event *ev,
                      const struct ctr_thread *t)
{
    struct map_event e;
    int got = ev->type == CTR_EVENT_MAP ? keep_change(l, ev, t) : 0;
    if (got) {
        return got;
    }
    got = map_event_read(l->m, ev, &e, l->diag);
    if (got <= 0) {
        return got;
    }
    if (l->n == l->cap) {
        uint32_t cap = l->cap * 2 + 256;
        void *p =
            l->n < MAPS_MAX_EVENTS ? realloc(l->event, cap * sizeof(l->event[0])) : NULL;
        if (!p) {
            return l->n < MAPS_MAX_EVENTS ? ctr_fail_nomem(l->diag)
                                          : ctr_fail(l->diag, CTR_E_LIMIT, CTR_NO_OFF,
                                                     "maps", "too many map events");
        }
        l->event = p;
        l->cap = cap;
    }
    if (l->last[t->index] < ev->time_ns) {
        l->last[t->index] = ev->time_ns;
    }
    e.time = l->last[t->index];
    e.seq = l->n;
    e.process = t->process;
    l->event[l->n] = e;
    l->n++;
    return 0;
}

static int read_events(struct loading *l, struct ctr_trace *tr, uint64_t to_ns)
{
    struct feed f;
    struct walk w;
    struct raw_chunk raw = {.payload = {0}};
    struct ctr_filter filter = {.to_ns = to_ns};
    int ret = feed_init(&f, tr, &filter, l->diag);
    if (ret) {
        return ret;
    }
    f.runs = 0;
    f.os = CTR_KIND_MAP | CTR_KIND_THR;
    ret = walk_init(&w) ? ctr_fail_nomem(l->diag) : 0;
    while (!ret && (ret = feed_next(&f, &raw, l->diag)) == 1) {
        ret = walk_begin(&w, &f, &raw, l->diag);
        while (!ret && w.events.have) {
            ret = keep_event(l, &w.events.ev, w.thread);
            if (!ret) {
                ret = evdec_next(&w.events);
            }
        }
    }
    walk_fini(&w);
    buf_free(&raw.payload);
    feed_fini(&f);
    /* What cannot be read ends the history, as it ends a replay. */
    return ret == -CTR_E_CORRUPT || ret == -CTR_E_TRUNCATED ? 0 : ret;
}

static int by_process_and_time(const void *a, const void *b)
{
    const struct map_event *x = a, *y = b;
    if (x->process != y->process) {
        return x->process < y->process ? -1 : 1;
    }
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (x->seq > y->seq) - (x->seq < y->seq);
}

int ctr_maps_load(struct ctr_maps **out, struct ctr_trace *tr, struct ctr_diag *diag)
{
    return ctr_maps_load_to(out, tr, 0, diag);
}

int ctr_maps_load_to(struct ctr_maps **out, struct ctr_trace *tr, uint64_t to_ns,
                     struct ctr_diag *diag)
{
    *out = NULL;
    if (!tr->src.seekable) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "maps", "not on a stream");
    }
    struct ctr_maps *m = calloc(1, sizeof(*m));
    struct loading l = {.m = m, .diag = diag};
    int err = 0;
    l.last = calloc((size_t)tr->nthreads + 1, sizeof(l.last[0]));
    if (m) {
        m->process = calloc((size_t)tr->nprocs + 1, sizeof(m->process[0]));
        m->thread = calloc((size_t)tr->nthreads + 1, sizeof(m->thread[0]));
    }
    if (!m || !l.last || !m->process || !m->thread) {
        err = ctr_fail_nomem(diag);
        goto out_free;
    }
    m->nprocess = tr->nprocs;
    m->nthread = tr->nthreads;
    err = read_events(&l, tr, to_ns);
    if (err) {
        goto out_free;
    }
    if (l.n) {
        qsort(l.event, l.n, sizeof(l.event[0]), by_process_and_time);
    }
    for (uint32_t i = 0, end; !err && i < l.n; i = end) {
        for (end = i + 1; end < l.n && l.event[end].process == l.event[i].process;) {
            end++;
        }
        err = do_process(m, l.event + i, end - i, diag);
    }
out_free:
    free(l.event);
    free(l.last);
    if (err) {
        ctr_maps_free(m);
    } else {
        *out = m;
    }
    return err;
}
