/* SPDX-License-Identifier: MIT */
/*
 * Internals of the encoder. encode_fast.c and encode_slow.c walk over words,
 * encode_addr.c and encode_data.c over addresses and values, and all fill the columns
 * below. encode_columns.c and encode_index.c turn these into the file's columns and the
 * chunk's share of the index. encode_blocks.c keeps the blocks of the chunk; encode.c
 * ties the parts together.
 *
 * Each part of the encoder's state is a structure of its own, next to the functions that
 * work on it; struct ctr_encoder, at the end, is all of them. They are nested, not
 * pointed to, so that the hot loops reach everything from one register.
 *
 * Words and units are read where the guest wrote them, and a hostile guest may still
 * write there. It must not harm more than its own recording:
 *
 *   - Lengths, offsets and flags of a segment, and its side records, belong to the
 *     recorder: they do not change.
 *   - A word decides which memory is read and written. It is read once, through a
 *     pointer to volatile, and the checked value is used: the fast path carries it
 *     along, the others keep it in struct run_parts. A word that is read again (the fast
 *     path gives up and the slow one begins) is a new one and is checked as such; what
 *     was stored before depends on the number of words consumed, which never decreases.
 *   - The place of a unit follows from words and definitions. Its value only goes
 *     through predictors: it selects a place only through a masked hash (PAGE_HASH,
 *     value_place), so that any value is safe, even two at once.
 *   - An index taken from a word is valid for this chunk only (encode_knows), and
 *     arrays have room for whatever that many words and units can make (begin_chunk).
 */
#ifndef CTR_ENCODE_H
#define CTR_ENCODE_H

#include <zstd.h>
#include "base/countmap.h"
#include "model/evcol.h"
#include "model/pagemap.h"
#include "model/pageset.h"
#include "write/encode_blocks.h"
#include "write/encode_run.h"
#include "write/packed.h"

/* ------------------------------------------------------------- columns being filled */

/* The column of words: tokens, and what predicts the next one. */
struct tokens {
    uint8_t *hit;   /* 0 or 1 for each token */
    uint64_t *miss; /* halfwords, with FROM */
    uint32_t n;
    uint32_t nmiss;
    uint32_t cap;
    uint32_t ctx_loc; /* block whose prediction is next; TOK_NONE: start's */
    uint32_t ctx_which;
    uint64_t ctx_from;        /* FROM: stored with a miss */
    struct local start;       /* the context before the first token */
    uint8_t poorly_predicted; /* recent blocks were poorly predicted */
};

/* How many addresses or items encode_fast batches, if one block does not have more. */
#define BATCH 2048u

/* The column of addresses. */
struct addr_column {
    uint32_t *batch;    /* predictors of the next addresses; with data, items */
    uint32_t batch_cap; /* BATCH, and the addresses of one more block */
    uint8_t *hit;       /* 0 or 1 for each */
    void *miss;         /* steps: uint32_t or uint64_t */
    uint32_t n;
    uint32_t nmiss;
    uint32_t cap;
};

/* encode_addr.c: encodes the next n addresses, whose predictors are in `batch'. */
void encode_addrs(struct ctr_encoder *e, struct segment_walk *w, uint32_t n);

/*
 * Output for values of one kind: a byte of 0 or 1 for each, and a number for each miss.
 */
struct value_out {
    uint8_t *hit;
    uint64_t *miss; /* becomes a varint */
    uint32_t nhit;
    uint32_t nmiss;
    uint32_t cap;         /* of pieces */
    uint64_t prev, prev2; /* values before */
};

/* The column of values. */
struct value_column {
    struct value_out out;
    uint64_t memory[VALUE_PLACES]; /* last value by place */
};

/*
 * encode_data.c, the same as encode_addrs with values or registers: encodes the next n
 * items, which are in `batch'; and the data of an extra access.
 */
void encode_items(struct ctr_encoder *e, struct segment_walk *w, uint32_t n);
void encode_data_extra(struct ctr_encoder *e, uint64_t addr, int big_endian,
                       const uint8_t *data, uint32_t n);

/* The column of registers. */
struct reg_column {
    struct value_out out;
    uint32_t n;      /* register slots of slow runs; fast ones are added at the end */
    struct buf meta; /* extra changes */
    uint32_t nextra;
    uint32_t run;     /* run of the last one */
    struct buf state; /* at the beginning of the chunk */
    struct buf carry; /* state where the previous chunk stopped inside a segment */
    uint64_t place[VALUE_PLACES];
};

