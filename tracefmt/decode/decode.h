/* SPDX-License-Identifier: MIT */
/* Turns a chunk's columns into runs of blocks, their accesses and registers. */
#ifndef CTR_DECODE_H
#define CTR_DECODE_H

#include "file/trace.h"
#include "model/evcol.h"
#include "model/value.h"
#include "decode/phys.h"

/* A chunk as it is in the file: header, and the columns that were read. */
struct raw_chunk {
    struct section sec;
    struct ctr_chunk pub;
    struct buf payload;
    uint64_t lo, hi;              /* ordinals of the selected instructions */
    struct ev_last task, context; /* what was before it, if the feed follows them */
};

/* A write of a register of the file's table; it may not change the value. */
struct reg_write {
    uint16_t insn; /* by this instruction of the block (outs: 0) */
    uint16_t reg;
    uint8_t value[16]; /* little-endian, 0 beyond the register's size */
};

/*
 * One run: instructions first..end-1, all its accesses in order, all its register
 * writes in order (insn never falls), and those made outside of translated code between
 * the previous run and this one. See DEC_COUNT for what it changes.
 */
struct run {
    const struct block *block; /* NULL at the end of a chunk: only outs */
    uint64_t ordinal;          /* of `first' */
    uint16_t first;
    uint16_t end;
    uint16_t flags; /* CTR_EV_* */
    uint32_t naccess;
    uint32_t nreg;
    uint32_t nout;
    uint32_t loads, stores; /* DEC_COUNT */
    const struct ctr_access *access;
    const struct ctr_phys *phys; /* of each access; NULL without DEC_PHYS */
    const struct reg_write *regs;
    const struct reg_write *outs;
};

/* A block of the chunk. */
struct dlocal {
    const struct block *block;
    uint32_t slot;   /* of its slots: index of the first in piece_of */
    uint32_t access; /* of its accesses: index of the first in slot and step */
    uint16_t ninsn;
    uint16_t nplain; /* copies from struct block, to have them near */
    uint16_t nown;
    uint16_t nderived;
    uint16_t loads; /* among the nplain */
    uint16_t stores;
    uint16_t nreg;
    uint16_t has_data; /* the nplain have values: DATA_* */
};

/* Values of a run that makes the nplain: none, any, or as block.single says. */
enum { DATA_NONE, DATA_ANY, DATA_SINGLE };

struct extra {
    uint64_t run;
    uint32_t rel;
    struct ctr_access a;
    uint8_t is_store;
};

/* An extra register change, not applied yet. */
struct reg_extra {
    uint64_t run;
    uint16_t which; /* 0: outside, before the run; else instruction + 1 */
    uint16_t reg;
    uint64_t step[2];
};

#define EXTRA_PREDS 1024u
#define DECODER_MISSED 2048u

/* A column of values: pieces, some of them predicted. */
struct value_in {
    struct buf column;
    const uint8_t *hit;
    const uint8_t *miss, *miss_end;
    uint32_t n, at;
    uint64_t prev, prev2; /* values before */
};

struct decoder {
    ZSTD_DCtx *dctx;
    struct ctr_diag *diag;
    const struct raw_chunk *chunk; /* only while it begins */
    struct ctr_chunk pub;
    unsigned want; /* DEC_* */
    uint64_t addr_mask;
    uint8_t has_mmu; /* extra accesses have an MMU index */

    /*
     * DEC_REG: values of all registers at the start of the chunk, in the order of the
     * table, packed; NULL if it has none.
     */
    const uint8_t *state;
    uint32_t state_bytes;

    struct buf words, addrs, extras, states; /* columns */
    uint32_t *tok; /* tokens, including the numbers after LEFT */
    size_t tok_cap;
    uint32_t ntok;
    uint32_t at; /* next token */
    struct blocktab *blocks;
    const struct block **held; /* the blocks of the chunk */
    size_t held_cap;
    uint32_t nheld;
    struct dlocal *loc;
    size_t loc_cap;
    uint32_t nloc;
    uint32_t nslot;   /* of all of them: slots, ... */
    uint32_t naccess; /* ... accesses */
    uint32_t *next;   /* predicted tokens: two contexts of each block, two of the start */
    size_t next_cap;
    /*
     * The last state of each access of the blocks, and its last step. A run that makes
     * all of a block's uses these as its list, without a copy.
     */
    struct ctr_access *slot;
    uint64_t *step;
    size_t slot_cap, step_cap;
    uint32_t *piece_of; /* of each slot: its first piece */
    size_t piece_of_cap;
    struct piece *piece;
    size_t piece_cap;

    uint32_t addr_at; /* accesses decoded */
    uint32_t addr_n;
    uint32_t miss_at;
    uint32_t miss_n;
    uint64_t last_miss;
    const uint8_t *hit_bits;
    const uint8_t *same_bits;
    const uint8_t *steps, *steps_end;
    uint32_t missed_to;              /* before this access, ... */
    uint64_t missed[DECODER_MISSED]; /* ... of the last ones the steps that were missed */

