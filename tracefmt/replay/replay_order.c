/* SPDX-License-Identifier: MIT */
/*
 * The order of a replay: the output of pieces is delivered strictly in the order of the
 * trace, whichever worker made it, by one thread at a time.
 */
#include "replay/replay.h"

#define PROGRESS_NS 100000000ll

/* The output of a bundle's slices. The last one may go on. */
static int deliver_slices(struct replay *rp, struct ctr_job *job)
{
    const struct ctr_chunk pub = job->pub;
    const struct ctr_thread *const thread = job->thread;
    struct out_slice *s = (struct out_slice *)(void *)job->slices.p;
    const size_t n = job->slices.n / sizeof(*s);
    int ret = 0;
    for (size_t i = 0; i < n && !ret; i++) {
        const size_t end = i + 1 < n ? s[i + 1].at : job->out.n;
        job->pub = s[i].pub;
        job->thread = s[i].thread;
        if (end > s[i].at) {
            ret = rp->ops->ordered(rp->arg, job, job->out.p + s[i].at, end - s[i].at);
        }
    }
    job->pub = pub;
    job->thread = thread;
    s[0] = s[n - 1];
    s[0].at = 0;
    job->slices.n = sizeof(*s);
    return ret;
}

/* Delivers one piece's output. Called without the lock, by one thread at a time. */
static int deliver(struct replay *rp, struct ctr_job *job)
{
    int ret = 0;
    if (rp->ops->ordered && job->out.n && job->slices.n) {
        ret = deliver_slices(rp, job);
    } else if (rp->ops->ordered && job->out.n) {
        ret = rp->ops->ordered(rp->arg, job, job->out.p, job->out.n);
    }
    job->out.n = 0;
    return ret;
}

static void stop_with(struct replay *rp, int result, const struct ctr_diag *diag)
{
    if (!rp->stop) {
        rp->stop = 1;
        rp->result = result;
        if (diag) {
            rp->diag = *diag;
        }
    }
    pthread_cond_broadcast(&rp->moved);
}

/* Computes the amount of work; only called when a replay takes long. */
static void count_work(struct replay *rp)
{
    struct chunk_scan s = CHUNK_SCAN_ALL;
    struct chunk_row row;
    s.stored = 1;
    while (!rp->counted && chunktab_next(rp->tr->chunks, &s, &row, NULL) == 1) {
        if (feed_chunk(&rp->feed, &row.pub)) {
            rp->prog.chunks++;
            rp->prog.insns += row.pub.insns;
            rp->prog.bytes += row.pub.bytes;
        }
    }
    rp->counted = 1;
    if (rp->prog.chunks < rp->prog.chunks_done) { /* not all chunks can be read */
        rp->prog.chunks = rp->prog.chunks_done;
    }
}

static int now_and_then(struct replay *rp)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long ns = (now.tv_sec - rp->prog_time.tv_sec) * 1000000000ll +
                   (now.tv_nsec - rp->prog_time.tv_nsec);
    if (ns < PROGRESS_NS) {
        return 0;
    }
    rp->prog_time = now;
    count_work(rp);
    return rp->ops->progress(rp->arg, &rp->prog);
}

int replay_flush(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    pthread_mutex_lock(&rp->lock);
    while (!rp->stop && job->out.n > PIECE_WAIT &&
           (rp->head != job->piece.seq || rp->delivering)) {
        pthread_cond_wait(&rp->moved, &rp->lock);
    }
    if (!rp->stop && rp->head == job->piece.seq && !rp->delivering) {
        rp->delivering = 1;
        pthread_mutex_unlock(&rp->lock);
        int ret = deliver(rp, job);
        pthread_mutex_lock(&rp->lock);
        rp->delivering = 0;
        if (ret) {
            stop_with(rp, ret, NULL);
        }
        pthread_cond_broadcast(&rp->moved);
    }
    int stop = rp->stop;
    pthread_mutex_unlock(&rp->lock);
    return stop;
}

void replay_complete(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    pthread_mutex_lock(&rp->lock);
    while (!rp->stop && job->piece.seq - rp->head >= rp->ring_size) {
        pthread_cond_wait(&rp->moved, &rp->lock);
    }
    if (rp->stop) {
        pthread_mutex_unlock(&rp->lock);
        return;
    }
    struct done *d = &rp->ring[job->piece.seq % rp->ring_size];
    struct buf mine = job->out;
    job->out = d->job->out;
    job->out.n = 0;
    d->job->out = mine;
    mine = job->slices;
    job->slices = d->job->slices;
    d->job->slices = mine;
    d->job->pub = job->pub;
    d->job->thread = job->thread;
    d->job->worker = job->worker;
    d->piece = job->piece;
    d->ready = 1;
    while (!rp->stop && !rp->delivering && rp->ring[rp->head % rp->ring_size].ready) {
        d = &rp->ring[rp->head % rp->ring_size];
        rp->delivering = 1;
        pthread_mutex_unlock(&rp->lock);
        int ret = deliver(rp, d->job);
        pthread_mutex_lock(&rp->lock);
        rp->delivering = 0;
        d->ready = 0;
        rp->head++;
        rp->prog.chunks_done += d->piece.done.chunks_done;
        rp->prog.insns_done += d->piece.done.insns_done;
        rp->prog.bytes_done += d->piece.done.bytes_done;
        if (!ret && !d->piece.result && rp->ops->progress) {
            ret = now_and_then(rp);
        }
        if (ret || d->piece.result) {
            stop_with(rp, ret ? ret : d->piece.result, ret ? NULL : &d->piece.diag);
        }
        pthread_cond_broadcast(&rp->moved);
    }
    pthread_mutex_unlock(&rp->lock);
}
