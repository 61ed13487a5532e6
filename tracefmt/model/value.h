/* SPDX-License-Identifier: MIT */
/*
 * Prediction of values (FORMAT.md, 4.4), for encoder and decoder. Of four cheap
 * predictions the slot uses the one that was right at its last miss. Most loads read
 * the last value at their address; most stores and registers continue their sequence.
 */
#ifndef CTR_VALUE_H
#define CTR_VALUE_H

#include <stdint.h>
#include "ctr.h"

/* Predictions, in the order in which they are tried after a miss. */
enum {
    VALUE_STRIDE = 0, /* the last value plus the step to it */
    VALUE_PREV = 1,   /* the previous value, of any slot */
    VALUE_PREV2 = 2,  /* the one before that */
    VALUE_PLACE = 3,  /* the known value of the place: in memory, in the register */
};

/* A piece of a slot's value, 8 bytes or less, and its predictor. */
struct piece {
    uint64_t last;
    uint64_t step;
    uint64_t mask;  /* of the bits it has */
    uint16_t place; /* of a register: its word, which it fills */
    uint8_t mode;   /* VALUE_*, the prediction to use */
    uint8_t bytes;
    uint8_t turn; /* of an access: see value_shift */
    uint8_t off;  /* of an access: from its address to the piece's */
    uint8_t span; /* bytes that it takes in the pipe's data column */
    uint8_t pad;
};

/*
 * Last values: of memory in words of 8 bytes, where many addresses share one; of
 * registers in two words each.
 */
#define VALUE_PLACES 8192u

static inline unsigned value_place(uint64_t addr)
{
    return (unsigned)((addr >> 3 ^ addr >> 16) & (VALUE_PLACES - 1));
}

/*
 * By how many bits a value at addr is above the bottom of its word. turn: of a
 * big-endian value of n bytes 64 - 8 n, otherwise 0.
 */
static inline unsigned value_shift(uint64_t addr, unsigned turn)
{
    return (unsigned)(addr & 7) * 8 ^ turn;
}

static inline unsigned value_turn(int big_endian, unsigned bytes)
{
    return big_endian ? 64 - 8 * bytes : 0;
}

static inline uint64_t value_mask(unsigned bytes)
{
    return ~0ull >> (64 - 8 * bytes);
}

/* How many pieces the value of a slot has. */
static inline uint32_t value_pieces(uint32_t size)
{
    return size / 8 + (size % 8 != 0);
}

/*
 * The pieces of a slot's value, highest first, as they come in the data column of a
 * pipe of `unit' bytes.  Returns how many.
 */
static inline unsigned value_pieces_init(struct piece *p, const struct ctr_slot *s,
                                         unsigned unit)
{
    unsigned n = value_pieces(s->size);
    unsigned bytes = s->size < 8 ? s->size : 8;
    for (unsigned k = 0; k < n; k++) {
        unsigned low = n - 1 - k; /* pieces below it */
        p[k] = (struct piece){
            .mask = value_mask(bytes),
            .place = s->reg ? (uint16_t)(s->group * 2 + low) : 0,
            .mode = s->reg || s->store ? VALUE_STRIDE : VALUE_PLACE,
            .bytes = (uint8_t)bytes,
            .turn = (uint8_t)value_turn(s->big_endian, bytes),
            .off = (uint8_t)(8 * (s->big_endian ? k : low)),
            .span = (uint8_t)(bytes <= unit ? unit : 8),
        };
    }
    return n;
}

/* A number of so many bytes, with its sign. */
static inline uint64_t value_signed(uint64_t v, unsigned bytes)
{
    unsigned up = 64 - 8 * bytes;
    return (uint64_t)((int64_t)(v << up) >> up);
}

/* Reads a number of n bytes, 1 to 8, in memory order; and writes it. */
static inline uint64_t value_get(const uint8_t *p, unsigned n, int big_endian)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < n; i++) {
        v |= (uint64_t)p[big_endian ? n - 1 - i : i] << (8 * i);
    }
    return v;
}

static inline void value_put(uint8_t *p, uint64_t v, unsigned n, int big_endian)
{
    for (unsigned i = 0; i < n; i++) {
        p[big_endian ? n - 1 - i : i] = (uint8_t)(v >> (8 * i));
    }
}

#endif
