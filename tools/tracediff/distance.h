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

#endif
