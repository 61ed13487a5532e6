/* SPDX-License-Identifier: MIT */
/* For data.c: the registers that instructions write. */
#ifndef TRACEDIFF_WRITES_H
#define TRACEDIFF_WRITES_H

#include "pair.h"

/* Whether two values of a register, of n bytes, mean the same where both spaces are. */
bool registers_same(struct pair *p, const uint8_t *a, const uint8_t *b, unsigned n);

/* Passes over writes that are equal, of the next `most' instructions from pos on. */
void writes_pass_equal(struct pair *p, const uint32_t pos[2], uint32_t most);

/* The distance of the next write from pos; UINT32_MAX: none before `end'. */
uint32_t writes_next(const struct spot *s, uint32_t pos, uint32_t end);

/* Compares the writes at distance `at', of one side or both: wa, wb are of writes_next. */
void writes_compare(struct pair *p, const uint32_t pos[2], uint32_t at, uint32_t wa,
                    uint32_t wb);

#endif
