/* SPDX-License-Identifier: MIT */
/*
 * Making the history of address spaces from the map events of a trace.
 *
 * All threads of a process change one address space, so the events of a process
 * are merged by time; those of one thread keep their order.  They are done one after
 * the other (maps_space.c).
 */
#include "maps_space.h"

#include "cannoli/events.h"
#include "walk.h"

struct loading {
    struct ctr_maps *m;
    struct map_queue *queue; /* of each thread */
    uint32_t *first;         /* of each process: a thread with events + 1, ... */
    uint32_t *next;          /* ... of each thread: another one */
    uint32_t n;              /* events */
    size_t bytes;            /* of all queues */
    unsigned flags;          /* CTR_MAPS_* */
    struct ctr_diag *diag;
};

/* ----------------------------------------------------------------- process */

/* A thread's next event, ... */
struct head {
    uint32_t thread;
    struct map_event e;
    /* ... and its last change that was kept: moments that there were by then. */
    uint32_t moments;
    int waits;        /* it has changed something at the moment at hand ... */
    uint64_t ordinal; /* ... before this instruction first */
};

struct merging {
    struct loading *l;
    struct map_space space;
    struct head **heap; /* of threads that have more events */
    uint32_t n;
    struct head **waiting; /* all at one time */
    uint32_t nwaiting;
    uint64_t time;
};

static int keep_change(struct loading *l, uint32_t thread, uint64_t ordinal,
                       uint64_t time_ns)
{
    struct map_changes *c = &l->m->thread[thread];
    if (c->n == c->cap) {
        uint32_t cap = c->cap + c->cap / 2 + 8;
        void *p = realloc(c->v, cap * sizeof(c->v[0]));
        if (!p) {
            return ctr_fail_nomem(l->diag);
        }
        c->v = p;
        c->cap = cap;
    }
    c->v[c->n++] = (struct map_change){ordinal, time_ns};
    return 0;
}

/*
 * All that happened at a time is done.  A thread's change is not needed if there was no
 * moment behind its last one that is: to ask for that one's time is the same.
 */
static int settle(struct merging *g)
{
    int err = 0;
    for (uint32_t i = 0; !err && i < g->nwaiting; i++) {
        struct head *h = g->waiting[i];
        h->waits = 0;
        if (h->moments != g->space.h->moments) {
            h->moments = g->space.h->moments;
            err = keep_change(g->l, h->thread, h->ordinal, g->time);
        }
    }
    g->nwaiting = 0;
    return err;
}

static int do_event(struct merging *g, struct head *h)
{
    int err = g->time != h->e.time ? settle(g) : 0;
    g->time = h->e.time;
    err = err ? err : map_space_event(&g->space, &h->e);
    if (err || h->e.op == 0) {
        return err;
    }
    if (!(g->l->flags & CTR_MAPS_CODE)) {
        return keep_change(g->l, h->thread, h->e.ordinal, h->e.time);
    }
    if (!h->waits) {
        h->waits = 1;
        h->ordinal = h->e.ordinal;
        g->waiting[g->nwaiting++] = h;
    }
    return 0;
}

static int earlier(const struct head *a, const struct head *b)
{
    return a->e.time != b->e.time ? a->e.time < b->e.time : a->e.seq < b->e.seq;
}

/* Moves down number i of a heap, the earliest first. */
static void sift(struct head **heap, uint32_t n, uint32_t i)
{
    for (;;) {
        uint32_t least = i;
        for (uint32_t k = 2 * i + 1; k < n && k <= 2 * i + 2; k++) {
            least = earlier(heap[k], heap[least]) ? k : least;
        }
        if (least == i) {
            return;
        }
        struct head *h = heap[i];
        heap[i] = heap[least];
        heap[least] = h;
        i = least;
    }
}

static int next_event(const struct merging *g, struct head *h)
{
    return map_queue_get(&g->l->queue[h->thread], &h->e);
}

static int merge(struct merging *g)
{
    int err = 0;
    for (uint32_t i = g->n; i-- > 0;) {
        sift(g->heap, g->n, i);
    }
    while (!err && g->n) {
        err = do_event(g, g->heap[0]);
        if (!next_event(g, g->heap[0])) {
            g->heap[0] = g->heap[--g->n];
        }
        sift(g->heap, g->n, 0);
    }
    return err ? err : settle(g);
}

