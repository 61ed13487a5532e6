/* SPDX-License-Identifier: MIT */
/*
 * What the index of a file, or the headers of its sections, say about its chunks.
 *
 * Files may have more chunks than there is memory for all their rows, so only the
 * groups of chunks stay: where each is, and the range of what it has. The rows of a
 * group are read on demand, and those of the most recently used groups are kept. Once
 * the file is open, any number of threads may query it.
 */
#ifndef CTR_CHUNKTAB_H
#define CTR_CHUNKTAB_H

#include "model/chunkspan.h"
#include "base/util.h"

struct ctr_trace;

/* What a chunk says about runs whose end is in another one, see CHUNK_NEXT and after. */
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

/* Consecutive chunks: with an index those of a PART. */
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

/*
 * While the file is opened: the next PART, by its row of ROOT; for all PARTs, or for
 * none.
 */
int chunktab_add_part(struct chunktab *t, const uint8_t *row, struct ctr_diag *diag);
/* The next chunk, where there is no ROOT. */
int chunktab_add(struct chunktab *t, const struct chunk_row *row, struct ctr_diag *diag);
/* All chunks are known. */
int chunktab_opened(struct chunktab *t, struct ctr_diag *diag);

uint64_t chunktab_chunks(const struct chunktab *t);
uint32_t chunktab_groups(const struct chunktab *t);
const struct chunk_group *chunktab_group(const struct chunktab *t, uint32_t group);
/* The group of chunk i, which must exist; hint: a group near it. */
uint32_t chunktab_find(const struct chunktab *t, uint64_t i, uint32_t hint);

/* Chunk i, which must exist. Returns 0 or an error. */
int chunktab_get(struct chunktab *t, uint64_t i, struct chunk_row *out,
                 struct ctr_diag *diag);

/*
 * Places in time order are ascending numbers, 0 or above for the first chunk, with
 * gaps. Only one thread at a time may call these four.
 */
/* The chunk at a place that these functions returned. */
int chunktab_get_at(struct chunktab *t, uint64_t at, struct chunk_row *out,
                    struct ctr_diag *diag);
/* The place of a chunk. */
int chunktab_place(struct chunktab *t, const struct chunk_row *row, uint64_t *at,
                   struct ctr_diag *diag);
/*
 * The place before (back) or after one that these functions returned. Returns 1, 0:
 * there is none, or an error.
 */
int chunktab_step(struct chunktab *t, uint64_t *at, int back, struct ctr_diag *diag);

/*
 * The place of the last chunk begun at a time or before. Returns 1, 0: there is none, and
 * the place is that of the first chunk, or an error.
 */
int chunktab_before(struct chunktab *t, uint64_t ns, uint64_t *at, struct ctr_diag *diag);

/*
 * Scans the chunks, in time order. A chunk matches if it is in the ranges, ends
 * included, and has one of the flags. The scan leaves out groups without matches; the
 * caller checks the chunks.
 */
struct chunk_scan {
    uint64_t at; /* next place in time order, or ... */
    int stored;  /* ... next chunk in file order */
    uint64_t from, to;
    uint64_t from_ns, to_ns;
    uint32_t thread, last_thread;
    uint32_t flags; /* 0: any */
    uint32_t group; /* last one used */
};
#define CHUNK_SCAN_ALL                                                                   \
    ((struct chunk_scan){                                                                \
        .to = UINT64_MAX, .to_ns = UINT64_MAX, .last_thread = UINT32_MAX})

/*
 * Returns 1 (the chunk is the one at s->at - 1), 0 at the end, or an error, after which
 * the scan may continue. In time order by one thread at a time.
 */
int chunktab_next(struct chunktab *t, struct chunk_scan *s, struct chunk_row *out,
                  struct ctr_diag *diag);

/*
 * The chunk of a thread that contains an instruction; with `or_before', if none does,
 * the last one that ends directly before it. Returns 1, 0 if there is none, or an
 * error.
 */
int chunktab_ordinal(struct chunktab *t, uint32_t thread, uint64_t ordinal, int or_before,
                     struct chunk_row *out, struct ctr_diag *diag);

#endif
