/* SPDX-License-Identifier: MIT */
/* Reads the changes of mappings and gives what they map its number; see space.h. */
#include "maplog.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"
#include "common/hash.h"

/* Changes of a trace that are kept, some 700 MiB; what comes later is not known. */
#define MAX_CHANGES (8u << 20)

#define MAP_FIXED_BIT 0x10u /* of all Linux ABIs */

struct process {
    struct map_change *v;
    size_t n, cap;
};

struct maplog {
    struct ctr_trace *tr;
    struct space_keys *keys;
    struct process *process;
    uint32_t nprocess;
    uint32_t *number;    /* of each thread among those of its process */
    struct map64 counts; /* of mappings of a thread with a size */
    uint32_t total;
};

/* -------------------------------------------------------------------- keys */

void space_keys_init(struct space_keys *k)
{
    *k = (struct space_keys){.n = 0};
    pthread_mutex_init(&k->lock, NULL);
}

void space_keys_fini(struct space_keys *k)
{
    map64_fini(&k->keys);
    pthread_mutex_destroy(&k->lock);
}

/* The key of a hash; 0: no memory. */
static uint32_t key_of(struct space_keys *k, uint64_t hash, bool file)
{
    bool added = false;
    uint32_t *p, key;

    pthread_mutex_lock(&k->lock);
    p = map64_put(&k->keys, map64_mix(hash, file), 2 * (k->n + 1) + file, &added);
    k->n += added;
    key = p ? *p : 0;
    pthread_mutex_unlock(&k->lock);
    return key;
}

/* A file counts by its name, wherever it is: the two runs may have been in two folders. */
static uint64_t hash_of_file(struct ctr_str path)
{
    size_t base = path.n;

    while (base && path.p[base - 1] != '/') {
        base--;
    }
    return hash_bytes(HASH_START, path.p + base, path.n - base);
}

static bool is(struct ctr_str s, const char *name)
{
    return s.n == strlen(name) && !memcmp(s.p, name, s.n);
}

/* Memory without a file and name: number N of its size. */
static uint32_t key_of_memory(struct maplog *l, const struct ctr_thread *t, uint64_t size)
{
    uint64_t hash = map64_mix(map64_mix(HASH_START, l->number[t->index]), size);
    bool added = false;
    uint32_t *n = map64_put(&l->counts, map64_mix(hash, t->process + 1ull), 0, &added);

    return n ? key_of(l->keys, map64_mix(hash, (*n)++), false) : 0;
}

/* ----------------------------------------------------------------- reading */

static void describe(struct maplog *l, const struct ctr_thread *t,
                     const struct ctr_map *m, struct map_change *c)
{
    const bool named = m->path.n && m->path.p[0] == '[';

    if (m->op == CTR_MAP_MUNMAP || m->op == CTR_MAP_MPROTECT || m->op == CTR_MAP_SHMDT) {
        return;
    }
    if (m->op == CTR_MAP_BRK) {
        c->key = key_of(l->keys, hash_bytes(HASH_START, "[heap]", 6), false);
        return;
    }
    if (named) {
        c->key = key_of(l->keys, hash_bytes(HASH_START, m->path.p, m->path.n), false);
        c->stack = is(m->path, "[stack]");
        c->zero = m->start + m->size;
        return;
    }
    if (m->path.n) {
        c->key = key_of(l->keys, hash_of_file(m->path), true);
        c->offset = m->offset;
        return;
    }
    /* Of a module: mapped by the loader at a place that it has chosen. */
    c->joins = m->op == CTR_MAP_INITIAL || m->flags & MAP_FIXED_BIT;
    c->key = key_of_memory(l, t, m->size);
}

static int take(struct maplog *l, const struct ctr_thread *t,
                const struct ctr_os_event *e)
{
    struct process *p = &l->process[t->process];
    struct map_change c = {.time_ns = e->time_ns,
                           .ordinal = e->ordinal,
                           .thread = t->index,
                           .seq = l->total};
    struct ctr_thread_event te;
    struct ctr_map m;

    if (ctr_parse_map(e, &m)) {
        if (ctr_parse_thread(e, &te) || te.op != CTR_THREAD_EXEC) {
            return 0;
        }
    } else {
        c.op = (uint8_t)m.op;
        c.start = m.start;
        c.size = m.size;
        c.old_start = m.old_start;
        c.old_size = m.old_size;
        describe(l, t, &m, &c);
    }
    if (l->total++ == MAX_CHANGES) {
        return 1;
    }
    if (!array_reserve(&p->v, &p->cap, p->n + 1, sizeof(*p->v))) {
        return -CTR_E_NOMEM;
    }
    p->v[p->n++] = c;
    return 0;
}

