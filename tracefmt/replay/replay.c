/* SPDX-License-Identifier: MIT */
/*
 * ctr_replay: parallel map over pieces of chunks, ordered reduce.
 *
 * Workers take pieces in recorded order under one lock (so on a stream one of them
 * waits for input while others work), decode them and run the callbacks. The output of
 * a piece waits in a ring until all pieces before it are delivered. A piece that is
 * next in order delivers its output while it is still being worked on; any other pauses
 * at PIECE_WAIT bytes. So memory is bounded and the order does not depend on the number
 * of workers.
 *
 * A piece that fails, or whose callback stops the replay, keeps its place in the order:
 * everything before it is delivered, nothing after it.
 */
#include "replay/replay.h"

#include <string.h>
#include <unistd.h>

#define MAX_WORKERS 256u

/* --------------------------------------------------------------- job's API */

unsigned ctr_job_worker(const struct ctr_job *job)
{
    return job->worker;
}

const struct ctr_chunk *ctr_job_chunk(const struct ctr_job *job)
{
    return &job->pub;
}

const struct ctr_thread *ctr_job_thread(const struct ctr_job *job)
{
    return job->thread;
}

int ctr_job_task(const struct ctr_job *job, struct ctr_task *out)
{
    const struct ev_last *last = &job->walk->events.task;
    const struct ctr_os_event e = {
        .type = CTR_EVENT_TASK, .size = last->size, .payload = last->payload};
    return last->size && ctr_parse_task(&e, out) == 0 && out->task;
}

void *ctr_job_reserve(struct ctr_job *job, size_t n)
{
    if (n > job->out.cap - job->out.n && buf_reserve(&job->out, n)) {
        job->piece.result = ctr_fail_nomem(&job->piece.diag);
        return NULL;
    }
    return job->out.p + job->out.n;
}

void ctr_job_commit(struct ctr_job *job, size_t n)
{
    job->out.n += n;
}

int ctr_job_append(struct ctr_job *job, const void *data, size_t n)
{
    void *p = ctr_job_reserve(job, n);
    if (!p) {
        return -CTR_E_NOMEM;
    }
    if (n) {
        memcpy(p, data, n);
    }
    job->out.n += n;
    return 0;
}

/* ------------------------------------------------------------------ source */

static void chunk_release(struct replay *rp, struct shared_chunk *c)
{
    if (--c->users == 0) {
        c->next = rp->spare;
        rp->spare = c;
    }
}

static void add_done(struct job_piece *p, const struct ctr_chunk *c)
{
    p->done.chunks_done++;
    p->done.insns_done += c->insns;
    p->done.bytes_done += c->bytes;
}

/*
 * Makes the next chunk, or the one that a bundle consists of, rp->cur. Returns as
 * feed_next.
 */
static int take_chunk(struct replay *rp, struct bundle *bundle, struct ctr_diag *diag)
{
    struct shared_chunk *c = rp->spare;
    if (c) {
        rp->spare = c->next;
    } else {
        c = calloc(1, sizeof(*c));
        if (!c) {
            return ctr_fail_nomem(diag);
        }
    }
    c->users = 1;
    if (bundle) {
        const struct raw_chunk old = c->raw;
        c->raw = bundle->v[0];
        bundle->v[0] = old;
    } else {
        int err = feed_next(&rp->feed, &c->raw, diag);
        if (err != 1) {
            chunk_release(rp, c);
            return err;
        }
    }
    const struct ctr_chunk *p = &c->raw.pub;
    rp->cur = c;
    rp->cur_first = 1;
    rp->cur_at = p->first > c->raw.lo ? p->first : c->raw.lo;
    rp->cur_end = p->first + p->insns < c->raw.hi ? p->first + p->insns : c->raw.hi;
    return 1;
}

static void bundle_release(struct replay *rp, struct shared_bundle *b)
{
    b->next = rp->spare_bundle;
    rp->spare_bundle = b;
}

/* The next bundle: a piece of its own, or rp->cur if it is one chunk. As feed_next. */
static int take_bundle(struct replay *rp, struct job_piece *out)
{
    struct shared_bundle *b = rp->spare_bundle;
    if (b) {
        rp->spare_bundle = b->next;
    } else {
        b = calloc(1, sizeof(*b));
        if (!b) {
            return ctr_fail_nomem(&out->diag);
        }
    }
    int err = bundles_next(&rp->bundles, &b->b, &out->diag);
    if (err == 1 && b->b.n > 1) {
        out->bundle = b;
        for (unsigned i = 0; i < b->b.n; i++) {
            add_done(out, &b->b.v[i].pub);
        }
        return 1;
    }
    err = err == 1 ? take_chunk(rp, &b->b, &out->diag) : err;
    bundle_release(rp, b);
    return err;
}

