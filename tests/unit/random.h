/* SPDX-License-Identifier: MIT */
/*
 * Random numbers of the tests: xorshift64* (Vigna, "An experimental exploration of
 * Marsaglia's xorshift generators, scrambled").  The same state gives the same numbers on
 * every machine; it must not be 0.
 */
#ifndef TESTS_RANDOM_H
#define TESTS_RANDOM_H

#include <stdint.h>

static inline uint64_t random_bits(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(0x2545f4914f6cdd1d);
}

/* Below n, which is not 0. */
static inline uint32_t random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(random_bits(state) >> 33) % n;
}

#endif
