/* SPDX-License-Identifier: MIT */
/*
 * Encode workers and the writer.
 *
 * Two lists hold the same jobs: `todo', what workers still have to pack, in
 * order, and `ordered', what the writer still has to write, in order (the rest of a job
 * that is split is there alone: its worker has it already).  Chunks
 * go back to the guest as soon as they are packed; with a ring when it has them, so that
 * they are not lost with this process.  What is packed and not yet
 * written is bounded by making workers wait before they begin another job: the
 * oldest job was begun first, so the writer never waits for a waiting worker.  A
 * worker whose job makes several chunks of the file packs them all without waiting.
 */
#include "pipeline.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

#define PACKED_MAX_BYTES (16u << 20)
/* So many jobs' results should fit into a ring. */
#define RING_JOBS 32

struct worker {
    struct pipeline *pl;
    struct ctr_encoder *enc;
    pthread_t thread;
    pthread_cond_t wake; /* there is something for it, or the end */
    bool awake;          /* it takes jobs as long as there are any */
    bool early;          /* there is a processor for it beside the guest's */
    struct pipeline_thread told;
};

/* Jobs that wait, at which another worker than the first is woken. */
#define MANY_JOBS 2u

/* A dump under way; the submitter waits on `dumped' of the pipeline. */
struct pipeline_dump {
    int fd;
    const struct pipeline_tail *tails;
    uint32_t n_tails;
    bool done;
    int error;
    struct ctr_diag diag;
};

struct pipeline {
    struct mempipe_host *host;
    struct ctr_writer *writer; /* NULL with a ring */
    struct ring *ring;
    struct journal *journal;
    struct ctr_dict *dict;
    const char *output;
    int fd, level;
    unsigned addr_bytes;
    unsigned n_workers;
    struct worker *workers;
    pthread_t writer_thread;
    struct pipeline_thread writer_told;
    uint64_t raw_bytes; /* the writer's own, copied into stats */
    uint32_t incomplete;

    pthread_mutex_t lock; /* all below */
    pthread_cond_t ready; /* the first ordered job is done, or the end */
    pthread_cond_t dumped;
    struct job *todo, **todo_end;
    struct job *ordered, **ordered_end;
    unsigned backlog; /* atomic: the dispatcher reads it without the lock */
    uint64_t packed_bytes;
    bool ending;
    int error;
    struct ctr_diag diag;
    struct pipeline_stats stats;
    struct ctr_packed **spare; /* unused results, for reuse */
    unsigned n_spare, max_spare;

    uint64_t submitted; /* the submitter's */
    uint64_t finished;  /* atomic: the writer has written or dropped jobs up to this one */
    uint32_t held;     /* atomic */
    uint64_t aux_held; /* atomic */
    /* With a ring: what was packed, before and after; the workers add (atomic). */
    uint64_t pipe_bytes, file_bytes;
};

/* For threads that tell what they do. */
static void lock(struct pipeline *pl, struct pipeline_thread *told)
{
    told->locked++;
    if (pthread_mutex_trylock(&pl->lock)) {
        told->contended++;
        pthread_mutex_lock(&pl->lock);
    }
}

static void fail(struct pipeline *pl, int error, const struct ctr_diag *diag)
{
    pthread_mutex_lock(&pl->lock);
    if (!pl->error) {
        pl->error = error;
        pl->diag = *diag;
    }
    pthread_mutex_unlock(&pl->lock);
    mempipe_host_ring(pl->host);
}

static uint64_t aux_bytes(const struct job *job)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < job->n_segs; i++) {
        n += job->segs[i].aux ? job->segs[i].aux->bytes : 0;
    }
    return n;
}

