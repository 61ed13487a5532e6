/* SPDX-License-Identifier: MIT */
/*
 * Which file was mapped where an instruction stands.
 *
 * The history of the address spaces (ctr_maps) is asked with a time; that of a place in
 * a thread is the time of the thread's last change of its mappings before it, or of the
 * begin of its chunk if that is later.  Any thread may ask; where many chunks have map
 * events they are read as far as somebody asks.
 */
#ifndef TOOLS_MAPPINGS_H
#define TOOLS_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

struct mappings;

/*
 * *out is NULL when there is nothing to know: a stream, no map events.  path, flags: as
 * the trace was opened, to read more of it later, by itself; NULL: everything is read now.
 * what: CTR_MAPS_CODE if only mappings_find is used, or modules are looked for; or 0.
 * Returns 0 or a negated enum ctr_error.  Damage is no error: the history ends there, and
 * mappings_error tells if that mattered.
 */
int mappings_load(struct mappings **out, struct ctr_trace *tr, const char *path,
                  unsigned flags, unsigned what, struct ctr_diag *diag);
/* NULL is allowed. */
void mappings_free(struct mappings *m);

/*
 * The time at an instruction of a chunk.  *until: the ordinal of its thread from
 * which on it is another one.
 */
uint64_t mappings_time(struct mappings *m, const struct ctr_chunk *chunk,
                       uint64_t ordinal, uint64_t *until);

/* Finds the file mapped at pc; its path is valid until mappings_free.  What is not there
 * at `time', but at the end of the chunk, was mapped by another thread meanwhile. */
bool mappings_find(struct mappings *m, uint32_t process, uint64_t time,
                   uint64_t chunk_end, uint64_t pc, struct ctr_mapping *out);

/* All of it up to a time at least; NULL: not known. */
const struct ctr_maps *mappings_history(struct mappings *m, uint64_t time_ns);

/*
 * When nobody asks any more: 0, or why some of what was asked for could not be known, a
 * negated enum ctr_error and *diag.  m: NULL is allowed.
 */
int mappings_error(const struct mappings *m, struct ctr_diag *diag);

/* The short name of a mapping, "libc.so.6": points into its path. */
struct ctr_str mapping_name(const char *path);

#endif
