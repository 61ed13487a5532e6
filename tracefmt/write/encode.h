/* SPDX-License-Identifier: MIT */
/*
 * Inside of the encoder: encode_fast.c and encode_slow.c walk over words, encode_addr.c
 * and encode_data.c over addresses and values, and fill the arrays below; encode_columns.c
 * and encode_index.c make the file's columns of them and the chunk's share of the index;
 * encode_blocks.c knows the blocks of the chunk; encode.c keeps it all together.
 *
 * Words and units are read where the guest wrote them, and a guest that means harm still
 * writes there.  What it may spoil is its own recording:
 *
 *   - Lengths, offsets and flags of a segment, and its records, are the recorder's own: they
 *     do not change.
 *   - A word decides where is read and written.  It is read once, through a pointer to
 *     volatile, and what was checked is what is used: carried along by the fast path,
 *     kept in e->run by the others.  A word that is looked at again (the fast path gives up
 *     and the slow one begins) is a new one, and is checked as such; what was noted before
 *     depends on how many words were taken, and that never falls.
 *   - Where a unit stands follows from words and definitions.  Its value only goes
 *     through predictors: of a place it decides by way of a masked hash (PAGE_HASH,
 *     value_place), so that any value will do, even two at once.
 *   - An index that a word gives is good for this chunk only (encode_knows), and
 *     arrays have room for whatever so many words and units can make (begin_chunk).
 */
#ifndef CTR_ENCODE_H
#define CTR_ENCODE_H

#include <zstd.h>
#include "cannoli/mempipe.h"
#include "base/countmap.h"
#include "write/dict.h"
#include "model/evcol.h"
#include "write/packed.h"
#include "model/pageset.h"
#include "model/value.h"

/*
 * What an encoder knows of a block met in the chunk at hand.  The fast path needs all
 * of it, and nothing else.
 */
struct local {
    uint32_t next[2]; /* word that came after its id [0], after its markers [1] */
    uint64_t from;    /* FROM: itself, and whole runs on the fast path so far */
    uint32_t base;    /* of its addresses in e->pred; with data of its items */
    uint32_t need;    /* units of data that a plain run makes */
    uint16_t n;       /* addresses of that, or items, from base on */
    uint16_t ninsn;
    uint16_t most; /* units that a slot makes at most */
};

/*
 * An item of a block of the chunk (see dict.h), with values or registers: what is to be
 * done, and the predictor of its address.
 */
struct item {
    uint64_t last; /* address seen last; of ITEM_ACCESS_DERIVED the bits that count */
    uint64_t step; /* that led there; of a derived slot the delta */
    struct piece value; /* of the kinds before ITEM_ROW */
    uint32_t piece;     /* of the others the first of so many */
    uint32_t root;      /* of a derived slot: item of its root, so many before it */
    uint16_t reach;     /* of an address: see dict.h */
    uint16_t pieces;    /* 0 if the value is not told */
    uint8_t kind;       /* ITEM_* */
    uint8_t units;      /* of data that a slot takes */
    uint8_t bits;       /* as in struct slot_derive */
    uint8_t is_signed;
};
enum {
    /* one piece, of one unit */
    ITEM_ACCESS,
    ITEM_ACCESS_DERIVED, /* by an addition and a mask */
    ITEM_ROW,
    /* anything */
    ITEM_ANY,
    ITEM_ANY_DERIVED,
    ITEM_REGISTER,
};
#define NO_ITEM 0u /* the root that constants have: its address stays 0 */

/*
 * Who comes next.  The token behind a plain run is foretold by its block's context;
 * whenever that changes it is noted beside the miss, in one number: the halfword of the
 * miss, the context of which local block (FROM_NONE: another one), and how many plain
 * runs of it had come to their next token by then.  Fall-throughs are counted from that
 * in the end, see encode_fall_through.c.
 */
#define FROM(local, since) ((uint64_t)(local) << 16 | (uint64_t)(since) << 38)
#define FROM_ONE_MORE FROM(0, 1)
#define FROM_LOCAL(from) ((uint32_t)((from) >> 16) & FROM_NO_LOCAL)
#define FROM_SINCE(from) ((uint32_t)((from) >> 38))
#define FROM_NO_LOCAL 0x3fffffu
#define FROM_NONE FROM(FROM_NO_LOCAL, 0)

