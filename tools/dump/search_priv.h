/* SPDX-License-Identifier: MIT */
/* Shared by the parts of search.h. */
#ifndef TOOLS_SEARCH_PRIV_H
#define TOOLS_SEARCH_PRIV_H

#include "dump/search.h"
#include "dump/search_bytes.h"

/* Trace times between which something happened: the last one known before it in its
 * thread, and the next one. */
struct search_span {
    uint64_t from_ns, to_ns;
};

/* Whether one thing may have happened after another one that began earlier. */
static inline bool search_spans_overlap(const struct search_span *a,
                                        const struct search_span *b)
{
    return a->from_ns < b->to_ns && b->from_ns < a->to_ns;
}

/* An access, or memory that the system used. */
struct search_hit {
    uint64_t ordinal, addr, size;
    struct search_span span; /* not known if there is one thread */
    size_t after; /* the times of its chunk before it, if it is memory of the system */
    uint32_t seq;
    bool system;
};

/* The first address after it. */
static inline uint64_t search_hit_end(const struct search_hit *h)
{
    uint64_t end = h->addr + h->size;

    return end < h->addr ? UINT64_MAX : end;
}

/* The hits of a chunk by time: those that are next to each other and have one span are a
 * group.  Made when it is needed; all 0 before. */
struct search_near {
    bool made;
    struct search_group {
        struct search_span span;
        uint64_t latest_ns; /* the latest end of a span up to this group */
        uint32_t first, n;  /* of its bytes in `ranges' */
    } *groups;              /* by begin */
    size_t nr_groups, cap;
    struct search_bytes ranges;
};

/* A search in one process that goes on until every byte is found. */
struct search {
    struct ctr_trace *tr;
    const struct dump_options *opt;
    const struct search_request *request;
    struct ctr_moment at;    /* where it begins */
    struct search_span when; /* of the moment; not known if there is one thread */
    struct ctr_filter filter;
    struct search_bytes left; /* without an event yet */
    bool timed;               /* there are several threads: times are needed */
    bool ordered;             /* ... and they are exact: one ran at a time */
    bool possible;            /* backward: what began in the span of the moment, too */
    struct ctr_diag diag;
};

/* What one thread did, from the moment on: the hits of one chunk after the other. */
struct search_source {
    uint32_t thread;
    bool done;
    unsigned flags; /* CTR_SEARCH_*, of the next step */
    struct ctr_moment from;
    struct ctr_chunk chunk;
    unsigned again;       /* times that the chunk was found again */
    struct search_hit *v; /* of the chunk, the closest to the moment first */
    size_t n, cap, next;
    struct search_near near; /* of v */
    /* search_source_rest: */
    bool has_rest; /* it was read, with this result: */
    int rest_ret;
    struct search_bytes rest;
};

/* Begins at the moment, in another thread where it can have been.  Returns 0 or a negated
 * CTR_E_*. */
int search_source_init(struct search_source *source, struct search *s,
                       const struct ctr_thread *t);
void search_source_fini(struct search_source *source);

/*
 * Moves to the next hit that touches a byte that is left, if it is not at one.  Returns 1,
 * 0 if there is none, a negated CTR_E_*, or an enum dump_stop.
 */
int search_source_next(struct search_source *source, struct search *s);

/* Whether the source is at a hit already. */
bool search_source_has_next(struct search_source *source, const struct search *s);

/* What to look for in the thread, of some bytes and at any time. */
struct ctr_filter search_source_filter(const struct search_source *source,
                                       const struct search *s,
                                       const struct search_bytes *bytes);

/* Whether an event is memory that the system used in the way that is searched for. */
bool search_wants(const struct search *s, const struct ctr_os_event *e,
                  struct ctr_usermem *m);

/* Fills in source->rest: those of `all' that the thread accessed in the span of the moment,
 * after it began, as far as the file can be read.  Returns 0 or an error, always the same. */
int search_source_rest(struct search_source *source, struct search *s,
                       const struct search_bytes *all);

/* Finds s->when.  Returns 0, a negated CTR_E_*, or an enum dump_stop. */
int search_moment_span(struct search *s);

/* Whether an access touches one of the bytes. */
static inline bool search_touches(const struct search_bytes *bytes,
                                  const struct search_hit *h)
{
    return search_bytes_touch(bytes, h->addr, search_hit_end(h));
}

/* Forgets what was made of the hits of the last chunk. */
void search_near_reset(struct search_near *near);

/* Whether one of the n hits may have been at the same time as a span and touches one of
 * the bytes.  Returns 1, 0 or DUMP_STOP_NOMEM. */
int search_near_touches(struct search_near *near, const struct search_hit *v, size_t n,
                        const struct search_span *span, const struct search_bytes *bytes);

#endif
