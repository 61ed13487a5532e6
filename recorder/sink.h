/* SPDX-License-Identifier: MIT */
/*
 * Where packed jobs go: into a file as they come, or into a ring until somebody requests
 * a file of it.  The pipeline calls a sink some times for a job, never for an event.
 */
#ifndef RECORDER_SINK_H
#define RECORDER_SINK_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr_write.h"
#include "inputs.h"
#include "job.h"
#include "ring.h"

/* What a thread has not handed over yet: a copy. */
struct sink_tail {
    struct guest_thread *thread;
    struct ctr_segment seg;
};

struct sink;

struct sink_ops {
    /*
     * The segments of a job go back to the guest once the sink has its chunk, so that
     * they are not lost with this process.  Otherwise as soon as they are packed.
     */
    bool keeps_segments;
    /*
     * By the submitter, at once: what must not be lost with this process.  *all: that
     * was all of the job.  NULL: nothing is done early.
     */
    int (*announce)(struct sink *s, struct job *job, bool *all, struct ctr_diag *diag);
    /*
     * By a worker that has packed the first `whole' of the job's segments wholly, and if
     * taken < job->n_segs a part of segs[taken], which is to go on as that one says;
     * job->segs is as before.  NULL: nothing is needed.
     */
    int (*packed)(struct sink *s, struct job *job, const struct ctr_segment *segs,
                  unsigned whole, unsigned taken, const struct ctr_encoder *enc);
    /* By the writer, in the order of submission, all but JOB_DUMP. */
    int (*write)(struct sink *s, struct job *job, struct ctr_diag *diag);
    /* By the writer: all that there is, and the tails after it, as a file.  NULL: there
     * is no ring. */
    int (*dump)(struct sink *s, int fd, const struct sink_tail *tails, uint32_t n_tails,
                struct ctr_diag *diag);
    /* By the writer: what chunks that there are already say of the physical pages of a
     * thread of JOB_THREAD.  NULL: nothing. */
    int (*learn_pages)(struct sink *s, uint32_t thread, struct ctr_physmap *map);
    /* Bytes that a job should not exceed; any thread. */
    uint64_t (*job_bytes)(const struct sink *s);
    /* What it got so far; by the writer. */
    void (*stats)(const struct sink *s, struct ctr_writer_stats *out,
                  struct ring_numbers *ring);
    /* Once the writer has ended: finishes the file.  *out as stats, of the file. */
    int (*finish)(struct sink *s, struct ctr_writer_stats *out, struct ring_numbers *ring,
                  struct ctr_diag *diag);
    void (*free)(struct sink *s);
};

struct sink {
    const struct sink_ops *ops;
};

/* What both kinds need; pointers must outlive the sink. */
struct sink_config {
    int fd;
    int level;
    unsigned addr_bytes;
    struct ctr_dict *dict;
    const struct ctr_meta *meta;
    const struct inputs *inputs; /* inputs.h, or NULL */
};

/* Return 0 or a negated enum ctr_error.  The ring stays the caller's. */
int sink_file_new(struct sink **out, const struct sink_config *config,
                  struct ctr_diag *diag);
int sink_ring_new(struct sink **out, const struct sink_config *config, struct ring *ring,
                  struct ctr_diag *diag);

#endif
