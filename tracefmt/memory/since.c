/* SPDX-License-Identifier: MIT */
/*
 * What was written between two places; see since.h.  Chunks are decoded in parallel;
 * what each has written is applied in order.
 */
#include "memory/since.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cannoli/events.h"

/* Within so many chunks values are decoded at once. */
#define FEW_CHUNKS 3u
/* So many chunks are searched first for the last stores. */
#define FIRST_CHUNKS 4u
#define MAX_WORKERS 16u

/* What a job puts out: followed by n bytes. */
struct write {
    uint64_t ordinal, addr, size;
    uint32_t n;
};

static int put_write(const struct memory_since *s, struct ctr_job *job, uint64_t ordinal,
                     uint64_t addr, uint64_t size, const uint8_t *data, uint64_t n)
{
    /* Only what is in the range, so that no record is large. */
    const uint64_t skip = addr < s->addr ? s->addr - addr : 0;
    uint64_t end = size;
    struct write w;

    if (addr + (size - 1) >= s->addr + (s->size - 1)) {
        end = s->addr + s->size - addr;
    }
    if (skip >= end) {
        return 0;
    }
    n = n > end ? end : n;
    n = n > skip ? n - skip : 0;
    w = (struct write){ordinal, addr + skip, end - skip, (uint32_t)n};
    return ctr_job_append(job, &w, sizeof(w)) ||
                   (n && ctr_job_append(job, data + skip, n))
               ? -CTR_E_NOMEM
               : 0;
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    return put_write(arg, job, m->ordinal, m->addr, m->size, m->data,
                     m->data ? m->size : 0);
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct memory_since *s = arg;
    struct ctr_keyframe key;
    struct ctr_usermem u;

    if (!ctr_parse_keyframe(e, &key)) {
        u = (struct ctr_usermem){
            .addr = key.addr, .size = key.n, .n = key.n, .data = key.data};
    } else if (ctr_parse_usermem(e, &u) || !u.size || !(u.flags & CTR_USERMEM_WRITE)) {
        return 0;
    }
    if (u.addr > s->addr + (s->size - 1) || u.addr + (u.size - 1) < s->addr ||
        (e->ordinal == s->to && !s->system)) {
        return 0;
    }
    return put_write(s, job, e->ordinal, u.addr, u.size, u.data, u.n);
}

/* An event of the system is before the instruction that has its ordinal. */
static int apply(void *arg, const struct ctr_job *job, const void *data, size_t bytes)
{
    struct memory_since *s = arg;
    const uint8_t *p = data;
    struct write w;

    (void)job;
    for (const uint8_t *end = p + bytes; p < end; p += w.n) {
        memcpy(&w, p, sizeof(w));
        p += sizeof(w);
        for (uint64_t i = 0, k = w.addr - s->addr; i < w.size; i++, k++) {
            if (w.ordinal >= s->at[k]) {
                s->at[k] = w.ordinal;
                s->value[k] = i < w.n ? p[i] : 0;
                s->written[k] = i < w.n ? 1 : 2;
            }
        }
    }
    return 0;
}

/* ------------------------------------------------- which instructions wrote last */

/* A store, as a job puts it out. */
struct touch {
    uint64_t ordinal;
    uint32_t begin, end; /* bytes of the range */
};

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    const struct memory_since *s = arg;

    for (uint32_t i = 0; r->stores && i < r->naccess; i++) {
        const struct ctr_access *a = &r->access[i];
        const uint64_t begin = a->addr > s->addr ? a->addr - s->addr : 0;
        const uint64_t skip = a->addr < s->addr ? s->addr - a->addr : 0;
        uint64_t end;
        struct touch t;

        if (!a->store || begin >= s->size || skip >= a->size) {
            continue;
        }
        end = begin + (a->size - skip);
        t = (struct touch){.ordinal = r->ordinal + a->insn - r->first,
                           .begin = (uint32_t)begin,
                           .end = end < s->size ? (uint32_t)end : s->size};
        if (ctr_job_append(job, &t, sizeof(t))) {
            return -CTR_E_NOMEM;
        }
    }
    return 0;
}

static int note_touches(void *arg, const struct ctr_job *job, const void *data,
                        size_t bytes)
{
    struct memory_since *s = arg;
    struct touch t;

    (void)job;
    for (size_t at = 0; at < bytes; at += sizeof(t)) {
        memcpy(&t, (const uint8_t *)data + at, sizeof(t));
        for (uint32_t k = t.begin; k < t.end; k++) {
            s->stored[k] = t.ordinal < s->stored[k] ? s->stored[k] : t.ordinal + 1;
        }
    }
    return 0;
}

/* -------------------------------------------------------------------- reading */

