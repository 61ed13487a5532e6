/* SPDX-License-Identifier: MIT */
/* A hash table from 64-bit keys, which are hashes already, to 32-bit numbers. */
#ifndef COMMON_MAP64_H
#define COMMON_MAP64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed: empty.  For one thread at a time. */
struct map64 {
    struct map64_entry {
        uint64_t key; /* 0: free */
        uint32_t value;
    } *v;
    size_t mask; /* size - 1, a power of two */
    size_t used;
};

/* The value of a key, or NULL.  key: not 0. */
uint32_t *map64_get(const struct map64 *m, uint64_t key);
/* The same; a new key gets `value' and *added becomes true.  NULL: no memory. */
uint32_t *map64_put(struct map64 *m, uint64_t key, uint32_t value, bool *added);
void map64_clear(struct map64 *m);
void map64_fini(struct map64 *m);

/* Mixes a number into a hash; the result is never 0. */
static inline uint64_t map64_mix(uint64_t hash, uint64_t v)
{
    uint64_t z = (hash ^ v) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    z ^= z >> 32;
    return z ? z : 1;
}

#endif
