/* SPDX-License-Identifier: MIT */
/*
 * Reads a thread of a trace, batch by batch, in a thread of its own.
 */
#ifndef TRACEDIFF_STREAM_H
#define TRACEDIFF_STREAM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "batch.h"
#include "code.h"
#include "ctr.h"
#include "side.h"
#include "space.h"

/* Number of a block's code in stream.number, when it is none. */
#define NUMBER_UNKNOWN 0u
#define NUMBER_PARTLY UINT32_MAX /* some of it is ignored: see ignored.h */
#define NUMBER_IGNORED (UINT32_MAX - 1u)

struct stream {
    const struct side *side;
    const struct ctr_thread *thread;
    unsigned accesses; /* CTR_RUN_*; 0: none */
    bool events;
    uint64_t from, to; /* ordinals */
    /* of the reading thread */
    struct space space;
    uint32_t removals; /* of space, when `number' was made */
    uint32_t *number;  /* of the code of each block */
    size_t nnumber;
    struct batch *batch;
    uint64_t pos;
    bool last_kept; /* the last instruction was not ignored */
    uint64_t time_ns;
    uint64_t time_until; /* ordinal from which on the time is to be looked up again */
    struct event *pending;
    size_t npending, pending_cap;
    uint8_t *pending_pool;
    size_t npending_pool, pending_pool_cap;
    int result;
    struct ctr_diag diag;
    /* shared */
    pthread_t reader;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    struct batch *first, *last, *spare;
    unsigned queued;
    bool running, ended, stop;
};

/*
 * Begins to read the instructions from..to-1 of a thread.  The stream must be zeroed, or
 * have been closed.  False: no memory.
 */
bool stream_open(struct stream *s, const struct side *side, const struct ctr_thread *t,
                 uint64_t from, uint64_t to);
/* The batch after b, or with NULL the first one; waits for it.  NULL: there is no more, see
 * result. */
struct batch *stream_next(struct stream *s, struct batch *b);
/* b, which is the oldest one still in use, is not needed any more. */
void stream_release(struct stream *s, struct batch *b);
/* Ends reading.  0, or why the stream ended early: a negated enum ctr_error, see diag. */
int stream_close(struct stream *s);
void stream_fini(struct stream *s);

#endif
