/* SPDX-License-Identifier: MIT */
/*
 * Builds the history of address spaces from the map events of a trace.
 *
 * All threads of a process change one address space, so the events of a process are
 * merged by time; those of one thread keep their order. They are applied one after the
 * other (space.c). Chunks are read in the order in which they were begun, so events
 * older than the current chunk can be applied and need not be kept any longer.
 */
#include "maps/space.h"

#include "cannoli/events.h"
#include "decode/walk.h"

/* When events take so much memory, those that can be applied are. */
#define PENDING_BYTES ((size_t)1 << 20)

/* A thread with map events: the next one, if it is in the heap, ... */
struct head {
    struct map_queue queue; /* the events after that */
    uint32_t thread;
    int in_heap;
    struct map_event e;
    /* ... and its last change that was kept: number of moments at that time. */
    uint32_t moments;
    int waits;        /* it has changed something at the current moment ... */
    uint64_t ordinal; /* ... first before this instruction */
};

/* A process with such a thread. */
struct merging {
    struct map_space space;
    struct head **head;    /* all */
    struct head **heap;    /* those that have a next event */
    struct head **waiting; /* all at the same time */
    uint32_t nhead, cap, n, nwaiting;
    uint64_t time;
};

struct loading {
    struct ctr_maps *m;
    struct head **head;       /* one for each thread, or NULL */
    struct merging **process; /* one for each process, or NULL */
    uint64_t n;               /* events */
    size_t bytes;             /* of all queues ... */
    size_t most;              /* ... limit before events are applied, */
    size_t pending;           /* and more than remained then */
    unsigned flags;           /* CTR_MAPS_* */
    struct ctr_diag *diag;
};

/* ----------------------------------------------------------------- process */

