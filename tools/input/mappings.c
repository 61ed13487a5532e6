/* SPDX-License-Identifier: MIT */
/* The files that pcs belong to. */
#include "input/mappings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Up to this number of chunks with map events, all are read at once; with more, only as
 * many as queries need. */
#define FEW 64u

/* The history of mappings up to a time. */
struct known {
    struct ctr_maps *maps; /* NULL: could not be read */
    uint64_t to_ns;        /* the history ends before this time */
    int error;             /* why it could not be read, or not completely */
    uint64_t bad_ns;       /* `error' concerns times from here on */
    struct ctr_diag diag;
    struct known *before; /* shorter history, which callers may still use */
};

struct mappings {
    struct ctr_trace *trace; /* NULL: all has been read */
    uint64_t *start;         /* start times of chunks with map events, ascending */
    size_t nr_starts;
    unsigned what;                     /* CTR_MAPS_* */
    _Atomic(struct known *) now;       /* changed with the lock */
    _Atomic(const struct known *) bad; /* a query met the error of this history */
    pthread_mutex_t lock;
};

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The times of chunks with map events, sorted; 0 or an error of libctr. */
static int find_starts(struct mappings *m, const struct ctr_trace *tr,
                       struct ctr_diag *diag)
{
    struct ctr_chunk c;
    size_t cap = 0;
    uint64_t i = 0;
    int got;

    while ((got = ctr_trace_chunk_with(tr, &i, CTR_CHUNK_MAPS, &c, diag)) == 1) {
        if (m->nr_starts == cap) {
            uint64_t *v = realloc(m->start, (cap = 2 * cap + 256) * sizeof(*v));
            if (!v) {
                return -CTR_E_NOMEM;
            }
            m->start = v;
        }
        m->start[m->nr_starts++] = c.start_ns;
    }
    if (m->nr_starts) {
        qsort(m->start, m->nr_starts, sizeof(*m->start), ascending);
    }
    return got;
}

/* Reads the history up to a time; 0: all.  The caller holds the lock. */
static int read_up_to(struct mappings *m, struct ctr_trace *tr, uint64_t to_ns,
                      struct ctr_diag *diag)
{
    struct known *k = calloc(1, sizeof(*k));
    int ret;

    if (!k) {
        return -CTR_E_NOMEM;
    }
    k->diag.off = CTR_NO_OFF;
    ret = ctr_maps_load_to(&k->maps, tr, to_ns, m->what, &k->diag);
    if (ret && diag) {
        *diag = k->diag;
    }
    k->error = ret ? ret : ctr_maps_damage(k->maps, &k->bad_ns, &k->diag);
    k->to_ns = to_ns ? to_ns : UINT64_MAX;
    k->before = atomic_load_explicit(&m->now, memory_order_relaxed);
    /* pairs with the acquire in known_at */
    atomic_store_explicit(&m->now, k, memory_order_release);
    return ret;
}

/* Whether a history ends before a time; UINT64_MAX: before that of the whole trace. */
static bool ends_before(const struct known *k, uint64_t time_ns)
{
    return k->to_ns <= time_ns && k->to_ns != UINT64_MAX;
}

/*
 * The history up to a time at least.  It reads four times as many chunks as are needed,
 * or all chunks if that is a quarter of them or more.  So all older histories together
 * take at most a third of the time and memory of the last one.  NULL: no memory.
 */
