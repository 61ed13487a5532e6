/* SPDX-License-Identifier: MIT */
/* How far the same mapping is apart in both traces, and numbers that differ by that. */
#ifndef TRACEDIFF_DISTANCE_H
#define TRACEDIFF_DISTANCE_H

#include "pair.h"

/*
 * Whether two numbers of n bytes differ as numbers do that are made of pointers: a part of a
 * pointer, a pointer outside of its mapping, a multiple or a fraction of one, the sum or
 * difference of two.  By where both spaces are.
 */
bool distance_explains(struct pair *p, uint64_t a, uint64_t b, unsigned n);

/* Of words in memory, where fewer numbers are made of pointers: one outside of its mapping, a
 * multiple or a fraction of one. */
bool distance_explains_word(struct pair *p, uint64_t a, uint64_t b);
/* Of the n lowest or highest bytes of such a word, whose others are something else: whether they
 * are those of pointers; 4 bytes or more. */
bool distance_explains_low(struct pair *p, uint64_t a, uint64_t b, unsigned n);
bool distance_explains_high(struct pair *p, uint64_t a, uint64_t b, unsigned n);

#endif
