/* SPDX-License-Identifier: MIT */
/* Inside of cover.h: counts of blocks, in memory that depends on the code alone. */
#ifndef TRACECOV_COVER_IMPL_H
#define TRACECOV_COVER_IMPL_H

#include "cover.h"

/* ---------------------------------------------------------- cover_blocks.c */

/*
 * A block of a module, the same for all traces: what its bytes and place are.  Blocks of
 * different traces that are alike are one.
 */
struct tally {
    uint64_t addr;
    uint64_t *pcs; /* of its instructions, as vaddr, or NULL: one behind the other */
    const uint16_t *off; /* [ninsn + 1] */
    const uint8_t *code;
    uint32_t module;
    uint32_t hash;
    uint16_t ninsn;
    uint8_t mode;
    uint8_t kind;   /* enum tally_kind */
    uint64_t full;  /* runs of all of it */
    uint64_t begun; /* runs from its first instruction on */
    uint64_t ways;  /* runs to its end of which is known what followed: */
    uint64_t falls; /* the instruction behind it, for so many */
    uint64_t *cut;  /* [ninsn]: of runs of a part, or NULL */
};

/* What makes blocks of the same bytes different ones. */
enum tally_kind {
    TALLY_PLAIN,
    TALLY_SLOT, /* mips: the delay slot of a conditional branch in another block */
};

/* Counts of one block, to be added. */
struct tally_counts {
    uint64_t full;
    uint64_t partial; /* of instructions first..end-1 */
    uint16_t first, end;
    uint64_t ways, falls;
};

struct tallies {
    struct tally *v;
    uint32_t n, cap;
    uint32_t *hash;     /* number + 1 */
    uint32_t hash_size; /* a power of two, or 0 */
    struct slab {
        struct slab *next;
        size_t used;
        uint8_t data[];
    } *slabs;
};

/* The tally of a block at a place; its number, or UINT32_MAX: no memory. */
uint32_t tallies_find(struct tallies *t, const struct place *place,
                      const struct ctr_block *b, uint32_t machine);
/* Returns false when there is no memory. */
bool tallies_add(struct tallies *t, uint32_t i, const struct tally_counts *c);
void tallies_fini(struct tallies *t);

/* ----------------------------------------------------------------- cover.c */

struct cover_state {
    struct cover pub;
    struct tallies tallies;
    struct place_load *loads; /* by module; end 0: not known */
    uint32_t nr_loads;
    bool told_part;
    bool first; /* a trace was added */
};

/* A trace while it is added. */
struct adding {
    struct cover_state *cover;
    const struct cover_filter *filter;
    struct ctr_trace *tr;
    const char *path;
    struct ctr_info info;
    struct places *places;
    struct block_place {
        uint32_t module;
        int8_t found; /* as places_find_block tells */
        uint64_t vaddr;
    } *blocks;          /* by id */
    uint32_t nr_blocks; /* ids are below */
    uint32_t *number;   /* by id: the tally's + 1, once it was asked for */
    bool part;          /* it tells only of a part of what ran */
    bool depends;       /* there are blocks whose place depends on process or time */
    struct ctr_diag diag;
};

/* Adds counts of a block found at a place (NULL: in no file). Returns false when there is
 * no memory. */
bool adding_counts(struct adding *a, const struct ctr_block *b, const struct place *place,
                   const struct tally_counts *c);
/* The same of one whose place does not depend on anything. */
bool adding_block(struct adding *a, const struct ctr_block *b,
                  const struct tally_counts *c);

/* Adds what the index tells of the blocks whose place does not depend on anything; as
 * adding_replay if it fails. */
int adding_index(struct adding *a);

/* ---------------------------------------------------------- cover_replay.c */

/*
 * Counts by replaying: all of what the filter selects, or, with `dependent', only blocks
 * whose place depends on process or time, and adds the others by adding_index.  Nothing
 * is added if it fails, but for want of memory.  Returns 0, a negated enum ctr_error, and
 * then a->diag.
 */
int adding_replay(struct adding *a, bool dependent);

/* ---------------------------------------------------------- cover_finish.c */

/* Makes the instructions and blocks of a module from its tallies, which begin at
 * `first' of `n' in `order'.  Returns false when there is no memory. */
bool finish_module(struct cover_state *c, struct cover_module *m, const uint32_t *order,
                   size_t n);

#endif
