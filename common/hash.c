/* SPDX-License-Identifier: MIT */
/* See hash.h. */
#include "common/hash.h"

uint64_t hash_bytes(uint64_t hash, const void *p, size_t n)
{
    const unsigned char *s = p;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ s[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}
