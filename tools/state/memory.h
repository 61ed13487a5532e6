/* SPDX-License-Identifier: MIT */
/*
 * The memory of a process at a moment, as far as the trace shows it.  A byte is known
 *
 *   - if the last access to it before the moment has a value: a load, a store, or what
 *     the system read or wrote (a fork inherits its parent's memory);
 *   - else if the first access after it is a load with a value;
 *   - else if it was not written before and its mapping is of a program or library whose file
 *     is here, or is memory that begins as zeros; of a recording of a part, only of a
 *     segment that the program cannot write.
 *
 * Only accesses to the same contents count: not those before memory was mapped, or after it
 * was unmapped; those at the address that it was moved from do.
 *
 * Of a machine these are accesses at virtual addresses: what devices write, and what is
 * written at another address of the same page, does not count.  Of an address that is not
 * the kernel's (as Linux divides them) only accesses in the moment's address space do.
 *
 * Accesses of several threads are in recorded order.  The trace must have values (val)
 * for the first two.  Files only; one thread at a time.
 */
#ifndef TOOLS_MEMORY_H
#define TOOLS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr.h"
#include "query/moment.h"
#include "symbols/places.h"

struct memory_view;

/* places: for the contents of files; NULL: without them.  jobs: workers of a search.
 * Returns 0 or a negated enum ctr_error. */
int memory_open(struct memory_view **out, struct ctr_trace *tr,
                const struct places *places, const struct ctr_moment *at, unsigned jobs,
                struct ctr_diag *diag);
/* Goes on to another moment, of any thread: what was read is forgotten, but not what is
 * known of mappings and files, so that this is cheaper than memory_open. */
void memory_move(struct memory_view *m, const struct ctr_moment *at);
/* Chunks that are decoded at most for one search (0, at first: any number).  What is not found
 * in them is not known. */
void memory_limit(struct memory_view *m, uint32_t chunks);
/* NULL is allowed. */
void memory_close(struct memory_view *m);

/*
 * Reads n bytes at addr, in the order of memory: known[i] is 1 if out[i] is right, else
 * 0 and out[i] is 0.  text: only up to the first NUL or byte that is not known; it costs
 * less, and nothing after it is known.  What was read once is kept.  Returns 0 or a negated
 * enum ctr_error.
 */
int memory_read(struct memory_view *m, uint64_t addr, uint8_t *out, uint8_t *known,
                size_t n, bool text, struct ctr_diag *diag);

#endif
