/* SPDX-License-Identifier: MIT */
/* Where code of a machine runs that a file was linked for: what to add to its addresses. */
#ifndef TOOLS_PLACES_SLIDE_H
#define TOOLS_PLACES_SLIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"

/* Code of a file, and the address that it is linked for. */
struct slide_piece {
    uint64_t vaddr;
    const uint8_t *p;
    size_t n;
};

#define SLIDE_PIECES 64u /* of a file; more are not searched */

struct slide_code {
    struct slide_piece v[SLIDE_PIECES];
    unsigned n;
    uint8_t addr_bits;
    /* A module of a kernel, which fills in addresses when it loads it, at a multiple of
     * `align'. */
    bool is_module;
    uint32_t align;
};

/* Whether it is linked for the upper half of the addresses, as kernels are. */
bool slide_in_upper_half(const struct slide_code *c);

/* The slide at which most blocks are; false: there are hardly any. */
bool slide_find(struct ctr_trace *tr, const struct slide_code *c, uint64_t *slide);

/* The blocks that ran where the file's code is with this slide, by how many of their bytes
 * are the file's: most, or few. */
struct slide_fit {
    uint64_t same, differ;
    bool is_module;
};
struct slide_fit slide_fit(struct ctr_trace *tr, const struct slide_code *c,
                           uint64_t slide);
/*
 * Whether that is the file that ran: at most a tenth differs.  Of another build of a kernel, a
 * third may be the same.  Of a module some have to be the same, or most: other code runs there
 * before it is loaded, and after Linux has unloaded it.
 */
bool slide_fits(const struct slide_fit *f);

/* Whether a block can be of the file: users have code of their own. */
bool slide_is_eligible(const struct slide_code *c, const struct ctr_block *b);
/* What the file has where the block runs with this slide; NULL: nothing. */
const uint8_t *slide_bytes_at(const struct slide_code *c, const struct ctr_block *b,
                              uint64_t slide);
/* How many of its bytes are those at p. */
size_t slide_same_bytes(const uint8_t *p, const struct ctr_block *b);

/* ------------------------------------------------------------ places_alias.c */

/* What the first of these pages begins with. */
#define SLIDE_ALIAS "tramp_vectors"
#define SLIDE_ALIAS_PAGES 4u
#define SLIDE_ALIAS_PAGE UINT64_C(4096)

/* Pages of the kernel's code that are at a second address, too. */
struct slide_alias {
    uint64_t vaddr;
    uint64_t slide;
    uint32_t pages; /* bit i: page i from vaddr on is there */
};
/* vaddr: of SLIDE_ALIAS; slide: where the kernel is.  False: none is. */
bool slide_find_alias(struct ctr_trace *tr, const struct slide_code *c, uint64_t vaddr,
                      uint64_t slide, struct slide_alias *out);

#endif
