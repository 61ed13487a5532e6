/* SPDX-License-Identifier: MIT */
/* Which instructions of a block are not compared. */
#ifndef TRACEDIFF_IGNORED_H
#define TRACEDIFF_IGNORED_H

#include "side.h"

/* Whether anything is ignored. */
static inline bool ignored_any(const struct side *s)
{
    return s->ignored.n || s->nr_ignored_modules;
}

/* Whether the instruction at pc is, in a process at a time (of places_time). */
bool ignored_pc(const struct side *s, uint32_t process, uint64_t time_ns,
                uint64_t chunk_end_ns, uint64_t pc);

#endif
