/* SPDX-License-Identifier: MIT */
/*
 * From segments to the file: encode workers and the writer thread.
 *
 * The dispatcher submits jobs in the order in which they are to stand in the
 * file.  Workers pack the chunks among them in parallel; one thread writes all
 * jobs in order.  Nothing here waits for the guest.
 */
#ifndef RECORDER_PIPELINE_H
#define RECORDER_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr_write.h"
#include "effort.h"
#include "journal.h"
#include "mempipe_host.h"
#include "ring.h"

/*
 * A job packs so many segments at most, and so many bytes of their columns.  There is
 * much to say of a block when it is met for the first time in a job: jobs of 2 MiB make
 * larger traces (15 % with exec alone, 4 % with accesses) and take 3 % more of the
 * processor, those of 8 MiB are as much better again.  But a reader seeks to a job's
 * begin, and a worker needs memory for it.
 */
#define JOB_SEGMENTS 16
#define JOB_FULL_BYTES (4u << 20)

/* Numbers that only the writer thread reads and writes: index.  With a ring they are
 * known as soon as the job is submitted. */
struct guest_process {
    uint32_t serial;   /* of its first pipe, by which its threads name it */
    int32_t pid, ppid; /* as the guest knows them */
    bool nested;       /* ... in a PID namespace below the recorder's command's */
    pid_t host_pid;    /* as the recorder does; 0: it was gone when it was first seen */
    uint64_t start;    /* see struct attached_process */
    int pidfd;         /* -1: none */
    int tie;           /* of lifeline_tie, -1: none */
    int entry;         /* of attached_add, -1: none */
    bool dead;        /* its last event has been written into the pipe */
    bool execed;      /* it lives on as another program, which may be another one here */
    unsigned threads; /* of it that hold a pipe */
    uint64_t start_ns, end_ns;
    uint32_t end_reason; /* enum ctr_end */
    int32_t end_status;
    bool exec_pending; /* one of its threads is inside execve */
    bool replaced;     /* a later program of the same process is recorded already */
    uint64_t limbo_ns; /* since when it is a QEMU that has not come to us, 0: it is not */
    struct epoch *epoch; /* the drainer's: its newest, or NULL */
    uint32_t index;
    struct guest_process *next;
};

struct guest_thread {
    struct guest_process *process;
    int32_t tid, ptid;
    uint32_t pipe, serial; /* where it came from */
    uint64_t start_ns, end_ns;
    uint32_t end_reason;
    int32_t end_status;
    bool incomplete; /* its last events may be missing: known to the drainer */
    bool unsure;     /* ... known to the writer, and the writer's alone */
    uint32_t index;
};

enum job_kind {
    JOB_REGS,        /* regs: the register table */
    JOB_PROCESS,     /* process: a new one */
    JOB_THREAD,      /* thread: a new one */
    JOB_CHUNK,       /* thread, segs */
    JOB_THREAD_END,  /* thread, freed by the writer afterwards */
    JOB_PROCESS_END, /* process, freed by the writer afterwards */
    JOB_DUMP,        /* dump: writes the ring to a file */
};

struct job_segment {
    uint32_t chunk;
    uint32_t seq;
    uint32_t words, units;
    uint32_t flags; /* CTR_SEGMENT_* */
    uint64_t start_ns, end_ns;
    uint32_t from_word, from_unit, from_aux, from_insn; /* see struct ctr_segment */
    struct aux_records *aux; /* the job's (journal.h); NULL: none */
};

struct job {
    enum job_kind kind;
    struct guest_process *process;
    struct guest_thread *thread;
    struct mempipe_aux_regtable *regs; /* the job's, malloc'ed, with the table behind */
    bool trim;                         /* give memory of home chunks back */
    struct pipeline_dump *dump;        /* the submitter's, who waits */
    unsigned n_segs; /* that it releases */
    uint64_t start_ns, end_ns; /* of the chunk */
    void *state; /* malloc'ed, if the first one goes on: ctr_encoder_set_state.  NULL: it
                  * is known to the worker, or there are no registers */
    uint32_t state_bytes;
    struct job_segment segs[JOB_SEGMENTS];
    /* private */
    uint64_t serial; /* in the order of submission, from 1; 0: its rest has it */
    bool done;
    int error;
    struct ctr_diag diag;
    struct ctr_packed *packed;
    struct ring_events events; /* with a ring: those that outlive the chunk */
    struct ring_place next;    /* ... and where the thread goes on; state malloc'ed */
    uint64_t bytes;
    struct job *next_todo, *next_ordered;
};

