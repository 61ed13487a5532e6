/* SPDX-License-Identifier: MIT */
/* Inside of ctr_replay: what its files share. */
#ifndef CTR_REPLAY_H
#define CTR_REPLAY_H

#include "decode/walk.h"

#include <pthread.h>
#include <time.h>

#define PIECE_TELL (64u << 10) /* of so much new output something may be told */
#define PIECE_WAIT (3u << 20)  /* output at which it waits for those before */

/* A chunk shared by the pieces made of it. */
struct shared_chunk {
    struct raw_chunk raw;
    unsigned users;            /* under src_lock */
    struct shared_chunk *next; /* free list */
};

struct job_piece {
    uint64_t seq;
    struct shared_chunk *chunk;  /* NULL: only carries an error */
    uint64_t lo, hi;             /* ordinals of instructions */
    uint64_t place_lo, place_hi; /* ... and of what happens between them */
    int last;                    /* of its chunk */
    int result;
    struct ctr_diag diag;
};

struct done {
    int ready;
    struct job_piece piece;
    struct ctr_job *job; /* holds its output */
};

struct replay;

/* What is told of runs for which nothing else must be asked: replay_fast.c. */
enum fast_kind {
    FAST_NOT = 0,
    FAST_RUN,    /* run callbacks, no accesses */
    FAST_COUNT,  /* with numbers of accesses */
    FAST_ADDRS,  /* with addresses */
    FAST_EVENTS, /* events of instructions, and run callbacks if they are wanted */
    FAST_SKIP,   /* none of them: what comes before the piece */
};

struct ctr_job {
    struct replay *rp;
    unsigned worker;
    struct walk walk;
    int walk_on; /* it stands in a chunk, on a run */
    struct job_piece piece;
    struct ctr_chunk pub;
    const struct ctr_thread *thread;
    struct buf out;
    size_t tell_at; /* with more output than that it is time for replay_flush */
    int stopped;    /* the replay is over, whatever the piece was */
};

struct replay {
    struct ctr_trace *tr;
    const struct ctr_replay_ops *ops;
    void *arg;
    uint32_t piece_insns;
    unsigned run_accesses; /* opts' */
    int decodes;           /* more is asked for than begin and end */
    int counts;            /* so are numbers of accesses of runs */
    int lists;             /* and the accesses themselves */
    enum fast_kind fast;

    pthread_mutex_t src_lock; /* the feed and what follows */
    struct feed feed;
    struct shared_chunk *cur; /* chunk being cut into pieces */
    uint64_t cur_at, cur_end; /* ordinals still to be handed out */
    int cur_first;
    struct shared_chunk *spare;
    uint64_t seq;
    int src_end;

    pthread_mutex_t lock; /* everything below */
    pthread_cond_t moved; /* head, telling or stop have changed */
    struct done *ring;
    unsigned ring_size;
    uint64_t head; /* next piece to be told */
    int telling;
    int stop;
    int result;
    struct ctr_diag diag;
    struct ctr_progress prog;
    int counted; /* what there is to do is in prog */
    struct timespec prog_time;
};

/* replay_order.c */

/*
 * Output may go out before the piece is done: at once if it is the next in
 * order, else it has to wait when there is much of it.  Returns nonzero if
 * the replay has stopped.
 */
int replay_flush(struct ctr_job *job);
/*
 * Puts a finished piece into its place in the ring and tells what can be told
 * now.  The job's output buffer changes hands with the ring's.
 */
void replay_complete(struct ctr_job *job);

/* replay_work.c: the callbacks of a piece; 0, or what stops the replay. */
int replay_piece(struct ctr_job *job);

/* replay_fast.c: which of them a replay has; and tells as many as there are behind the
 * run at which the job's walk stands.  *stands becomes 1 if the walk went on to one that
 * was not told (or the chunk's end).  Returns 0, or what stops the replay. */
enum fast_kind replay_fast_kind(const struct replay *rp);
int replay_fast(struct ctr_job *job, int *stands);
/* The same file, where that is not FAST_NOT: passes over runs that end before the piece.
 */
int replay_skip(struct ctr_job *job, int *stands);

#endif