/* A replay of what a filter selects. */
struct reading {
    struct memory_since *s;
    struct ctr_trace *tr;
    struct ctr_filter filter;
    struct ctr_replay_opts opts;
    struct ctr_diag *diag;
};

static int read_part(struct reading *r, const struct ctr_replay_ops *ops, uint32_t kinds,
                     uint64_t from, uint64_t to)
{
    r->filter.kinds = kinds;
    r->filter.from = from;
    r->filter.to = to;
    return to > from ? ctr_replay(r->tr, ops, r->s, &r->opts, r->diag) : 0;
}

static int read_events(struct reading *r)
{
    static const struct ctr_replay_ops events = {.os = on_os, .ordered = apply};
    const struct memory_since *s = r->s;
    const uint64_t to = s->to + s->system;
    const uint64_t keys_to = s->first_key && s->from + 1 < to ? s->from + 1 : to;
    int ret = read_part(r, &events, CTR_KIND_SYS | CTR_KIND_KEYFRAME, s->from, keys_to);

    return ret ? ret : read_part(r, &events, CTR_KIND_SYS, keys_to, to);
}

static int read_stores(struct reading *r)
{
    static const struct ctr_replay_ops stores = {.mem = on_mem, .ordered = apply};

    return read_part(r, &stores, CTR_KIND_STORE, r->s->from, r->s->to);
}

/* Whether the instructions are in few chunks. */
static bool is_short(const struct reading *r)
{
    struct ctr_chunk first, last;

    return !ctr_trace_find(r->tr, r->s->thread, r->s->from, &first, NULL) &&
           !ctr_trace_find(r->tr, r->s->thread, r->s->to, &last, NULL) &&
           last.index - first.index < FEW_CHUNKS;
}

/* The instructions of a chunk that stored last to some bytes. */
struct span {
    uint64_t from, to;
};

/* Spans are taken in turn by several workers. */
struct spans {
    const struct reading *r;
    struct memory_since *s;
    struct span *v;
    uint32_t n;
    pthread_mutex_t lock; /* protects what follows, and what `apply' changes */
    uint32_t next;
    int ret; /* of the first one that failed, with its reason */
    struct ctr_diag diag;
};

static int on_values(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    const struct spans *all = arg;
    const struct memory_since *s = all->s;
    int ret = 0;

    for (uint32_t i = 0; r->stores && !ret && i < r->naccess; i++) {
        const struct ctr_access *a = &r->access[i];

        if (a->store && a->addr <= s->addr + (s->size - 1) &&
            a->addr + (a->size - 1) >= s->addr) {
            ret = put_write(s, job, r->ordinal + a->insn - r->first, a->addr, a->size,
                            a->data, a->data ? a->size : 0);
        }
    }
    return ret;
}

static int apply_values(void *arg, const struct ctr_job *job, const void *data,
                        size_t bytes)
{
    struct spans *all = arg;
    int ret;

    pthread_mutex_lock(&all->lock);
    ret = apply(all->s, job, data, bytes);
    pthread_mutex_unlock(&all->lock);
    return ret;
}

/* The index is not read again: the addresses have shown that the chunk has them. */
static int read_span(struct spans *all, const struct span *v, struct ctr_diag *diag)
{
    static const struct ctr_replay_ops runs = {.run = on_values, .ordered = apply_values};
    const struct ctr_filter filter = {.kinds = CTR_KIND_STORE,
                                      .threads = &all->s->thread,
                                      .nthread = 1,
                                      .from = v->from,
                                      .to = v->to,
                                      .from_ns = all->s->from_ns};
    const struct ctr_replay_opts opts = {
        .workers = 1, .filter = &filter, .run_accesses = CTR_RUN_VALUES};

    return ctr_replay(all->r->tr, &runs, all, &opts, diag);
}