/* The same of a block, while they are counted. */
struct follower {
    uint64_t pc;
    uint64_t end;
    uint64_t next_pc; /* foretold; end + 1 if no block is */
    uint32_t since;   /* plain runs that came before it was */
    uint32_t falls;   /* runs that went on just behind the block */
    uint32_t full;    /* whole runs that were no plain ones ... */
    uint32_t slow;    /* ... of them those that encode_slow took */
};

/*
 * What is still to come for the last run that executed an instruction, and what the
 * chunk before wants to know.
 */
struct ahead {
    uint32_t last;   /* its block, if it executed that to its end and it was not told yet
                        where the thread went then; or TOK_NONE */
    uint32_t first;  /* instruction that it executed first */
    uint8_t counted; /* it is a plain run: what follows counts without further ado */
    uint32_t undo;   /* of this plain run the next block is not to be counted */
    uint8_t head;    /* where the thread went first: 0, CHUNK_F_NEXT or CHUNK_F_BREAK */
    uint64_t head_pc;
};

/* Predictor of a slot: the last address and the step that led to it. */
struct pred64 {
    uint64_t last;
    uint64_t step;
};
struct pred32 {
    uint32_t last;
    uint32_t step;
};

/*
 * Pages for the index: an access on a page that is not among those met lately, with its
 * reach in the bits that are no page's.
 */
#define SEEN_PAGES 512u
#define PAGE_KEY(addr, reach) (((uint64_t)(addr) & ~(uint64_t)REACH_MASK) | (reach))
#define PAGE_HASH(key) (((key) >> PAGE_BITS ^ ((key)&63u) << 3) & (SEEN_PAGES - 1))

/* How many addresses or items encode_fast takes at once, if a block has no more. */
#define BATCH 2048u

/*
 * See ctr_encoder_run_some: blocks, slots of all of them, pieces of the values of these,
 * bytes of the definitions; bytes of aux records; ways in which blocks were run in part.
 */
#define FULL_LOCALS 32768u
#define FULL_SLOTS 131072u
#define FULL_PIECES 131072u
#define FULL_BYTES (4u << 20)
#define FULL_AUX (2u << 20)
#define FULL_CUTS 65536u

/* Where values of a kind go: one byte of 0 or 1 and perhaps a number for each. */
struct value_out {
    uint8_t *hit;
    uint64_t *miss; /* what becomes a varint */
    uint32_t nhit;
    uint32_t nmiss;
    uint32_t cap;         /* of pieces */
    uint64_t prev, prev2; /* values before */
};

/* Predictor of extra accesses, found by a hash of where they are made. */
#define EXTRA_PREDS 1024u

struct ctr_encoder {
    uint32_t full_locals; /* FULL_LOCALS, or what a test wants */
    uint32_t full_aux;    /* FULL_AUX, likewise */
    int may_stop;         /* within a segment, when the chunk is full */
    const struct ctr_dict *dict;
    unsigned addr_bytes;
    uint8_t mem;   /* accesses are recorded */
    uint8_t val;   /* with their values */
    uint8_t reg;   /* registers are */
    uint8_t data;  /* val or reg: a slot is more than an address */
    uint8_t slots; /* mem or reg: there are slots */
    ZSTD_CCtx *cctx;
    int level;

    /* raw id -> local: valid if map[raw] - map_base < nloc */
    uint32_t *map;
    uint32_t map_cap;
    uint32_t map_base;

    struct local *loc;
    const struct dict_entry **def; /* of each local */
    struct follower *follower;     /* of each local */
    uint32_t *raw_of;
    uint32_t nloc;
    uint32_t loc_cap;
    struct local start; /* stands before the first token */
    uint32_t ctx_loc;   /* whose prediction is next; TOK_NONE: start's */
    uint32_t ctx_which;
    uint64_t ctx_from; /* FROM: what a miss is to be noted with */
    struct ahead ahead;

    void *pred;      /* arena of struct pred32 or pred64 */
    uint16_t *reach; /* of each: see dict.h */
    uint32_t npred;
    uint32_t pred_cap;
    struct item *item; /* with values or registers */
    uint32_t nitem;
    uint32_t item_cap;
    uint32_t nslot;     /* of all blocks */
    uint32_t def_bytes; /* likewise */
    struct piece *piece;
    uint32_t npiece;
    uint32_t piece_cap;

    uint8_t *tok_hit; /* 0 or 1 for each token */
    uint32_t ntok;
    uint64_t *tok_miss; /* halfwords, with FROM */
    uint32_t ntok_miss;
    uint32_t tok_cap;

