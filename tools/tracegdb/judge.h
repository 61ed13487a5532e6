/* SPDX-License-Identifier: MIT */
/* Which executions of breakpoints stop the program (judge.c). */
#ifndef TRACEGDB_JUDGE_H
#define TRACEGDB_JUDGE_H

#include "session.h"

/*
 * Judges all executions of breakpoints by instructions from..to-1 of a thread, for the next
 * two functions.  Returns 0 or a negated enum ctr_error.  If gdb interrupts it, it returns 0,
 * and nothing is known.
 */
int judge_stretch(struct session *s, uint32_t thread, uint64_t from, uint64_t to);
/* Whether an instruction is in the stretch that was judged. */
bool judge_knows(const struct session *s, uint32_t thread, uint64_t ordinal);
/* The nearest one in the stretch that stops the program, from *ordinal, which counts, on. */
bool judge_next(const struct session *s, bool back, uint64_t *ordinal);

#endif