    uint32_t extra_left; /* records not read yet */
    int have_extra;      /* `extra' is the next record */
    struct extra extra;
    const uint8_t *meta, *meta_end, *delta, *delta_end;
    struct {
        uint64_t last, step;
    } extra_pred[EXTRA_PREDS];

    struct value_in vals;
    struct value_in regvals;
    uint64_t memory[VALUE_PLACES];
    uint64_t regs[VALUE_PLACES];
    uint32_t nregs;         /* in the table */
    uint32_t reg_n, reg_at; /* register slots of the chunk, and those made so far */
    uint32_t reg_extra_left;
    int have_reg_extra;
    struct reg_extra reg_extra;
    const uint8_t *reg_meta, *reg_meta_end;

    /* of the current run */
    struct ctr_access *access;
    size_t access_cap;
    struct ctr_access *merged;
    size_t merged_cap;
    struct buf data; /* data of its accesses; accesses hold offsets until it is
                        complete */
    struct reg_write *reg;
    size_t reg_cap;
    struct reg_write *reg_merged;
    size_t reg_merged_cap;
    struct reg_write *out;
    size_t out_cap;

    uint64_t ordinal;
    uint64_t run;
    uint64_t loads, stores;
    uint64_t count_lo, count_hi; /* DEC_COUNT: ordinals of interest, see there */
    struct phys_view phys;
};

int decoder_init(struct decoder *d);
void decoder_fini(struct decoder *d);

/* What to decode, besides the runs. */
#define DEC_MEM 0x1u /* accesses */
#define DEC_VAL 0x2u /* their data, where the trace has it; only with DEC_MEM */
#define DEC_REG 0x4u /* register writes, and the state */
/*
 * The number of accesses that each run made, at little cost; without effect beside
 * DEC_MEM. For most runs only the numbers are set (naccess is 0). Runs that contain
 * instructions on both sides of ordinal count_lo, or end after count_hi, get a list of
 * accesses without addresses instead. The caller of decoder_next may change these two
 * before each call.
 */
#define DEC_COUNT 0x8u
/* Physical addresses of accesses; only with DEC_MEM. */
#define DEC_PHYS 0x10u

/* Columns (1 << FRAME_*) that raw_chunk.payload must have for `want'. */
static inline unsigned decoder_columns(unsigned want)
{
    unsigned c = 1u << FRAME_WORDS;
    c |= want & DEC_MEM ? 1u << FRAME_ADDRS | 1u << FRAME_EXTRAS : 0;
    c |= want & DEC_COUNT ? 1u << FRAME_EXTRAS : 0;
    c |= want & DEC_VAL ? 1u << FRAME_VALUES : 0;
    c |= want & DEC_PHYS ? 1u << FRAME_PAGES : 0;
    c |= want & DEC_REG ? 1u << FRAME_REGS | 1u << FRAME_STATE : 0;
    return c;
}

/*
 * Begins a chunk. The chunk is not needed afterwards; diag is, as decoder_next uses it.
 * want: DEC_*; what the trace does not have is left out. Blocks are valid until the
 * next chunk begins. Returns 0 or an error of the data (diag).
 */
int decoder_begin(struct decoder *d, const struct ctr_trace *tr,
                  const struct raw_chunk *chunk, unsigned want, struct ctr_diag *diag);

/*
 * Begins the chunk of decoder_begin once more, with DEC_VAL in addition to the DEC_MEM of
 * before: most of the work is not repeated. chunk: with the columns for both.
 */
int decoder_begin_values(struct decoder *d, const struct ctr_trace *tr,
                         const struct raw_chunk *chunk, struct ctr_diag *diag);

/*
 * The next run. Returns 1, 0 at the end of the chunk, or an error. *run and all it
 * points to are valid until the next call. At the end run->block is NULL and run->outs
 * has the changes after the last run.
 */
int decoder_next(struct decoder *d, struct run *run);

/* Whether the next run, if there is one, may have accesses of instructions before ordinal hi: it
 * begins before that, or with the rest of an instruction. */
static inline int decoder_before(const struct decoder *d, uint64_t hi)
{
    return d->ordinal < hi ||
           (d->ordinal == hi && d->at < d->ntok && d->tok[d->at] >> 31);
}

/* Internal to decode*.c: the whole column of words. */
int decoder_words(struct decoder *d, const struct ctr_trace *tr);
/* Internal to decode*.c: what is kept of the slots of its blocks, as before the first run. */
int decoder_first_slots(struct decoder *d);
/* Releases the blocks of the chunk. */
void decoder_drop(struct decoder *d);
/* Reports an error in a column; makes room for at least n elements of an array. */
int decoder_bad(struct decoder *d, const char *column, const char *what);
int decoder_room(struct decoder *d, void *p, size_t *cap, size_t n, size_t size);
/* Reads the next record of a kind, if there is one. */
int decoder_next_extra(struct decoder *d);
int decoder_next_reg_extra(struct decoder *d);
/* Reports what a function of phys.h returned. */
int decoder_pages(struct decoder *d, int err);

#endif
