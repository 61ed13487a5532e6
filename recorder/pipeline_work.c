/* SPDX-License-Identifier: MIT */
/* Encode workers: which of them is awake, and what it does with a job. */
#include "pipeline_priv.h"

#include <stdlib.h>
#include <string.h>

#include "pack.h"

#define PACKED_MAX_BYTES (16u << 20)
/* If so many jobs wait, another worker than the first is woken. */
#define MANY_JOBS 2u

void pipeline_lock(struct pipeline *pl, struct pipeline_thread *stats)
{
    stats->locked++;
    if (pthread_mutex_trylock(&pl->lock)) {
        stats->contended++;
        pthread_mutex_lock(&pl->lock);
    }
}

void pipeline_fail(struct pipeline *pl, int error, const struct ctr_diag *diag)
{
    pthread_mutex_lock(&pl->lock);
    if (!pl->error) {
        pl->error = error;
        pl->diag = *diag;
    }
    pthread_mutex_unlock(&pl->lock);
    mempipe_host_ring(pl->host);
}

void pipeline_release(struct pipeline *pl, struct job *job)
{
    const uint64_t side = job_side_bytes(job);

    for (unsigned i = 0; i < job->n_segs; i++) {
        struct job_segment *s = &job->segs[i];

        journal_give_back(pl->journal, s->buffer);
        mempipe_host_release(pl->host, s->buffer, s->words, s->units, job->trim);
        /* pairs with the load in pipeline_buffers_held */
        __atomic_fetch_sub(&pl->held, 1, __ATOMIC_RELEASE);
        journal_drop(pl->journal, s->side);
        s->side = NULL;
    }
    if (side) {
        /* pairs with the load in pipeline_side_held */
        uint64_t before = __atomic_fetch_sub(&pl->side_held, side, __ATOMIC_RELEASE);

        if (before > PIPELINE_SIDE_BYTES && before - side <= PIPELINE_SIDE_BYTES) {
            mempipe_host_ring(pl->host);
        }
    }
}

/*
 * Makes a job of its own, to be written next, of all but the first n segments; or NULL.
 * The same worker must pack it: others may be waiting until it has been written.
 */
static struct job *split(struct pipeline *pl, struct job *job, unsigned n)
{
    struct job *rest = calloc(1, sizeof(*rest));

    if (!rest) {
        job->error = -CTR_E_NOMEM;
        return NULL;
    }
    rest->kind = JOB_CHUNK;
    rest->thread = job->thread;
    rest->trim = job->trim;
    rest->serial = job->serial;
    job->serial = 0;
    rest->n_segs = job->n_segs - n;
    memcpy(rest->segs, job->segs + n, rest->n_segs * sizeof(rest->segs[0]));
    job->n_segs = n;
    pthread_mutex_lock(&pl->lock);
    rest->next_ordered = job->next_ordered;
    job->next_ordered = rest;
    if (pl->ordered_end == &job->next_ordered) {
        pl->ordered_end = &rest->next_ordered;
    }
    pthread_mutex_unlock(&pl->lock);
    return rest;
}

static bool may_work(const struct pipeline *pl)
{
    return pl->todo && pl->packed_bytes <= PACKED_MAX_BYTES;
}

unsigned pipeline_backlog(const struct pipeline *pl)
{
    return __atomic_load_n(&pl->backlog, __ATOMIC_RELAXED);
}

/*
 * Whether a sleeping worker is needed.  As long as the first one keeps up, another one
 * would only take the processor from the guest now and then; where there is no processor
 * to spare, that holds until the guest has to wait.
 */
static bool is_needed(const struct worker *w)
{
    const struct pipeline *pl = w->pl;

    return w == &pl->workers[0] || pl->ending ||
           (w->early && pipeline_backlog(pl) >= MANY_JOBS) ||
           __atomic_load_n(&pl->host->shared->space_waiters, __ATOMIC_RELAXED);
}

void pipeline_wake_one(struct pipeline *pl)
{
    for (unsigned i = 0; may_work(pl) && i < pl->n_workers; i++) {
        struct worker *w = &pl->workers[i];

        if (!w->awake && is_needed(w)) {
            w->awake = true;
            pthread_cond_signal(&w->wake);
            return;
        }
    }
}

void pipeline_wake_all(struct pipeline *pl)
{
    for (unsigned i = 0; i < pl->n_workers; i++) {
        pl->workers[i].awake = true;
        pthread_cond_signal(&pl->workers[i].wake);
    }
}

static struct job *pop_todo(struct pipeline *pl)
{
    struct job *job = pl->todo;

    pl->todo = job->next_todo;
    if (!pl->todo) {
        pl->todo_end = &pl->todo;
    }
    __atomic_fetch_sub(&pl->backlog, 1, __ATOMIC_RELAXED);
    return job;
}

void *pipeline_worker_main(void *arg)
{
    struct worker *w = arg;
    struct pipeline *pl = w->pl;
    struct job *rest = NULL; /* of the job before */

    pipeline_lock(pl, &w->stats);
    for (;;) {
        struct job *job = rest;
        bool drop;

        while (!job && (!w->awake || !may_work(pl))) {
            if (!pl->todo && pl->ending) {
                /* Another one may have slept since there was no room for its work. */
                pipeline_wake_all(pl);
                pthread_mutex_unlock(&pl->lock);
                effort_of_thread(&w->stats.effort);
                return NULL;
            }
            w->awake = false;
            pthread_cond_wait(&w->wake, &pl->lock);
        }
        if (!job) {
            job = pop_todo(pl);
        }
        rest = NULL;
        drop = pl->error != 0;
        job->packed = pl->n_spare ? pl->spare[--pl->n_spare] : NULL;
        pthread_mutex_unlock(&pl->lock);
        w->stats.jobs++;

        if (!drop) {
            struct ctr_packed_info info = {0};
            if (!job->packed) {
                job->error = ctr_packed_new(&job->packed);
            }
            unsigned n =
                job->error ? job->n_segs : job_pack(job, w->enc, pl->host, pl->sink);
            if (n < job->n_segs) {
                rest = split(pl, job, n);
            }
            if (job->error) {
                pipeline_fail(pl, job->error, &job->diag);
            } else {
                ctr_packed_info(job->packed, &info);
                job->bytes = info.bytes;
            }
        } else {
            job->error = -CTR_E_INVAL;
        }
        if (!pl->sink->ops->keeps_segments) {
            pipeline_release(pl, job);
        }

        pipeline_lock(pl, &w->stats);
        pl->packed_bytes += job->bytes;
        job->done = true;
        if (job == pl->ordered) {
            pthread_cond_signal(&pl->ready);
        }
        if (!pl->todo) {
            /* The dispatcher may have smaller jobs for an idle worker. */
            mempipe_host_ring(pl->host);
        }
    }
}