static void release_segments(struct pipeline *pl, struct job *job)
{
    const uint64_t aux = aux_bytes(job);

    for (unsigned i = 0; i < job->n_segs; i++) {
        struct job_segment *s = &job->segs[i];

        journal_give_back(pl->journal, s->chunk);
        mempipe_host_release(pl->host, s->chunk, s->words, s->units, job->trim);
        /* pairs with the load in pipeline_chunks_held */
        __atomic_fetch_sub(&pl->held, 1, __ATOMIC_RELEASE);
        journal_drop(pl->journal, s->aux);
        s->aux = NULL;
    }
    if (aux) {
        /* pairs with the load in pipeline_aux_held */
        uint64_t before = __atomic_fetch_sub(&pl->aux_held, aux, __ATOMIC_RELEASE);

        if (before > PIPELINE_AUX_BYTES && before - aux <= PIPELINE_AUX_BYTES) {
            mempipe_host_ring(pl->host);
        }
    }
}

/* For a ring: the events of a segment, from an offset in its aux records on. */
static int collect(struct pipeline *pl, struct job *job, const struct ctr_segment *s,
                   uint32_t from, uint32_t end)
{
    return pl->ring && end > from
               ? ring_events_collect(&job->events, (const uint8_t *)s->aux + from,
                                     end - from)
               : 0;
}

/* For a ring: where the thread goes on when so many segments were packed. */
static void go_on(struct worker *w, struct job *job, unsigned taken)
{
    const struct job_segment *s = &job->segs[taken];
    size_t bytes;
    const void *state;

    if (taken == job->n_segs) {
        job->next.seq = s[-1].seq + 1;
        return;
    }
    job->next = (struct ring_place){.seq = s->seq,
                                    .from_word = s->from_word,
                                    .from_unit = s->from_unit,
                                    .from_aux = s->from_aux,
                                    .from_insn = s->from_insn};
    state = ctr_encoder_get_state(w->enc, &bytes);
    if (state && (s->from_word || s->from_aux || s->from_insn)) {
        void *copy = malloc(bytes);

        if (!copy) {
            job->error = -CTR_E_NOMEM;
            return;
        }
        memcpy(copy, state, bytes);
        job->next.state = copy;
        job->next.state_bytes = (uint32_t)bytes;
    }
}

/*
 * Packs the job's segments, or as many as one chunk should have.  Returns how many of
 * them are done with; the next one may be in part.
 */
