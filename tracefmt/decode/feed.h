/* SPDX-License-Identifier: MIT */
/*
 * A feed delivers the chunks of a trace that must be read, in recorded order. select.h
 * decides which of their events count.
 */
#ifndef CTR_FEED_H
#define CTR_FEED_H

#include "base/ranges.h"
#include "decode/decode.h"
#include "decode/part_reader.h"
#include "model/evcol.h"
#include "model/regview.h"

struct feed {
    struct ctr_trace *tr;
    struct ctr_filter filter; /* lists copied; pcs and addrs are: */
    struct range_lists pcs, addrs, phys;
    void *lists;
    uint8_t *pc_may; /* of each block: whether it has instructions in pcs; NULL: not
                        computed yet */
    int pc_unknown;  /* or a definition is damaged: any block may */
    uint32_t kinds;
    int runs;                  /* runs of blocks will be decoded; 1 at first ... */
    unsigned want;             /* ... and DEC_* with them */
    const uint8_t *registers;  /* ctr_replay_opts.registers */
    uint32_t os;               /* CTR_KIND_* of the wanted system events */
    int slices;                /* events are decoded for the order of threads: lanes.h */
    uint32_t follows;          /* CTR_KIND_TASK, _CTX: what they say last is known */
    struct follower *follower; /* by index of the thread */
    size_t nfollowers;
    struct raw_chunk before; /* a chunk with such an event */
    struct chunk_scan scan;  /* files */
    int first;               /* the chunk, or one left out before it, has CHUNK_F_FIRST */
    struct part_reader index;
    struct evdec times; /* of chunks that extend beyond the filter's time */
    struct buf pages;   /* a chunk's column of pages */
    ZSTD_DCtx *dctx;    /* of the columns that the feed itself reads */
    uint8_t *may;       /* what the index says of each chunk, as far as it was read */
};

int feed_init(struct feed *f, struct ctr_trace *tr, const struct ctr_filter *filter,
              struct ctr_diag *diag);
void feed_fini(struct feed *f);

/*
 * Reads the next selected chunk, with the columns that it needs. Returns 1, 0 at the
 * end, or an error.
 */
int feed_next(struct feed *f, struct raw_chunk *out, struct ctr_diag *diag);

/*
 * Reads this chunk of a file, with the columns that it needs; ignores the filter's
 * times.
 */
int feed_read(struct feed *f, const struct ctr_chunk *c, struct raw_chunk *out,
              struct ctr_diag *diag);

/*
 * The same, and determines which of its instructions are selected. Returns 1, 0 if none
 * is, or an error.
 */
int feed_take(struct feed *f, const struct ctr_chunk *c, struct raw_chunk *out,
              struct ctr_diag *diag);

/*
 * Whether the index allows that chunk i has anything that the filter's pcs and addrs
 * select. Returns 1, 0 or an error.
 */
int feed_may_match(struct feed *f, uint64_t i, struct ctr_diag *diag);

int feed_thread(const struct feed *f, const struct ctr_thread *t);

/* Whether it depends on what runs. */
static inline int feed_chooses(const struct feed *f)
{
    return f->filter.task || f->filter.context;
}

/* Whether the filter selects what a vCPU does after these events. */
int feed_selects(const struct feed *f, const struct ev_last *task,
                 const struct ev_last *context);

/* What the filter selects in a thread. */
struct selection {
    uint32_t kinds;         /* CTR_KIND_*, not 0 */
    uint32_t privileges;    /* a mask, not 0 */
    int has_pcs, has_addrs; /* there are such ranges, maybe none in this process;
                               has_addrs: or physical ones */
    struct ranges pcs, addrs, phys;
    uint64_t from, to;
    uint64_t from_ns, to_ns;
};
void feed_selection(const struct feed *f, const struct ctr_thread *t,
                    struct selection *out);

/* Whether the chunk table allows that a chunk has anything of interest. */
int feed_chunk(const struct feed *f, const struct ctr_chunk *c);

#endif
