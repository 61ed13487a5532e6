/* SPDX-License-Identifier: MIT */
/* What some consecutive chunks contain; ROOT has this for each PART. */
#ifndef CTR_CHUNKSPAN_H
#define CTR_CHUNKSPAN_H

#include "base/format.h"
#include "base/le.h"
#include "ctr.h"

struct chunk_span {
    uint64_t from, to;       /* ordinals; to: exclusive */
    uint64_t from_ns, to_ns; /* start of the first, end of the last */
    uint64_t late_ns;        /* start of the last */
    uint32_t thread, last_thread;
    uint32_t flags; /* those of any chunk */
    uint32_t chunks;
};

#define CHUNK_SPAN_EMPTY                                                                 \
    ((struct chunk_span){.from = UINT64_MAX, .from_ns = UINT64_MAX, .thread = UINT32_MAX})

static inline void span_add(struct chunk_span *s, const struct ctr_chunk *c)
{
    const uint64_t end = c->first + c->insns;
    s->from = c->first < s->from ? c->first : s->from;
    s->to = end > s->to ? end : s->to;
    s->from_ns = c->start_ns < s->from_ns ? c->start_ns : s->from_ns;
    s->to_ns = c->end_ns > s->to_ns ? c->end_ns : s->to_ns;
    s->late_ns = c->start_ns > s->late_ns ? c->start_ns : s->late_ns;
    s->thread = c->thread < s->thread ? c->thread : s->thread;
    s->last_thread = c->thread > s->last_thread ? c->thread : s->last_thread;
    s->flags |= c->flags & CHUNK_F_HAS;
    s->chunks++;
}

/* The format of a row of ROOT. */
static inline void span_put(uint8_t *row, const struct chunk_span *s)
{
    put32(row + RPART_CHUNKS, s->chunks);
    put32(row + RPART_FLAGS, s->flags);
    put64(row + RPART_FROM, s->from);
    put64(row + RPART_TO, s->to);
    put64(row + RPART_FROM_NS, s->from_ns);
    put64(row + RPART_TO_NS, s->to_ns);
    put64(row + RPART_LATE_NS, s->late_ns);
    put32(row + RPART_THREAD, s->thread);
    put32(row + RPART_LAST_THREAD, s->last_thread);
}

static inline struct chunk_span span_get(const uint8_t *row)
{
    return (struct chunk_span){
        .chunks = le32(row + RPART_CHUNKS),
        .flags = le32(row + RPART_FLAGS),
        .from = le64(row + RPART_FROM),
        .to = le64(row + RPART_TO),
        .from_ns = le64(row + RPART_FROM_NS),
        .to_ns = le64(row + RPART_TO_NS),
        .late_ns = le64(row + RPART_LATE_NS),
        .thread = le32(row + RPART_THREAD),
        .last_thread = le32(row + RPART_LAST_THREAD),
    };
}

#endif