static unsigned pack(struct worker *w, struct job *job)
{
    struct pipeline *pl = w->pl;
    struct ctr_segment segs[JOB_SEGMENTS] = {0};
    unsigned n = job->n_segs, taken = n;

    for (unsigned i = 0; i < n; i++) {
        const struct job_segment *s = &job->segs[i];
        const uint8_t *mem = mempipe_host_chunk(pl->host, s->chunk);

        segs[i] = (struct ctr_segment){
            .words = (const uint32_t *)mem,
            .n_words = s->words,
            .n_units = s->units,
            .data_end = mem + pl->host->layout.chunk_bytes,
            .aux = s->aux ? s->aux->data : NULL,
            .aux_bytes = s->aux ? s->aux->bytes : 0,
            .flags = s->flags,
            .start_ns = s->start_ns,
            .end_ns = s->end_ns,
            .from_word = s->from_word,
            .from_unit = s->from_unit,
            .from_aux = s->from_aux,
            .from_insn = s->from_insn,
        };
    }
    job->start_ns = segs[0].start_ns;
    job->end_ns = segs[n - 1].end_ns;
    if (job->state) {
        job->error = ctr_encoder_set_state(w->enc, job->state, job->state_bytes);
        if (job->error) {
            return n;
        }
    }
    job->error = ctr_encoder_run_some(w->enc, segs, n, &taken, job->packed, &job->diag);
    if (!job->error) {
        n = taken;
    } else if (job->error == -CTR_E_CORRUPT && n > 1 &&
               (segs[n - 1].flags & CTR_SEGMENT_UNSURE)) {
        /*
         * The half-written chunk of a killed process may hold a block that
         * nobody got to describe; what came before it is good.
         */
        job->error =
            ctr_encoder_run_some(w->enc, segs, n - 1, &taken, job->packed, &job->diag);
        n = taken;
        taken += taken == job->n_segs - 1;
    } else if (job->error == -CTR_E_CORRUPT && (segs[n - 1].flags & CTR_SEGMENT_UNSURE)) {
        segs[0].n_words = 0;
        segs[0].n_units = 0;
        segs[0].aux_bytes = 0;
        segs[0].flags = 0;
        segs[0].from_word = segs[0].from_unit = segs[0].from_aux = segs[0].from_insn = 0;
        job->error = ctr_encoder_run(w->enc, segs, 1, job->packed, &job->diag);
    }
    for (unsigned i = 0; pl->ring && !job->error && i < n; i++) {
        uint64_t bytes = segs[i].n_words * sizeof(uint32_t) +
                         (uint64_t)segs[i].n_units * pl->addr_bytes + segs[i].aux_bytes;

        __atomic_fetch_add(&pl->pipe_bytes, bytes, __ATOMIC_RELAXED);
        job->error = collect(pl, job, &segs[i], job->segs[i].from_aux, segs[i].aux_bytes);
    }
    if (!job->error && taken < job->n_segs) {
        const struct ctr_segment *s = &segs[taken];
        struct job_segment *rest = &job->segs[taken];

        job->error = collect(pl, job, s, rest->from_aux, s->from_aux);
        job->end_ns = (ctr_segment_goes_on(s) ? s : s - 1)->end_ns;
        rest->from_word = s->from_word;
        rest->from_unit = s->from_unit;
        rest->from_aux = s->from_aux;
        rest->from_insn = s->from_insn;
    }
    if (!job->error && pl->ring) {
        go_on(w, job, taken);
    }
    return job->error ? job->n_segs : taken;
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

/*
 * Whether a worker is needed that sleeps.  As long as the first one keeps up, another
 * one would only take the processor from the guest now and then, and so it would, where
 * there is none to spare, until the guest has to wait.
 */
static bool is_needed(const struct worker *w)
{
    const struct pipeline *pl = w->pl;

    return w == &pl->workers[0] || pl->ending ||
           (w->early && pipeline_backlog(pl) >= MANY_JOBS) ||
           __atomic_load_n(&pl->host->shared->space_waiters, __ATOMIC_RELAXED);
}

/* Wakes a worker, if there is work for one and it is needed. */
static void wake_one(struct pipeline *pl)
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

static struct job *take_todo(struct pipeline *pl)
{
    struct job *job = pl->todo;

    pl->todo = job->next_todo;
    if (!pl->todo) {
        pl->todo_end = &pl->todo;
    }
    __atomic_fetch_sub(&pl->backlog, 1, __ATOMIC_RELAXED);
    return job;
}

static void *worker_main(void *arg)
{
    struct worker *w = arg;
    struct pipeline *pl = w->pl;
    struct job *rest = NULL; /* of the job before */

    lock(pl, &w->told);
    for (;;) {
        struct job *job = rest;
        bool drop;

        while (!job && (!w->awake || !may_work(pl))) {
            if (!pl->todo && pl->ending) {
                pthread_mutex_unlock(&pl->lock);
                effort_of_thread(&w->told.effort);
                return NULL;
            }
            w->awake = false;
            pthread_cond_wait(&w->wake, &pl->lock);
        }
        if (!job) {
            job = take_todo(pl);
        }
        rest = NULL;
        drop = pl->error != 0;
        job->packed = pl->n_spare ? pl->spare[--pl->n_spare] : NULL;
        pthread_mutex_unlock(&pl->lock);
        w->told.jobs++;

        if (!drop) {
            struct ctr_packed_info info = {0};
            if (!job->packed) {
                job->error = ctr_packed_new(&job->packed);
            }
            unsigned n = job->error ? job->n_segs : pack(w, job);
            if (n < job->n_segs) {
                rest = split(pl, job, n);
            }
            if (job->error) {
                fail(pl, job->error, &job->diag);
            } else {
                ctr_packed_info(job->packed, &info);
                job->bytes = info.bytes;
                __atomic_fetch_add(&pl->file_bytes, info.bytes, __ATOMIC_RELAXED);
            }
        } else {
            job->error = -CTR_E_INVAL;
        }
        if (!pl->ring) {
            release_segments(pl, job);
        }

        lock(pl, &w->told);
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

static void dump_job(struct pipeline *pl, struct pipeline_dump *d)
{
    struct ring_tail *tails = calloc((size_t)d->n_tails + 1, sizeof(*tails));
    struct ctr_writer_stats stats;
    uint32_t n = 0;
    int err;

    for (uint32_t i = 0; tails && i < d->n_tails; i++) {
        uint32_t thread = d->tails[i].thread->index;

        if (thread != UINT32_MAX) { /* it came before a failure */
            tails[n++] = (struct ring_tail){.thread = thread, .seg = d->tails[i].seg};
        }
    }
    err = tails ? ring_write(pl->ring, d->fd, pl->dict, pl->level, tails, n, &stats,
                             &d->diag)
                : -CTR_E_NOMEM;
    free(tails);
    pthread_mutex_lock(&pl->lock);
    d->error = err;
    d->done = true;
    pthread_cond_signal(&pl->dumped);
    pthread_mutex_unlock(&pl->lock);
}

/* The number that the recorder knows a process by, if it is not that of the guest. */
static int32_t other_number(const struct guest_process *p)
{
    return p->host_pid == p->pid ? 0 : p->host_pid;
}

/* What write_job does, with a ring. */
static int keep_job(struct pipeline *pl, struct job *job, struct ctr_diag *diag)
{
    struct guest_process *p = job->process;
    struct guest_thread *t = job->thread;
    struct ring *r = pl->ring;

    switch (job->kind) {
    case JOB_REGS:
    case JOB_PROCESS:
    case JOB_THREAD:
        break; /* see tell_ring */
    case JOB_CHUNK:
        return ring_chunk(r, t->index, job->packed, job->start_ns, job->end_ns,
                          &job->events, &job->next, diag);
    case JOB_THREAD_END:
        return ring_thread_end(r, t->index, t->end_ns, t->end_reason, t->end_status,
                               t->incomplete || t->unsure);
    case JOB_PROCESS_END:
        return ring_process_end(r, p->index, p->end_ns, p->end_reason, p->end_status);
    case JOB_DUMP:
        dump_job(pl, job->dump);
        return 0;
    }
    return -CTR_E_INVAL;
}

static int write_job(struct pipeline *pl, struct job *job, struct ctr_diag *diag)
{
    struct guest_process *p = job->process;
    struct guest_thread *t = job->thread;

    switch (job->kind) {
    case JOB_REGS:
        return ctr_writer_regs(pl->writer, job->regs->n, job->regs + 1,
                               job->regs->table_bytes, diag);
    case JOB_PROCESS:
        return ctr_writer_nested_process(pl->writer, p->pid, p->ppid, other_number(p),
                                         p->start_ns, &p->index, diag);
    case JOB_THREAD:
        return ctr_writer_thread(pl->writer, p->index, t->tid, t->ptid, t->start_ns,
                                 &t->index, diag);
    case JOB_CHUNK:
        return ctr_writer_chunk(pl->writer, t->index, job->packed, diag);
    case JOB_THREAD_END:
        return ctr_writer_thread_end(pl->writer, t->index, t->end_ns, t->end_reason,
                                     t->end_status, t->incomplete || t->unsure);
    case JOB_PROCESS_END:
        return ctr_writer_process_end(pl->writer, p->index, p->end_ns, p->end_reason,
                                      p->end_status);
    case JOB_DUMP:
        break;
    }
    return -CTR_E_INVAL;
}

/* What the jobs tell of threads, whoever gets them then. */
static int do_job(struct pipeline *pl, struct job *job, struct ctr_diag *diag)
{
    struct guest_thread *t = job->thread;
    struct ctr_packed_info info;

    if (job->kind == JOB_CHUNK) {
        ctr_packed_info(job->packed, &info);
        if (info.unsure) {
            t->unsure = true;
        }
        pl->raw_bytes += info.raw_bytes;
    } else if (job->kind == JOB_THREAD_END) {
        pl->incomplete += t->incomplete || t->unsure;
    }
    return pl->ring ? keep_job(pl, job, diag) : write_job(pl, job, diag);
}

/*
 * After a failure to write, chunks are dropped, and so are objects that the
 * file does not know; ends of those it knows are still told, for the finish.
 */
static bool writable_after_error(const struct job *job)
{
    return (job->kind == JOB_THREAD_END && job->thread->index != UINT32_MAX) ||
           (job->kind == JOB_PROCESS_END && job->process->index != UINT32_MAX) ||
           job->kind == JOB_DUMP;
}

static void get_stats(struct pipeline *pl)
{
    struct ring_numbers *n = &pl->stats.ring;

    if (!pl->ring) {
        ctr_writer_stats(pl->writer, &pl->stats.out);
        return;
    }
    ring_numbers(pl->ring, n);
    pl->stats.out = (struct ctr_writer_stats){
        .bytes = n->bytes,
        .chunks = n->chunks + n->dropped_chunks,
        .insns = n->insns + n->dropped_insns,
        .loads = n->loads + n->dropped_loads,
        .stores = n->stores + n->dropped_stores,
        .blocks = ctr_dict_size(pl->dict),
    };
}

static void free_job(struct job *job)
{
    free(job->events.data);
    free((void *)(uintptr_t)job->next.state);
    free(job->state);
    free(job->regs);
    free(job);
}

static void *writer_main(void *arg)
{
    struct pipeline *pl = arg;

    lock(pl, &pl->writer_told);
    for (;;) {
        struct ctr_diag diag = {0};
        struct job *job;
        bool drop;
        int err = 0;

        while (!pl->ordered || !pl->ordered->done) {
            if (!pl->ordered && pl->ending) {
                pthread_mutex_unlock(&pl->lock);
                effort_of_thread(&pl->writer_told.effort);
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
        pl->writer_told.jobs++;

        if (job->kind == JOB_PROCESS) {
            job->process->index = UINT32_MAX;
        } else if (job->kind == JOB_THREAD) {
            job->thread->index = UINT32_MAX;
        } else if (job->kind == JOB_CHUNK && drop) {
            job->thread->unsure = true;
        }
        if (!drop) {
            err = do_job(pl, job, &diag);
            if (err) {
                fail(pl, err, &diag);
            }
        }
        if (pl->ring && job->kind == JOB_CHUNK) {
            release_segments(pl, job);
        }
        if (job->kind == JOB_THREAD_END) {
            free(job->thread);
        } else if (job->kind == JOB_PROCESS_END) {
            free(job->process);
        }

        lock(pl, &pl->writer_told);
        get_stats(pl);
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
        wake_one(pl);
        if (job->serial) {
            /* pairs with the load in pipeline_done */
            __atomic_store_n(&pl->finished, job->serial, __ATOMIC_RELEASE);
        }
        free_job(job);
    }
}

static void stop_threads(struct pipeline *pl, unsigned workers, bool writer)
{
    pthread_mutex_lock(&pl->lock);
    pl->ending = true;
    for (unsigned i = 0; i < workers; i++) {
        pl->workers[i].awake = true;
        pthread_cond_signal(&pl->workers[i].wake);
    }
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
        err = pthread_create(&pl->workers[n].thread, NULL, worker_main, &pl->workers[n]);
        n += !err;
    }
    if (!err) {
        err = pthread_create(&pl->writer_thread, NULL, writer_main, pl);
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
    struct pipeline *pl = calloc(1, sizeof(*pl));
    int err = -CTR_E_NOMEM;

    if (!pl) {
        return err;
    }
    pl->host = config->host;
    pl->addr_bytes = config->host->addr_bytes;
    pl->n_workers = config->workers;
    pl->max_spare = config->workers / 2 + 1;
    pl->workers = calloc(config->workers, sizeof(*pl->workers));
    pl->spare = calloc(pl->max_spare, sizeof(*pl->spare));
    pl->todo_end = &pl->todo;
    pl->ordered_end = &pl->ordered;
    pthread_mutex_init(&pl->lock, NULL);
    pthread_cond_init(&pl->ready, NULL);
    pthread_cond_init(&pl->dumped, NULL);
    pl->ring = config->ring;
    pl->journal = config->journal;
    pl->dict = config->dict;
    pl->output = config->output;
    pl->fd = config->fd;
    pl->level = config->level;
    if (!pl->workers || !pl->spare) {
        goto out_free;
    }
    for (unsigned i = 0; i < pl->n_workers; i++) {
        pl->workers[i].pl = pl;
        pl->workers[i].early = i + 1 < config->processors;
        pthread_cond_init(&pl->workers[i].wake, NULL);
    }
    for (unsigned i = 0; i < pl->n_workers; i++) {
        err = ctr_encoder_new(&pl->workers[i].enc, config->dict, pl->addr_bytes,
                              config->level);
        if (err) {
            goto out_free;
        }
    }
    if (!pl->ring) {
        err = ctr_writer_new(&pl->writer, config->fd, config->dict, &config->meta,
                             config->level, diag);
    } else if (ring_has_begun(pl->ring)) {
        err = ring_resume(pl->ring, config->dict, diag);
    } else {
        err = ring_begin(pl->ring, &config->meta, config->dict, diag);
    }
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

/*
 * What the ring has to know at once, so that it is not lost with this process.  Returns
 * true if that was all of the job.
 */
static bool tell_ring(struct pipeline *pl, struct job *job)
{
    struct guest_process *p = job->process;
    struct guest_thread *t = job->thread;
    struct ctr_diag diag = {0};
    int err = 0;

    switch (job->kind) {
    case JOB_REGS:
        err = ring_regs(pl->ring, job->regs->n, job->regs + 1, job->regs->table_bytes,
                        &diag);
        break;
    case JOB_PROCESS:
        p->index = UINT32_MAX;
        err = ring_process(pl->ring, p->pid, p->ppid, other_number(p), p->start_ns,
                           p->serial, &p->index, &diag);
        break;
    case JOB_THREAD:
        t->index = UINT32_MAX;
        if (p->index != UINT32_MAX) { /* else it has failed before */
            err = ring_thread(pl->ring, p->index, t->tid, t->ptid, t->start_ns, t->pipe,
                              t->serial, &t->index, &diag);
        }
        break;
    case JOB_THREAD_END:
        if (t->index != UINT32_MAX) {
            ring_thread_ending(pl->ring, t->index, t->end_ns, t->end_reason,
                               t->end_status, t->incomplete);
        }
        return false;
    case JOB_PROCESS_END:
        if (p->index != UINT32_MAX) {
            ring_process_ending(pl->ring, p->index, p->end_ns, p->end_reason,
                                p->end_status);
        }
        return false;
    case JOB_CHUNK:
    case JOB_DUMP:
        return false;
    }
    if (err) {
        fail(pl, err, &diag);
    }
    free_job(job);
    return true;
}

struct journal *pipeline_journal(const struct pipeline *pl)
{
    return pl->journal;
}

void pipeline_submit(struct pipeline *pl, struct job *job)
{
    if (pl->ring && tell_ring(pl, job)) {
        return;
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
        __atomic_fetch_add(&pl->aux_held, aux_bytes(job), __ATOMIC_RELAXED);
        *pl->todo_end = job;
        pl->todo_end = &job->next_todo;
        __atomic_fetch_add(&pl->backlog, 1, __ATOMIC_RELAXED);
        wake_one(pl);
    } else if (job == pl->ordered) {
        pthread_cond_signal(&pl->ready);
    }
    pthread_mutex_unlock(&pl->lock);
}

void pipeline_help(struct pipeline *pl)
{
    pthread_mutex_lock(&pl->lock);
    wake_one(pl);
    pthread_mutex_unlock(&pl->lock);
}

uint64_t pipeline_submitted(const struct pipeline *pl)
{
    return pl->submitted;
}

uint64_t pipeline_done(const struct pipeline *pl)
{
    /* pairs with the store of the writer: what it and the workers read, they have */
    return __atomic_load_n(&pl->finished, __ATOMIC_ACQUIRE);
}

unsigned pipeline_backlog(const struct pipeline *pl)
{
    return __atomic_load_n(&pl->backlog, __ATOMIC_RELAXED);
}

uint64_t pipeline_job_bytes(const struct pipeline *pl)
{
    uint64_t from = __atomic_load_n(&pl->pipe_bytes, __ATOMIC_RELAXED);
    uint64_t to = __atomic_load_n(&pl->file_bytes, __ATOMIC_RELAXED);

    if (!pl->ring) {
        return UINT64_MAX;
    }
    return ring_size(pl->ring) / RING_JOBS * (to && from > to ? from / to : 1);
}

uint32_t pipeline_chunks_held(const struct pipeline *pl)
{
    /* pairs with the subtraction of the workers */
    return __atomic_load_n(&pl->held, __ATOMIC_ACQUIRE);
}

uint64_t pipeline_aux_held(const struct pipeline *pl)
{
    /* pairs with the subtraction of the workers */
    return __atomic_load_n(&pl->aux_held, __ATOMIC_ACQUIRE);
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
    *out = i < pl->n_workers ? pl->workers[i].told : pl->writer_told;
    return true;
}

void pipeline_stop(struct pipeline *pl)
{
    stop_threads(pl, pl->n_workers, true);
}

int pipeline_finish(struct pipeline *pl, struct ctr_diag *diag)
{
    int err;

    pipeline_stop(pl);
    if (pl->ring) {
        struct ctr_writer_stats file;

        ring_set_output(pl->ring, RING_WRITING);
        err = ring_write(pl->ring, pl->fd, pl->dict, pl->level, NULL, 0, &file, diag);
        ring_set_output(pl->ring, RING_WRITTEN);
        get_stats(pl);
        pl->stats.out.bytes = file.bytes;
    } else {
        err = ctr_writer_finish(pl->writer, diag);
        ctr_writer_stats(pl->writer, &pl->stats.out);
    }
    return err;
}

/* ------------------------------------------------------------------- dumps */

/* Opens the file and copies its name; with NULL the first that does not exist. */
static int open_dump(const struct pipeline *pl, const char *file, struct output *out,
                     char *name, size_t n, const char **why)
{
    int err = -EEXIST;

    for (unsigned i = 1; err == -EEXIST && i; i++) {
        int len = file ? snprintf(name, n, "%s", file)
                       : snprintf(name, n, "%s.%u", pl->output, i);

        if (len < 0 || (size_t)len >= n) {
            *why = strerror(ENAMETOOLONG);
            return -ENAMETOOLONG;
        }
        err = output_open(out, name, !file, why);
    }
    return err;
}

int pipeline_dump(struct pipeline *pl, const struct pipeline_tail *tails,
                  uint32_t n_tails, const char *file, char *name, size_t name_bytes,
                  struct ctr_diag *diag)
{
    struct pipeline_dump d = {.tails = tails, .n_tails = n_tails};
    struct output out;
    const char *why;
    struct job *job;
    int err;

    memset(diag, 0, sizeof(*diag));
    if (!pl->ring) {
        diag->code = CTR_E_INVAL;
        snprintf(diag->text, sizeof(diag->text), "there is no ring");
        return -CTR_E_INVAL;
    }
    err = open_dump(pl, file, &out, name, name_bytes, &why);
    if (err) {
        diag->code = CTR_E_IO;
        diag->sys_errno = -err;
        snprintf(diag->field, sizeof(diag->field), "%s", PIPELINE_DUMP_FILE);
        snprintf(diag->text, sizeof(diag->text), "%s", why);
        return -CTR_E_IO;
    }
    d.fd = out.fd;
    job = calloc(1, sizeof(*job));
    if (!job) {
        output_close(&out, false);
        diag->code = CTR_E_NOMEM;
        return -CTR_E_NOMEM;
    }
    job->kind = JOB_DUMP;
    job->dump = &d;
    pipeline_submit(pl, job);
    pthread_mutex_lock(&pl->lock);
    while (!d.done) {
        pthread_cond_wait(&pl->dumped, &pl->lock);
    }
    pthread_mutex_unlock(&pl->lock);
    *diag = d.diag;
    err = output_close(&out, true);
    if (err && !d.error) {
        diag->code = CTR_E_IO;
        diag->sys_errno = -err;
        d.error = -CTR_E_IO;
    }
    return d.error;
}

void pipeline_free(struct pipeline *pl)
{
    if (!pl) {
        return;
    }
    ctr_writer_free(pl->writer);
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
    free(pl);
}
