/* SPDX-License-Identifier: MIT */
/*
 * The physical memory of a machine at a moment.  A byte is known if the trace shows all that
 * can have changed it: what RAM held when it was mapped, or when a snapshot was loaded, and
 * what instructions, devices, the processor itself and QEMU have written since then, at any
 * address at which the byte was, in the order in which the vCPUs ran.  Nothing else counts:
 * no loads, and nothing that comes after the moment.
 *
 *   physical.c           what is missing in a trace; the bytes of a read
 *   physical_layout.c    where RAM was, and from where on its contents are known
 *   physical_contents.c  what it held at first
 *   physical_writes.c    what was written there
 *
 * Files only; one thread at a time.
 */
#ifndef TOOLS_PHYSICAL_H
#define TOOLS_PHYSICAL_H

#include <stddef.h>
#include <stdint.h>

#include "ctr.h"

struct physical_view;

/* jobs: workers of a search.  Returns 0 or a negated enum ctr_error. */
int physical_open(struct physical_view **out, struct ctr_trace *tr,
                  const struct ctr_moment *at, unsigned jobs, struct ctr_diag *diag);
/* NULL is allowed. */
void physical_close(struct physical_view *p);

/* Why nothing is known at all: what was not recorded; or NULL. */
const char *physical_lack(const struct physical_view *p);

/*
 * Reads n bytes at addr: known[i] is 1 if out[i] is right, else 0 and out[i] is 0.  One call
 * for many bytes costs little more than for one.  Returns 0 or a negated enum ctr_error.
 */
int physical_read(struct physical_view *p, uint64_t addr, uint8_t *out, uint8_t *known,
                  size_t n, struct ctr_diag *diag);

#endif
