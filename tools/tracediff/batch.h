/* SPDX-License-Identifier: MIT */
/*
 * A batch: what a thread did for some thousand runs of blocks, in the form in which it is
 * compared.  Instructions that are ignored are left out; the others have a position: their
 * number since the stream began.
 */
#ifndef TRACEDIFF_BATCH_H
#define TRACEDIFF_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins a new batch, at a run that does not resume another one. */
#define BATCH_RUNS 4096u
#define BATCH_ACCESSES 2048u
#define BATCH_POOL (1u << 20)

/* A run: number of its code, first and end instruction. */
static inline uint64_t run_key(uint32_t code, unsigned first, unsigned end)
{
    return (uint64_t)code << 32 | (uint64_t)first << 16 | end;
}
static inline uint32_t run_code(uint64_t key)
{
    return (uint32_t)(key >> 32);
}
static inline unsigned run_first(uint64_t key)
{
    return (uint16_t)(key >> 16);
}
static inline unsigned run_end(uint64_t key)
{
    return (uint16_t)key;
}

struct access {
    uint64_t addr;
    uint64_t value; /* of up to 8 bytes, as a number in memory order; of more: where its
                       bytes are in the pool */
    uint32_t pos;   /* of its instruction, from that of the batch */
    uint32_t what;  /* size << 3 and ACCESS_* */
};
#define ACCESS_STORE 1u
#define ACCESS_NOVALUE 2u /* it has none, or none is compared */
#define ACCESS_BE 4u
static inline uint32_t access_size(const struct access *a)
{
    return a->what >> 3;
}

/* A register that an instruction changed. */
struct write {
    uint64_t value; /* of up to 8 bytes; of more: where its bytes are in the pool */
    uint32_t pos;   /* of its instruction, from that of the batch */
    uint16_t reg;   /* index in the table of the first trace */
    uint16_t size;  /* bytes, little-endian */
};

/* What the system did before an instruction. */
struct event {
    uint64_t ordinal; /* of that instruction */
    uint64_t time_ns;
    size_t payload; /* in the pool */
    uint32_t pos; /* of that instruction, from that of the batch; at the end of the thread
                       the number of instructions of the batch */
    uint32_t type;
    uint32_t size;
};

struct batch {
    struct batch *next;
    uint64_t pos;     /* of its first instruction, from the begin of the stream */
    uint64_t ordinal; /* of that instruction */
    uint64_t time_ns; /* last time known at its begin */
    uint32_t n;       /* runs */
    uint32_t ninsn;
    uint64_t key[BATCH_RUNS + 64]; /* some more, for runs that resume */
    uint32_t at[BATCH_RUNS + 64];  /* position, from that of the batch */
    uint32_t ord[BATCH_RUNS + 64]; /* ordinal, from that of the batch */
    struct access *access;
    size_t naccess, access_cap;
    struct write *write;
    size_t nwrite, write_cap;
    struct event *event;
    size_t nevent, event_cap;
    uint8_t *pool;
    size_t npool, pool_cap;
};

/* Position after the last instruction of run i - 1. */
static inline uint32_t batch_at(const struct batch *b, uint32_t i)
{
    return i < b->n ? b->at[i] : b->ninsn;
}

#endif