static void *work(void *arg)
{
    struct spans *all = arg;
    struct ctr_diag diag = {.off = CTR_NO_OFF};

    pthread_mutex_lock(&all->lock);
    while (!all->ret && all->next < all->n) {
        const struct span *v = &all->v[all->next++];
        int ret;

        pthread_mutex_unlock(&all->lock);
        ret = read_span(all, v, &diag);
        pthread_mutex_lock(&all->lock);
        if (ret && !all->ret) {
            all->ret = ret;
            all->diag = diag;
        }
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

static int read_spans(const struct reading *r, struct spans *all)
{
    pthread_t thread[MAX_WORKERS];
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned jobs = r->opts.workers, made = 0;

    jobs = jobs ? jobs : processors > 0 ? (unsigned)processors : 1;
    jobs = jobs < MAX_WORKERS ? jobs : MAX_WORKERS;
    jobs = jobs < all->n ? jobs : all->n;
    pthread_mutex_init(&all->lock, NULL);
    /* Fewer threads than wanted do the same work. */
    while (made + 1 < jobs && !pthread_create(&thread[made], NULL, work, all)) {
        made++;
    }
    work(all);
    while (made) {
        pthread_join(thread[--made], NULL);
    }
    pthread_mutex_destroy(&all->lock);
    if (all->ret && r->diag) {
        *r->diag = all->diag;
    }
    return all->ret;
}

/* The span of the chunk that stored last to byte k, and to others; forgets these. */
static int make_span(const struct reading *r, uint32_t k, struct span *out)
{
    uint64_t *const stored = r->s->stored;
    uint64_t low = stored[k], high = low;
    struct ctr_chunk c;
    int ret = ctr_trace_find(r->tr, r->s->thread, low - 1, &c, r->diag);

    for (uint32_t i = k; !ret && i < r->s->size; i++) {
        if (stored[i] > c.first && stored[i] - 1 - c.first < c.insns) {
            low = stored[i] < low ? stored[i] : low;
            high = stored[i] > high ? stored[i] : high;
            stored[i] = 0;
        }
    }
    *out = (struct span){low - 1, high};
    return ret;
}

/* Whether a store before an instruction can be the last one to any byte. */
static bool any_open(const struct memory_since *s, uint64_t before)
{
    uint32_t k = 0;

    while (k < s->size && (s->stored[k] || s->at[k] >= before)) {
        k++;
    }
    return k < s->size;
}

/* The first instruction of the n-th chunk of the thread before another instruction; where
 * that is not known, of all that are read. */
static uint64_t go_back(const struct reading *r, uint64_t at, unsigned n)
{
    const uint64_t from = r->s->from;
    struct ctr_chunk c;

    for (; n && at > from; n--) {
        at = ctr_trace_find(r->tr, r->s->thread, at - 1, &c, NULL) ? from : c.first;
    }
    return at > from ? at : from;
}

/* The last chunks first, and more each time, until each byte has its last store. */
static int find_last_stores(struct reading *r)
{
    static const struct ctr_replay_ops runs = {.run = on_run, .ordered = note_touches};
    struct memory_since *s = r->s;
    uint64_t to = s->to;
    int ret = 0;

    r->opts.run_accesses = CTR_RUN_ACCESSES;
    for (unsigned n = FIRST_CHUNKS; !ret && to > s->from && any_open(s, to); n *= 4) {
        const uint64_t from = go_back(r, to, n);

        ret = read_part(r, &runs, CTR_KIND_STORE, from, to);
        to = from;
    }
    r->opts.run_accesses = 0;
    return ret;
}

/*
 * Values are slow to decode, and most stores are not the last one to their byte.  So first
 * which instructions stored last, without values, and then the values of the few chunks that
 * these are in.
 */
static int read_last_stores(struct reading *r)
{
    struct memory_since *s = r->s;
    struct spans all = {.r = r, .s = s};
    struct buf spans = {0};
    struct span span;
    int ret = find_last_stores(r);

    for (uint32_t k = 0; !ret && k < s->size; k++) {
        if (!s->stored[k] || s->stored[k] - 1 < s->at[k]) {
            continue; /* nothing, or the system wrote there later */
        }
        ret = make_span(r, k, &span);
        if (!ret && buf_append(&spans, &span, sizeof(span))) {
            ret = ctr_fail_nomem(r->diag);
        }
    }
    all.v = (struct span *)spans.p;
    all.n = (uint32_t)(spans.n / sizeof(span));
    ret = ret || !all.n ? ret : read_spans(r, &all);
    buf_free(&spans);
    return ret;
}

int memory_since_read(struct memory_since *s, struct ctr_trace *tr, unsigned jobs,
                      struct ctr_diag *diag)
{
    const struct ctr_range range = {s->addr, s->addr + s->size, 0};
    struct reading r = {
        .s = s,
        .tr = tr,
        .filter = {.threads = &s->thread, .nthread = 1, .from_ns = s->from_ns},
        .opts = {.workers = jobs, .filter = &r.filter},
        .diag = diag,
    };
    int ret;

    s->value = calloc(s->size, 1);
    s->written = calloc(s->size, 1);
    s->at = calloc(s->size, sizeof(*s->at));
    s->stored = calloc(s->size, sizeof(*s->stored));
    if (!s->value || !s->written || !s->at || !s->stored) {
        return ctr_fail_nomem(diag);
    }
    /* Not at once: of a chunk that the index leaves out, events would be left out, too. */
    ret = read_events(&r);
    r.filter.addrs = &range;
    r.filter.naddr = 1;
    if (ret) {
        return ret;
    }
    return is_short(&r) ? read_stores(&r) : read_last_stores(&r);
}

void memory_since_free(struct memory_since *s)
{
    free(s->value);
    free(s->written);
    free(s->at);
    free(s->stored);
}
