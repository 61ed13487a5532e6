/* SPDX-License-Identifier: MIT */
/*
 * The definitions of a trace that are in memory.
 *
 * Those of a file are read when they are needed. The user of a chunk holds its blocks;
 * those that are not held are dropped when there are too many, and read again. A
 * stream's definitions stay, and so do those that the library's user has requested by
 * id.
 */
#ifndef CTR_BLOCKTAB_H
#define CTR_BLOCKTAB_H

#include "model/block.h"
#include "base/section.h"

struct blocktab;

/* src, which must outlive the table: where definitions are. */
struct blocktab *blocktab_new(struct source *src);
void blocktab_free(struct blocktab *t);

/* Definitions in the file, as far as known: their ids are 1 to this. */
uint32_t blocktab_known(const struct blocktab *t);

/* What a definition may contain: CTR_EVENTS_*. */
void blocktab_events(struct blocktab *t, uint32_t events);

/* Drops all rows; no definition was read, or none will be. */
void blocktab_reset(struct blocktab *t);

/*
 * A DICT section at off has the definitions from `first' on; call it in order. What
 * could never be unpacked is rejected.
 */
int blocktab_add_row(struct blocktab *t, uint64_t off, uint32_t first, uint32_t count,
                     struct ctr_diag *diag);

/*
 * Streams: the definitions of a DICT section, read by the caller.  One thread; others may
 * look up meanwhile.
 */
int blocktab_add_section(struct blocktab *t, const struct section *sec,
                         struct ctr_diag *diag);

/*
 * Any thread may call everything below.
 *
 * Holds the n blocks with the given ids (u32, little-endian, in any order; an id that
 * occurs several times counts as often) and puts them into out. After an error nothing
 * is held.
 */
int blocktab_hold(struct blocktab *t, const uint8_t *ids, uint32_t n,
                  const struct block **out, struct ctr_diag *diag);
void blocktab_drop(struct blocktab *t, const struct block *const *blocks, uint32_t n);

/* The same for one block. NULL may be dropped. */
int blocktab_hold_one(struct blocktab *t, uint32_t id, const struct block **out,
                      struct ctr_diag *diag);
void blocktab_drop_one(struct blocktab *t, const struct block *b);

/* Calls fn for all known definitions, in order, as ctr_trace_each_block. */
typedef int blocktab_each_fn(void *arg, const struct ctr_block *b);
int blocktab_each(struct blocktab *t, blocktab_each_fn *fn, void *arg,
                  struct ctr_diag *diag);

/*
 * A block that stays as long as the table; NULL if there is none, or it cannot be read.
 */
const struct block *blocktab_keep(struct blocktab *t, uint32_t id);
/* Reads all; all stay. */
int blocktab_keep_all(struct blocktab *t, struct ctr_diag *diag);

#endif
