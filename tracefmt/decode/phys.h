/* SPDX-License-Identifier: MIT */
/*
 * Physical addresses of a chunk's accesses: the pages known where the decoder is, and the
 * fills that come later.
 */
#ifndef CTR_PHYS_H
#define CTR_PHYS_H

#include "model/pagemap.h"

/* Pages that were looked up last: most accesses need no search. */
#define PHYS_RECENT 256u

struct phys_view {
    struct buf column;
    struct pagecol col;
    struct page_fill fill; /* the next one, if there is one */
    int have;
    struct pagemap map;
    struct page_fill recent[PHYS_RECENT]; /* run 1: valid */
    struct ctr_phys *out;                 /* of the current run's accesses */
    size_t cap;
    uint64_t addr_mask;
};

void phys_fini(struct phys_view *v);

/* Begins a chunk, whose column is in v->column.  Returns 0, -1 or -CTR_E_NOMEM. */
int phys_begin(struct phys_view *v, uint64_t addr_mask);

/*
 * Translates the accesses of run number `run' into v->out, after all fills before them.
 * Each run must pass, or else be skipped: a later run makes up for it.  Returns as
 * phys_begin.
 */
int phys_run(struct phys_view *v, uint64_t run, const struct ctr_access *a, uint32_t n);

/* The chunk ends after so many runs. */
int phys_end(struct phys_view *v, uint64_t runs);

/* Whether a chunk's column of pages has one in these ranges of addresses. */
struct ranges;
int phys_touches(const struct buf *column, const struct ranges *r);

#endif