/* Takes the next piece; returns 1, or 0 at the end. An error becomes a piece. */
static int take_piece(struct replay *rp, struct job_piece *out)
{
    memset(out, 0, sizeof(*out));
    if (rp->src_end) {
        return 0;
    }
    if (!rp->cur) {
        int err =
            rp->feed.slices ? take_bundle(rp, out) : take_chunk(rp, NULL, &out->diag);
        if (err != 1) {
            rp->src_end = 1;
            out->result = err;
            out->seq = rp->seq;
            rp->seq += err != 0;
            return err != 0;
        }
    }
    struct shared_chunk *c = rp->cur;
    out->seq = rp->seq++;
    if (out->bundle) {
        return 1;
    }
    out->chunk = c;
    out->lo = rp->cur_first ? c->raw.lo : rp->cur_at;
    out->place_lo = rp->cur_first ? 0 : rp->cur_at;
    c->users++;
    if (rp->piece_insns && rp->cur_at < rp->cur_end &&
        rp->cur_end - rp->cur_at > rp->piece_insns) {
        rp->cur_at += rp->piece_insns;
        rp->cur_first = 0;
        out->hi = out->place_hi = rp->cur_at;
    } else {
        out->hi = c->raw.hi;
        out->place_hi = UINT64_MAX;
        add_done(out, &c->raw.pub);
        chunk_release(rp, c);
        rp->cur = NULL;
    }
    return 1;
}

/* ----------------------------------------------------------------- workers */

static void *work(void *arg)
{
    struct ctr_job *job = arg;
    struct replay *rp = job->rp;
    for (;;) {
        pthread_mutex_lock(&rp->lock);
        int stop = rp->stop;
        pthread_mutex_unlock(&rp->lock);
        if (stop) {
            break;
        }
        pthread_mutex_lock(&rp->src_lock);
        int got = take_piece(rp, &job->piece);
        pthread_mutex_unlock(&rp->src_lock);
        if (!got) {
            break;
        }
        struct shared_chunk *c = job->piece.chunk;
        struct shared_bundle *b = job->piece.bundle;
        job->out.n = job->slices.n = 0;
        job->flush_at = PIECE_FLUSH;
        if (c || b) {
            int ret = b ? replay_bundle(job) : replay_piece(job);
            if (!job->piece.result) {
                job->piece.result = ret;
            }
        }
        replay_complete(job);
        /*
         * Only now: on a stream this lock may be held as long as no input comes, and
         * finished output must be delivered meanwhile.
         */
        if (c || b) {
            pthread_mutex_lock(&rp->src_lock);
            if (c) {
                chunk_release(rp, c);
            } else {
                bundle_release(rp, b);
            }
            pthread_mutex_unlock(&rp->src_lock);
        }
    }
    return NULL;
}

/* -------------------------------------------------------------------- main */

static void job_free(struct ctr_job *job)
{
    if (job) {
        walk_fini(&job->own);
        lanes_fini(&job->lanes);
        buf_free(&job->out);
        buf_free(&job->slices);
        free(job);
    }
}

static struct ctr_job *job_new(struct replay *rp, unsigned worker, int decodes)
{
    struct ctr_job *job = calloc(1, sizeof(*job));
    if (!job) {
        return NULL;
    }
    job->rp = rp;
    job->worker = worker;
    job->walk = &job->own;
    if (decodes && walk_init(&job->own)) {
        free(job);
        return NULL;
    }
    return job;
}

static void run_workers(struct ctr_job **job, unsigned workers)
{
    pthread_t *thread = calloc(workers, sizeof(thread[0]));
    unsigned n = 0;
    /* Fewer threads than wanted do the same work. */
    while (thread && n + 1 < workers &&
           pthread_create(&thread[n], NULL, work, job[n + 1]) == 0) {
        n++;
    }
    work(job[0]);
    while (n) {
        pthread_join(thread[--n], NULL);
    }
    free(thread);
}

