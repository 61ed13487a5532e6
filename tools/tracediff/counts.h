/* SPDX-License-Identifier: MIT */
/* Compares how often code ran: functions, or blocks of instructions. */
#ifndef TRACEDIFF_COUNTS_H
#define TRACEDIFF_COUNTS_H

#include <stdbool.h>

#include "common/words.h"
#include "pairs.h"
#include "report.h"
#include "side.h"

enum counts_of {
    COUNTS_NONE,
    COUNTS_FUNCTIONS,
    COUNTS_BLOCKS,
};

extern const struct words counts_words; /* "functions" and "blocks", in this order */

/*
 * Writes what ran in one trace only or not as often as in the other one, the greatest
 * difference first.  pairs: the threads that count; NULL: all.  Returns TOOL_OK and in *n how
 * many there are, or TOOL_FAILED after a line on stderr.
 */
int counts_compare(enum counts_of of, const struct side side[2],
                   const struct pairs *pairs, const struct report_options *opt,
                   uint64_t *n);

#endif
