/* SPDX-License-Identifier: MIT */
/*
 * What the index of a file, or the headers of its sections, tell of its chunks.
 *
 * Files may have more chunks than there is memory for what is told of each, so only
 * groups of them stay: where they stand, and the range of what is in them.  The rows of
 * a group are read when they are asked for, and those of the groups last used are kept.
 * Once the file is open, any number of threads may ask.
 */
#ifndef CTR_CHUNKTAB_H
#define CTR_CHUNKTAB_H

#include "model/chunkspan.h"
#include "base/util.h"

struct ctr_trace;

/* What a chunk tells of runs whose end is in another one, see CHUNK_NEXT and on. */
struct chunk_ends {
    uint64_t next;
    uint32_t last;
    uint16_t last_first;
    uint16_t flags; /* CHUNK_F_NEXT, CHUNK_F_BREAK */
};

struct chunk_row {
    struct ctr_chunk pub;
    struct chunk_ends ends;
};

/* Chunks behind each other: with an index those of a PART. */
struct chunk_group {
    uint64_t off;       /* of the PART */
    uint64_t chunk_off; /* of the first chunk */
    uint64_t first;
    uint32_t count;
    uint32_t slot; /* see chunktab.c */
    struct chunk_span span;
};

struct chunktab;

struct chunktab *chunktab_new(struct ctr_trace *tr);
void chunktab_free(struct chunktab *t);
/* Forgets all chunks. */
void chunktab_reset(struct chunktab *t);

/* While the file is opened: the next PART, by its row of ROOT; for all, or for none. */
int chunktab_add_part(struct chunktab *t, const uint8_t *row, struct ctr_diag *diag);
/* The next chunk, where there is no ROOT. */
int chunktab_add(struct chunktab *t, const struct chunk_row *row, struct ctr_diag *diag);
/* All are known. */
int chunktab_opened(struct chunktab *t, struct ctr_diag *diag);

uint64_t chunktab_chunks(const struct chunktab *t);
uint32_t chunktab_groups(const struct chunktab *t);
const struct chunk_group *chunktab_group(const struct chunktab *t, uint32_t group);
/* The group of chunk i, which there is; hint: one near it. */
uint32_t chunktab_find(const struct chunktab *t, uint64_t i, uint32_t hint);

/* Chunk i, which there is.  Returns 0 or an error. */
int chunktab_get(struct chunktab *t, uint64_t i, struct chunk_row *out,
                 struct ctr_diag *diag);

/*
 * Places in order of time are numbers that grow, 0 or above for the first chunk, with
 * gaps.  These three by one thread at a time.
 */
/* The chunk at a place that was told. */
int chunktab_get_at(struct chunktab *t, uint64_t at, struct chunk_row *out,
                    struct ctr_diag *diag);
/* The place of a chunk. */
int chunktab_place(struct chunktab *t, const struct chunk_row *row, uint64_t *at,
                   struct ctr_diag *diag);
/* The place before (back) or behind one that was told.  Returns 1, 0: there is none, or
 * an error. */
int chunktab_step(struct chunktab *t, uint64_t *at, int back, struct ctr_diag *diag);

/*
 * Goes through the chunks, in order of time.  What is looked for is in ranges, ends
 * included, and has one of the flags: groups that have nothing of it are left out; the
 * caller looks at the chunks.
 */
struct chunk_scan {
    uint64_t at; /* next place in order of time, or ... */
    int stored;  /* ... next chunk in the order of the file */
    uint64_t from, to;
    uint64_t from_ns, to_ns;
    uint32_t thread, last_thread;
    uint32_t flags; /* 0: whatever they have */
    uint32_t group; /* last looked at */
};
#define CHUNK_SCAN_ALL                                                                   \
    ((struct chunk_scan){                                                                \
        .to = UINT64_MAX, .to_ns = UINT64_MAX, .last_thread = UINT32_MAX})

/*
 * Returns 1 (the chunk is the one at s->at - 1), 0 at the end, or an error, behind which
 * one may go on.  In order of time by one thread at a time.
 */
int chunktab_next(struct chunktab *t, struct chunk_scan *s, struct chunk_row *out,
                  struct ctr_diag *diag);

/*
 * The chunk of a thread that holds an instruction; with `behind', if none does, the last
 * that ends right before it.  Returns 1, 0 if there is none, or an error.
 */
int chunktab_ordinal(struct chunktab *t, uint32_t thread, uint64_t ordinal, int behind,
                     struct chunk_row *out, struct ctr_diag *diag);

#endif
