/* SPDX-License-Identifier: MIT */
/* Internals of ctr_replay that its files share. */
#ifndef CTR_REPLAY_H
#define CTR_REPLAY_H

#include "decode/lanes.h"

#include <pthread.h>
#include <time.h>

#define PIECE_FLUSH (64u << 10) /* new output at which delivery is tried */
#define PIECE_WAIT (3u << 20)   /* output at which a piece waits for those before it */

/* A chunk shared by the pieces made of it. */
struct shared_chunk {
    struct raw_chunk raw;
    unsigned users;            /* under src_lock */
    struct shared_chunk *next; /* free list */
};

/* Several chunks that make one piece. */
struct shared_bundle {
    struct bundle b;
    struct shared_bundle *next; /* free list */
};

struct job_piece {
    uint64_t seq;
    struct shared_chunk *chunk;   /* NULL: the piece has a bundle ... */
    struct shared_bundle *bundle; /* ... or only an error */
    uint64_t lo, hi;              /* ordinals of instructions */
    uint64_t place_lo, place_hi;  /* ... and of what happens between them */
    struct ctr_progress done;     /* chunks, instructions and bytes that it completes */
    int result;
    struct ctr_diag diag;
};

struct done {
    int ready;
    struct job_piece piece;
    struct ctr_job *job; /* has the piece's output */
};

/* Output of one slice of a bundle: from `at' to that of the next slice. */
struct out_slice {
    size_t at;
    struct ctr_chunk pub;
    const struct ctr_thread *thread;
};

struct replay;

/* What is delivered of runs that need no further checks: replay_fast.c. */
enum fast_kind {
    FAST_NOT = 0,
    FAST_RUN,    /* run callbacks, no accesses */
    FAST_COUNT,  /* with numbers of accesses */
    FAST_ADDRS,  /* with addresses */
    FAST_EVENTS, /* events of instructions, and run callbacks if they are set */
    FAST_FULL, /* run callbacks, with values, or callbacks of registers: replay_full.c */
    FAST_SKIP, /* nothing: the runs are before the piece */
};

struct ctr_job {
    struct replay *rp;
    unsigned worker;
    struct walk own;
    struct walk *walk;  /* that one, or of a lane */
    struct lanes lanes; /* of a bundle */
    int stops;          /* the lane's slice has ended */
    int walk_on;        /* own is inside a chunk, at a run */
    struct job_piece piece;
    struct ctr_chunk pub;
    const struct ctr_thread *thread;
    struct buf out;
    struct buf slices; /* struct out_slice, of a bundle's output */
    size_t flush_at;   /* with more output, call replay_flush */
    int stopped;       /* the replay is over, whatever the piece's result */
};

struct replay {
    struct ctr_trace *tr;
    const struct ctr_replay_ops *ops;
    void *arg;
    uint32_t piece_insns;
    unsigned run_accesses; /* opts' */
    int phys;              /* opts' */
    int decodes;           /* there are callbacks besides begin and end */
    int counts;            /* numbers of accesses of runs are needed */
    int lists;             /* the accesses themselves are needed */
    enum fast_kind fast;

    pthread_mutex_t src_lock; /* protects the feed and what follows */
    struct feed feed;
    struct bundles bundles;
    struct shared_bundle *spare_bundle;
    struct shared_chunk *cur; /* chunk being cut into pieces */
    uint64_t cur_at, cur_end; /* ordinals not yet handed out */
    int cur_first;
    struct shared_chunk *spare;
    uint64_t seq;
    int src_end;

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t moved; /* head, delivering or stop have changed */
    struct done *ring;
    unsigned ring_size;
    uint64_t head; /* next piece to deliver */
    int delivering;
    int stop;
    int result;
    struct ctr_diag diag;
    struct ctr_progress prog;
    int counted; /* prog has the amount of work */
    struct timespec prog_time;
};

/* replay_order.c */

/*
 * Delivers output before the piece is done: at once if it is the next in order;
 * otherwise it waits if there is much of it. Returns nonzero if the replay has stopped.
 */
int replay_flush(struct ctr_job *job);
/*
 * Puts a finished piece into its place in the ring and delivers what can be delivered
 * now. Swaps the job's output buffer with the ring's.
 */
void replay_complete(struct ctr_job *job);

/*
 * replay_work.c: runs the callbacks of a piece; returns 0, or what stops the replay.
 * replay_slice: the same from the lane's place to the end of its slice; then job->stops,
 * unless the lane has ended.
 */
int replay_piece(struct ctr_job *job);
int replay_slice(struct ctr_job *job);

/* replay_bundle.c: a piece that is a bundle. */
int replay_bundle(struct ctr_job *job);

/*
 * replay_fast.c. replay_fast_kind: which of these kinds a replay has. replay_fast
 * delivers as many such runs as follow the run of the job's walk. It sets *pending to 1
 * if the walk has moved on to a run that was not delivered (or to the chunk's end).
 * Returns 0, or what stops the replay.
 */
enum fast_kind replay_fast_kind(const struct replay *rp);
int replay_fast(struct ctr_job *job, int *pending);
/*
 * replay_fast.c, unless the kind is FAST_NOT or FAST_FULL, where runs before the piece change
 * what those in it have: passes over runs that end before the piece.
 */
int replay_skip(struct ctr_job *job, int *pending);
/*
 * replay_full.c: delivers runs of the kind FAST_FULL as replay_fast does, but leaves the walk
 * at the last one that was delivered.
 */
int replay_full(struct ctr_job *job);
/*
 * replay_full.c: calls back for the register changes of the instructions of a run that are in
 * the piece, from its write number *next on.
 */
int replay_reg_changes(struct ctr_job *job, const struct run *r, uint32_t *next);

#endif
