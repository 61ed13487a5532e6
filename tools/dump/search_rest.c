/* SPDX-License-Identifier: MIT */
/*
 * What another thread accessed in the span of a search's moment: it may have been before the
 * moment, which is not known.  All of it is read once, as it is needed for each event found.
 */
#include "dump/search_priv.h"

/* Ranges of bytes that are kept before they are merged. */
#define REST_RANGES 4096u

struct rest {
    struct search *s;
    struct search_source *source;
    const struct search_bytes *all;
    uint32_t limit; /* of ranges, before they are merged */
};

static int add_rest(struct rest *rest, uint64_t addr, uint64_t size)
{
    struct search_bytes *b = &rest->source->rest;
    const struct search_hit h = {.addr = addr, .size = size};

    if (!search_bytes_part(rest->all, addr, search_hit_end(&h), b)) {
        return DUMP_STOP_NOMEM;
    }
    if (b->n > rest->limit) {
        search_bytes_merge(b);
        rest->limit = 2 * b->n + REST_RANGES;
    }
    return 0;
}

static int rest_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    (void)job;
    return add_rest(arg, m->addr, m->size);
}

static int rest_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct rest *rest = arg;
    struct ctr_usermem m;

    (void)job;
    return search_wants(rest->s, e, &m) ? add_rest(rest, m.addr, m.size) : 0;
}

/* Reads all chunks of that time. */
static int read_rest(struct rest *rest)
{
    struct search *s = rest->s;
    const struct search_source *source = rest->source;
    const struct ctr_replay_ops mem = {.mem = rest_mem}, os = {.os = rest_os};
    struct ctr_filter filter = search_source_filter(source, s, rest->all);
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    uint64_t from = s->when.from_ns + 1, to = s->when.to_ns;
    int ret;

    if (!ctr_trace_thread(s->tr, source->thread)->insns || from >= to) {
        return 0;
    }
    filter.from_ns = filter.from_ns < from ? from : filter.from_ns;
    filter.to_ns = filter.to_ns && filter.to_ns < to ? filter.to_ns : to;
    filter.kinds = s->request->kind;
    ret = ctr_replay(s->tr, &mem, rest, &opts, &s->diag);
    if (!ret && s->opt->kinds & CTR_KIND_SYS) {
        filter.kinds = CTR_KIND_SYS;
        filter.npc = filter.naddr = 0;
        ret = ctr_replay(s->tr, &os, rest, &opts, &s->diag);
    }
    search_bytes_merge(&rest->source->rest);
    return ret;
}

int search_source_rest(struct search_source *source, struct search *s,
                       const struct search_bytes *all)
{
    struct rest rest = {.s = s, .source = source, .all = all, .limit = REST_RANGES};

    if (!source->has_rest) {
        source->has_rest = true;
        source->rest_ret = read_rest(&rest);
    }
    return source->rest_ret;
}
