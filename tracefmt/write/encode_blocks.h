/* SPDX-License-Identifier: MIT */
/*
 * Encoder: what is recorded, the blocks of the chunk, and the predictors of their slots.
 * Blocks get numbers local to the chunk, so that all state is dense no matter how many
 * blocks the recording has.
 */
#ifndef CTR_ENCODE_BLOCKS_H
#define CTR_ENCODE_BLOCKS_H

#include "write/dict.h"
#include "model/value.h"

struct ctr_encoder;

/* What is recorded. Stays the same. */
struct recorded {
    const struct ctr_dict *dict;
    unsigned addr_bytes;
    uint8_t mem;   /* accesses are recorded */
    uint8_t val;   /* their values are, too */
    uint8_t reg;   /* registers are */
    uint8_t data;  /* val or reg: a slot is more than an address */
    uint8_t slots; /* mem or reg: there are slots */
    uint8_t phys;  /* physical pages are recorded */
    uint8_t key;   /* key frames are */
};

/* The units of a slot in the data column. */
static inline uint32_t encode_units(const struct recorded *rec, const struct ctr_slot *s)
{
    int valued = s->reg || (rec->val && !s->novalue);
    return (valued ? CTR_UNITS(s->size, rec->addr_bytes) : 0) + !(s->reg || s->derived);
}

/* A page of the recording's addresses, which may be narrower than the argument. */
static inline uint64_t encode_page(const struct recorded *rec, uint64_t page)
{
    return rec->addr_bytes == 4 ? page & (UINT32_MAX >> PAGE_BITS) : page;
}

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

/*
 * What the encoder keeps of a block that occurs in the current chunk. The fast path
 * needs all of it and nothing else.
 */
struct local {
    uint32_t next[2]; /* word that came after its id [0], after its markers [1] */
    uint64_t from;    /* FROM: itself, and its whole runs on the fast path so far */
    uint32_t base;    /* of its addresses in `pred'; with data, of its items */
    uint32_t need;    /* units of data that a straight run makes */
    uint16_t n;       /* its addresses or items, from base on */
    uint16_t ninsn;
    uint16_t most; /* maximum units of a slot */
};

/* What is counted of a block for the index, and what follows it for now. */
struct follower {
    uint64_t pc;
    uint64_t end;
    uint64_t next_pc; /* predicted; end + 1 if there is no prediction */
    uint32_t since;   /* straight runs before that prediction */
    uint32_t falls;   /* runs that continued directly after the block */
    uint32_t full;    /* whole runs that were not straight ... */
    uint32_t slow;    /* ... of these, the ones that encode_slow handled */
};

/* All blocks of the chunk. */
struct blocks {
    /* raw id -> local: valid if map[raw] - map_base < n */
    uint32_t *map;
    uint32_t map_cap;
    uint32_t map_base;

    struct local *loc;
    const struct dict_entry **def; /* of each local */
    struct follower *follower;     /* of each local */
    uint32_t *raw_of;
    uint32_t n;
    uint32_t cap;
    uint32_t nslot;     /* of all blocks */
    uint32_t def_bytes; /* likewise */
};

/* Whether a raw id has a local number. */
static inline int encode_knows(const struct blocks *b, uint32_t raw)
{
    return raw < b->map_cap && b->map[raw] - b->map_base < b->n;
}

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

/* Predictors of the blocks' slots: addresses, or items if there is more than these. */
struct slot_preds {
    void *pred;      /* arena of struct pred32 or pred64 */
    uint16_t *reach; /* of each: see dict.h */
    uint32_t npred;
    uint32_t pred_cap;
    struct item *item; /* with values or registers */
    uint32_t nitem;
    uint32_t item_cap;
    struct piece *piece;
    uint32_t npiece;
    uint32_t piece_cap;
};

/* encode_blocks.c: begins a chunk without blocks.  Returns 0 or -CTR_E_NOMEM. */
int encode_local_begin(struct ctr_encoder *e);

/*
 * encode_blocks.c: the local number of a raw id, which gets one if it is new to the
 * chunk. Returns 0, -CTR_E_CORRUPT (not known), -CTR_E_LIMIT, -CTR_E_NOMEM.
 */
int encode_local(struct ctr_encoder *e, uint32_t raw, uint32_t *out);

#endif