static int on_event(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    return take(arg, ctr_job_thread(job), e);
}

/*
 * Chunks come in the order of their begins, so the changes of two threads can be out of
 * order by what a chunk lasts.  Those of one thread stay in their order: an event without
 * a time has that of the one before it.
 */
static int by_time(const void *a, const void *b)
{
    const struct map_change *x = a, *y = b;

    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static void sort(struct process *p, uint64_t *last, uint32_t nthreads)
{
    bool sorted = true;

    memset(last, 0, nthreads * sizeof(*last));
    for (size_t i = 0; i < p->n; i++) {
        uint64_t *t = &last[p->v[i].thread];
        *t = p->v[i].time_ns > *t ? p->v[i].time_ns : *t;
        p->v[i].time_ns = *t;
        sorted = sorted && (!i || p->v[i - 1].time_ns <= p->v[i].time_ns);
    }
    if (!sorted) {
        qsort(p->v, p->n, sizeof(*p->v), by_time);
    }
}

static bool number_threads(struct maplog *l, uint32_t nthreads)
{
    uint32_t *count = calloc(l->nprocess + 1u, sizeof(*count));

    l->number = calloc(nthreads + 1u, sizeof(*l->number));
    for (uint32_t i = 0; count && l->number && i < nthreads; i++) {
        const struct ctr_thread *t = ctr_trace_thread(l->tr, i);
        l->number[i] = t ? count[t->process]++ : 0;
    }
    free(count);
    return count && l->number;
}

/* What the system wrote before the first instruction, into the stack: it is from there on
 * that a program uses the stack, whatever arguments and variables are above. */
static int on_start(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct maplog *l = arg;
    struct process *p = &l->process[ctr_job_thread(job)->process];
    struct ctr_usermem m;

    for (size_t i = 0; !ctr_parse_usermem(e, &m) && i < p->n && !p->v[i].ordinal; i++) {
        struct map_change *c = &p->v[i];
        if (c->stack && m.addr - c->start < c->size) {
            c->zero = m.addr < c->zero ? m.addr : c->zero;
        }
    }
    return 0;
}

static int read_starts(struct maplog *l, struct ctr_diag *diag)
{
    const struct ctr_replay_ops ops = {.os = on_start};
    const struct ctr_filter filter = {.kinds = CTR_KIND_SYS, .to = 1};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    int ret = ctr_replay(l->tr, &ops, l, &opts, diag);

    return ret == -CTR_E_CORRUPT || ret == -CTR_E_TRUNCATED ? 0 : ret;
}

static int read_all(struct maplog *l, struct ctr_diag *diag)
{
    const struct ctr_replay_ops ops = {.os = on_event};
    const struct ctr_filter filter = {.kinds = CTR_KIND_MAP | CTR_KIND_THR};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    int ret = ctr_replay(l->tr, &ops, l, &opts, diag);

    /* The comparison meets damage again; beyond the limit mappings are not known. */
    return ret == -CTR_E_CORRUPT || ret == -CTR_E_TRUNCATED || ret > 0 ? 0 : ret;
}

int maplog_load(struct maplog **out, struct ctr_trace *tr, struct space_keys *keys,
                bool calls, struct ctr_diag *diag)
{
    struct ctr_info info;
    struct maplog *l;
    uint64_t *last;
    int ret;

    *out = NULL;
    ctr_trace_info(tr, &info);
    if (info.machine || !(info.events & CTR_HAS_MAP)) {
        return 0;
    }
    l = calloc(1, sizeof(*l));
    last = calloc(info.threads + 1u, sizeof(*last));
    if (l) {
        *l = (struct maplog){.tr = tr, .keys = keys, .nprocess = info.processes};
        l->process = calloc(info.processes + 1u, sizeof(*l->process));
    }
    ret = l && last && l->process && number_threads(l, info.threads) ? read_all(l, diag)
                                                                     : -CTR_E_NOMEM;
    for (uint32_t i = 0; !ret && i < l->nprocess; i++) {
        sort(&l->process[i], last, info.threads);
    }
    free(last);
    if (!ret && calls) {
        ret = read_starts(l, diag);
    }
    if (ret) {
        maplog_free(l);
        return ret;
    }
    *out = l;
    return 0;
}

void maplog_free(struct maplog *l)
{
    if (l) {
        for (uint32_t i = 0; l->process && i < l->nprocess; i++) {
            free(l->process[i].v);
        }
        free(l->process);
        free(l->number);
        map64_fini(&l->counts);
        free(l);
    }
}

const struct map_change *maplog_process(const struct maplog *l, uint32_t process,
                                        size_t *n)
{
    *n = process < l->nprocess ? l->process[process].n : 0;
    return *n ? l->process[process].v : NULL;
}
