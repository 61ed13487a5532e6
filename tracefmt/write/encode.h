/* SPDX-License-Identifier: MIT */
/*
 * Internals of the encoder. encode_fast.c and encode_slow.c walk over words,
 * encode_addr.c and encode_data.c over addresses and values, and all fill the arrays
 * below. encode_columns.c and encode_index.c turn these into the file's columns and the
 * chunk's share of the index. encode_blocks.c keeps the blocks of the chunk; encode.c
 * ties the parts together.
 *
 * Words and units are read where the guest wrote them, and a hostile guest may still
 * write there. It must not harm more than its own recording:
 *
 *   - Lengths, offsets and flags of a segment, and its side records, belong to the
 *     recorder: they do not change.
 *   - A word decides which memory is read and written. It is read once, through a
 *     pointer to volatile, and the checked value is used: the fast path carries it
 *     along, the others keep it in e->run. A word that is read again (the fast path
 *     gives up and the slow one begins) is a new one and is checked as such; what was
 *     stored before depends on the number of words consumed, which never decreases.
 *   - The place of a unit follows from words and definitions. Its value only goes
 *     through predictors: it selects a place only through a masked hash (PAGE_HASH,
 *     value_place), so that any value is safe, even two at once.
 *   - An index taken from a word is valid for this chunk only (encode_knows), and
 *     arrays have room for whatever that many words and units can make (begin_chunk).
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
 * What the encoder keeps of a block that occurs in the current chunk. The fast path
 * needs all of it and nothing else.
 */
struct local {
    uint32_t next[2]; /* word that came after its id [0], after its markers [1] */
    uint64_t from;    /* FROM: itself, and its whole runs on the fast path so far */
    uint32_t base;    /* of its addresses in e->pred; with data, of its items */
    uint32_t need;    /* units of data that a straight run makes */
    uint16_t n;       /* its addresses or items, from base on */
    uint16_t ninsn;
    uint16_t most; /* maximum units of a slot */
};

/*
 * An item of a block of the chunk (see dict.h), with values or registers: what to
 * encode, and the predictor of its address.
 */
struct item {
    uint64_t last;      /* last address; of ITEM_ACCESS_DERIVED the mask */
    uint64_t step;      /* step to `last'; of a derived slot the delta */
    struct piece value; /* for the kinds before ITEM_ROW */
    uint32_t piece;     /* for the others: the first of `pieces' */
    uint32_t root;      /* of a derived slot: its root is the item this many before it */
    uint16_t reach;     /* of an address: see dict.h */
    uint16_t pieces;    /* 0 if the value is not recorded */
    uint8_t kind;       /* ITEM_* */
    uint8_t units;      /* of data, for the slot */
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
#define NO_ITEM 0u /* root of constant addresses: its own address stays 0 */

/*
 * What runs after a block. Its context predicts the token after a straight run.
 * Whenever that prediction changes, one number stores the change next to the miss: the
 * halfword of the miss, the local block whose context it is (FROM_NONE: another one),
 * and how many straight runs of that block had reached their next token by then.
 * Fall-throughs are counted from that at the end, see encode_fall_through.c.
 */
#define FROM(local, since) ((uint64_t)(local) << 16 | (uint64_t)(since) << 38)
#define FROM_ONE_MORE FROM(0, 1)
#define FROM_LOCAL(from) ((uint32_t)((from) >> 16) & FROM_NO_LOCAL)
#define FROM_SINCE(from) ((uint32_t)((from) >> 38))
#define FROM_NO_LOCAL 0x3fffffu
#define FROM_NONE FROM(FROM_NO_LOCAL, 0)

/* The same for a block, while fall-throughs are counted. */
struct follower {
    uint64_t pc;
    uint64_t end;
    uint64_t next_pc; /* predicted; end + 1 if there is no prediction */
    uint32_t since;   /* straight runs before that prediction */
    uint32_t falls;   /* runs that continued directly after the block */
    uint32_t full;    /* whole runs that were not straight ... */
    uint32_t slow;    /* ... of these, the ones that encode_slow handled */
};

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
 * Pages for the index: an access on a page that is not among the recent ones, with its
 * reach in the bits below the page number.
 */
#define SEEN_PAGES 512u
#define PAGE_KEY(addr, reach) (((uint64_t)(addr) & ~(uint64_t)REACH_MASK) | (reach))
#define PAGE_HASH(key) (((key) >> PAGE_BITS ^ ((key) & 63u) << 3) & (SEEN_PAGES - 1))

/* How many addresses or items encode_fast batches, if one block does not have more. */
#define BATCH 2048u

/*
 * See ctr_encoder_run_some. Limits of a chunk: blocks; slots of all of them; pieces of
 * the slots' values; bytes of definitions; bytes of side records; ways in which blocks
 * were run in part.
 */
#define FULL_LOCALS 32768u
#define FULL_SLOTS 131072u
#define FULL_PIECES 131072u
#define FULL_BYTES (4u << 20)
#define FULL_AUX (2u << 20)
#define FULL_CUTS 65536u

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

/* Predictors of extra accesses, selected by a hash of where they are made. */
#define EXTRA_PREDS 1024u

struct ctr_encoder {
    uint32_t full_locals; /* FULL_LOCALS, or what a test sets */
    uint32_t full_aux;    /* FULL_AUX, likewise */
    int may_stop;         /* within a segment, if the chunk is full */
    const struct ctr_dict *dict;
    unsigned addr_bytes;
    uint8_t mem;   /* accesses are recorded */
    uint8_t val;   /* their values are, too */
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
    struct local start; /* the context before the first token */
    uint32_t ctx_loc;   /* block whose prediction is next; TOK_NONE: start's */
    uint32_t ctx_which;
    uint64_t ctx_from; /* FROM: stored with a miss */
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
    uint32_t *batch;    /* predictors of the next addresses; with data, items */
    uint32_t batch_cap; /* BATCH, and the addresses of one more block */
    uint8_t *addr_hit;  /* 0 or 1 for each */
    uint32_t naddr;
    void *addr_miss; /* steps: uint32_t or uint64_t */
    uint32_t naddr_miss;
    uint32_t addr_cap;
    uint64_t *cand; /* page << PAGE_BITS | reach, of those that were not in `seen' */
    uint32_t ncand;
    uint64_t seen[SEEN_PAGES]; /* the last one of each hash */

