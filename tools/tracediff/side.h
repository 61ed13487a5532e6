/* SPDX-License-Identifier: MIT */
/* One of the two traces. */
#ifndef TRACEDIFF_SIDE_H
#define TRACEDIFF_SIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "code.h"
#include "common/options.h"
#include "ctr.h"
#include "space.h"
#include "symbols/places.h"

/* Bits of what is not compared. */
#define IGNORE_ADDRESSES 1u
#define IGNORE_VALUES 2u
#define IGNORE_CALLS 4u /* system calls and signals */
#define IGNORE_REGISTERS 8u

struct side {
    const char *path;
    struct ctr_trace *trace; /* for streams */
    struct ctr_trace *view;  /* for everything else */
    struct ctr_info info;
    struct places *places;
    struct maplog *maps;
    struct code_table *codes; /* of both sides */
    bool by_function;         /* see struct code_lookup */
    unsigned compare; /* CTR_HAS_MEM, _VAL, _SYS, _REG: what both sides have of these */
    uint16_t *registers; /* see registers.h */
    uint8_t *wanted;     /* of each register: whether it is compared */
    uint32_t nr_registers;
    /* Code that is not compared. */
    struct tool_ranges ignored;
    const char *const *ignored_modules; /* globs */
    unsigned nr_ignored_modules;
    /* The chunks of each thread, see skip.h. */
    struct thread_chunk *chunks;
    size_t *chunks_of; /* where those of thread i begin; one more at the end */
};

#endif
