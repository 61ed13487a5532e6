/* SPDX-License-Identifier: MIT */
/* Of ctr_memory: workers that decode chunks of a thread. */
#ifndef CTR_MEMORY_CREW_H
#define CTR_MEMORY_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "decode/feed.h"
#include "decode/touch.h"

#define CREW_MOST 16u

/* What a worker decodes with; nobody else uses it. */
struct crew_member {
    struct crew *crew;
    unsigned number; /* below crew.jobs */
    struct feed feed;
    struct raw_chunk raw;
    struct decoder decoder;
    struct touches touches;
    bool ready; /* feed and decoder were initialized */
};

struct crew {
    struct ctr_trace *tr;
    const struct ctr_filter *filter; /* of the feeds; without pcs and addrs */
    unsigned jobs;
    pthread_mutex_t lock; /* for the steps */
    struct crew_member member[CREW_MOST];
    int ret; /* under the lock: of the first step that failed, and why */
    struct ctr_diag diag;
};

/* jobs: workers, 0: as many as there are processors.  The filter must outlive it. */
void crew_init(struct crew *c, struct ctr_trace *tr, const struct ctr_filter *filter,
               unsigned jobs);
void crew_fini(struct crew *c);

/*
 * Calls a step again and again, by several workers at once, which take from what there is to do
 * under the lock.  A step returns 1, 0: nothing is left to do, or a negated enum ctr_error, after
 * which no step begins.  Returns 0 or the error of the first one.
 */
int crew_work(struct crew *c,
              int (*step)(void *arg, struct crew_member *m, struct ctr_diag *diag),
              void *arg, struct ctr_diag *diag);

/*
 * Begins to decode a chunk (decoder, raw).  want: DEC_*.  Returns 1, 0 if nothing of it is
 * selected, or an error.
 */
int crew_begin(struct crew_member *m, const struct ctr_chunk *c, unsigned want,
               struct ctr_diag *diag);

/* The chunk of crew_begin, with DEC_MEM alone, once more, with values.  Returns as crew_begin. */
int crew_begin_values(struct crew_member *m, const struct ctr_chunk *c,
                      struct ctr_diag *diag);

#endif
