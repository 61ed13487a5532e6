/* SPDX-License-Identifier: MIT */
/*
 * The code of both traces: what is equal has one number.  An instruction is equal to another
 * one if it is at the same place (space.h) and has the same bytes in the same mode; code is
 * the instructions of a block, in order.
 */
#ifndef TRACEDIFF_CODE_H
#define TRACEDIFF_CODE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"
#include "common/map64.h"

struct code {
    uint64_t at;    /* hash of the place of its first instruction ... */
    uint64_t after; /* ... and of the place after its last one */
    uint16_t ninsn;
    bool call;       /* the last instruction calls; whether it did, the next run shows */
    bool ret;        /* or returns */
    uint64_t insn[]; /* hash of each; equal hashes are taken for equal instructions */
};

#define CODE_PAGE 4096u

/* All code, numbers from 1.  Numbers may be given by several threads; who has got a number
 * from one of them may look it up. */
struct code_table {
    pthread_mutex_t lock;
    struct map64 by_hash;
    struct code ***page; /* CODE_PAGE pointers each */
    uint32_t n;
};

bool code_table_init(struct code_table *t);
void code_table_fini(struct code_table *t);

static inline const struct code *code_get(const struct code_table *t, uint32_t number)
{
    return t->page[number / CODE_PAGE][number % CODE_PAGE];
}

/* The number of code, which the table takes over (from malloc); 0: no memory. */
uint32_t code_number(struct code_table *t, struct code *c);

struct places;
struct space;

/* Where code is looked up: in the space as it is now; with `functions' instructions of a known
 * function are the same if they are at the same place in it, whatever their bytes. */
struct code_lookup {
    const struct ctr_info *info;
    struct space *space;
    const struct places *functions; /* NULL: by their bytes */
    uint32_t process;
    uint64_t time_ns, chunk_end_ns; /* of places_time */
};

/* Code of a block.  NULL: no memory. */
struct code *code_make(const struct ctr_block *b, const struct code_lookup *l);

#endif
