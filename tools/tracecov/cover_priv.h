/* SPDX-License-Identifier: MIT */
/* Internals of cover.h: counts of blocks, in memory that depends on the code only. */
#ifndef TRACECOV_COVER_PRIV_H
#define TRACECOV_COVER_PRIV_H

#include "cover.h"

/* ---------------------------------------------------------- cover_blocks.c */

/*
 * A block of a module: its bytes and its place.  Equal blocks of different traces are
 * one.
 */
struct tally {
    uint64_t addr;
    uint64_t *pcs;       /* of its instructions, as vaddr, or NULL: contiguous */
    const uint16_t *off; /* [ninsn + 1] */
    const uint8_t *code;
    uint32_t module;
    uint32_t hash;
    uint16_t ninsn;
    uint8_t mode;
    uint8_t kind;   /* enum tally_kind */
    uint64_t full;  /* runs of the whole block */
    uint64_t begun; /* runs from its first instruction on */
    uint64_t ways;  /* runs to its end whose next instruction is known */
    uint64_t falls; /* of these, the runs that fell through */
    uint64_t *cut;  /* [ninsn]: counts from runs of a part, or NULL */
};

/* tally.module of code that is in no file; above all others. */
#define NO_MODULE UINT32_MAX

/* Distinguishes blocks with the same bytes. */
enum tally_kind {
    TALLY_ORDINARY,
    TALLY_SLOT, /* mips: the delay slot of a conditional branch in another block */
};

/* Counts of one block, to add. */
struct tally_counts {
    uint64_t full;
    uint64_t partial; /* of instructions first..end-1 */
    uint16_t first, end;
    uint64_t ways, falls;
};

struct tallies {
    struct tally *v;
    uint32_t n, cap;
    uint32_t *hash;     /* index in v, + 1 */
    uint32_t hash_size; /* a power of two, or 0 */
    struct slab {
        struct slab *next;
        size_t used;
        uint8_t data[];
    } *slabs;
};

/* The index of a block's tally at a place, or UINT32_MAX: no memory. */
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
    bool warned_part;
    bool first; /* a trace was added */
};

/* A trace that is being added. */
struct adding {
    struct cover_state *cover;
    struct cover_filter *filter;
    struct ctr_trace *tr;
    const char *path;
    struct ctr_info info;
    struct places *places;
    struct block_place {
        uint32_t module;
        int8_t found; /* result of places_find_block */
        uint64_t vaddr;
    } *blocks;          /* by id */
    uint32_t nr_blocks; /* limit of ids */
    uint32_t *number;   /* by id: index of the tally, + 1; 0: not looked up yet */
    bool part;          /* the trace has only a part of what ran */
    bool depends;       /* there are blocks whose place depends on process or time */
    struct ctr_diag diag;
};

/* Adds counts of a block at a place (NULL: in no file).  Returns false when there is no
 * memory. */
bool adding_counts(struct adding *a, const struct ctr_block *b, const struct place *place,
                   const struct tally_counts *c);
/* The same for a block with one place only. */
bool adding_block(struct adding *a, const struct ctr_block *b,
                  const struct tally_counts *c);

/* Adds the index's counts of the blocks with one place only; on failure like
 * adding_replay. */
int adding_index(struct adding *a);

/* ---------------------------------------------------------- cover_replay.c */

/*
 * Counts by replaying everything that the filter selects; or with `dependent' only blocks
 * whose place depends on process or time, and adds the others by adding_index.  If it
 * fails for another reason than memory, nothing is added.  Returns 0, or a negated enum
 * ctr_error and a->diag.
 */
int adding_replay(struct adding *a, bool dependent);

/* ---------------------------------------------------------- cover_finish.c */

/* Makes the instructions and blocks of a module from its n tallies, whose indexes are in
 * `order'.  Returns false when there is no memory. */
bool finish_module(struct cover_state *c, struct cover_module *m, const uint32_t *order,
                   size_t n);

#endif
