/* SPDX-License-Identifier: MIT */
/*
 * When buffers become jobs: several buffers of a thread are packed together, as that
 * makes the trace smaller, unless somebody waits for the result or for buffers.
 */
#include "drain_priv.h"

/* Buffers older than this are packed although the job is not full. */
#define AGE_NS 1000000000ull
#define AGE_LIVE_NS 50000000ull
#define NAP_US 2000
/* At most so many bytes of side records, of all threads, are kept for future jobs. */
#define PENDING_SIDE_BYTES (64u << 20)

static bool side_by_side(const struct drain *d)
{
    return d->n_threads > 1 && !drain_is_ordered(d);
}

/* At most so many bytes are put into one job: many jobs are to fit into a ring. */
static uint64_t job_bytes(const struct drain *d, uint64_t most)
{
    uint64_t n = d->pipeline ? pipeline_job_bytes(d->pipeline) : most;

    return n < most ? n : most;
}

/* Completes the buffers of this round; dispatches at once what gets too large or long. */
static int settle_fresh(struct drain *d, struct slot *s)
{
    int err = 0;

    while (s->n_fresh && !err) {
        unsigned i = s->n_pending - s->n_fresh;

        if (i && side_by_side(d) &&
            s->pending[i].end_ns - s->pending[0].start_ns > SPAN_NS) {
            err = drain_dispatch_first(d, s, i);
            if (err) {
                break;
            }
            i = 0;
        }
        drain_attach_side(d, s, &s->pending[i], s->next_seq - s->n_fresh);
        s->n_fresh--;
        if (s->pending_side > job_bytes(d, JOB_SIDE_BYTES)) {
            err = drain_dispatch_first(d, s, i + 1);
        }
    }
    return err;
}

/* Makes jobs of a thread's buffers that are due. */
static int dispatch_due(struct drain *d, struct slot *s, uint64_t now)
{
    uint64_t full = job_bytes(d, JOB_FULL_BYTES);
    uint64_t age = d->host->layout.live ? AGE_LIVE_NS
                   : side_by_side(d)    ? SPAN_NS
                                        : AGE_NS;
    int err = 0;

    if (s->n_pending == JOB_SEGMENTS || now - s->pending_ns >= age) {
        return drain_dispatch(d, s);
    }
    while (!err && s->n_pending &&
           (s->pending_bytes >= full - full / 8 ||
            !drain_is_of_set(d, s, s->n_pending - 1))) {
        err = drain_dispatch_full(d, s);
        s->pending_ns = now;
    }
    return err;
}

/* Whether threads wait for buffers, or soon will. */
static bool buffers_are_short(const struct drain *d)
{
    /* Pairs with the addition by a thread that is about to wait, and rings. */
    return __atomic_load_n(&d->host->shared->space_waiters, __ATOMIC_SEQ_CST) ||
           (d->n_pending + pipeline_buffers_held(d->pipeline)) * 4 >=
               d->host->layout.nr_pool * 3;
}

/* Step 5: makes jobs of what is due; smaller ones when the guest runs out of buffers. */
int drain_make_jobs(struct drain *d, uint64_t now)
{
    uint32_t high = drain_pipes_high(d);
    int err = 0;

    for (uint32_t i = 0; i < high && !err; i++) {
        struct slot *s = &d->slots[i];
        if (s->n_fresh) {
            err = settle_fresh(d, s);
        }
        if (!err && s->n_pending) {
            err = dispatch_due(d, s, now);
        }
    }
    while (!err && d->pending_side > PENDING_SIDE_BYTES) {
        struct slot *most = NULL;
        for (uint32_t i = 0; i < high; i++) {
            if (!most || d->slots[i].pending_side > most->pending_side) {
                most = &d->slots[i];
            }
        }
        err = drain_dispatch(d, most);
    }
    while (!err && d->pipeline && d->n_pending && buffers_are_short(d) &&
           pipeline_backlog(d->pipeline) < d->workers) {
        struct slot *most = NULL;
        for (uint32_t i = 0; i < high; i++) {
            if (d->slots[i].n_pending &&
                (!most || d->slots[i].pending_bytes > most->pending_bytes)) {
                most = &d->slots[i];
            }
        }
        err = most ? drain_dispatch(d, most) : 0;
    }
    if (d->pipeline &&
        __atomic_load_n(&d->host->shared->space_waiters, __ATOMIC_SEQ_CST)) {
        pipeline_help(d->pipeline);
    }
    return err;
}

/*
 * While the guest has room, or the workers have enough to do, the dispatcher need not
 * handle every buffer at once: a wake-up costs the guest more than the buffer costs us.
 */
int drain_nap_us(const struct drain *d)
{
    const struct mempipe_ctl *ctl = &d->host->layout;
    uint32_t held;

    if (!d->pipeline || ctl->live || d->host->side_most > ctl->side_bytes / 8) {
        return 0;
    }
    held = d->n_pending + pipeline_buffers_held(d->pipeline);
    return held * 2 <= ctl->nr_pool || pipeline_backlog(d->pipeline) >= d->workers
               ? NAP_US
               : 0;
}
