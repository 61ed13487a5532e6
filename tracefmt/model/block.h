/* SPDX-License-Identifier: MIT */
/* A block definition, unpacked: what readers get, and what decoding needs. */
#ifndef CTR_BLOCK_H
#define CTR_BLOCK_H

#include "model/blockdef.h"
#include "base/slab.h"

/* A derived access of a block; numbers as in block_at. */
struct derived_access {
    int64_t delta;
    uint16_t at;
    uint16_t root;      /* or CTR_DERIVE_CONST */
    uint16_t root_slot; /* its slot, or CTR_DERIVE_CONST */
    uint8_t bits;
    uint8_t is_signed;
};

/*
 * There can be very many of them, so lists whose place follows from the numbers have no
 * pointers: they are directly after this struct, see the functions below. It is one
 * allocation.
 *
 * The accesses of a block are numbered: first the nplain ones that every run makes
 * unless it is left early, then those of groups; each kind in the order of the slots.
 */
struct block {
    struct ctr_block pub;
    uint32_t bytes;       /* of all of it */
    uint32_t def_bytes;   /* of the definition in the file */
    uint32_t holds;       /* blocktab.c: number of holders */
    uint32_t last_call;   /* ... and the call that last held it */
    uint32_t value_bytes; /* of the values of the nplain first accesses */
    uint16_t nreg;        /* register slots */
    uint16_t reg_end;     /* highest register of a slot + 1, or 0 */
    uint16_t nplain;
    uint16_t naccess;
    uint16_t nown; /* nplain without the derived ones */
    uint16_t nderived;
    uint16_t kept;   /* blocktab.c: valid as long as the trace */
    uint16_t single; /* all slots are of the nplain, with a value of one piece each */
};

/* [nderived], ascending */
static inline const struct derived_access *block_derived(const struct block *b)
{
    return (const struct derived_access *)(b + 1);
}

/* [ngroup + 1] each: see blockdef_groups ... */
static inline const uint16_t *block_group_first(const struct block *b)
{
    return (const uint16_t *)(block_derived(b) + b->nderived);
}

static inline const uint16_t *block_group_end(const struct block *b)
{
    return block_group_first(b) + b->pub.ngroup + 1;
}

/* ... and the accesses that a group makes each time; 0: those always made */
static inline const uint16_t *block_group_loads(const struct block *b)
{
    return block_group_first(b) + 2 * (b->pub.ngroup + 1u);
}

static inline const uint16_t *block_group_stores(const struct block *b)
{
    return block_group_first(b) + 3 * (b->pub.ngroup + 1u);
}

/* [nslot], number of each slot's access */
static inline const uint16_t *block_at(const struct block *b)
{
    return block_group_first(b) + 4 * (b->pub.ngroup + 1u);
}

/* [nown], the numbers of these accesses */
static inline const uint16_t *block_own(const struct block *b)
{
    return block_at(b) + b->pub.nslot;
}

/* The access of a slot: all but addr and data. */
static inline struct ctr_access slot_access(const struct ctr_slot *s)
{
    return (struct ctr_access){
        .size = s->size,
        .insn = s->insn,
        .store = s->store,
        .flags = (uint8_t)((s->big_endian ? CTR_ACC_BE : 0) |
                           (s->novalue ? CTR_ACC_NOVALUE : 0) |
                           (s->derived ? CTR_ACC_DERIVED : 0) | s->mmu << 4),
    };
}

/* The address directly after a block. */
static inline uint64_t block_end(const struct ctr_block *b)
{
    unsigned last = b->ninsn - 1u;
    return ctr_block_pc(b, last) + ctr_block_len(b, last);
}

/* Unpacks a checked definition; to be given back with its `bytes'.  NULL: no memory. */
struct block *block_new(const struct blockdef *d, uint32_t id, struct slab *slab);

#endif
