/* SPDX-License-Identifier: MIT */
/*
 * Events of dropped chunks that later ones are not understood without: mappings, labels,
 * names, gates.  A recording that goes on for days makes any number of them, so they are
 * folded: of a thread's names and gates the last one counts, and an address space is
 * recorded as it became, not how.
 *
 * All threads of a process change one address space, in the order of their times.  So
 * only events may be folded that are older than everything of that process that is still
 * kept or still expected.  Of the other events that nothing kept can see, only those are
 * left out that later events undo (ring_cancel.c).  One thread of the process carries
 * what was folded, as of the time of the last of these events.
 */
#include "ring_priv.h"

#include <stdlib.h>
#include <string.h>

/* An event is recorded a little later than its time was read. */
#define LATE_NS 1000000000ull

/* A thread that has not handed over for so long sleeps. */
#define SLEEP_NS 10000000000ull

/* Of events of one time, what was folded comes first. */
#define MADE_MAX ((uint64_t)1 << 40)

/* An event while its process is looked at. */
struct entry {
    const struct ring_event *event;
    uint32_t thread, process;
    uint64_t time_ns; /* not earlier than those of its thread before */
    uint64_t order;
};

struct work {
    const struct ring *r;
    struct ring_fold *f;
    struct ctr_diag *diag;
    uint32_t nproc, nthread;
    struct entry *entry;
    size_t n;
    uint64_t *horizon; /* of each process: what is older may be folded */
    uint64_t *shown;   /* ... and what is older is seen by no chunk that is kept, and all
                        * that those who do not sleep did until then is known */
    uint32_t *carrier; /* of each process: the thread that carries what was folded */
    uint16_t *seen;    /* of each thread: SEEN_* */
};

/* Of these a thread needs the last one. */
enum {
    SEEN_START = 1,
    SEEN_END = 2,
    SEEN_NAME = 4,
    SEEN_EXEC = 8,
    SEEN_GATE = 16,
    SEEN_SELECT = 32,
    SEEN_CONTEXT = 64,
    SEEN_POWER = 128,
    SEEN_TASK = 256,
};

static int out_of_memory(struct ctr_diag *diag)
{
    if (diag) {
        memset(diag, 0, sizeof(*diag));
        diag->code = CTR_E_NOMEM;
        diag->off = CTR_NO_OFF;
    }
    return -CTR_E_NOMEM;
}

static struct ctr_os_event os_event(const struct entry *e)
{
    return (struct ctr_os_event){.time_ns = e->time_ns,
                                 .type = e->event->type,
                                 .size = e->event->n,
                                 .payload = (const uint8_t *)(e->event + 1)};
}

/* --------------------------------------------------------- what there is */

static size_t count_events(const struct ring *r, uint32_t area, uint64_t used)
{
    size_t n = 0;

    for (uint64_t at = 0; at < used; n++) {
        at += ((const struct ring_event *)(r->area[area] + at))->bytes;
    }
    return n;
}

static bool thread_is_over(const struct work *w, uint32_t thread)
{
    return w->r->thread[thread].ended && !w->f->chunks[thread];
}

static int by_process_and_time(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->process != y->process) {
        return x->process < y->process ? -1 : 1;
    }
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

static int read_events(struct work *w)
{
    const struct ring *r = w->r;
    /* pairs with the store of ring.c's fold */
    uint32_t area = __atomic_load_n(&r->image->area, __ATOMIC_ACQUIRE) & 1;
    /* pairs with the store of save_events */
    uint64_t used = __atomic_load_n(&r->image->area_used[area], __ATOMIC_ACQUIRE);
    uint64_t tail_seq = ring_state(r)->tail_seq;
    uint64_t *last = calloc((size_t)w->nthread + 1, sizeof(*last));

    w->entry = malloc((count_events(r, area, used) + 1) * sizeof(*w->entry));
    if (!last || !w->entry) {
        free(last);
        return out_of_memory(w->diag);
    }
    for (uint64_t at = 0; at < used;) {
        const struct ring_event *e = (const void *)(r->area[area] + at);

        at += e->bytes;
        /* Its chunk is still there: it was to be dropped when the recorder was killed. */
        if (e->thread >= w->nthread || (e->seq && e->seq >= tail_seq)) {
            continue;
        }
        if (last[e->thread] < e->time_ns) {
            last[e->thread] = e->time_ns;
        }
        w->entry[w->n] = (struct entry){.event = e,
                                        .thread = e->thread,
                                        .process = r->thread[e->thread].process,
                                        .time_ns = last[e->thread],
                                        .order = w->n};
        w->n++;
    }
    free(last);
    qsort(w->entry, w->n, sizeof(*w->entry), by_process_and_time);
    return 0;
}

