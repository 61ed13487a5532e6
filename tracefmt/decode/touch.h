/* SPDX-License-Identifier: MIT */
/*
 * The stores of a chunk that touch some bytes, found in a fraction of the time that all of its
 * addresses take.
 */
#ifndef CTR_TOUCH_H
#define CTR_TOUCH_H

#include "decode/decode.h"

/* Zeroed at first; fini at the end. */
struct touches {
    uint64_t addr; /* the bytes: ... */
    uint32_t size; /* ... not 0, and not beyond the last address */
    uint64_t lo;   /* of instructions from this ordinal on ... */
    uint64_t hi;   /* ... and before this one */
    /* Called for each store, as bytes of the range and in order. */
    void (*fn)(void *arg, uint64_t ordinal, uint32_t begin, uint32_t end);
    void *arg;
    /* inside: */
    struct touch_block *block;
    size_t block_cap;
    struct touch_access *access;
    size_t access_cap;
};

/*
 * Walks over a chunk that decoder_begin has begun with DEC_MEM alone, as far as instructions
 * before `hi'.  Returns 0 or an error of the data, as decoder_next.
 */
int decoder_touches(struct decoder *d, struct touches *t);
void touches_fini(struct touches *t);

#endif
