/* SPDX-License-Identifier: MIT */
/* The files that pcs belong to. */
#include "common/mappings.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"

/* A callback stops the replay with it. */
#define STOP_NOMEM 1

/* A change of mappings, at a place in its thread. */
struct change {
    uint64_t ordinal;
    uint64_t time_ns;
};

struct changes {
    struct change *v; /* ascending */
    size_t n, cap;
};

struct mappings {
    struct ctr_maps *maps;
    struct changes *threads;
    uint32_t nr_threads;
};

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct change c = {e->ordinal, e->time_ns};

    (void)arg;
    return e->type == CTR_EVENT_MAP && ctr_job_append(job, &c, sizeof(c))
               ? STOP_NOMEM
               : 0;
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct mappings *m = arg;
    uint32_t thread = ctr_job_thread(job)->index;
    size_t count = n / sizeof(struct change);
    struct changes *c;

    if (thread >= m->nr_threads) {
        return 0;
    }
    c = &m->threads[thread];
    if (c->n + count > c->cap) {
        size_t cap = 2 * (c->n + count);
        struct change *v = realloc(c->v, cap * sizeof(*v));
        if (!v) {
            return STOP_NOMEM;
        }
        c->v = v;
        c->cap = cap;
    }
    memcpy(c->v + c->n, data, count * sizeof(*c->v));
    c->n += count;
    return 0;
}

int mappings_load(struct mappings **out, struct ctr_trace *tr, struct ctr_diag *diag)
{
    static const struct ctr_replay_ops ops = {.os = on_os, .ordered = on_ordered};
    struct ctr_filter filter = {.kinds = CTR_KIND_MAP};
    struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    struct ctr_info info;
    struct mappings *m;
    int ret;

    *out = NULL;
    ctr_trace_info(tr, &info);
    if (!info.seekable || !(info.events & CTR_HAS_MAP)) {
        return 0;
    }
    m = calloc(1, sizeof(*m));
    if (!m || !(m->threads = calloc(info.threads + 1, sizeof(*m->threads)))) {
        mappings_free(m);
        return -CTR_E_NOMEM;
    }
    m->nr_threads = info.threads;
    ret = ctr_maps_load(&m->maps, tr, diag);
    if (!ret) {
        ret = ctr_replay(tr, &ops, m, &opts, diag);
    }
    if (ret) {
        mappings_free(m);
        return ret == STOP_NOMEM ? -CTR_E_NOMEM : ret;
    }
    *out = m;
    return 0;
}

void mappings_free(struct mappings *m)
{
    if (m) {
        for (uint32_t i = 0; i < m->nr_threads; i++) {
            free(m->threads[i].v);
        }
        free(m->threads);
        ctr_maps_free(m->maps);
        free(m);
    }
}

uint64_t mappings_time(const struct mappings *m, const struct ctr_chunk *chunk,
                       uint64_t ordinal, uint64_t *until)
{
    const struct changes *c;
    size_t low = 0, high;
    uint64_t time = chunk->start_ns;

    *until = UINT64_MAX;
    if (chunk->thread >= m->nr_threads) {
        return time;
    }
    c = &m->threads[chunk->thread];
    high = c->n;
    while (low < high) { /* the first change behind the place */
        size_t mid = low + (high - low) / 2;
        if (c->v[mid].ordinal <= ordinal) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low < c->n) {
        *until = c->v[low].ordinal;
    }
    return low && c->v[low - 1].time_ns > time ? c->v[low - 1].time_ns : time;
}

const struct ctr_mapping *mappings_find(const struct mappings *m, uint32_t process,
                                        uint64_t time, uint64_t chunk_end, uint64_t pc)
{
    const struct ctr_mapping *map = ctr_maps_find(m->maps, process, time, pc);

    if (!map && chunk_end > time) {
        map = ctr_maps_find(m->maps, process, chunk_end, pc);
    }
    return map && map->path[0] ? map : NULL;
}

struct ctr_str mapping_name(const struct ctr_mapping *m)
{
    const char *slash = m->path[0] == '/' ? strrchr(m->path, '/') : NULL;
    const char *name = slash && slash[1] ? slash + 1 : m->path;

    return (struct ctr_str){name, strlen(name)};
}

const struct ctr_maps *mappings_history(const struct mappings *m)
{
    return m->maps;
}
