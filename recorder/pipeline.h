/* SPDX-License-Identifier: MIT */
/*
 * From segments to the file: encode workers and the writer thread.
 *
 * The dispatcher submits jobs in the order of the file.  Workers pack the chunks among
 * them in parallel; one thread writes all jobs in order.  Nothing here waits for the
 * guest.
 */
#ifndef RECORDER_PIPELINE_H
#define RECORDER_PIPELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr_write.h"
#include "effort.h"
#include "job.h"
#include "journal.h"
#include "mempipe_host.h"
#include "ring.h"
#include "sink.h"

struct pipeline;

struct pipeline_config {
    struct mempipe_host *host;
    struct ctr_dict *dict;
    struct ring *ring;       /* NULL: all is written as it comes */
    struct journal *journal; /* with a ring */
    int fd;
    const char *output; /* its name, for the names of dumps */
    unsigned workers;
    unsigned processors; /* that there are for them and the guest */
    int level;
    struct ctr_meta meta;
    const struct inputs *inputs; /* inputs.h, or NULL */
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

/* Takes ownership of a job made with calloc(3), of what it points to and, for *_END, of
 * its object. */
void pipeline_submit(struct pipeline *pl, struct job *job);

/* The guest waits for buffers: wakes another worker, if there is work for one. */
void pipeline_help(struct pipeline *pl);

/* The number of the last job that was submitted (for the submitter only), and of the last
 * one that everybody is done with. */
uint64_t pipeline_submitted(const struct pipeline *pl);
uint64_t pipeline_done(const struct pipeline *pl);

/* Chunk jobs that no worker has begun. */
unsigned pipeline_backlog(const struct pipeline *pl);

/* Bytes that a job should not exceed: many are to fit into the ring. */
uint64_t pipeline_job_bytes(const struct pipeline *pl);

/* Buffers of the pipe that jobs hold at the moment. */
uint32_t pipeline_buffers_held(const struct pipeline *pl);

/* Bytes of side records that jobs hold at the moment.  When they fall below
 * PIPELINE_SIDE_BYTES the recorder's doorbell is rung. */
#define PIPELINE_SIDE_BYTES (128u << 20)
uint64_t pipeline_side_held(const struct pipeline *pl);

/*
 * Not 0 after a failure, which it copies: from then on jobs are dropped and their buffers
 * released.  The recorder's doorbell is rung when it happens.
 */
int pipeline_error(struct pipeline *pl, struct ctr_diag *diag);

struct pipeline_stats {
    struct ctr_writer_stats out;
    uint64_t raw_bytes;
    uint32_t incomplete;      /* threads whose last events may be missing */
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

/*
 * Writes what the ring holds, with all jobs before, and then the tails to a file, and
 * waits for that; the recording goes on.  file: NULL for the first of OUTPUT.1, OUTPUT.2
 * and so on that does not exist.  The name is copied to `name'.  Returns 0 or a negated
 * enum ctr_error, -CTR_E_INVAL if there is no ring.  If the file cannot be opened
 * diag->field is PIPELINE_DUMP_FILE, and diag->text says why.
 */
#define PIPELINE_DUMP_FILE "dump"
int pipeline_dump(struct pipeline *pl, const struct sink_tail *tails, uint32_t n_tails,
                  const char *file, char *name, size_t name_bytes, struct ctr_diag *diag);

/* Waits for all jobs and ends the threads.  With a ring all is in there then. */
void pipeline_stop(struct pipeline *pl);

/*
 * Waits for all jobs, ends the threads and finishes the file, also after a
 * failure.  Returns 0 or a negated enum ctr_error of the finishing.
 */
int pipeline_finish(struct pipeline *pl, struct ctr_diag *diag);
void pipeline_free(struct pipeline *pl);

#endif