/*
 * encode_regs.c. The places of registers (FORMAT.md, 4.6) hold the registers' values
 * after each run. encode_regs_begin sets them from the chunk's state, if it has one;
 * encode_regs_end makes a state of them in `carry'. encode_regs_settle: the extra
 * changes of a run were emitted; slots of later instructions take precedence.
 */
int encode_regs_begin(struct reg_column *regs, const struct recorded *rec,
                      struct ctr_diag *diag);
int encode_regs_end(struct reg_column *regs, const struct recorded *rec);
void encode_regs_settle(struct ctr_encoder *e, const struct segment_walk *w,
                        const struct slow_run *r);

/* Predictors of extra accesses, selected by a hash of where they are made. */
#define EXTRA_PREDS 1024u

/* The column of extra accesses. */
struct extra_column {
    struct buf meta;
    struct buf delta;
    uint32_t n;
    uint32_t run;   /* run of the last one */
    uint64_t bytes; /* of their data in all segments, and 7 for each */
    struct pred64 pred[EXTRA_PREDS];
};

/* The pages that the TLB got, for ctr_physmap_apply. */
struct phys_column {
    struct buf fills; /* struct page_fill */
    unsigned bits;    /* of a page; 0: there was none yet */
};

/* Makes columns of the file. */
struct packer {
    ZSTD_CCtx *cctx;
    int level;
    struct buf raw; /* column before compression */
    struct buf same;
};

/* -------------------------------------------------------------------- for the index */

/*
 * What is still missing for the last run that executed an instruction, and what the
 * chunk before needs to know.
 */
struct ahead {
    uint32_t last;   /* its block, if it executed that to its end and it is not known
                        yet where the thread went then; or TOK_NONE */
    uint32_t first;  /* first instruction that it executed */
    uint8_t counted; /* it is a straight run: what follows is counted arithmetically */
    uint32_t undo;   /* straight run whose next block must not be counted */
    uint8_t head;    /* where the thread went first: 0, CHUNK_F_NEXT or CHUNK_F_BREAK */
    uint64_t head_pc;
};

/* Where the thread went, and the runs that were not whole. */
struct follow {
    struct ahead ahead;
    struct countmap cuts;      /* partial runs, by local */
    struct countmap cut_falls; /* of these, by the same key */
    struct countmap unknown;   /* runs to the end of their block whose successor is
                                  unknown, by local and first instruction */
};

/*
 * encode_fall_through.c. What came next: a run of block `to' from its beginning; the
 * rest of an instruction that is already recorded; code at pc, according to an event;
 * something unknown.
 */
void encode_next(struct ctr_encoder *e, uint32_t to);
void encode_next_rest(struct ctr_encoder *e);
void encode_next_pc(struct ctr_encoder *e, uint64_t pc);
int encode_next_unknown(struct ctr_encoder *e);
/* A run that is not straight has executed instructions up to the block's end. */
int encode_ran(struct ctr_encoder *e, uint32_t local, uint32_t first, int unknown);
/* Counts what follows straight runs, once all runs are encoded. */
void encode_follow_end(struct ctr_encoder *e);

/*
 * Pages for the index: an access on a page that is not among the recent ones, with its
 * reach in the bits below the page number.
 */
#define SEEN_PAGES 512u
#define PAGE_KEY(addr, reach) (((uint64_t)(addr) & ~(uint64_t)REACH_MASK) | (reach))
#define PAGE_HASH(key) (((key) >> PAGE_BITS ^ ((key) & 63u) << 3) & (SEEN_PAGES - 1))

/* The pages of the chunk. */
struct touched {
    uint64_t *cand; /* page << PAGE_BITS | reach, of those that were not in `seen' */
    uint32_t ncand;
    uint32_t cap;
    struct pageset set[2];     /* [store] */
    struct pageset keys;       /* with key frames */
    uint64_t seen[SEEN_PAGES]; /* the last one of each hash */
};

/* encode_index.c: the chunk's pieces of PART columns 1 and 2. Return 0 or -1 (memory). */
int encode_counts(const struct blocks *b, const struct follow *follow, struct buf *out);
int encode_pages(struct ctr_encoder *e, struct buf *out);
/*
 * Notes an access whose page and kind are as in dict_entry's `constant'. Returns 0 or
 * -1 (memory).
 */
int encode_constant(struct ctr_encoder *e, uint64_t page_store);

/* ---------------------------------------------------------------------- the encoder */

