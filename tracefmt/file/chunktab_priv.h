/* SPDX-License-Identifier: MIT */
/*
 * Internals of the table of chunks: chunktab.c has groups and rows, chunkorder.c time
 * order and scans.
 */
#ifndef CTR_CHUNKTAB_PRIV_H
#define CTR_CHUNKTAB_PRIV_H

#include <pthread.h>
#include "file/trace.h"

#define SLOTS 128u /* 3.7 MB of rows, those of a file of some GiB */
#define SLOTS_MAX 1024u
#define NO_GROUP UINT32_MAX

/* The rows of a group. */
struct slot {
    uint32_t group; /* or NO_GROUP */
    uint32_t good;  /* rows before those that cannot be read because of `why' */
    struct ctr_diag why;
    uint64_t used; /* time of the last use */
    struct chunk_row row[PART_MAX_CHUNKS];
};

/*
 * A stretch of the time order, which is that of (time, number) of chunks. Stretch k
 * begins with (begin, number of its group's first chunk) and ends where the next one
 * begins; stretches are sorted by that. So its chunks are in its group and in those of
 * earlier stretches, as far as chunks of these were begun late. If no others reach into
 * it, and its group does not have two threads, its order is that of the group in the
 * file, and can be known without reading anything.
 */
struct stretch {
    uint64_t begin; /* time */
    uint32_t group;
    uint32_t before; /* nearest earlier stretch that reaches into this one, or NONE */
    uint32_t n;      /* chunks */
    int known;
    uint32_t *order; /* their numbers; NULL: file order of the group, or not known yet */
};
#define NONE UINT32_MAX

struct chunktab {
    struct ctr_trace *tr;
    struct chunk_group *group;
    uint32_t n, cap;
    uint64_t chunks;
    struct stretch *stretch; /* one for each group */

    pthread_mutex_t lock; /* protects all that follows */
    struct slot *slot[SLOTS_MAX];
    uint32_t nslots;
    uint32_t most; /* maximum; grows with threads that are slow */
    uint64_t uses;
    ZSTD_DCtx *dctx;
    struct buf payload, raw;
};

/* Finds a group's rows, with the lock.  Returns 0 or -CTR_E_NOMEM. */
int chunktab_rows(struct chunktab *t, uint32_t group, struct slot **out,
                  struct ctr_diag *diag);
/* chunktab_get, of a chunk whose group is known. */
int chunktab_get_in(struct chunktab *t, uint32_t group, uint64_t i, struct chunk_row *out,
                    struct ctr_diag *diag);

#endif