static void lower(uint64_t *to, uint64_t ns)
{
    ns = ns > LATE_NS ? ns - LATE_NS : 0;
    if (*to > ns) {
        *to = ns;
    }
}

/* Which threads have chunks, and how far each process may be folded. */
static void look_at_chunks(struct work *w)
{
    const struct ring *r = w->r;
    const struct ring_state *s = ring_state(r);
    uint64_t newest = 0;

    for (uint32_t i = 0; i < w->nproc; i++) {
        w->horizon[i] = UINT64_MAX;
        w->shown[i] = UINT64_MAX;
        w->carrier[i] = UINT32_MAX;
    }
    for (uint64_t at = s->tail; at < s->head;) {
        const struct ring_chunk *c = ring_at(r, at);

        w->f->chunks[c->thread]++;
        lower(&w->horizon[r->thread[c->thread].process], c->start_ns);
        lower(&w->shown[r->thread[c->thread].process], c->start_ns);
        at += c->bytes;
    }
    for (uint32_t i = 0; i < w->nthread; i++) {
        newest = r->thread[i].last_ns > newest ? r->thread[i].last_ns : newest;
    }
    for (uint32_t i = w->nthread; i--;) {
        const struct ring_thread *t = &r->thread[i];

        if (!t->ended) {
            lower(&w->horizon[t->process], t->last_ns);
        }
        if (!t->ended && newest - t->last_ns < SLEEP_NS) {
            lower(&w->shown[t->process], t->last_ns);
        }
        if (!thread_is_over(w, i)) {
            w->carrier[t->process] = i;
        }
    }
}

/* ------------------------------------------------------------ what is kept */

static void keep_entry(struct work *w, const struct entry *e, uint32_t thread)
{
    w->f->kept[w->f->n++] = (struct ring_kept){.event = e->event,
                                               .thread = thread,
                                               .time_ns = e->time_ns,
                                               .order = MADE_MAX + e->order};
}

static void keep_made(struct work *w, size_t i, uint32_t thread)
{
    const struct ring_event *e = w->f->made[i];

    w->f->kept[w->f->n++] = (struct ring_kept){
        .event = e, .thread = thread, .time_ns = e->time_ns, .order = i};
}

struct folding {
    struct ring_fold *f;
    uint64_t time_ns;
};

/* A map event that stands for many: a ctr_maps_fold_fn. */
static int on_map(void *arg, const uint8_t *payload, size_t n)
{
    struct folding *x = arg;
    struct ring_fold *f = x->f;
    uint32_t bytes = (uint32_t)ring_round(sizeof(struct ring_event) + n);
    struct ring_event *e = calloc(1, bytes);

    if (e && f->n_made == f->cap_made) {
        size_t cap = 2 * f->cap_made + 64;
        void *more = realloc(f->made, cap * sizeof(*f->made));

        if (!more) {
            free(e);
            return -CTR_E_NOMEM;
        }
        f->made = more;
        f->cap_made = cap;
    }
    if (!e) {
        return -CTR_E_NOMEM;
    }
    *e = (struct ring_event){
        .bytes = bytes, .type = CTR_EVENT_MAP, .time_ns = x->time_ns, .n = (uint32_t)n};
    memcpy(e + 1, payload, n);
    f->made[f->n_made++] = e;
    return 0;
}

/* The end of what may be folded of the maps: not after an execve whose new program has
 * not reported its mappings. */
static size_t maps_end(const struct entry *e, size_t n)
{
    for (size_t i = n; i--;) {
        const struct ctr_os_event os = os_event(&e[i]);
        struct ctr_map m;
        struct ctr_thread_event t;

        if (ctr_parse_map(&os, &m) == 0 && m.op == CTR_MAP_INITIAL) {
            return n;
        }
        if (ctr_parse_thread(&os, &t) == 0 && t.op == CTR_THREAD_EXEC) {
            return i;
        }
    }
    return n;
}

