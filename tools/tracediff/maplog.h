/* SPDX-License-Identifier: MIT */
/* The changes of mappings of a trace, as space.c applies them. */
#ifndef TRACEDIFF_MAPLOG_H
#define TRACEDIFF_MAPLOG_H

#include "space.h"

struct map_change {
    uint64_t time_ns; /* never falls within a process */
    uint64_t ordinal; /* of its thread */
    uint64_t start, size;
    uint64_t old_start, old_size;
    uint64_t offset; /* of start */
    uint32_t thread; /* index */
    uint32_t key;    /* 0: nothing is mapped by it */
    uint32_t seq;    /* in the order in which they were recorded */
    uint8_t op;      /* CTR_MAP_*; 0: execve */
    bool joins;      /* memory that belongs to the module before it, if there is one */
    bool stack;      /* offset 0 is at `zero' */
    uint64_t zero;
};

/* The changes of a process, *n of them, in order of time. */
const struct map_change *maplog_process(const struct maplog *l, uint32_t process,
                                        size_t *n);

/* Whether a key is that of a file, whose offsets are those in the file: these are odd. */
static inline bool maplog_is_file(uint32_t key)
{
    return key & 1;
}

#endif
