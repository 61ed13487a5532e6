/* SPDX-License-Identifier: MIT */
/* Pending buffers of a thread, and how they become jobs. */
#include "drain_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int drain_reject(struct drain *d, uint32_t pipe, const char *text)
{
    memset(d->diag, 0, sizeof(*d->diag));
    d->diag->code = CTR_E_CORRUPT;
    d->diag->off = CTR_NO_OFF;
    snprintf(d->diag->field, sizeof(d->diag->field), "pipe %u", pipe);
    snprintf(d->diag->text, sizeof(d->diag->text), "%s", text);
    return -CTR_E_CORRUPT;
}

void drain_release_segment(struct drain *d, struct job_segment *s)
{
    journal_give_back(d->journal, s->buffer);
    mempipe_host_release(d->host, s->buffer, s->words, s->units,
                         s->buffer >= WARM_RESERVED);
    journal_drop(d->journal, s->side);
}

struct job *drain_job_new(enum job_kind kind, struct guest_process *p,
                          struct guest_thread *t)
{
    struct job *job = calloc(1, sizeof(*job));

    if (job) {
        job->kind = kind;
        job->process = p;
        job->thread = t;
    }
    return job;
}

/* Submits a job; without a pipeline what it carries is dropped. */
int drain_submit(struct drain *d, struct job *job)
{
    if (!job) {
        return -CTR_E_NOMEM;
    }
    if (d->pipeline) {
        pipeline_submit(d->pipeline, job);
        return 0;
    }
    for (unsigned i = 0; i < job->n_segs; i++) {
        drain_release_segment(d, &job->segs[i]);
    }
    if (job->kind == JOB_THREAD_END) {
        free(job->thread);
    } else if (job->kind == JOB_PROCESS_END) {
        guest_process_free(job->process);
    }
    job_free(job);
    return 0;
}

/* Makes one job of the first n pending buffers. */
static int dispatch_one(struct drain *d, struct slot *s, unsigned n)
{
    struct job *job;
    uint64_t side = 0;

    job = drain_job_new(JOB_CHUNK, NULL, s->thread);
    if (!job) {
        return -CTR_E_NOMEM;
    }
    job->trim = s->trim;
    job->n_segs = n;
    memcpy(job->segs, s->pending, n * sizeof(s->pending[0]));
    for (unsigned i = 0; i < n; i++) {
        s->pending_bytes -= drain_segment_bytes(d, &s->pending[i]);
        side += s->pending[i].side ? s->pending[i].side->bytes : 0;
    }
    s->pending_side -= side;
    d->pending_side -= side;
    d->n_pending -= n;
    s->n_pending -= n;
    memmove(s->pending, s->pending + n, s->n_pending * sizeof(s->pending[0]));
    return drain_submit(d, job);
}

/* How many of the pending buffers, n or less, go into one job. */
static unsigned job_takes(const struct drain *d, const struct slot *s, unsigned n)
{
    uint64_t bytes = drain_segment_bytes(d, &s->pending[0]);
    unsigned k = 1;

    while (k < n && drain_is_of_set(d, s, k) &&
           (bytes += drain_segment_bytes(d, &s->pending[k])) <= JOB_FULL_BYTES) {
        k++;
    }
    return k;
}

int drain_dispatch_first(struct drain *d, struct slot *s, unsigned n)
{
    int err = 0;

    while (n && !err) {
        unsigned k = job_takes(d, s, n);

        err = dispatch_one(d, s, k);
        n -= k;
    }
    return err;
}

int drain_dispatch_full(struct drain *d, struct slot *s)
{
    return dispatch_one(d, s, job_takes(d, s, s->n_pending));
}

int drain_dispatch(struct drain *d, struct slot *s)
{
    return drain_dispatch_first(d, s, s->n_pending);
}

void drain_push_segment(struct drain *d, struct slot *s, const struct job_segment *seg,
                        uint64_t now)
{
    if (!s->n_pending) {
        s->pending_ns = now;
    }
    s->pending[s->n_pending++] = *seg;
    s->pending_bytes += drain_segment_bytes(d, seg);
    d->last_ns = seg->end_ns > d->last_ns ? seg->end_ns : d->last_ns;
    d->n_pending++;
}

int drain_push_old(struct drain *d, struct slot *s, const struct job_segment *seg,
                   uint64_t now)
{
    int err = 0;

    if (s->n_pending == JOB_SEGMENTS || s->pending_side > JOB_SIDE_BYTES ||
        (s->n_pending && seg->end_ns - s->pending[0].start_ns > SPAN_NS)) {
        err = drain_dispatch(d, s);
    }
    if (!err) {
        drain_push_segment(d, s, seg, now);
    }
    return err;
}
