/* SPDX-License-Identifier: MIT */
/* From a chunk's columns to runs of blocks and their accesses. */
#ifndef CTR_DECODE_H
#define CTR_DECODE_H

#include "trace.h"

/* A chunk as it stands in the file. */
struct raw_chunk {
    struct section sec;
    struct ctr_chunk pub;
    struct buf payload;
};

struct access {
    uint64_t addr;
    uint32_t size;
    uint16_t insn;
    uint8_t store;
    uint8_t flags; /* ACCESS_* */
};
#define ACCESS_BE 0x1u
#define ACCESS_HELPER 0x2u

/* One run: instructions first..end-1, and all its accesses in order. */
struct run {
    const struct block *block;
    uint64_t ordinal; /* of `first' */
    uint16_t first;
    uint16_t end;
    uint16_t flags; /* CTR_EV_* */
    uint32_t naccess;
    const struct access *access;
};

struct dlocal {
    const struct block *block;
    uint32_t next[2]; /* predicted tokens, as in the encoder */
    uint32_t base;    /* of its slots */
    uint16_t nslot;
    uint16_t ninsn;
    uint8_t has_groups;
};

struct extra {
    uint64_t run;
    uint32_t rel;
    struct access a;
    uint8_t is_store;
};

#define EXTRA_PREDS 1024u

struct decoder {
    ZSTD_DCtx *dctx;
    struct ctr_diag *diag;
    const struct raw_chunk *chunk; /* while it begins only */
    struct ctr_chunk pub;
    int mem; /* accesses are decoded */
    unsigned addr_bits;

    struct buf words, addrs, extras; /* columns */
    uint32_t *tok;                   /* tokens, with the numbers behind LEFT in place */
    size_t tok_cap;
    uint32_t ntok;
    uint32_t at; /* next token */
    struct dlocal *loc;
    uint32_t loc_cap;
    uint32_t nloc;
    struct {
        uint64_t last, step;
    } * pred;
    size_t pred_cap;

    uint32_t addr_at; /* accesses done */
    uint32_t addr_n;
    uint32_t miss_at;
    uint32_t miss_n;
    uint64_t last_miss;
    const uint8_t *hit_bits;
    const uint8_t *same_bits;
    const uint8_t *steps, *steps_end;

    uint32_t extra_left; /* records not read yet */
    int have_extra;      /* `extra' is the next one */
    struct extra extra;
    const uint8_t *meta, *meta_end, *delta, *delta_end;
    struct {
        uint64_t last, step;
    } extra_pred[EXTRA_PREDS];

    struct access *access;
    size_t access_cap;
    struct access *merged;
    size_t merged_cap;

    uint64_t ordinal;
    uint64_t run;
    uint64_t loads, stores;
};

int decoder_init(struct decoder *d);
void decoder_fini(struct decoder *d);

/* Column frames that must be in raw_chunk.payload: with accesses all. */
static inline unsigned decoder_frames(int mem)
{
    return mem ? CHUNK_FRAMES : 1;
}

/*
 * Begins a chunk.  All definitions that it needs must be loaded.  The chunk is
 * not needed afterwards; diag is, it is used by decoder_next.
 * Returns 0 or an error of the data (diag).
 */
int decoder_begin(struct decoder *d, const struct ctr_trace *tr,
                  const struct raw_chunk *chunk, int mem, struct ctr_diag *diag);

/*
 * The next run.  Returns 1, 0 at the end of the chunk, or an error.  *run and
 * its accesses are valid until the next call.
 */
int decoder_next(struct decoder *d, struct run *run);

#endif
