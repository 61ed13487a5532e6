/* SPDX-License-Identifier: MIT */
/*
 * Finds the file that was mapped at an instruction's address.
 *
 * Queries of the history of address spaces (ctr_maps) need a time.  The time of a place
 * in a thread is that of the thread's last change of mappings before it, or of the begin
 * of its chunk if that is later.  Any thread may query.  If many chunks have map events,
 * they are read only as far as queries need.
 */
#ifndef TOOLS_MAPPINGS_H
#define TOOLS_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

struct mappings;

/*
 * *out is NULL if there is no history: a stream, or no map events.  path, flags: those
 * that opened the trace, to open it again and read more later; NULL: everything is read
 * now.  what: CTR_MAPS_CODE if only mappings_find is used or modules are looked up; or 0.
 * Returns 0 or a negated enum ctr_error.  Damage is no error: the history ends there, and
 * mappings_error reports whether a query was affected.
 */
int mappings_load(struct mappings **out, struct ctr_trace *tr, const char *path,
                  unsigned flags, unsigned what, struct ctr_diag *diag);
/* NULL is allowed. */
void mappings_free(struct mappings *m);

/*
 * The time at an instruction of a chunk.  *until: the first ordinal of its thread with
 * another time.
 */
uint64_t mappings_time(struct mappings *m, const struct ctr_chunk *chunk,
                       uint64_t ordinal, uint64_t *until);

/* Finds the file mapped at pc; its path is valid until mappings_free.  A file that is
 * not mapped at `time' but at the end of the chunk was mapped by another thread in
 * between. */
bool mappings_find(struct mappings *m, uint32_t process, uint64_t time,
                   uint64_t chunk_end, uint64_t pc, struct ctr_mapping *out);

/* The whole history up to a time at least; NULL: not known. */
const struct ctr_maps *mappings_history(struct mappings *m, uint64_t time_ns);
/* All of the history if it was read at once, else NULL; is no query for mappings_error. */
const struct ctr_maps *mappings_at_once(const struct mappings *m);

/*
 * Call after the last query: 0, or why a query could not be answered, as a negated enum
 * ctr_error and *diag.  m: NULL is allowed.
 */
int mappings_error(const struct mappings *m, struct ctr_diag *diag);

#endif
