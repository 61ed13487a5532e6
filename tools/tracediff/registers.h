/* SPDX-License-Identifier: MIT */
/* Which registers of two traces are compared. */
#ifndef TRACEDIFF_REGISTERS_H
#define TRACEDIFF_REGISTERS_H

#include "side.h"

/* Sets side[0]->registers and side[1]->registers: by index in the trace's table, the index
 * + 1 in that of side 0 of the register that is the same, 0: it is not compared.  ignored:
 * globs.  False: no memory. */
bool registers_pair(struct side *side[2], const char *const *ignored,
                    unsigned nr_ignored);

#endif
