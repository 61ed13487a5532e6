/* SPDX-License-Identifier: MIT */
/*
 * Inside of the encoder: encode_fast.c and encode_slow.c walk over words and
 * addresses and fill the arrays below, encode_pack.c makes the file's columns
 * of them, encode.c keeps it all together.
 */
#ifndef CTR_ENCODE_H
#define CTR_ENCODE_H

#include <zstd.h>
#include "countmap.h"
#include "dict.h"
#include "packed.h"
#include "pageset.h"

/* What an encoder knows of a block met in the chunk at hand. */
struct local {
    uint32_t next[2]; /* token that came after its id [0], after its markers [1] */
    uint32_t base;    /* of its slots in the arena */
    uint32_t fast;    /* whole runs on the fast path ... */
    uint32_t full;    /* ... and others */
    uint16_t nslot;
    uint16_t ninsn;
    uint8_t groups; /* it has some */
    uint8_t pad[7];
};

#define ADDR_BITS_EMPTY (1ull << 63)

/* Predictor of a slot: the last address and the step that led to it. */
struct pred64 {
    uint64_t last;
    uint64_t step;
};
struct pred32 {
    uint32_t last;
    uint32_t step;
};

/* Predictor of extra accesses, found by a hash of where they are made. */
#define EXTRA_PREDS 1024u

struct ctr_encoder {
    const struct ctr_dict *dict;
    unsigned addr_bytes;
    int mem; /* accesses are recorded */
    ZSTD_CCtx *cctx;

    /* raw id -> local: valid if map[raw] - map_base < nloc */
    uint32_t *map;
    uint32_t map_cap;
    uint32_t map_base;

    struct local *loc;
    const struct dict_entry **def; /* of each local */
    uint32_t *raw_of;
    uint32_t nloc;
    uint32_t loc_cap;
    struct local start; /* stands before the first token */
    uint32_t ctx_loc;   /* whose prediction is next; TOK_NONE: start's */
    uint32_t ctx_which;

    void *pred; /* arena of struct pred32 or pred64 */
    struct ctr_slot *slot;
    uint8_t *kind; /* of each slot: 1 store, 0 load */
    uint32_t nslot;
    uint32_t slot_cap;

    uint8_t *tok_hit; /* 0 or 1 for each token */
    uint32_t ntok;
    uint16_t *tok_miss;
    uint32_t ntok_miss;
    uint32_t tok_cap;

    uint32_t *pending; /* slots of a run's accesses */
    uint32_t npending;
    uint64_t *addr_hit; /* bitmap, full words; the rest is in addr_bits */
    uint32_t naddr_hit;
    uint64_t addr_bits; /* ADDR_BITS_EMPTY when there are none */
    void *addr_miss;    /* steps: uint32_t or uint64_t */
    uint32_t naddr_miss;
    uint64_t *cand; /* page | store, whenever a slot left its last page */
    uint32_t ncand;
    uint32_t addr_cap;

    struct buf extra_meta;
    struct buf extra_delta;
    uint32_t nextra;
    uint32_t extra_run; /* run of the last one */
    struct pred64 extra_pred[EXTRA_PREDS];

    struct pageset pages[2]; /* [store] */
    struct countmap cuts;    /* partial runs, by local */

    uint32_t runs;
    uint64_t insns; /* of slow runs; fast ones are added in the end */
    uint64_t loads;
    uint64_t stores;
    uint32_t dropped_faults;
    uint32_t last_raw;
    uint32_t flags; /* CHUNK_F_* */
    uint8_t unsure;

    struct buf raw; /* column before compression */
    struct buf same;
};

/* A segment while it is walked. */
struct walk {
    const struct ctr_segment *seg;
    uint32_t word;  /* next word */
    uint32_t addr;  /* next address */
    uint32_t extra; /* next extra access */
};

/*
 * The local number of a raw id; met for the first time it gets one.
 * Returns 0, -CTR_E_CORRUPT (not known), -CTR_E_LIMIT, -CTR_E_NOMEM.
 */
int encode_local(struct ctr_encoder *e, uint32_t raw, uint32_t *out);

/*
 * encode_fast.c: takes whole runs from w->word until one needs encode_slow or
 * word `stop' is reached.
 */
void encode_fast(struct ctr_encoder *e, struct walk *w, uint32_t stop);

/* The same file: takes the addresses from w->addr on, of the pending slots,
 * through the predictors. */
void encode_pending(struct ctr_encoder *e, struct walk *w);

/* encode_slow.c: takes the run at w->word, whatever it is like. */
int encode_slow(struct ctr_encoder *e, struct walk *w, struct ctr_diag *diag);
int encode_bad_word(const struct walk *w, uint32_t at, struct ctr_diag *diag,
                    const char *what);

/* Makes the columns and the summary.  Returns 0, -CTR_E_NOMEM, -CTR_E_IO. */
int encode_pack(struct ctr_encoder *e, struct ctr_packed *out, struct ctr_diag *diag);

#endif