    struct buf extra_meta;
    struct buf extra_delta;
    uint32_t nextra;
    uint64_t extra_bytes; /* bytes of their data in all segments, and 7 for each */
    uint32_t extra_run;   /* run of the last extra access */
    struct pred64 extra_pred[EXTRA_PREDS];

    /* Words of a run as they were read: the guest may still write them. */
    uint32_t *run;
    uint32_t nrun;

    struct value_out vals;         /* values of accesses */
    struct value_out regvals;      /* of registers */
    uint64_t memory[VALUE_PLACES]; /* last value by place */
    uint64_t regs[VALUE_PLACES];
    uint32_t nregs;      /* register slots of slow runs */
    struct buf reg_meta; /* extra register changes */
    uint32_t nreg_extra;
    uint32_t reg_run; /* run of the last extra change */
    struct evenc events;
    struct buf state;
    struct buf carry;   /* state where the previous chunk stopped inside a segment */
    uint32_t aux_taken; /* bytes of side records */

    struct pageset pages[2];   /* [store] */
    struct countmap cuts;      /* partial runs, by local */
    struct countmap cut_falls; /* of these, by the same key */
    struct countmap unknown;   /* runs to the end of their block whose successor is
                                  unknown, by local and first instruction */

    uint32_t runs;
    uint64_t insns;
    uint64_t loads; /* of slow runs; fast ones are added at the end */
    uint64_t stores;
    uint32_t dropped_faults;
    uint32_t last_raw;
    uint32_t flags; /* CHUNK_F_* */
    uint8_t unsure;
    uint8_t poorly_predicted; /* recent blocks were poorly predicted */

