/* SPDX-License-Identifier: MIT */
/* Encoder: the walk over a segment, the run at hand, and the run's side records. */
#ifndef CTR_ENCODE_RUN_H
#define CTR_ENCODE_RUN_H

#include "cannoli/mempipe.h"
#include "write/encode_blocks.h"

/* The walk over a segment. */
struct segment_walk {
    const struct ctr_segment *seg;
    uint32_t word;   /* next word */
    uint32_t unit;   /* next unit of data */
    uint32_t have;   /* units that whole runs may use ... */
    uint32_t sure;   /* ... and the last run of a killed process */
    uint32_t side;   /* offset of the next side record */
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
    uint32_t side_end;     /* offset after its side records, if it is cut; or
                              UINT32_MAX */
};

/* The run that is being encoded. */
struct run_parts {
    uint32_t *pending; /* its slots, as numbered in its block */
    uint32_t npending;
    uint32_t unit_cap; /* there is room for the slots of a run with so many units */
    uint32_t *word;    /* its words as they were read: the guest may still write them */
    uint32_t nword;
    uint32_t word_cap;
};

int encode_bad_word(const struct segment_walk *w, uint32_t at, struct ctr_diag *diag,
                    const char *what);

/* Number of slots passed once instructions 0..n-1 have begun, see slots_resume_at. */
uint32_t encode_resume_at(const struct dict_entry *d, uint32_t n);

/* The side record at this offset of the segment's, or NULL. */
static inline const struct mempipe_side_place *encode_side(const struct segment_walk *w,
                                                           uint32_t at)
{
    return at < w->seg->side_bytes
               ? (const struct mempipe_side_place *)((const uint8_t *)w->seg->side + at)
               : NULL;
}

/* Whether the record belongs to an instruction. */
static inline int encode_side_of_insn(const struct mempipe_side_place *p)
{
    return p->h.type == MEMPIPE_SIDE_ACCESS ||
           (p->h.type == MEMPIPE_SIDE_REGS &&
            ((const struct mempipe_side_regs *)p)->insn != MEMPIPE_OUTSIDE) ||
           (p->h.type == MEMPIPE_SIDE_PAGE &&
            ((const struct mempipe_side_page *)p)->insn != MEMPIPE_NO_INSN);
}

/* Whether the record is left out because its kind is not recorded. */
static inline int encode_side_unwanted(const struct recorded *rec,
                                       const struct mempipe_side_place *p)
{
    return p->h.type == MEMPIPE_SIDE_ACCESS  ? !rec->mem
           : p->h.type == MEMPIPE_SIDE_EVENT ? 0
           : p->h.type == MEMPIPE_SIDE_PAGE  ? !rec->phys
                                             : !rec->reg;
}

/* The instruction of a record that belongs to one. */
static inline uint32_t encode_side_insn(const struct mempipe_side_place *p)
{
    return p->h.type == MEMPIPE_SIDE_ACCESS
               ? ((const struct mempipe_side_access *)p)->insn
           : p->h.type == MEMPIPE_SIDE_PAGE ? ((const struct mempipe_side_page *)p)->insn
                                            : ((const struct mempipe_side_regs *)p)->insn;
}

/*
 * The first record of an instruction of the run at or after offset *at, or NULL; stores
 * its offset in *at, and 1 in *between (if not NULL) if it passed a record that is
 * emitted between runs.
 */
const struct mempipe_side_place *encode_side_next(const struct recorded *rec,
                                                  const struct segment_walk *w,
                                                  const struct slow_run *r, uint32_t *at,
                                                  int *between);

#endif