/* The chunk's summary. */
struct summary {
    uint32_t runs;
    uint64_t insns;
    uint64_t loads; /* of slow runs; fast ones are added at the end */
    uint64_t stores;
    uint32_t side_read; /* bytes of side records */
    uint32_t dropped_faults;
    uint32_t last_raw;
    uint32_t flags;     /* CHUNK_F_* */
    uint32_t key_bytes; /* of key frames */
    uint8_t unsure;
};

/*
 * See ctr_encoder_run_some. Limits of a chunk: blocks; slots of all of them; pieces of
 * the slots' values; bytes of definitions; bytes of side records; ways in which blocks
 * were run in part.
 */
#define FULL_LOCALS 32768u
#define FULL_SLOTS 131072u
#define FULL_PIECES 131072u
#define FULL_BYTES (4u << 20)
#define FULL_SIDE (2u << 20)
#define FULL_CUTS 65536u

struct limits {
    uint32_t locals; /* FULL_LOCALS, or what a test sets */
    uint32_t side;   /* FULL_SIDE, likewise */
    int may_stop;    /* within a segment, if the chunk is full */
};

struct ctr_encoder {
    struct recorded rec;
    struct limits limits;
    struct blocks blocks;
    struct slot_preds preds;
    struct tokens tok;
    struct run_parts run;
    struct addr_column addrs;
    struct summary sum;
    struct follow follow;
    struct packer pack;
    struct evenc events;
    struct value_column vals;
    struct reg_column regs;
    struct touched pages;
    struct extra_column extra;
    struct phys_column phys;
};

/* Whether a larger chunk would cost its readers too much memory. */
static inline int encode_is_full(const struct ctr_encoder *e)
{
    return e->blocks.n > e->limits.locals || e->blocks.nslot > FULL_SLOTS ||
           e->preds.npiece > FULL_PIECES || e->blocks.def_bytes > FULL_BYTES ||
           e->sum.side_read > e->limits.side ||
           e->follow.cuts.n + e->follow.unknown.n > FULL_CUTS;
}

/* -------------------------------------------------------------------------- walking */

/*
 * encode_fast.c: encodes whole runs from w->word on until one needs encode_slow or word
 * `stop' is reached. That word is in the segment: it may be read but is not consumed.
 */
void encode_fast(struct ctr_encoder *e, struct segment_walk *w, uint32_t stop);

/*
 * encode_fast.c: puts the data from w->unit on, of the pending slots of a block's run,
 * through the predictors. The slots remain pending.
 */
void encode_pending(struct ctr_encoder *e, struct segment_walk *w, uint32_t local);

/*
 * encode_slow.c: encodes the run at w->word, whatever it is like. Returns 1 if the
 * chunk must end here, 0, or an error.
 */
int encode_slow(struct ctr_encoder *e, struct segment_walk *w, struct ctr_diag *diag);

/*
 * encode_split.c: if the run has so many side records that the chunk should end within
 * it, and the next chunk can continue one of its instructions, the run is cut there.
 * Returns 1 if the chunk should end before the run instead.
 */
int encode_cut(const struct ctr_encoder *e, const struct segment_walk *w,
               struct slow_run *r);

/*
 * encode_side.c. encode_side_check checks all side records of a segment, and adds to
 * *extra_bytes what extra_column.bytes counts; the other functions rely on it.
 * encode_side_stop: the word at which the fast path must stop for the next record.
 * encode_between passes the records up to word `upto' and emits events and other records
 * between runs, unless the chunk is full: then it returns 1. encode_run_side emits (or,
 * without `put', only checks) the records of the run's instructions, whose slots are
 * pending.
 */
int encode_side_check(const struct recorded *rec, const struct ctr_segment *seg,
                      uint64_t *extra_bytes, struct ctr_diag *diag);
uint32_t encode_side_stop(const struct recorded *rec, const struct segment_walk *w);
/* The register state that the segment begins with, or NULL. */
const struct mempipe_side_place *encode_side_state(const struct segment_walk *w);
int encode_between(struct ctr_encoder *e, struct segment_walk *w, uint32_t upto,
                   struct ctr_diag *diag);
int encode_run_side(struct ctr_encoder *e, struct segment_walk *w,
                    const struct slow_run *r, int put, uint32_t *last_insn,
                    struct ctr_diag *diag);

/* Makes the columns and the summary.  Returns 0, -CTR_E_NOMEM, -CTR_E_IO. */
int encode_pack(struct ctr_encoder *e, struct ctr_packed *out, struct ctr_diag *diag);

#endif
