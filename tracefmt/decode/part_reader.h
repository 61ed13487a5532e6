/* SPDX-License-Identifier: MIT */
/* Reading the rows of the index: counts of blocks, sets of pages. */
#ifndef CTR_PART_READER_H
#define CTR_PART_READER_H

#include "base/ranges.h"
#include "file/trace.h"

/* Walks over the rows of the index's PARTs (indexed files). */
struct part_reader {
    struct ctr_trace *tr;
    int loaded;
    int has_counts; /* of the PART that is loaded */
    uint32_t part;
    uint64_t chunk; /* chunk of the next row */
    struct buf counts, pages, payload;
    ZSTD_DCtx *dctx; /* NULL: nothing was read yet */
    const uint8_t *c, *c_end;
    const uint8_t *p, *p_end;
};

void part_reader_init(struct part_reader *r, struct ctr_trace *tr);
void part_reader_fini(struct part_reader *r);
/*
 * Moves to chunk i (never backwards), then reads its row: fn gets its block counts, and
 * *pages whether a page of the ranges is touched. fn, addrs and pages may be NULL.
 */
struct part_pages {
    int read, written; /* 1 or 0 */
    int keyframe;      /* it has a key frame */
};
struct part_count {
    uint32_t id;
    uint16_t first;
    uint16_t end;     /* 0: the block's */
    uint64_t runs;    /* 0: only `unknown' is set */
    uint64_t falls;   /* fall-throughs among them */
    uint64_t unknown; /* of the runs from first to the block's end */
};
typedef int part_count_fn(void *arg, const struct part_count *c);
int part_reader_chunk(struct part_reader *r, uint64_t i, part_count_fn *fn, void *arg,
                      const struct ranges *addrs, struct part_pages *pages,
                      struct ctr_diag *diag);

#endif