/* Keeps maps from entry `old' on, those before `past' only if they are of consequence. */
static int keep_maps(struct work *w, const struct entry *e, size_t old, size_t past,
                     size_t n)
{
    const size_t k = past > old ? past - old : 0;
    struct ctr_os_event *events = malloc((k + 1) * sizeof(*events));
    bool *needless = malloc((k + 1) * sizeof(*needless));
    int err = 0;

    if (!events || !needless) {
        err = out_of_memory(w->diag);
    }
    for (size_t i = 0; !err && i < k; i++) {
        events[i] = os_event(&e[old + i]);
    }
    if (!err && ring_cancel(events, k, needless)) {
        err = out_of_memory(w->diag);
    }
    for (size_t i = old; !err && i < n; i++) {
        if (e[i].event->type == CTR_EVENT_MAP && !(i - old < k && needless[i - old])) {
            keep_entry(w, &e[i], e[i].thread);
        }
    }
    free(events);
    free(needless);
    return err;
}

/* Maps among the first `old' entries are folded, the others kept. */
static int fold_maps(struct work *w, const struct entry *e, size_t n, size_t old,
                     size_t past, uint32_t carrier)
{
    struct ctr_os_event *events = malloc((old + 1) * sizeof(*events));
    const struct ctr_os_event **at = malloc((old + 1) * sizeof(*at));
    struct folding x = {.f = w->f};
    size_t made = w->f->n_made, maps = 0;
    int err = 0;

    if (!events || !at) {
        err = out_of_memory(w->diag);
    }
    for (size_t i = 0; !err && i < old; i++) {
        events[i] = os_event(&e[i]);
        at[i] = &events[i];
        if (events[i].type == CTR_EVENT_MAP) {
            x.time_ns = events[i].time_ns;
            maps++;
        }
    }
    if (!err && maps) {
        err = ctr_maps_fold(at, old, on_map, &x, w->diag);
    }
    free(events);
    free(at);
    if (!err && w->f->n_made - made > maps) {
        /* Nothing is won: they are few. */
        while (w->f->n_made > made) {
            free(w->f->made[--w->f->n_made]);
        }
        old = 0;
    }
    for (; !err && made < w->f->n_made; made++) {
        keep_made(w, made, carrier);
    }
    return err ? err : keep_maps(w, e, old, past, n);
}

static uint64_t label_start(const struct entry *e, bool *set)
{
    const struct ctr_os_event os = os_event(e);
    struct ctr_label l = {0};

    ctr_parse_label(&os, &l);
    *set = l.op == CTR_LABEL_SET;
    return l.start;
}

static int by_start(const void *a, const void *b)
{
    const struct entry *x = *(const struct entry *const *)a;
    const struct entry *y = *(const struct entry *const *)b;
    bool set;
    uint64_t p = label_start(x, &set), q = label_start(y, &set);

    if (p != q) {
        return p < q ? -1 : 1;
    }
    return (x > y) - (x < y);
}

/* Of the labels before `past' the last one of each place counts, if it sets a label; one
 * that removes it counts, too, while an older one may come. */
static int fold_labels(struct work *w, const struct entry *e, size_t n, size_t old,
                       size_t past, uint32_t carrier)
{
    const struct entry **label = malloc((n + 1) * sizeof(*label));
    size_t labels = 0;

    if (!label) {
        return out_of_memory(w->diag);
    }
    for (size_t i = 0; i < n; i++) {
        if (e[i].event->type != CTR_EVENT_LABEL) {
            continue;
        }
        if (i < past) {
            label[labels++] = &e[i];
        } else {
            keep_entry(w, &e[i], e[i].thread);
        }
    }
    qsort(label, labels, sizeof(*label), by_start);
    for (size_t i = 0; i < labels; i++) {
        const struct entry *l = label[i];
        bool set, more;
        uint64_t start = label_start(l, &set);

        if ((set || l >= e + old) &&
            (i + 1 == labels || label_start(label[i + 1], &more) != start)) {
            keep_entry(w, l, thread_is_over(w, l->thread) ? carrier : l->thread);
        }
    }
    free(label);
    return 0;
}

