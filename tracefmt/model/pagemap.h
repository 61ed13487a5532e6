/* SPDX-License-Identifier: MIT */
/*
 * Physical pages of a vCPU's virtual ones: what a chunk's column of them says (FORMAT.md,
 * 4.9), and a map of the pages that are known at one moment.
 */
#ifndef CTR_PAGEMAP_H
#define CTR_PAGEMAP_H

#include "base/util.h"

/* From instruction insn of a run on, a virtual page is at a physical one. */
struct page_fill {
    uint32_t run;
    uint16_t insn;
    uint8_t mmu;   /* below CTR_MMUS */
    uint8_t flags; /* CTR_PAGE_* */
    uint64_t page; /* numbers of pages */
    uint64_t phys;
};

/* A page is 1 << bits bytes. */
#define PAGE_MIN_BITS 10u
#define PAGE_MAX_BITS 20u

/* Open addressing; all zero is an empty map. */
struct pagemap_entry {
    uint64_t key;  /* page number << 5 | mmu << 1 | 1; 0 is free */
    uint64_t phys; /* page number << 2 | CTR_PAGE_* */
};
struct pagemap {
    struct pagemap_entry *entry;
    uint32_t cap; /* a power of two, or 0 */
    uint32_t n;
};

/* Returns 0 or -1 (no memory). */
int pagemap_set(struct pagemap *m, const struct page_fill *f);
/* Fills in phys and flags of the page f->page of f->mmu; returns 0 if it is not known. */
int pagemap_get(const struct pagemap *m, struct page_fill *f);
/* Fills in the next page; *at begins with 0.  Returns 0 after the last one. */
int pagemap_next(const struct pagemap *m, uint32_t *at, struct page_fill *f);
void pagemap_clear(struct pagemap *m);
void pagemap_fini(struct pagemap *m);

/* Writes a column; the fills are in the order of their runs.  Returns 0 or -1. */
int pagecol_write(struct buf *out, unsigned bits, const struct page_fill *start,
                  uint32_t nstart, const struct page_fill *fill, uint32_t nfill);

/* Reads one: first the pages known at the start (of run and insn 0), then the fills. */
struct pagecol {
    const uint8_t *p, *end;
    unsigned bits;
    uint32_t nstart, nfill; /* that are left */
    struct page_fill last;
    uint64_t offset; /* phys - page of the last one */
};
/* Return 0, -1 if the column makes no sense; next also 1 for an entry. */
int pagecol_begin(struct pagecol *c, const uint8_t *p, size_t n);
int pagecol_next(struct pagecol *c, struct page_fill *f);

#endif
