/* SPDX-License-Identifier: MIT */
/* Shared by the parts of search.h. */
#ifndef TOOLS_SEARCH_PRIV_H
#define TOOLS_SEARCH_PRIV_H

#include "dump/search.h"

/* Trace times between which something happened: the last one known before it in its
 * thread, and the next one. */
struct search_span {
    uint64_t from_ns, to_ns;
};

/* An access, or memory that the system used. */
struct search_hit {
    uint64_t ordinal, addr, size;
    struct search_span span; /* not known if there is one thread */
    uint32_t seq;
    bool system;
};

/* The first address after it. */
static inline uint64_t search_hit_end(const struct search_hit *h)
{
    uint64_t end = h->addr + h->size;

    return end < h->addr ? UINT64_MAX : end;
}

/* A search in one process that goes on until every byte is found. */
struct search {
    struct ctr_trace *tr;
    const struct dump_options *opt;
    const struct search_request *request;
    struct moment at;        /* where it begins */
    struct search_span when; /* of the moment; not known if there is one thread */
    struct ctr_filter filter;
    struct tool_ranges left; /* bytes without an event yet */
    bool timed;              /* there are several threads: times are needed */
    struct ctr_diag diag;
};

/* What one thread did, from the moment on: the hits of one chunk after the other. */
struct search_source {
    uint32_t thread;
    bool done;
    unsigned flags; /* CTR_SEARCH_*, of the next step */
    struct moment from;
    struct ctr_chunk chunk;
    unsigned again;       /* times that the chunk was found again */
    bool none_near;       /* search_source_within found nothing for all ranges */
    struct search_hit *v; /* of the chunk, the closest to the moment first */
    size_t n, cap, next;
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

/* Whether the thread accessed some of the searched bytes between two trace times; as
 * above. */
int search_source_within(const struct search_source *source, struct search *s,
                         const struct search_span *span, const struct tool_ranges *bytes);

/* Finds s->when.  Returns 0, a negated CTR_E_*, or an enum dump_stop. */
int search_moment_span(struct search *s);

/* Whether an access touches one of the ranges. */
bool search_touches(const struct tool_ranges *ranges, const struct search_hit *h);

#endif