    uint32_t *pending; /* slots of a run, as numbered in its block */
    uint32_t npending;
    uint32_t *batch;    /* predictors of the addresses that come next; with data items */
    uint32_t batch_cap; /* BATCH, and the addresses of one more block */
    uint8_t *addr_hit;  /* 0 or 1 for each */
    uint32_t naddr;
    void *addr_miss; /* steps: uint32_t or uint64_t */
    uint32_t naddr_miss;
    uint32_t addr_cap;
    uint64_t *cand; /* page << PAGE_BITS | reach, that were not in `seen' */
    uint32_t ncand;
    uint64_t seen[SEEN_PAGES]; /* of these, the last one of each hash */

    struct buf extra_meta;
    struct buf extra_delta;
    uint32_t nextra;
    uint64_t extra_bytes; /* of their data, in all segments, and 7 for each */
    uint32_t extra_run;   /* run of the last one */
    struct pred64 extra_pred[EXTRA_PREDS];

    /* Words of a run as they were when they were looked at: the guest may still write. */
    uint32_t *run;
    uint32_t nrun;

    struct value_out vals;         /* values of accesses */
    struct value_out regvals;      /* of registers */
    uint64_t memory[VALUE_PLACES]; /* what was seen last where */
    uint64_t regs[VALUE_PLACES];
    uint32_t nregs;      /* register slots, of slow runs */
    struct buf reg_meta; /* extra register changes */
    uint32_t nreg_extra;
    uint32_t reg_run; /* run of the last one */
    struct evenc events;
    struct buf state;
    struct buf carry; /* the state where the chunk before this one stopped in a segment */
    uint32_t aux_taken; /* bytes of records */

    struct pageset pages[2];   /* [store] */
    struct countmap cuts;      /* partial runs, by local */
    struct countmap cut_falls; /* of those, by the same key */
    struct countmap unknown; /* runs to the end of which it is not known what followed, by
                                local and first instruction */

    uint32_t runs;
    uint64_t insns;
    uint64_t loads; /* of slow runs; fast ones are added in the end */
    uint64_t stores;
    uint32_t dropped_faults;
    uint32_t last_raw;
    uint32_t flags; /* CHUNK_F_* */
    uint8_t unsure;
    uint8_t erratic; /* blocks seldom come as foretold, of late */

    struct buf raw; /* column before compression */
    struct buf same;
};

/* A segment while it is walked. */
struct segment_walk {
    const struct ctr_segment *seg;
    uint32_t word;   /* next word */
    uint32_t unit;   /* next unit of data */
    uint32_t have;   /* units that whole runs may use, and ... */
    uint32_t sure;   /* ... the last run of a killed process */
    uint32_t aux;    /* next aux record: offset of it */
    uint32_t passed; /* words of the slow runs that were taken */
    uint32_t rest;   /* the run at `word' was cut: its instruction that goes on, + 1 */
};

/* Everything about one slow run, found before anything is put out. */
struct slow_run {
    uint32_t at;     /* its first word */
    uint32_t groups; /* first word behind the id */
    uint32_t groups_end;
    uint32_t end; /* first word of what follows */
    uint32_t raw;
    uint32_t local;
    uint32_t first; /* instructions first..n-1 are counted here */
    uint32_t n;
    uint32_t left_at; /* the LEFT_AT word, or 0 */
    uint32_t flags;   /* CTR_LEFT_* */
    uint32_t number;  /* with left: the length of the data column then */
    uint8_t left;     /* LEFT */
    uint8_t restart;  /* instruction n + 1 is to be forgotten */
    uint8_t resumed;
    uint32_t resume_insn;
    uint8_t fault;
    uint8_t unsure;
    uint32_t derived;      /* derived slots of the last instruction, at most ... */
    uint32_t made_derived; /* ... and those made, also by an earlier part of the run */
    uint32_t limit;        /* units of data at most */
    uint32_t most;         /* slots at most */
    uint32_t slots;        /* made */
    uint32_t units;        /* that they took */
    uint32_t told;         /* slots up to the last one that took some ... */
    uint32_t told_insn;    /* ... and its instruction + 1 */
    uint32_t last_insn;    /* of the slots: highest instruction + 1 */
    uint32_t aux_end;      /* offset behind its records, if it is cut; or UINT32_MAX */
};