struct pipeline;

struct pipeline_config {
    struct mempipe_host *host;
    struct ctr_dict *dict;
    struct ring *ring; /* NULL: all is written as it comes */
    struct journal *journal; /* with a ring */
    int fd;
    const char *output; /* its name, for the names of dumps */
    unsigned workers;
    unsigned processors; /* that there are for them and the guest */
    int level;
    struct ctr_meta meta;
};

/* Puts what QEMU says of the target into `meta', which then points into `target'. */
void pipeline_target(struct ctr_meta *meta, const struct mempipe_host *host,
                     const struct mempipe_target *target);

/*
 * Starts the trace on config->fd and the threads.  Returns 0 or a negated enum
 * ctr_error; then nothing needs to be freed.
 */
int pipeline_new(struct pipeline **out, const struct pipeline_config *config,
                 struct ctr_diag *diag);

/* NULL without a ring. */
struct journal *pipeline_journal(const struct pipeline *pl);

/* Takes over a job made with calloc(3), what hangs on it and, for *_END, its object. */
void pipeline_submit(struct pipeline *pl, struct job *job);

/* The guest waits for chunks: wakes another worker, if there is work for one. */
void pipeline_help(struct pipeline *pl);

/* The number of the last job that was submitted (the submitter asks), and of the last one
 * with which everybody is done. */
uint64_t pipeline_submitted(const struct pipeline *pl);
uint64_t pipeline_done(const struct pipeline *pl);

/* Chunk jobs that no worker has begun. */
unsigned pipeline_backlog(const struct pipeline *pl);

/* Bytes that a job should not exceed: many are to fit into the ring. */
uint64_t pipeline_job_bytes(const struct pipeline *pl);

/* Pipe chunks that jobs hold at the moment. */
uint32_t pipeline_chunks_held(const struct pipeline *pl);

/* Bytes of records that jobs hold at the moment.  When they fall below
 * PIPELINE_AUX_BYTES the recorder's doorbell is rung. */
#define PIPELINE_AUX_BYTES (128u << 20)
uint64_t pipeline_aux_held(const struct pipeline *pl);

/*
 * Not 0 after a failure, which it copies: from then on jobs are dropped and
 * their chunks released.  The recorder's doorbell is rung when it happens.
 */
int pipeline_error(struct pipeline *pl, struct ctr_diag *diag);

struct pipeline_stats {
    struct ctr_writer_stats out;
    uint64_t raw_bytes;
    uint32_t incomplete; /* threads whose last events may be missing */
    struct ring_numbers ring; /* all 0 without one */
};
void pipeline_stats(struct pipeline *pl, struct pipeline_stats *stats);

/* One of the pipeline's threads, once they have ended. */
struct pipeline_thread {
    struct effort effort;
    uint64_t jobs;
    uint64_t locked;    /* how often it took the pipeline's lock, and ... */
    uint64_t contended; /* ... how often another thread had it then */
};
/* The workers, then the writer; false: there is no number i.  After pipeline_finish. */
bool pipeline_thread(const struct pipeline *pl, unsigned i, struct pipeline_thread *out);

/* What a thread has not handed over yet: a copy. */
struct pipeline_tail {
    struct guest_thread *thread;
    struct ctr_segment seg;
};

/*
 * Writes what the ring holds, all jobs before and the tails behind them, to a file, and waits for that; the
 * recording goes on.  file: NULL for the first of OUTPUT.1, OUTPUT.2 and so on that does
 * not exist.  The name is copied to `name'.  Returns 0 or a negated enum
 * ctr_error, -CTR_E_INVAL if there is no ring.  If the file cannot be opened diag->field
 * is PIPELINE_DUMP_FILE, and diag->text says why.
 */
#define PIPELINE_DUMP_FILE "dump"
int pipeline_dump(struct pipeline *pl, const struct pipeline_tail *tails,
                  uint32_t n_tails, const char *file, char *name, size_t name_bytes,
                  struct ctr_diag *diag);

/* Waits for all jobs and ends the threads.  With a ring all is in there then. */
void pipeline_stop(struct pipeline *pl);

/*
 * Waits for all jobs, ends the threads and finishes the file, also after a
 * failure.  Returns 0 or a negated enum ctr_error of the finishing.
 */
int pipeline_finish(struct pipeline *pl, struct ctr_diag *diag);
void pipeline_free(struct pipeline *pl);

#endif
