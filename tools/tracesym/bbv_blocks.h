/* SPDX-License-Identifier: MIT */
/*
 * The numbers of basic blocks: dense, from 1, in the order of first use.
 */
#ifndef TRACESYM_BBV_BLOCKS_H
#define TRACESYM_BBV_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

struct bbv_blocks {
    uint32_t *by_id; /* number by block id of the trace, 0: none yet */
    uint32_t nr_ids;
    const struct ctr_block **blocks; /* by number; [0] is none */
    uint32_t n, cap;
    uint32_t *slots; /* hash table of numbers, by address and code */
    uint32_t nr_slots;
};

/* The number of a block, 0: no memory.  *fresh: the block is new. */
uint32_t bbv_blocks_number(struct bbv_blocks *t, const struct ctr_block *b, bool *fresh);
void bbv_blocks_fini(struct bbv_blocks *t);

#endif
