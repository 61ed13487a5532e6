/* SPDX-License-Identifier: MIT */
/* The writer thread: hands jobs to the sink in the order of submission. */
#include "pipeline_priv.h"

#include <stdlib.h>

/* A JOB_DUMP, whose submitter waits. */
static void run_dump(struct pipeline *pl, struct pipeline_dump *d)
{
    int err = pl->sink->ops->dump(pl->sink, d->fd, d->tails, d->n_tails, &d->diag);

    pthread_mutex_lock(&pl->lock);
    d->error = err;
    d->done = true;
    pthread_cond_signal(&pl->dumped);
    pthread_mutex_unlock(&pl->lock);
}

/* Completes a chunk with what the thread's chunks before it say of physical pages. */
static int add_pages(struct pipeline *pl, struct job *job, struct ctr_diag *diag)
{
    struct guest_thread *t = job->thread;

    if (!t->physmap) {
        int err = ctr_physmap_new(&t->physmap, pl->host->addr_bytes, pl->level);

        if (!err && pl->sink->ops->learn_pages) {
            err = pl->sink->ops->learn_pages(pl->sink, t->index, t->physmap);
        }
        if (err) {
            return err;
        }
    }
    return ctr_physmap_apply(t->physmap, job->packed, diag);
}

/* Notes what the jobs say about threads, then passes them on. */
static int do_job(struct pipeline *pl, struct job *job, struct ctr_diag *diag)
{
    struct guest_thread *t = job->thread;
    struct ctr_packed_info info;

    if (job->kind == JOB_CHUNK) {
        int err = pl->phys ? add_pages(pl, job, diag) : 0;

        if (err) {
            return err;
        }
        ctr_packed_info(job->packed, &info);
        if (info.unsure) {
            t->unsure = true;
        }
        pl->raw_bytes += info.raw_bytes;
        if (pl->keyframes) {
            pl->written_bytes += info.bytes;
            keyframes_note(pl->keyframes, &t->process->keyframes, t->pipe, t->serial,
                           job->packed, pl->written_bytes);
        }
    } else if (job->kind == JOB_THREAD_END) {
        pl->incomplete += t->incomplete || t->unsure;
    }
    if (job->kind == JOB_DUMP) {
        run_dump(pl, job->dump);
        return 0;
    }
    return pl->sink->ops->write(pl->sink, job, diag);
}

/*
 * After a failure to write, chunks are dropped, and so are objects that the file does not
 * know; ends of those that it knows are still passed on, for the finish, and that files were
 * written to.
 */
static bool writable_after_error(const struct job *job)
{
    return (job->kind == JOB_THREAD_END && job->thread->index != UINT32_MAX) ||
           (job->kind == JOB_PROCESS_END && job->process->index != UINT32_MAX) ||
           (job->kind == JOB_FILE && job->file->written) || job->kind == JOB_DUMP;
}

void *pipeline_writer_main(void *arg)
{
    struct pipeline *pl = arg;

    pipeline_lock(pl, &pl->writer_stats);
    for (;;) {
        struct ctr_diag diag = {0};
        struct job *job;
        bool drop;
        int err = 0;

        while (!pl->ordered || !pl->ordered->done) {
            if (!pl->ordered && pl->ending) {
                pthread_mutex_unlock(&pl->lock);
                effort_of_thread(&pl->writer_stats.effort);
                return NULL;
            }
            pthread_cond_wait(&pl->ready, &pl->lock);
        }
        job = pl->ordered;
        pl->ordered = job->next_ordered;
        if (!pl->ordered) {
            pl->ordered_end = &pl->ordered;
        }
        drop = job->error || (pl->error && !writable_after_error(job));
        pthread_mutex_unlock(&pl->lock);
        pl->writer_stats.jobs++;

        if (job->kind == JOB_PROCESS) {
            job->process->index = UINT32_MAX;
        } else if (job->kind == JOB_THREAD) {
            job->thread->index = UINT32_MAX;
        } else if (job->kind == JOB_CHUNK && drop) {
            job->thread->unsure = true;
            if (job->thread->physmap) {
                ctr_physmap_forget(job->thread->physmap);
            }
        }
        if (!drop) {
            err = do_job(pl, job, &diag);
            if (err) {
                pipeline_fail(pl, err, &diag);
            }
        }
        if (pl->sink->ops->keeps_segments && job->kind == JOB_CHUNK) {
            pipeline_release(pl, job);
        }
        if (job->kind == JOB_THREAD_END) {
            ctr_physmap_free(job->thread->physmap);
            free(job->thread);
        } else if (job->kind == JOB_PROCESS_END) {
            guest_process_free(job->process);
        }

        pipeline_lock(pl, &pl->writer_stats);
        pl->sink->ops->stats(pl->sink, &pl->stats.out, &pl->stats.ring);
        pl->stats.raw_bytes = pl->raw_bytes;
        pl->stats.incomplete = pl->incomplete;
        if (job->packed) {
            if (pl->n_spare < pl->max_spare) {
                pl->spare[pl->n_spare++] = job->packed;
            } else {
                ctr_packed_free(job->packed);
            }
        }
        pl->packed_bytes -= job->bytes;
        pipeline_wake_one(pl);
        if (job->serial) {
            /* pairs with the load in pipeline_done */
            __atomic_store_n(&pl->finished, job->serial, __ATOMIC_RELEASE);
        }
        job_free(job);
    }
}