/* What is in e->batch. */
struct batch {
    uint32_t n;
    uint32_t units; /* that these take */
};

/* Words of the fast path, from the encoder and back. */
struct fast {
    uint8_t *tok_hit;
    uint64_t *miss;
    uint32_t *ctx;
    uint64_t from;  /* of that context */
    uint32_t first; /* local number of the first of the plain runs just taken */
    struct batch batch;
};

/* A chunk with more than that would cost its readers too much memory. */
static inline int encode_is_full(const struct ctr_encoder *e)
{
    return e->nloc > e->full_locals || e->nslot > FULL_SLOTS || e->npiece > FULL_PIECES ||
           e->def_bytes > FULL_BYTES || e->aux_taken > e->full_aux ||
           e->cuts.n + e->unknown.n > FULL_CUTS;
}

/* encode_blocks.c: begins a chunk without blocks.  Returns 0 or -CTR_E_NOMEM. */
int encode_local_begin(struct ctr_encoder *e);

/* Whether a raw id has a local number. */
static inline int encode_knows(const struct ctr_encoder *e, uint32_t raw)
{
    return raw < e->map_cap && e->map[raw] - e->map_base < e->nloc;
}

/*
 * The same file: the local number of a raw id; met for the first time it gets one.
 * Returns 0, -CTR_E_CORRUPT (not known), -CTR_E_LIMIT, -CTR_E_NOMEM.
 */
int encode_local(struct ctr_encoder *e, uint32_t raw, uint32_t *out);

/*
 * encode_fast.c: takes whole runs from w->word until one needs encode_slow or
 * word `stop' is reached, which is in the segment: it may be read, but is not taken.
 */
void encode_fast(struct ctr_encoder *e, struct segment_walk *w, uint32_t stop);

/* The same file: takes the data from w->unit on, of the pending slots of a block's
 * run, through the predictors.  They remain pending. */
void encode_pending(struct ctr_encoder *e, struct segment_walk *w, uint32_t local);

/* encode_addr.c: takes the next n addresses, whose predictors are e->batch. */
void encode_addrs(struct ctr_encoder *e, struct segment_walk *w, uint32_t n);

/* The units that a slot takes in the data column. */
static inline uint32_t encode_units(const struct ctr_encoder *e, const struct ctr_slot *s)
{
    int valued = s->reg || (e->val && !s->novalue);
    return (valued ? CTR_UNITS(s->size, e->addr_bytes) : 0) + !(s->reg || s->derived);
}

/*
 * encode_data.c, the same with values or registers: the next n items, which are e->batch;
 * and data of an extra access.
 */
void encode_items(struct ctr_encoder *e, struct segment_walk *w, uint32_t n);
void encode_data_extra(struct ctr_encoder *e, uint64_t addr, int big_endian,
                       const uint8_t *data, uint32_t n);

/*
 * encode_slow.c: takes the run at w->word, whatever it is like.  Returns 1 if the chunk
 * is to end here, 0, or an error.
 */
int encode_slow(struct ctr_encoder *e, struct segment_walk *w, struct ctr_diag *diag);

/* encode_run.c: how many slots are passed when instructions 0..n-1 were begun, see
 * slots_resume_at. */
uint32_t encode_resume_at(const struct dict_entry *d, uint32_t n);

/*
 * encode_split.c: if the run brings so many records that the chunk should end within it,
 * and one of its instructions can go on in the next one, it ends there.  Returns 1 if the
 * chunk should rather end before it.
 */
int encode_cut(const struct ctr_encoder *e, const struct segment_walk *w,
               struct slow_run *r);

/*
 * encode_fall_through.c.  What came next: a run of block `to', from its begin; the rest of an
 * instruction that was told before; something at pc, as an event says; something that
 * nobody knows.
 */
void encode_next(struct ctr_encoder *e, uint32_t to);
void encode_next_rest(struct ctr_encoder *e);
void encode_next_pc(struct ctr_encoder *e, uint64_t pc);
int encode_next_unknown(struct ctr_encoder *e);
/* A run that was no plain one has executed instructions up to the block's end.  */
int encode_ran(struct ctr_encoder *e, uint32_t local, uint32_t first, int unknown);
/* Counts what follows plain runs, when all runs were taken. */
void encode_follow_end(struct ctr_encoder *e);

