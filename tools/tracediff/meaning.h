/* SPDX-License-Identifier: MIT */
/* Whether addresses and values mean the same on both sides of a pair, where its spaces are. */
#ifndef TRACEDIFF_MEANING_H
#define TRACEDIFF_MEANING_H

#include "pair.h"

bool same_address(struct pair *p, uint64_t a, uint64_t b);

/* A word of either side: a number, an address, an id, or one that is different in each run
 * on purpose. */
bool same_word(struct pair *p, uint64_t a, uint64_t b);

/* Bytes in memory order: each word that differs must mean the same, or each half of it.  If
 * not, *at is where the first one is. */
bool same_bytes(struct pair *p, const uint8_t *a, const uint8_t *b, size_t n, size_t *at);

#endif
