/* SPDX-License-Identifier: MIT */
/* The pipeline's interface: how it begins and ends, and queries of its state. */
#include "pipeline.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "pipeline_priv.h"

static void stop_threads(struct pipeline *pl, unsigned workers, bool writer)
{
    pthread_mutex_lock(&pl->lock);
    pl->ending = true;
    pipeline_wake_all(pl);
    pthread_cond_broadcast(&pl->ready);
    pthread_mutex_unlock(&pl->lock);
    for (unsigned i = 0; i < workers; i++) {
        pthread_join(pl->workers[i].thread, NULL);
    }
    if (writer) {
        pthread_join(pl->writer_thread, NULL);
    }
}

static int start_threads(struct pipeline *pl)
{
    sigset_t all, old;
    unsigned n = 0;
    int err = 0;

    /* Signals are the main thread's. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (n < pl->n_workers && !err) {
        err = pthread_create(&pl->workers[n].thread, NULL, pipeline_worker_main,
                             &pl->workers[n]);
        n += !err;
    }
    if (!err) {
        err = pthread_create(&pl->writer_thread, NULL, pipeline_writer_main, pl);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (err) {
        stop_threads(pl, n, false);
    }
    return err;
}

void pipeline_target(struct ctr_meta *meta, const struct mempipe_host *host,
                     const struct mempipe_target *target)
{
    meta->target = target->target;
    meta->qemu_version = target->qemu_version;
    meta->elf_machine = target->elf_machine;
    meta->big_endian = target->big_endian;
    meta->addr_bits = (uint8_t)(8 * target->addr_bytes);
    meta->events = host->layout.events;
}

int pipeline_new(struct pipeline **out, const struct pipeline_config *config,
                 struct ctr_diag *diag)
{
    const struct sink_config to = {.fd = config->fd,
                                   .level = config->level,
                                   .addr_bytes = config->host->addr_bytes,
                                   .dict = config->dict,
                                   .meta = &config->meta,
                                   .inputs = config->inputs};
    struct pipeline *pl = calloc(1, sizeof(*pl));
    int err = -CTR_E_NOMEM;

    if (!pl) {
        return err;
    }
    pl->host = config->host;
    pl->phys = config->host->layout.events & CTR_EVENTS_PHYS;
    pl->level = config->level;
    if (config->host->layout.events & CTR_EVENTS_KEY) {
        pl->keyframes = keyframes_new(config->host);
        if (!pl->keyframes) {
            free(pl);
            return err;
        }
    }
    pl->n_workers = config->workers;
    pl->max_spare = config->workers / 2 + 1;
    pl->workers = calloc(config->workers, sizeof(*pl->workers));
    pl->spare = calloc(pl->max_spare, sizeof(*pl->spare));
    pl->todo_end = &pl->todo;
    pl->ordered_end = &pl->ordered;
    pthread_mutex_init(&pl->lock, NULL);
    pthread_cond_init(&pl->ready, NULL);
    pthread_cond_init(&pl->dumped, NULL);
    pl->journal = config->journal;
    pl->output = config->output;
    if (!pl->workers || !pl->spare) {
        goto out_free;
    }
    for (unsigned i = 0; i < pl->n_workers; i++) {
        pl->workers[i].pl = pl;
        pl->workers[i].early = i + 1 < config->processors;
        pthread_cond_init(&pl->workers[i].wake, NULL);
    }
    for (unsigned i = 0; i < pl->n_workers; i++) {
        err = ctr_encoder_new(&pl->workers[i].enc, config->dict, config->host->addr_bytes,
                              config->level);
        if (err) {
            goto out_free;
        }
    }
    err = config->ring ? sink_ring_new(&pl->sink, &to, config->ring, diag)
                       : sink_file_new(&pl->sink, &to, diag);
    if (err) {
        goto out_free;
    }
    if (start_threads(pl)) {
        err = -CTR_E_NOMEM;
        goto out_free;
    }
    *out = pl;
    return 0;

out_free:
    pipeline_free(pl);
    return err;
}

struct journal *pipeline_journal(const struct pipeline *pl)
{
    return pl->journal;
}

void pipeline_submit(struct pipeline *pl, struct job *job)
{
    if (pl->sink->ops->announce) {
        struct ctr_diag diag = {0};
        bool all;
        int err = pl->sink->ops->announce(pl->sink, job, &all, &diag);

        if (err) {
            pipeline_fail(pl, err, &diag);
        }
        if (all) {
            job_free(job);
            return;
        }
    }
    job->next_todo = NULL;
    job->next_ordered = NULL;
    job->done = job->kind != JOB_CHUNK;
    job->serial = ++pl->submitted;
    pthread_mutex_lock(&pl->lock);
    *pl->ordered_end = job;
    pl->ordered_end = &job->next_ordered;
    if (job->kind == JOB_CHUNK) {
        __atomic_fetch_add(&pl->held, job->n_segs, __ATOMIC_RELAXED);
        __atomic_fetch_add(&pl->side_held, job_side_bytes(job), __ATOMIC_RELAXED);
        *pl->todo_end = job;
        pl->todo_end = &job->next_todo;
        __atomic_fetch_add(&pl->backlog, 1, __ATOMIC_RELAXED);
        pipeline_wake_one(pl);
    } else if (job == pl->ordered) {
        pthread_cond_signal(&pl->ready);
    }
    pthread_mutex_unlock(&pl->lock);
}

void pipeline_help(struct pipeline *pl)
{
    pthread_mutex_lock(&pl->lock);
    pipeline_wake_one(pl);
    pthread_mutex_unlock(&pl->lock);
}

uint64_t pipeline_submitted(const struct pipeline *pl)
{
    return pl->submitted;
}

uint64_t pipeline_done(const struct pipeline *pl)
{
    /* pairs with the writer's store, which comes after all reads by it and the workers */
    return __atomic_load_n(&pl->finished, __ATOMIC_ACQUIRE);
}