    struct buf raw; /* column before compression */
    struct buf same;
};

/* The walk over a segment. */
struct segment_walk {
    const struct ctr_segment *seg;
    uint32_t word;   /* next word */
    uint32_t unit;   /* next unit of data */
    uint32_t have;   /* units that whole runs may use ... */
    uint32_t sure;   /* ... and the last run of a killed process */
    uint32_t aux;    /* offset of the next side record */
    uint32_t passed; /* words of the slow runs so far */
    uint32_t rest;   /* the run at `word' was cut: the instruction that continues, + 1 */
};

/* All that is known about one slow run before any of it is emitted. */
struct slow_run {
    uint32_t at;     /* its first word */
    uint32_t groups; /* first word after the id */
    uint32_t groups_end;
    uint32_t end; /* first word of what follows */
    uint32_t raw;
    uint32_t local;
    uint32_t first; /* it executes instructions first..n-1 */
    uint32_t n;
    uint32_t left_at; /* the LEFT_AT word, or 0 */
    uint32_t flags;   /* CTR_LEFT_* */
    uint32_t number;  /* with left: length of the data column at that time */
    uint8_t left;     /* LEFT */
    uint8_t restart;  /* instruction n + 1 is discarded */
    uint8_t resumed;
    uint32_t resume_insn;
    uint8_t fault;
    uint8_t unsure;
    uint32_t derived;      /* maximum of derived slots of the last instruction */
    uint32_t made_derived; /* those made, also by an earlier part of the run */
    uint32_t limit;        /* maximum of units of data */
    uint32_t most;         /* maximum of slots */
    uint32_t slots;        /* slots made */
    uint32_t units;        /* units that these take */
    uint32_t data_slots;   /* slots up to the last one that takes units ... */
    uint32_t data_insn;    /* ... and its instruction + 1 */
    uint32_t last_insn;    /* of the slots: highest instruction + 1 */
    uint32_t aux_end;      /* offset after its side records, if it is cut; or
                              UINT32_MAX */
};

/* The contents of e->batch. */
struct batch {
    uint32_t n;
    uint32_t units; /* units that these take */
};

/* Words of the fast path, from the encoder and back. */
struct fast {
    uint8_t *tok_hit;
    uint64_t *miss;
    uint32_t *ctx;
    uint64_t from;  /* of that context */
    uint32_t first; /* local number of the first straight run of the last stretch */
    struct batch batch;
};

/* Whether a larger chunk would cost its readers too much memory. */
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
 * encode_blocks.c: the local number of a raw id, which gets one if it is new to the
 * chunk. Returns 0, -CTR_E_CORRUPT (not known), -CTR_E_LIMIT, -CTR_E_NOMEM.
 */
int encode_local(struct ctr_encoder *e, uint32_t raw, uint32_t *out);

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

/* encode_addr.c: encodes the next n addresses, whose predictors are in e->batch. */
void encode_addrs(struct ctr_encoder *e, struct segment_walk *w, uint32_t n);

/* The units of a slot in the data column. */
static inline uint32_t encode_units(const struct ctr_encoder *e, const struct ctr_slot *s)
{
    int valued = s->reg || (e->val && !s->novalue);
    return (valued ? CTR_UNITS(s->size, e->addr_bytes) : 0) + !(s->reg || s->derived);
}

/*
 * encode_data.c, the same with values or registers: encodes the next n items, which are
 * in e->batch; and the data of an extra access.
 */
void encode_items(struct ctr_encoder *e, struct segment_walk *w, uint32_t n);
void encode_data_extra(struct ctr_encoder *e, uint64_t addr, int big_endian,
                       const uint8_t *data, uint32_t n);

/*
 * encode_slow.c: encodes the run at w->word, whatever it is like. Returns 1 if the
 * chunk must end here, 0, or an error.
 */
int encode_slow(struct ctr_encoder *e, struct segment_walk *w, struct ctr_diag *diag);

/*
 * encode_run.c: number of slots passed once instructions 0..n-1 have begun, see
 * slots_resume_at.
 */
uint32_t encode_resume_at(const struct dict_entry *d, uint32_t n);

/*
 * encode_split.c: if the run has so many side records that the chunk should end within
 * it, and the next chunk can continue one of its instructions, the run is cut there.
 * Returns 1 if the chunk should end before the run instead.
 */
int encode_cut(const struct ctr_encoder *e, const struct segment_walk *w,
               struct slow_run *r);

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
 * encode_side.c. encode_aux_check checks all side records of a segment; the other
 * functions rely on it. encode_aux_stop: the word at which the fast path must stop for
 * the next record. encode_between passes the records up to word `upto' and emits events
 * and other records between runs, unless the chunk is full: then it returns 1.
 * encode_run_aux emits (or, without `put', only checks) the records of the run's
 * instructions, whose slots are pending. encode_aux_next (encode_run.c): the first
 * record of an instruction of the run at or after offset *at, or NULL; stores its
 * offset in *at, and 1 in *between (if not NULL) if it passed a record that is emitted
 * between runs.
 */
int encode_aux_check(struct ctr_encoder *e, const struct ctr_segment *seg,
                     struct ctr_diag *diag);
uint32_t encode_aux_stop(const struct ctr_encoder *e, const struct segment_walk *w);
/* The register state that the segment begins with, or NULL. */
const struct mempipe_side_place *encode_aux_state(const struct segment_walk *w);
int encode_between(struct ctr_encoder *e, struct segment_walk *w, uint32_t upto,
                   struct ctr_diag *diag);
int encode_run_aux(struct ctr_encoder *e, struct segment_walk *w,
                   const struct slow_run *r, int put, uint32_t *last_insn,
                   struct ctr_diag *diag);
const struct mempipe_side_place *encode_aux_next(const struct ctr_encoder *e,
                                                 const struct segment_walk *w,
                                                 const struct slow_run *r, uint32_t *at,
                                                 int *between);
/* The side record at this offset of the segment's, or NULL. */
static inline const struct mempipe_side_place *encode_aux(const struct segment_walk *w,
                                                          uint32_t at)
{
    return at < w->seg->aux_bytes
               ? (const struct mempipe_side_place *)((const uint8_t *)w->seg->aux + at)
               : NULL;
}

/* Whether the record belongs to an instruction. */
static inline int encode_aux_of_insn(const struct mempipe_side_place *p)
{
    return p->h.type == MEMPIPE_SIDE_ACCESS ||
           (p->h.type == MEMPIPE_SIDE_REGS &&
            ((const struct mempipe_side_regs *)p)->insn != MEMPIPE_OUTSIDE);
}

/* Whether the record is left out because its kind is not recorded. */
static inline int encode_aux_unwanted(const struct ctr_encoder *e,
                                      const struct mempipe_side_place *p)
{
    return p->h.type == MEMPIPE_SIDE_ACCESS  ? !e->mem
           : p->h.type == MEMPIPE_SIDE_EVENT ? 0
                                             : !e->reg;
}

/* The instruction of a record that belongs to one. */
static inline uint32_t encode_aux_insn(const struct mempipe_side_place *p)
{
    return p->h.type == MEMPIPE_SIDE_ACCESS
               ? ((const struct mempipe_side_access *)p)->insn
               : ((const struct mempipe_side_regs *)p)->insn;
}

/*
 * encode_regs.c. The places of registers (FORMAT.md, 4.6) hold the registers' values
 * after each run. encode_regs_begin sets them from the chunk's state, if it has one;
 * encode_regs_end makes a state of them in e->carry. encode_regs_settle: the extra
 * changes of a run were emitted; slots of later instructions take precedence.
 */
int encode_regs_begin(struct ctr_encoder *e, struct ctr_diag *diag);
int encode_regs_end(struct ctr_encoder *e);
void encode_regs_settle(struct ctr_encoder *e, const struct segment_walk *w,
                        const struct slow_run *r);

/* A page of the recording's addresses, which may be narrower than the argument. */
static inline uint64_t encode_page(const struct ctr_encoder *e, uint64_t page)
{
    return e->addr_bytes == 4 ? page & (UINT32_MAX >> PAGE_BITS) : page;
}

/* encode_index.c: the chunk's pieces of PART columns 1 and 2. Return 0 or -1 (memory). */
int encode_counts(struct ctr_encoder *e, struct buf *out);
int encode_pages(struct ctr_encoder *e, struct buf *out);
/*
 * Notes an access whose page and kind are as in dict_entry's `constant'. Returns 0 or
 * -1 (memory).
 */
int encode_constant(struct ctr_encoder *e, uint64_t page_store);

int encode_bad_word(const struct segment_walk *w, uint32_t at, struct ctr_diag *diag,
                    const char *what);

/* Makes the columns and the summary.  Returns 0, -CTR_E_NOMEM, -CTR_E_IO. */
int encode_pack(struct ctr_encoder *e, struct ctr_packed *out, struct ctr_diag *diag);

#endif
