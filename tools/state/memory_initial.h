/* SPDX-License-Identifier: MIT */
/*
 * For memory.h: what memory holds before anything is stored there, where a mapping begins,
 * and from which process a fork inherits.
 */
#ifndef TOOLS_MEMORY_INITIAL_H
#define TOOLS_MEMORY_INITIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"
#include "query/moment.h"
#include "symbols/places.h"

struct memory_initial;

int memory_initial_open(struct memory_initial **out, struct ctr_trace *tr,
                        const struct places *places, struct ctr_diag *diag);
void memory_initial_close(struct memory_initial *m);

/* Whether an access to addr before `ordinal' of a thread was to the same mapping as there
 * is at a later time; true if mappings were not recorded. */
bool memory_initial_reaches(struct memory_initial *m, uint32_t process, uint64_t addr,
                            uint32_t thread, uint64_t ordinal, uint64_t time_ns);

/* The same for all of a chunk of the process, without decoding it; false: not for all of
 * it, or perhaps not. */
bool memory_initial_reaches_chunk(struct memory_initial *m, uint32_t process,
                                  uint64_t addr, const struct ctr_chunk *chunk,
                                  uint64_t time_ns);

/* When the contents of an address at a time began, with its mapping; 0: with the process. */
uint64_t memory_initial_begin(struct memory_initial *m, uint32_t process, uint64_t addr,
                              uint64_t time_ns);

/* Whether all of a range is, at a time, memory that no other process writes. */
bool memory_initial_private(struct memory_initial *m, uint32_t process, uint64_t time_ns,
                            uint64_t addr, uint64_t size);

/* The moment of the fork that made a process: 1 and *out; 0: it was not made so, or by none
 * that is recorded; or an error. */
int memory_initial_fork(struct memory_initial *m, uint32_t process, struct moment *out,
                        struct ctr_diag *diag);

/*
 * Bytes of a file that a process cannot have changed: of a segment that is not writable,
 * and whose mapping never was.  Returns those at addr and in *n their number; or NULL and in
 * *n the number of bytes, at least one, for which there are none.
 */
const uint8_t *memory_initial_constant(struct memory_initial *m, uint32_t process,
                                       uint64_t time_ns, uint64_t addr, size_t *n);

/* A byte that nothing was stored to: that of the file, or 0 of new memory; false: not
 * known. */
bool memory_initial_byte(struct memory_initial *m, uint32_t process, uint64_t time_ns,
                         uint64_t addr, uint8_t *value);

#endif
