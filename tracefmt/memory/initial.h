/* SPDX-License-Identifier: MIT */
/* Of ctr_memory: what memory holds before anything is stored there. */
#ifndef CTR_MEMORY_INITIAL_H
#define CTR_MEMORY_INITIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"
#include "memory/origin.h"

struct memory_initial {
    const struct ctr_trace *tr;
    struct ctr_memory_files files; /* no function: none are known */
    bool part;                     /* memory_origins_part */
    bool arguments; /* what the system wrote to the stack at first is recorded */
};

/*
 * Bytes of a file that a process cannot have changed: of a segment that is not writable,
 * and whose mapping never was.  Returns those at addr and in *n their number; or NULL and in
 * *n the number of bytes, at least one, for which there are none.
 */
const uint8_t *memory_initial_constant(const struct memory_initial *m, uint32_t process,
                                       uint64_t addr, const struct memory_origin *origin,
                                       size_t *n);

/* Bytes that nothing was stored to since their contents began. */
struct memory_initial_bytes {
    bool known;
    const uint8_t *bytes; /* of the file, valid until the next call; NULL: zeros */
    size_t n;             /* at least one */
};

/* Those at addr, of which the part within `origin' counts. */
struct memory_initial_bytes memory_initial_bytes(const struct memory_initial *m,
                                                 uint32_t process, uint64_t addr,
                                                 const struct memory_origin *origin);

#endif