/* All events of one process. */
static int do_process(struct loading *l, uint32_t process)
{
    struct ctr_maps *m = l->m;
    struct map_history *h = &m->process[process];
    struct merging g = {
        .l = l,
        .space = {.m = m,
                  .h = h,
                  .diag = l->diag,
                  .keep = l->flags & CTR_MAPS_CODE ? MAP_KEEP_CODE : MAP_KEEP_ALL}};
    uint32_t threads = 0;
    for (uint32_t t = l->first[process]; t; t = l->next[t - 1]) {
        threads++;
    }
    if (!threads) {
        return 0;
    }
    struct head *head = calloc(threads, sizeof(head[0]));
    g.heap = calloc(threads, sizeof(g.heap[0]));
    g.waiting = calloc(threads, sizeof(g.waiting[0]));
    int err = head && g.heap && g.waiting ? 0 : ctr_fail_nomem(l->diag);
    for (uint32_t t = l->first[process]; !err && t; t = l->next[t - 1]) {
        g.heap[g.n] = &head[g.n];
        head[g.n].thread = t - 1;
        map_queue_rewind(&l->queue[t - 1]);
        g.n += next_event(&g, &head[g.n]) ? 1 : 0;
    }
    h->first = m->nrec;
    err = err ? err : merge(&g);
    err = err ? err : map_space_end(&g.space);
    h->end = m->nrec;
    map_space_fini(&g.space);
    free(head);
    free(g.heap);
    free(g.waiting);
    if (!err && map_history_index(m, h)) {
        err = ctr_fail_nomem(l->diag);
    }
    return err;
}

/* -------------------------------------------------------------------- load */

static int keep_event(struct loading *l, const struct ctr_os_event *ev,
                      const struct ctr_thread *t)
{
    struct map_event e;
    int got = map_event_read(l->m, ev, &e, l->diag);
    if (got <= 0) {
        return got;
    }
    struct map_queue *q = &l->queue[t->index];
    if (!q->head) {
        l->next[t->index] = l->first[t->process];
        l->first[t->process] = t->index + 1;
    }
    /* No event is earlier than those before. */
    e.time = ev->time_ns > q->time ? ev->time_ns : q->time;
    e.seq = l->n;
    e.ordinal = ev->ordinal;
    size_t n = map_queue_put(q, &e);
    if (!n) {
        return ctr_fail_nomem(l->diag);
    }
    l->bytes += n;
    if (l->n++ == MAPS_MAX_EVENTS || l->bytes > MAPS_MAX_EVENT_BYTES) {
        return ctr_fail(l->diag, CTR_E_LIMIT, CTR_NO_OFF, "maps", "too many map events");
    }
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

int ctr_maps_load(struct ctr_maps **out, struct ctr_trace *tr, struct ctr_diag *diag)
{
    return ctr_maps_load_to(out, tr, 0, 0, diag);
}

int ctr_maps_load_to(struct ctr_maps **out, struct ctr_trace *tr, uint64_t to_ns,
                     unsigned flags, struct ctr_diag *diag)
{
    *out = NULL;
    if (flags & ~CTR_MAPS_CODE) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "maps", "unknown flags");
    }
    if (!tr->src.seekable) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "maps", "not on a stream");
    }
    struct ctr_maps *m = calloc(1, sizeof(*m));
    struct loading l = {.m = m, .flags = flags, .diag = diag};
    int err = 0;
    l.queue = calloc((size_t)tr->nthreads + 1, sizeof(l.queue[0]));
    l.next = calloc((size_t)tr->nthreads + 1, sizeof(l.next[0]));
    l.first = calloc((size_t)tr->nprocs + 1, sizeof(l.first[0]));
    if (m) {
        m->process = calloc((size_t)tr->nprocs + 1, sizeof(m->process[0]));
        m->thread = calloc((size_t)tr->nthreads + 1, sizeof(m->thread[0]));
    }
    if (!m || !l.queue || !l.next || !l.first || !m->process || !m->thread) {
        err = ctr_fail_nomem(diag);
        goto out_free;
    }
    m->nprocess = tr->nprocs;
    m->nthread = tr->nthreads;
    err = read_events(&l, tr, to_ns);
    for (uint32_t i = 0; !err && i < m->nprocess; i++) {
        err = do_process(&l, i);
    }
out_free:
    for (uint32_t i = 0; l.queue && i < tr->nthreads; i++) {
        map_queue_fini(&l.queue[i]);
    }
    free(l.queue);
    free(l.next);
    free(l.first);
    if (err) {
        ctr_maps_free(m);
    } else {
        *out = m;
    }
    return err;
}