/* Determines what must be decoded for the callbacks that are set. */
static void choose_columns(struct replay *rp)
{
    const struct ctr_replay_ops *ops = rp->ops;
    struct feed *f = &rp->feed;
    uint32_t has = rp->tr->events;
    int mem = ops->mem && f->kinds & (CTR_KIND_LOAD | CTR_KIND_STORE);
    int reg = ops->reg && f->kinds & CTR_KIND_REG && has & CTR_HAS_REG;
    int exec = ops->exec && f->kinds & CTR_KIND_EXEC;
    const uint32_t naddr = f->filter.naddr + f->filter.nphys;
    if (has & CTR_HAS_MEM && (mem || ((exec || reg) && naddr))) {
        f->want |= DEC_MEM | (mem && has & CTR_HAS_VAL ? DEC_VAL : 0u);
    }
    f->want |= reg ? DEC_REG : 0u;
    rp->counts = ops->run && rp->run_accesses && has & CTR_HAS_MEM;
    rp->lists = rp->counts && rp->run_accesses >= CTR_RUN_ACCESSES;
    if (rp->lists) {
        int val = rp->run_accesses >= CTR_RUN_VALUES && has & CTR_HAS_VAL;
        f->want |= DEC_MEM | (val ? DEC_VAL : 0u);
    }
    if (f->want & DEC_MEM && has & CTR_HAS_PHYS && (rp->phys || f->filter.nphys)) {
        f->want |= DEC_PHYS;
    }
    f->want |= rp->counts && !(f->want & DEC_MEM) ? DEC_COUNT : 0u;
    f->os = ops->os ? feed_os_kinds(f) : 0;
    rp->decodes = ops->run || exec || f->want || f->os;
    /* begin and end are called for every chunk if there are no other callbacks */
    f->runs = ops->run || exec || f->want || !rp->decodes;
    if (!f->runs) {
        rp->piece_insns = 0;
    }
    rp->fast = replay_fast_kind(rp);
}

int ctr_replay(struct ctr_trace *tr, const struct ctr_replay_ops *ops, void *arg,
               const struct ctr_replay_opts *opts, struct ctr_diag *diag)
{
    struct replay rp = {.tr = tr, .ops = ops, .arg = arg};
    unsigned workers = opts ? opts->workers : 0;
    int streaming = !tr->src.seekable;
    if (streaming && tr->state != CTR_STREAMING) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "stream",
                        "the stream was read already");
    }
    if (workers == 0) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        workers = n > 0 ? (unsigned)n : 1;
    }
    workers = workers > MAX_WORKERS ? MAX_WORKERS : workers;
    rp.piece_insns = opts ? opts->piece_insns : 0;
    rp.run_accesses = opts ? opts->run_accesses : 0;
    rp.phys = opts ? opts->phys : 0;
    int err = feed_init(&rp.feed, tr, opts ? opts->filter : NULL, diag);
    if (err) {
        return err;
    }
    choose_columns(&rp);
    rp.feed.follows |=
        opts && opts->tasks && tr->events & CTR_HAS_TASK ? CTR_KIND_TASK : 0;
    rp.feed.registers = opts ? opts->registers : NULL;
    rp.feed.slices = opts && opts->slices && rp.decodes && lanes_needed(tr);
    bundles_init(&rp.bundles, &rp.feed);
    clock_gettime(CLOCK_MONOTONIC, &rp.prog_time);
    pthread_mutex_init(&rp.src_lock, NULL);
    pthread_mutex_init(&rp.lock, NULL);
    pthread_cond_init(&rp.moved, NULL);

    rp.ring_size = workers * 2 + 2;
    struct ctr_job **job = calloc(workers, sizeof(job[0]));
    rp.ring = calloc(rp.ring_size, sizeof(rp.ring[0]));
    int ok = job && rp.ring;
    for (unsigned i = 0; ok && i < rp.ring_size; i++) {
        rp.ring[i].job = job_new(&rp, 0, 0);
        ok = rp.ring[i].job != NULL;
    }
    for (unsigned i = 0; ok && i < workers; i++) {
        job[i] = job_new(&rp, i, 1);
        ok = job[i] != NULL;
    }
    if (ok) {
        run_workers(job, workers);
        err = rp.result;
        if (err && diag) {
            *diag = rp.diag;
        }
    } else {
        err = ctr_fail_nomem(diag);
    }
    if (streaming) {
        trace_publish_totals(tr);
    }

    for (unsigned i = 0; job && i < workers; i++) {
        job_free(job[i]);
    }
    for (unsigned i = 0; rp.ring && i < rp.ring_size; i++) {
        job_free(rp.ring[i].job);
    }
    free(job);
    free(rp.ring);
    if (rp.cur) {
        chunk_release(&rp, rp.cur);
    }
    while (rp.spare) {
        struct shared_chunk *c = rp.spare;
        rp.spare = c->next;
        buf_free(&c->raw.payload);
        free(c);
    }
    while (rp.spare_bundle) {
        struct shared_bundle *b = rp.spare_bundle;
        rp.spare_bundle = b->next;
        bundle_free(&b->b);
        free(b);
    }
    bundles_fini(&rp.bundles);
    feed_fini(&rp.feed);
    pthread_cond_destroy(&rp.moved);
    pthread_mutex_destroy(&rp.lock);
    pthread_mutex_destroy(&rp.src_lock);
    return err;
}