uint64_t pipeline_job_bytes(const struct pipeline *pl)
{
    return pl->sink->ops->job_bytes(pl->sink);
}

uint32_t pipeline_buffers_held(const struct pipeline *pl)
{
    /* pairs with the subtraction of the workers */
    return __atomic_load_n(&pl->held, __ATOMIC_ACQUIRE);
}

uint64_t pipeline_side_held(const struct pipeline *pl)
{
    /* pairs with the subtraction of the workers */
    return __atomic_load_n(&pl->side_held, __ATOMIC_ACQUIRE);
}

int pipeline_error(struct pipeline *pl, struct ctr_diag *diag)
{
    int error;

    pthread_mutex_lock(&pl->lock);
    error = pl->error;
    if (error) {
        *diag = pl->diag;
    }
    pthread_mutex_unlock(&pl->lock);
    return error;
}

void pipeline_stats(struct pipeline *pl, struct pipeline_stats *stats)
{
    pthread_mutex_lock(&pl->lock);
    *stats = pl->stats;
    pthread_mutex_unlock(&pl->lock);
}

bool pipeline_thread(const struct pipeline *pl, unsigned i, struct pipeline_thread *out)
{
    if (i > pl->n_workers) {
        return false;
    }
    *out = i < pl->n_workers ? pl->workers[i].stats : pl->writer_stats;
    return true;
}

void pipeline_stop(struct pipeline *pl)
{
    stop_threads(pl, pl->n_workers, true);
}

int pipeline_finish(struct pipeline *pl, struct ctr_diag *diag)
{
    pipeline_stop(pl);
    return pl->sink->ops->finish(pl->sink, &pl->stats.out, &pl->stats.ring, diag);
}

void pipeline_free(struct pipeline *pl)
{
    if (!pl) {
        return;
    }
    if (pl->sink) {
        pl->sink->ops->free(pl->sink);
    }
    for (unsigned i = 0; pl->workers && i < pl->n_workers; i++) {
        ctr_encoder_free(pl->workers[i].enc);
        pthread_cond_destroy(&pl->workers[i].wake);
    }
    for (unsigned i = 0; i < pl->n_spare; i++) {
        ctr_packed_free(pl->spare[i]);
    }
    pthread_mutex_destroy(&pl->lock);
    pthread_cond_destroy(&pl->ready);
    pthread_cond_destroy(&pl->dumped);
    free(pl->workers);
    free(pl->spare);
    keyframes_free(pl->keyframes);
    free(pl);
}