static int keep_change(struct loading *l, uint32_t thread, uint64_t ordinal,
                       uint64_t time_ns)
{
    struct map_changes *c = &l->m->thread[thread];
    if (l->m->thread_changes++ == MAPS_MAX_THREAD_CHANGES) {
        return ctr_fail(l->diag, CTR_E_LIMIT, CTR_NO_OFF, "maps", "too many map events");
    }
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
 * All events of a time are applied. A thread's change is not needed if no moment came
 * after its last one that is kept: the time of that one gives the same answers.
 */
static int settle(struct loading *l, struct merging *g)
{
    int err = 0;
    for (uint32_t i = 0; !err && i < g->nwaiting; i++) {
        struct head *h = g->waiting[i];
        h->waits = 0;
        if (h->moments != g->space.h->moments) {
            h->moments = g->space.h->moments;
            err = keep_change(l, h->thread, h->ordinal, g->time);
        }
    }
    g->nwaiting = 0;
    return err;
}

static int do_event(struct loading *l, struct merging *g, struct head *h)
{
    if (h->e.time < g->time) {
        h->e.time = g->time; /* older than its chunk */
    }
    int err = g->time != h->e.time ? settle(l, g) : 0;
    g->time = h->e.time;
    err = err ? err : map_space_event(&g->space, &h->e);
    if (err || h->e.op == 0) {
        return err;
    }
    if (!(l->flags & CTR_MAPS_CODE)) {
        return keep_change(l, h->thread, h->e.ordinal, h->e.time);
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

static int next_event(struct loading *l, struct head *h)
{
    size_t n = map_queue_get(&h->queue, &h->e);
    l->bytes -= n;
    h->in_heap = n != 0;
    return h->in_heap;
}

/* Applies the events of a process that are older than a time, or all. */
static int merge(struct loading *l, struct merging *g, uint64_t time, int all)
{
    int err = 0;
    for (uint32_t i = 0; i < g->nhead; i++) {
        if (!g->head[i]->in_heap && next_event(l, g->head[i])) {
            g->heap[g->n++] = g->head[i];
        }
    }
    for (uint32_t i = g->n; i-- > 0;) {
        sift(g->heap, g->n, i);
    }
    while (!err && g->n && (all || g->heap[0]->e.time < time)) {
        err = do_event(l, g, g->heap[0]);
        if (!next_event(l, g->heap[0])) {
            g->heap[0] = g->heap[--g->n];
        }
        sift(g->heap, g->n, 0);
    }
    return err;
}

/* No more events come. */
static int end_process(struct loading *l, struct merging *g)
{
    int err = merge(l, g, 0, 1);
    err = err ? err : settle(l, g);
    err = err ? err : map_space_end(&g->space);
    if (!err && map_history_index(g->space.h)) {
        err = ctr_fail_nomem(l->diag);
    }
    return err;
}

static void free_process(struct merging *g)
{
    if (g) {
        map_space_fini(&g->space);
        free(g->head);
        free(g->heap);
        free(g->waiting);
        free(g);
    }
}

/* -------------------------------------------------------------------- load */

static struct merging *process_of(struct loading *l, uint32_t process)
{
    struct merging *g = l->process[process];
    if (!g) {
        g = l->process[process] = calloc(1, sizeof(*g));
        if (g) {
            g->space = (struct map_space){
                .m = l->m,
                .h = &l->m->process[process],
                .diag = l->diag,
                .keep = l->flags & CTR_MAPS_CODE ? MAP_KEEP_CODE : MAP_KEEP_ALL};
        }
    }
    return g;
}

static int grow(struct head ***list, uint32_t cap)
{
    void *p = realloc(*list, cap * sizeof((*list)[0]));
    *list = p ? p : *list;
    return p ? 0 : -1;
}

/* A thread has its first event. */
static struct head *add_head(struct loading *l, const struct ctr_thread *t)
{
    struct merging *g = process_of(l, t->process);
    if (g && g->nhead == g->cap) {
        uint32_t cap = g->cap * 2 + 1;
        if (grow(&g->head, cap) || grow(&g->heap, cap) || grow(&g->waiting, cap)) {
            return NULL;
        }
        g->cap = cap;
    }
    struct head *h = g ? calloc(1, sizeof(*h)) : NULL;
    if (h) {
        h->thread = t->index;
        g->head[g->nhead++] = h;
        l->head[t->index] = h;
    }
    return h;
}

static int keep_event(struct loading *l, const struct ctr_os_event *ev,
                      const struct ctr_thread *t)
{
    struct map_event e;
    int got = map_event_read(l->m, ev, &e, l->diag);
    if (got <= 0) {
        return got;
    }
    struct head *h = l->head[t->index] ? l->head[t->index] : add_head(l, t);
    if (!h) {
        return ctr_fail_nomem(l->diag);
    }
    /* No event is earlier than those before. */
    e.time = ev->time_ns > h->queue.in.time ? ev->time_ns : h->queue.in.time;
    e.seq = l->n++;
    e.ordinal = ev->ordinal;
    size_t n = map_queue_put(&h->queue, &e);
    if (!n) {
        return ctr_fail_nomem(l->diag);
    }
    l->bytes += n;
    return l->bytes <= MAPS_MAX_EVENT_BYTES ? 0
                                            : ctr_fail(l->diag, CTR_E_LIMIT, CTR_NO_OFF,
                                                       "maps", "too many map events");
}

/* All events to come are no older than this time. */
static int do_older(struct loading *l, uint64_t time)
{
    int err = 0;
    if (l->bytes <= l->most) {
        return 0;
    }
    for (uint32_t i = 0; !err && i < l->m->nprocess; i++) {
        err = l->process[i] ? merge(l, l->process[i], time, 0) : 0;
    }
    l->most = l->bytes + l->pending;
    return err;
}

/*
 * Chunks come in the order in which they were begun, and no event is older than its
 * chunk: all that happened before the one that cannot be read is known. If even the
 * place of that one is unknown, it was begun no earlier than the last one with a known
 * place.
 */
static int end_history(struct loading *l, int err, uint64_t start_ns)
{
    if (err != -CTR_E_CORRUPT && err != -CTR_E_TRUNCATED) {
        return err;
    }
    l->m->damage = err;
    l->m->why = *l->diag;
    l->m->damage_ns = start_ns;
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
        ret = do_older(l, raw.pub.start_ns);
        ret = ret ? ret : walk_begin(&w, &f, &raw, l->diag);
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
    return end_history(l, ret, raw.pub.start_ns);
}

int ctr_maps_load(struct ctr_maps **out, struct ctr_trace *tr, struct ctr_diag *diag)
{
    return ctr_maps_load_to(out, tr, 0, 0, diag);
}

int ctr_maps_load_to(struct ctr_maps **out, struct ctr_trace *tr, uint64_t to_ns,
                     unsigned flags, struct ctr_diag *diag)
{
    return maps_load(out, tr, to_ns, flags, PENDING_BYTES, diag);
}

int maps_load(struct ctr_maps **out, struct ctr_trace *tr, uint64_t to_ns, unsigned flags,
              size_t pending, struct ctr_diag *diag)
{
    *out = NULL;
    if (flags & ~CTR_MAPS_CODE) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "maps", "unknown flags");
    }
    if (!tr->src.seekable) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "maps", "not on a stream");
    }
    struct ctr_maps *m = calloc(1, sizeof(*m));
    struct ctr_diag own;
    struct loading l = {.m = m,
                        .pending = pending,
                        .most = pending,
                        .flags = flags,
                        .diag = diag ? diag : &own};
    int err = 0;
    l.head = calloc((size_t)tr->nthreads + 1, sizeof(l.head[0]));
    l.process = calloc((size_t)tr->nprocs + 1, sizeof(l.process[0]));
    if (m) {
        m->process = calloc((size_t)tr->nprocs + 1, sizeof(m->process[0]));
        m->thread = calloc((size_t)tr->nthreads + 1, sizeof(m->thread[0]));
    }
    if (!m || !l.head || !l.process || !m->process || !m->thread) {
        err = ctr_fail_nomem(diag);
        goto out_free;
    }
    m->nprocess = tr->nprocs;
    m->nthread = tr->nthreads;
    err = read_events(&l, tr, to_ns);
    for (uint32_t i = 0; !err && i < m->nprocess; i++) {
        err = l.process[i] ? end_process(&l, l.process[i]) : 0;
    }
out_free:
    for (uint32_t i = 0; l.head && i < tr->nthreads; i++) {
        if (l.head[i]) {
            map_queue_fini(&l.head[i]->queue);
            free(l.head[i]);
        }
    }
    for (uint32_t i = 0; l.process && i < tr->nprocs; i++) {
        free_process(l.process[i]);
    }
    free(l.head);
    free(l.process);
    if (err) {
        ctr_maps_free(m);
    } else {
        *out = m;
    }
    return err;
}
