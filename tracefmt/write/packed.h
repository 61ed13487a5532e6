/* SPDX-License-Identifier: MIT */
/* A packed chunk: what an encoder hands to the writer. */
#ifndef CTR_PACKED_H
#define CTR_PACKED_H

#include <zstd.h>
#include "ctr_write.h"
#include "base/format.h"
#include "base/util.h"

struct packed_frame {
    struct buf z; /* compressed; empty if the column is */
    uint32_t dsize;
    uint64_t hash; /* XXH64 of z */
};

/* Compresses raw, which may be empty, into f.  Returns 0 or an error. */
int packed_frame_compress(struct packed_frame *f, ZSTD_CCtx *cctx, const struct buf *raw,
                          struct ctr_diag *diag);

struct ctr_packed {
    struct ctr_packed_info info;
    uint32_t flags; /* CHUNK_F_* */
    uint32_t max_id;
    uint32_t last; /* see CHUNK_LAST, CHUNK_NEXT */
    uint32_t last_first;
    uint64_t next;
    uint32_t locals;
    uint32_t tokens;
    uint32_t token_miss;
    uint32_t addrs;
    uint32_t addr_miss;
    uint32_t extras;
    uint32_t regs;
    uint32_t reg_extras;
    uint32_t events;
    uint64_t start_ns;
    uint64_t end_ns;
    struct packed_frame frame[CHUNK_PHYS_FRAMES];
    struct buf counts; /* this chunk's piece of PART frames 1 and 2 */
    struct buf pages;
    struct buf ids;   /* u32, of the blocks */
    struct buf fills; /* struct page_fill, until ctr_physmap_apply; flags also
                         MEMPIPE_PAGE_FORGET */
    unsigned page_bits;
};

#endif