static uint16_t what(const struct entry *e)
{
    const struct ctr_os_event os = os_event(e);
    struct ctr_thread_event t;

    switch (e->event->type) {
    case CTR_EVENT_GATE:
        return SEEN_GATE;
    case CTR_EVENT_SELECT:
        return SEEN_SELECT;
    case CTR_EVENT_CONTEXT:
        return SEEN_CONTEXT;
    case CTR_EVENT_POWER:
        return SEEN_POWER;
    case CTR_EVENT_TASK:
        return SEEN_TASK;
    case CTR_EVENT_THREAD:
        return ctr_parse_thread(&os, &t) == 0 && t.op - 1 < 4
                   ? (uint16_t)(1u << (t.op - 1))
                   : 0;
    default:
        return 0;
    }
}

/* Of each thread that is still there the last name, gate and so on. */
static void keep_last(struct work *w, const struct entry *e, size_t n)
{
    for (size_t i = n; i--;) {
        uint16_t bit = what(&e[i]);

        if (bit && !(w->seen[e[i].thread] & bit) && !thread_is_over(w, e[i].thread)) {
            w->seen[e[i].thread] |= bit;
            keep_entry(w, &e[i], e[i].thread);
        }
    }
}

static int fold_process(struct work *w, const struct entry *e, size_t n)
{
    const uint32_t process = e->process;
    uint32_t carrier = w->carrier[process];
    size_t old = 0, past;
    int err;

    if (carrier == UINT32_MAX) {
        if (w->r->proc[process].ended) {
            return 0; /* nothing of it is left */
        }
        carrier = e->thread;
    }
    while (old < n && e[old].time_ns < w->horizon[process]) {
        old++;
    }
    for (past = old; past < n && e[past].time_ns < w->shown[process];) {
        past++;
    }
    err = fold_maps(w, e, n, maps_end(e, old), past, carrier);
    if (!err) {
        err = fold_labels(w, e, n, old, past, carrier);
    }
    if (!err) {
        keep_last(w, e, n);
    }
    return err;
}

/* Threads apart, each in order. */
static int by_thread(const void *a, const void *b)
{
    const struct ring_kept *x = a, *y = b;

    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

int ring_fold_make(struct ring_fold *f, const struct ring *r, struct ctr_diag *diag)
{
    struct work w = {.r = r, .f = f, .diag = diag};
    size_t end;
    int err = 0;

    memset(f, 0, sizeof(*f));
    w.nproc = __atomic_load_n(&r->image->nproc, __ATOMIC_ACQUIRE);
    w.nthread = __atomic_load_n(&r->image->nthread, __ATOMIC_ACQUIRE);
    f->chunks = calloc((size_t)w.nthread + 1, sizeof(*f->chunks));
    w.seen = calloc((size_t)w.nthread + 1, sizeof(*w.seen));
    w.horizon = malloc(((size_t)w.nproc + 1) * sizeof(*w.horizon));
    w.shown = malloc(((size_t)w.nproc + 1) * sizeof(*w.shown));
    w.carrier = malloc(((size_t)w.nproc + 1) * sizeof(*w.carrier));
    if (!f->chunks || !w.seen || !w.horizon || !w.shown || !w.carrier) {
        err = out_of_memory(diag);
    }
    if (!err) {
        look_at_chunks(&w);
        err = read_events(&w);
    }
    if (!err) {
        /* Folding makes no more of them than there were. */
        f->kept = malloc((w.n + 1) * sizeof(*f->kept));
        err = f->kept ? 0 : out_of_memory(diag);
    }
    for (size_t i = 0; !err && i < w.n; i = end) {
        for (end = i + 1; end < w.n && w.entry[end].process == w.entry[i].process;) {
            end++;
        }
        err = fold_process(&w, w.entry + i, end - i);
    }
    if (!err) {
        qsort(f->kept, f->n, sizeof(*f->kept), by_thread);
    }
    free(w.entry);
    free(w.seen);
    free(w.horizon);
    free(w.shown);
    free(w.carrier);
    return err;
}

void ring_fold_free(struct ring_fold *f)
{
    for (size_t i = 0; i < f->n_made; i++) {
        free(f->made[i]);
    }
    free(f->made);
    free(f->kept);
    free(f->chunks);
    memset(f, 0, sizeof(*f));
}