static const struct known *known_to(struct mappings *m, uint64_t time_ns)
{
    const struct known *k = atomic_load_explicit(&m->now, memory_order_acquire);
    size_t low = 0, high = m->nr_starts;

    if (k && (!ends_before(k, time_ns) || !m->trace)) {
        return k;
    }
    pthread_mutex_lock(&m->lock);
    k = atomic_load_explicit(&m->now, memory_order_relaxed);
    if (!k || ends_before(k, time_ns)) {
        while (low < high) { /* count the chunks that begin by then */
            size_t mid = low + (high - low) / 2;
            if (m->start[mid] <= time_ns) {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        low = 4 * low < FEW ? FEW : 4 * low;
        read_up_to(m, m->trace, low < m->nr_starts / 4 ? m->start[low] : 0, NULL);
        k = atomic_load_explicit(&m->now, memory_order_relaxed);
    }
    pthread_mutex_unlock(&m->lock);
    return k;
}

/* The same; also remembers an error that affects the query, for mappings_error. */
static const struct known *known_at(struct mappings *m, uint64_t time_ns)
{
    static const struct known nothing = {.error = -CTR_E_NOMEM};
    const struct known *k = known_to(m, time_ns);

    k = k ? k : &nothing;
    if (k->error && time_ns >= k->bad_ns) {
        /* read when all workers are done */
        atomic_store_explicit(&m->bad, k, memory_order_relaxed);
    }
    return k;
}

int mappings_error(const struct mappings *m, struct ctr_diag *diag)
{
    const struct known *k =
        m ? atomic_load_explicit(&m->bad, memory_order_relaxed) : NULL;

    if (k) {
        *diag = k->diag;
    }
    return k ? k->error : 0;
}

int mappings_load(struct mappings **out, struct ctr_trace *tr, const char *path,
                  unsigned flags, unsigned what, struct ctr_diag *diag)
{
    struct ctr_info info;
    struct mappings *m;
    int ret = 0;

    *out = NULL;
    ctr_trace_info(tr, &info);
    if (!info.seekable || !(info.events & CTR_HAS_MAP)) {
        return 0;
    }
    m = calloc(1, sizeof(*m));
    if (!m) {
        return -CTR_E_NOMEM;
    }
    m->what = what;
    pthread_mutex_init(&m->lock, NULL);
    if (path) {
        ret = find_starts(m, tr, diag);
        /* Reading the mappings meets this error again. */
        ret = ret == -CTR_E_CORRUPT || ret == -CTR_E_TRUNCATED ? 0 : ret;
    }
    /* Workers use `tr' meanwhile. */
    if (!ret && m->nr_starts > FEW && ctr_open(&m->trace, path, flags, NULL)) {
        m->trace = NULL;
    }
    if (!ret && !m->trace) {
        ret = read_up_to(m, tr, 0, diag);
    }
    if (ret) {
        mappings_free(m);
        return ret;
    }
    *out = m;
    return 0;
}

void mappings_free(struct mappings *m)
{
    if (m) {
        struct known *k = atomic_load_explicit(&m->now, memory_order_relaxed);
        while (k) {
            struct known *before = k->before;
            ctr_maps_free(k->maps);
            free(k);
            k = before;
        }
        ctr_close(m->trace);
        pthread_mutex_destroy(&m->lock);
        free(m->start);
        free(m);
    }
}

uint64_t mappings_time(struct mappings *m, const struct ctr_chunk *chunk,
                       uint64_t ordinal, uint64_t *until)
{
    const struct known *k = known_at(m, chunk->end_ns);

    *until = UINT64_MAX;
    return k->maps ? ctr_maps_time(k->maps, chunk, ordinal, until) : chunk->start_ns;
}

bool mappings_find(struct mappings *m, uint32_t process, uint64_t time,
                   uint64_t chunk_end, uint64_t pc, struct ctr_mapping *out)
{
    const struct known *k = known_at(m, chunk_end);

    return k->maps &&
           (ctr_maps_find(k->maps, process, time, pc, out) ||
            (chunk_end > time && ctr_maps_find(k->maps, process, chunk_end, pc, out))) &&
           out->path[0];
}

const struct ctr_maps *mappings_history(struct mappings *m, uint64_t time_ns)
{
    return known_at(m, time_ns)->maps;
}

const struct ctr_maps *mappings_at_once(const struct mappings *m)
{
    return m->trace ? NULL : atomic_load_explicit(&m->now, memory_order_acquire)->maps;
}
