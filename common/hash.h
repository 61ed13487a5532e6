/* SPDX-License-Identifier: MIT */
/* FNV-1a (Fowler, Noll, Vo), of 64 bits; tables take its low bits. */
#ifndef COMMON_HASH_H
#define COMMON_HASH_H

#include <stddef.h>
#include <stdint.h>

/* A hash of n bytes, begun with an earlier one or HASH_START.  Any thread. */
#define HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t hash_bytes(uint64_t hash, const void *p, size_t n);

#endif
