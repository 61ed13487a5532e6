/* SPDX-License-Identifier: MIT */
/*
 * Inside the pipeline.
 *
 * Two lists hold the same jobs, in order: `todo' those that workers still have to pack,
 * and `ordered' those that the writer still has to write (the rest of a split job is in
 * `ordered' only: its worker has it already).  Buffers go back to the guest as soon as
 * they are packed; with a ring when that has their data, so that it is not lost with this
 * process.  What is packed and not yet written is bounded by making workers wait before
 * they begin another job: the oldest job was begun first, so the writer never waits for a
 * waiting worker.  A worker whose job makes several chunks of the file packs them all
 * without waiting.
 */
#ifndef RECORDER_PIPELINE_PRIV_H
#define RECORDER_PIPELINE_PRIV_H

#include <pthread.h>

#include "keyframes.h"
#include "pipeline.h"

struct worker {
    struct pipeline *pl;
    struct ctr_encoder *enc;
    pthread_t thread;
    pthread_cond_t wake; /* there is something for it, or the end */
    bool awake;          /* it takes jobs as long as there are any */
    bool early;          /* there is a processor for it beside the guest's */
    struct pipeline_thread stats;
};

/* A dump under way; the submitter waits on `dumped' of the pipeline. */
struct pipeline_dump {
    int fd;
    const struct sink_tail *tails;
    uint32_t n_tails;
    bool done;
    int error;
    struct ctr_diag diag;
};

struct pipeline {
    struct mempipe_host *host;
    struct sink *sink;
    struct journal *journal;
    const char *output;
    bool phys; /* CTR_EVENTS_PHYS */
    int level;
    struct keyframes *keyframes; /* the writer's; NULL: none are made */
    unsigned n_workers;
    struct worker *workers;
    pthread_t writer_thread;
    struct pipeline_thread writer_stats;
    uint64_t raw_bytes;     /* the writer's own, copied into stats */
    uint64_t written_bytes; /* of chunks */
    uint32_t incomplete;

    pthread_mutex_t lock; /* all below */
    pthread_cond_t ready; /* the first ordered job is done, or the end */
    pthread_cond_t dumped;
    struct job *todo, **todo_end;
    struct job *ordered, **ordered_end;
    unsigned backlog; /* atomic: the dispatcher reads it without the lock */
    uint64_t packed_bytes;
    bool ending;
    int error;
    struct ctr_diag diag;
    struct pipeline_stats stats;
    struct ctr_packed **spare; /* unused results, for reuse */
    unsigned n_spare, max_spare;

    uint64_t submitted; /* the submitter's */
    uint64_t finished; /* atomic: the writer has written or dropped jobs up to this one */
    uint32_t held;     /* atomic */
    uint64_t side_held; /* atomic */
};

/* Take the lock, and count whether another thread had it. */
void pipeline_lock(struct pipeline *pl, struct pipeline_thread *stats);

/* The first failure is kept; the recorder's doorbell is rung. */
void pipeline_fail(struct pipeline *pl, int error, const struct ctr_diag *diag);

/* Gives the segments of a job back to the guest. */
void pipeline_release(struct pipeline *pl, struct job *job);

/* With the lock: wakes a worker, if there is work for one and it is needed. */
void pipeline_wake_one(struct pipeline *pl);
/* The same of all of them, whether there is something to do or not. */
void pipeline_wake_all(struct pipeline *pl);

/* Threads: of a struct worker, of the pipeline. */
void *pipeline_worker_main(void *arg);
void *pipeline_writer_main(void *arg);

#endif