/*
 * encode_side.c.  encode_aux_check looks at all records of a segment, the others
 * rely on it.  encode_aux_stop: the word at which the fast path must stop for the
 * next one.  encode_between passes the records up to word `upto', those of events
 * and the like are put out, unless the chunk is full: then it returns 1.
 * encode_run_aux puts out (or, without `put', only looks at) those of instructions of the
 * run, whose slots are pending.  encode_aux_next (encode_run.c): the first record of an instruction of
 * the run, at offset *at or behind it, or NULL; *at is its offset then, and *between (if
 * not NULL) 1 if one that is put out between runs was passed over.
 */
int encode_aux_check(struct ctr_encoder *e, const struct ctr_segment *seg,
                     struct ctr_diag *diag);
uint32_t encode_aux_stop(const struct ctr_encoder *e, const struct segment_walk *w);
/* The state that the segment begins with, or NULL. */
const struct mempipe_aux_place *encode_aux_state(const struct segment_walk *w);
int encode_between(struct ctr_encoder *e, struct segment_walk *w, uint32_t upto,
                   struct ctr_diag *diag);
int encode_run_aux(struct ctr_encoder *e, struct segment_walk *w,
                   const struct slow_run *r, int put, uint32_t *last_insn,
                   struct ctr_diag *diag);
const struct mempipe_aux_place *encode_aux_next(const struct ctr_encoder *e,
                                                const struct segment_walk *w,
                                                const struct slow_run *r, uint32_t *at,
                                                int *between);
/* The record at this offset of the segment's, or NULL. */
static inline const struct mempipe_aux_place *encode_aux(const struct segment_walk *w,
                                                         uint32_t at)
{
    return at < w->seg->aux_bytes
               ? (const struct mempipe_aux_place *)((const uint8_t *)w->seg->aux + at)
               : NULL;
}

/* Does it belong to an instruction? */
static inline int encode_aux_of_insn(const struct mempipe_aux_place *p)
{
    return p->h.type == MEMPIPE_AUX_ACCESS ||
           (p->h.type == MEMPIPE_AUX_REGS &&
            ((const struct mempipe_aux_regs *)p)->insn != MEMPIPE_OUTSIDE);
}

/* Is it left out, since its kind is not recorded? */
static inline int encode_aux_unwanted(const struct ctr_encoder *e,
                                      const struct mempipe_aux_place *p)
{
    return p->h.type == MEMPIPE_AUX_ACCESS  ? !e->mem
           : p->h.type == MEMPIPE_AUX_EVENT ? 0
                                            : !e->reg;
}

/* The instruction of such a record. */
static inline uint32_t encode_aux_insn(const struct mempipe_aux_place *p)
{
    return p->h.type == MEMPIPE_AUX_ACCESS ? ((const struct mempipe_aux_access *)p)->insn
                                           : ((const struct mempipe_aux_regs *)p)->insn;
}

/*
 * encode_regs.c.  The places of registers (FORMAT.md, 4.6) hold what the registers do
 * whenever a run is over: encode_regs_begin sets them from the chunk's state, if it has
 * one, encode_regs_end makes a state of them in e->carry.  encode_regs_settle: the extra
 * changes of a run were put out, and slots of later instructions are to stand.
 */
int encode_regs_begin(struct ctr_encoder *e, struct ctr_diag *diag);
int encode_regs_end(struct ctr_encoder *e);
void encode_regs_settle(struct ctr_encoder *e, const struct segment_walk *w,
                        const struct slow_run *r);

/* A page of the recording's addresses, which may be narrower than what it comes from. */
static inline uint64_t encode_page(const struct ctr_encoder *e, uint64_t page)
{
    return e->addr_bytes == 4 ? page & (UINT32_MAX >> PAGE_BITS) : page;
}

/* encode_index.c: the chunk's pieces of PART columns 1 and 2.  Return 0 or -1 (memory).
 */
int encode_counts(struct ctr_encoder *e, struct buf *out);
int encode_pages(struct ctr_encoder *e, struct buf *out);
/* An access of which dict_entry's `constant' tells page and kind was made.  Returns 0 or
 * -1 (memory). */
int encode_constant(struct ctr_encoder *e, uint64_t page_store);

int encode_bad_word(const struct segment_walk *w, uint32_t at, struct ctr_diag *diag,
                    const char *what);

/* Makes the columns and the summary.  Returns 0, -CTR_E_NOMEM, -CTR_E_IO. */
int encode_pack(struct ctr_encoder *e, struct ctr_packed *out, struct ctr_diag *diag);

#endif
