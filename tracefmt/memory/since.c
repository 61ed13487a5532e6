/* SPDX-License-Identifier: MIT */
/*
 * What was written between two places; see since.h.  Chunks are decoded in parallel;
 * what each has written is applied in order.
 */
#include "memory/since.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cannoli/events.h"
#include "memory/last.h"

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

int memory_since_read(struct memory_since *s, struct ctr_trace *tr, unsigned jobs,
                      struct ctr_diag *diag)
{
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
    if (!s->value || !s->written || !s->at) {
        return ctr_fail_nomem(diag);
    }
    ret = read_events(&r);
    return ret ? ret : memory_last_stores(s, tr, jobs, diag);
}

void memory_since_free(struct memory_since *s)
{
    free(s->value);
    free(s->written);
    free(s->at);
}
