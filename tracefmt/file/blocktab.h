/* SPDX-License-Identifier: MIT */
/*
 * The definitions of a trace that are in memory.
 *
 * Of a file they are read when they are needed.  Whoever works with a chunk holds the
 * blocks of it; those that nobody holds are forgotten when there are too many, and read
 * again.  A stream's stay, and so do those that the library's user has asked for by
 * number.
 */
#ifndef CTR_BLOCKTAB_H
#define CTR_BLOCKTAB_H

#include "model/block.h"
#include "base/section.h"

struct blocktab;

/* src, which must outlive it: where definitions are. */
struct blocktab *blocktab_new(struct source *src);
void blocktab_free(struct blocktab *t);

/* Definitions in the file, as far as known: their numbers are 1 to this. */
uint32_t blocktab_known(const struct blocktab *t);

/* What may stand in a definition: CTR_EVENTS_*. */
void blocktab_events(struct blocktab *t, uint32_t events);

/* Forgets all rows; of definitions nothing was read, or nothing will be. */
void blocktab_reset(struct blocktab *t);

/* A DICT section at off has the definitions from `first' on; in order.  What is beyond
 * what could ever be unpacked is refused. */
int blocktab_add_row(struct blocktab *t, uint64_t off, uint32_t first, uint32_t count,
                     struct ctr_diag *diag);

/*
 * Streams: the definitions of a DICT section, read by the caller.  One thread; others may
 * look up meanwhile.
 */
int blocktab_add_section(struct blocktab *t, const struct section *sec,
                         struct ctr_diag *diag);

/*
 * Everything below may be called by any thread.
 *
 * Holds the n blocks whose numbers stand in ids (u32, little-endian, in any order; the
 * same more than once counts as often) and puts them into out.  After an error nothing is
 * held.
 */
int blocktab_hold(struct blocktab *t, const uint8_t *ids, uint32_t n,
                  const struct block **out, struct ctr_diag *diag);
void blocktab_drop(struct blocktab *t, const struct block *const *blocks, uint32_t n);

/* The same of one.  NULL may be dropped. */
int blocktab_hold_one(struct blocktab *t, uint32_t id, const struct block **out,
                      struct ctr_diag *diag);
void blocktab_drop_one(struct blocktab *t, const struct block *b);

/* Tells all that are known, in order, as ctr_trace_each_block. */
typedef int blocktab_each_fn(void *arg, const struct ctr_block *b);
int blocktab_each(struct blocktab *t, blocktab_each_fn *fn, void *arg,
                  struct ctr_diag *diag);

/* One that stays as long as the table, or NULL: there is none, or it cannot be read. */
const struct block *blocktab_keep(struct blocktab *t, uint32_t id);
/* Reads all; all stay. */
int blocktab_keep_all(struct blocktab *t, struct ctr_diag *diag);

#endif
