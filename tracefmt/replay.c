/* SPDX-License-Identifier: MIT */
/*
 * ctr_replay: parallel map over pieces of chunks, ordered reduce.
 *
 * Workers take pieces in recorded order under one lock (which on a stream
 * means that one of them waits for input while others work), decode them and
 * run the callbacks.  What a piece has appended waits in a ring until all
 * pieces before it have been told; a piece that is the next in order tells its
 * output while it goes on working, one that is not stops at PIECE_WAIT bytes.
 * So memory is bounded and order does not depend on the number of workers.
 *
 * A piece that fails, or whose callback says stop, takes its place in the
 * order like any other: everything before it is told, nothing after it.
 */
#include "walk.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PIECE_TELL (64u << 10) /* output told at once by the next in order */
#define PIECE_WAIT (8u << 20)  /* output at which others wait */
#define PROGRESS_NS 100000000ll
#define MAX_WORKERS 256u

/* A chunk shared by the pieces made of it. */
struct shared_chunk {
    struct raw_chunk raw;
    unsigned users;            /* under src_lock */
    struct shared_chunk *next; /* free list */
};

struct job_piece {
    uint64_t seq;
    struct shared_chunk *chunk;  /* NULL: only carries an error */
    uint64_t lo, hi;             /* ordinals of instructions */
    uint64_t place_lo, place_hi; /* ... and of what happens between them */
    int last;                    /* of its chunk */
    int result;
    struct ctr_diag diag;
};

struct done {
    int ready;
    struct job_piece piece;
    struct ctr_job *job; /* holds its output */
};

struct replay;

struct ctr_job {
    struct replay *rp;
    unsigned worker;
    struct walk walk;
    int walk_on; /* it stands in a chunk, on a run */
    struct job_piece piece;
    struct ctr_chunk pub;
    const struct ctr_thread *thread;
    struct buf out;
    int stopped; /* the replay is over, whatever the piece was */
};

struct replay {
    struct ctr_trace *tr;
    const struct ctr_replay_ops *ops;
    void *arg;
    uint32_t piece_insns;
    int run_accesses; /* opts' */
    int decodes; /* more is asked for than begin and end */
    int counts;  /* so are numbers of accesses of runs */

    pthread_mutex_t src_lock; /* the feed and what follows */
    struct feed feed;
    struct shared_chunk *cur; /* chunk being cut into pieces */
    uint64_t cur_at, cur_end; /* ordinals still to be handed out */
    int cur_first;
    struct shared_chunk *spare;
    uint64_t seq;
    int src_end;

    pthread_mutex_t lock; /* everything below */
    pthread_cond_t moved; /* head, telling or stop have changed */
    struct done *ring;
    unsigned ring_size;
    uint64_t head; /* next piece to be told */
    int telling;
    int stop;
    int result;
    struct ctr_diag diag;
    struct ctr_progress prog;
    struct timespec prog_time;
};

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

void *ctr_job_reserve(struct ctr_job *job, size_t n)
{
    if (buf_reserve(&job->out, n)) {
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

/* The next chunk becomes rp->cur.  As feed_next. */
static int take_chunk(struct replay *rp, struct ctr_diag *diag)
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
    int err = feed_next(&rp->feed, &c->raw, diag);
    if (err != 1) {
        chunk_release(rp, c);
        return err;
    }
    const struct ctr_chunk *p = &c->raw.pub;
    rp->cur = c;
    rp->cur_first = 1;
    rp->cur_at = p->first > c->raw.lo ? p->first : c->raw.lo;
    rp->cur_end = p->first + p->insns < c->raw.hi ? p->first + p->insns : c->raw.hi;
    return 1;
}

/* Takes the next piece; returns 1, or 0 at the end.  Errors are pieces. */
static int take_piece(struct replay *rp, struct job_piece *out)
{
    memset(out, 0, sizeof(*out));
    if (rp->src_end) {
        return 0;
    }
    if (!rp->cur) {
        int err = take_chunk(rp, &out->diag);
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
        out->last = 1;
        chunk_release(rp, c);
        rp->cur = NULL;
    }
    return 1;
}

/* ------------------------------------------------------------------- order */

/* Tells one piece's output.  Called without the lock, by one at a time. */
static int tell(struct replay *rp, struct ctr_job *job)
{
    int ret = 0;
    if (rp->ops->ordered && job->out.n) {
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
    return rp->ops->progress(rp->arg, &rp->prog);
}

/*
 * Output may go out before the piece is done: at once if it is the next in
 * order, else it has to wait when there is much of it.  Returns nonzero if
 * the replay has stopped.
 */
static int flush(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    pthread_mutex_lock(&rp->lock);
    while (!rp->stop && job->out.n > PIECE_WAIT &&
           (rp->head != job->piece.seq || rp->telling)) {
        pthread_cond_wait(&rp->moved, &rp->lock);
    }
    if (!rp->stop && rp->head == job->piece.seq && !rp->telling) {
        rp->telling = 1;
        pthread_mutex_unlock(&rp->lock);
        int ret = tell(rp, job);
        pthread_mutex_lock(&rp->lock);
        rp->telling = 0;
        if (ret) {
            stop_with(rp, ret, NULL);
        }
        pthread_cond_broadcast(&rp->moved);
    }
    int stop = rp->stop;
    pthread_mutex_unlock(&rp->lock);
    return stop;
}

/*
 * Puts a finished piece into its place in the ring and tells what can be told
 * now.  The job's output buffer changes hands with the ring's.
 */
static void complete(struct ctr_job *job)
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
    d->job->pub = job->pub;
    d->job->thread = job->thread;
    d->job->worker = job->worker;
    d->piece = job->piece;
    d->ready = 1;
    while (!rp->stop && !rp->telling && rp->ring[rp->head % rp->ring_size].ready) {
        d = &rp->ring[rp->head % rp->ring_size];
        rp->telling = 1;
        pthread_mutex_unlock(&rp->lock);
        int ret = tell(rp, d->job);
        pthread_mutex_lock(&rp->lock);
        rp->telling = 0;
        d->ready = 0;
        rp->head++;
        if (d->piece.chunk && d->piece.last) {
            rp->prog.chunks_done++;
            rp->prog.insns_done += d->job->pub.insns;
            rp->prog.bytes_done += d->job->pub.bytes;
        }
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

/* -------------------------------------------------------------------- work */

/* What happened between the run before and this one. */
static int do_between(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    const struct job_piece *p = &job->piece;
    struct walk *w = &job->walk;
    int ret;
    while ((ret = walk_event(w)) == 1) {
        struct ctr_os_event *e = &w->events.ev;
        if (e->ordinal >= p->place_hi) {
            break;
        }
        if (e->ordinal >= p->place_lo && walk_event_selected(w)) {
            e->thread = job->thread;
            ret = rp->ops->os(rp->arg, job, e);
            if (ret) {
                return ret;
            }
        }
        ret = evdec_next(&w->events);
        if (ret) {
            return ret;
        }
    }
    uint64_t place = walk_outs_key(w);
    if (ret < 0 || !w->view || w->outs_done || place >= p->place_hi) {
        return ret < 0 ? ret : 0;
    }
    walk_outs(w);
    if (place < p->place_lo || !walk_out_selected(w)) {
        return 0;
    }
    for (uint32_t k = 0; k < w->regs.nchanged; k++) {
        struct ctr_reg_change c;
        walk_out_event(w, k, &c);
        ret = rp->ops->reg(rp->arg, job, &c);
        if (ret) {
            return ret;
        }
    }
    return 0;
}

/*
 * The instructions of the run.  Made twice, as following registers would make it
 * slower where nobody asks for them.
 */
EXPAND_INLINE int do_insns(struct ctr_job *job, struct regstate *regs)
{
    struct replay *rp = job->rp;
    const struct ctr_replay_ops *ops = rp->ops;
    const struct run *r = &job->walk.run;
    struct expand x;
    int ret = 0;
    expand_init(&x, &rp->feed, r, regs, &job->walk.reg_next, job->piece.lo,
                job->piece.hi);
    while (!ret && expand_step(&x, regs != NULL)) {
        if (x.exec && ops->exec) {
            struct ctr_exec e;
            expand_exec(&x, job->thread, &e);
            ret = ops->exec(rp->arg, job, &e);
        }
        for (uint32_t a = x.a; !ret && ops->mem && a < x.a_end; a++) {
            if (feed_access(&rp->feed, &r->access[a])) {
                struct ctr_mem m;
                expand_mem(&x, job->thread, a, &m);
                ret = ops->mem(rp->arg, job, &m);
            }
        }
        for (uint32_t k = 0; regs && !ret && k < regs->nchanged; k++) {
            struct ctr_reg_change c;
            expand_reg(&x, job->thread, k, &c);
            ret = ops->reg(rp->arg, job, &c);
        }
    }
    return ret;
}

static int do_insns_plain(struct ctr_job *job)
{
    return do_insns(job, NULL);
}

static int do_insns_regs(struct ctr_job *job)
{
    regstate_settle(&job->walk.regs); /* what runs that were skipped have changed */
    return do_insns(job, &job->walk.regs);
}

/* The accesses of the run that are of this piece. */
static void count_accesses(const struct ctr_job *job, struct ctr_run *run)
{
    const struct job_piece *p = &job->piece;
    const struct run *r = &job->walk.run;
    run->loads = r->loads;
    run->stores = r->stores;
    for (uint32_t i = 0; i < r->naccess; i++) {
        uint64_t ordinal = r->ordinal + r->access[i].insn - r->first;
        int mine = ordinal >= p->lo && ordinal < p->hi;
        run->stores += (uint32_t)(mine && r->access[i].store);
        run->loads += (uint32_t)(mine && !r->access[i].store);
    }
}

static int do_run(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    const struct ctr_replay_ops *ops = rp->ops;
    const struct job_piece *p = &job->piece;
    struct walk *w = &job->walk;
    const struct run *r = &w->run;
    uint64_t n = (uint64_t)(r->end - r->first);
    /* Is it told?  The rest of an instruction, without one of its own, where that was. */
    int here = r->ordinal < p->hi && r->ordinal + n > p->lo;
    int rest = rp->counts && r->first && r->naccess && r->access[0].insn < r->first &&
               r->ordinal > p->lo && r->ordinal <= p->hi;
    if (ops->run && (here || rest)) {
        unsigned skip = r->ordinal < p->lo ? (unsigned)(p->lo - r->ordinal) : 0;
        unsigned cut = r->ordinal + n > p->hi ? (unsigned)(r->ordinal + n - p->hi) : 0;
        struct ctr_run run = {
            .ordinal = r->ordinal + skip,
            .block = &r->block->pub,
            .first = (uint16_t)(r->first + skip),
            .end = (uint16_t)(r->end - cut),
            .flags = cut ? 0 : r->flags,
            .thread = job->thread,
        };
        if (rp->counts) {
            count_accesses(job, &run);
        }
        int ret = ops->run(rp->arg, job, &run);
        if (ret) {
            return ret;
        }
    }
    if (!feed_run(&rp->feed, r)) {
        return 0;
    }
    if (w->view) {
        return do_insns_regs(job);
    }
    return ops->exec || ops->mem ? do_insns_plain(job) : 0;
}

/*
 * The runs of a piece.  When the piece before it that this worker has done was
 * of the same chunk, decoding goes on there: the run on which that one ended
 * comes again, as both may have a share in it.  (A run that ends exactly where
 * the piece ends is not the last one: a resumed run behind it can have
 * accesses of the same instruction.)
 */
static int do_runs(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    struct job_piece *p = &job->piece;
    struct walk *w = &job->walk;
    int ret = 0;
    w->dec.count_lo = p->lo;
    w->dec.count_hi = p->hi;
    if (job->walk_on && w->pub.index == job->pub.index) {
        walk_diag(w, &p->diag);
    } else {
        ret = walk_begin(w, &rp->feed, &p->chunk->raw, &p->diag);
    }
    job->walk_on = 0;
    for (; !ret; ret = walk_next(w)) {
        ret = walk_between(w) ? do_between(job) : 0;
        if (ret || p->result) {
            return ret ? ret : p->result; /* or no memory, in a callback */
        }
        if (!w->more) {
            return 0;
        }
        if (walk_end(w) < p->lo) {
            continue;
        }
        ret = do_run(job);
        if (ret || p->result) {
            return ret ? ret : p->result;
        }
        if (job->out.n > PIECE_TELL && flush(job)) {
            job->stopped = 1;
            return 0;
        }
        if (walk_end(w) > p->hi) {
            job->walk_on = 1;
            return 0;
        }
    }
    return ret;
}

static int do_piece(struct ctr_job *job)
{
    struct replay *rp = job->rp;
    const struct ctr_replay_ops *ops = rp->ops;
    int ret = 0;
    if (ops->begin) {
        ret = ops->begin(rp->arg, job);
    }
    if (!ret && rp->decodes) {
        ret = do_runs(job);
    }
    if (!ret && job->stopped) {
        return 0;
    }
    if (!ret && ops->end) {
        ret = ops->end(rp->arg, job);
    }
    return ret;
}

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
        job->out.n = 0;
        if (c) {
            job->pub = c->raw.pub;
            job->thread = ctr_trace_thread(rp->tr, job->pub.thread);
            int ret = do_piece(job);
            if (!job->piece.result) {
                job->piece.result = ret;
            }
        }
        complete(job);
        /* Only now: on a stream this lock may be held for as long as nothing
         * comes in, and what is there must be told meanwhile. */
        if (c) {
            pthread_mutex_lock(&rp->src_lock);
            chunk_release(rp, c);
            pthread_mutex_unlock(&rp->src_lock);
        }
    }
    return NULL;
}

/* -------------------------------------------------------------------- main */

static void job_free(struct ctr_job *job)
{
    if (job) {
        walk_fini(&job->walk);
        buf_free(&job->out);
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
    if (decodes && walk_init(&job->walk)) {
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

/* What must be decoded for what is asked for. */
static void choose_columns(struct replay *rp)
{
    const struct ctr_replay_ops *ops = rp->ops;
    struct feed *f = &rp->feed;
    uint32_t has = rp->tr->events;
    int mem = ops->mem && f->kinds & (CTR_KIND_LOAD | CTR_KIND_STORE);
    int reg = ops->reg && f->kinds & CTR_KIND_REG && has & CTR_HAS_REG;
    int exec = ops->exec && f->kinds & CTR_KIND_EXEC;
    if (has & CTR_HAS_MEM && (mem || ((exec || reg) && f->filter.naddr))) {
        f->want |= DEC_MEM | (mem && has & CTR_HAS_VAL ? DEC_VAL : 0u);
    }
    f->want |= reg ? DEC_REG : 0u;
    rp->counts = ops->run && rp->run_accesses && has & CTR_HAS_MEM;
    f->want |= rp->counts && !(f->want & DEC_MEM) ? DEC_COUNT : 0u;
    f->os = ops->os ? feed_os_kinds(f) : 0;
    rp->decodes = ops->run || exec || f->want || f->os;
    /* begin and end come for every chunk when nothing else is asked for. */
    f->runs = ops->run || exec || f->want || !rp->decodes;
    if (!f->runs) {
        rp->piece_insns = 0;
    }
}

static void count_work(struct replay *rp)
{
    const struct ctr_trace *tr = rp->tr;
    for (uint64_t i = 0; tr->src.seekable && i < tr->nchunks; i++) {
        const struct ctr_chunk *c = &tr->chunks[i];
        if (feed_chunk(&rp->feed, c)) {
            rp->prog.chunks++;
            rp->prog.insns += c->insns;
            rp->prog.bytes += c->bytes;
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &rp->prog_time);
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
    int err = feed_init(&rp.feed, tr, opts ? opts->filter : NULL, diag);
    if (err) {
        return err;
    }
    choose_columns(&rp);
    count_work(&rp);
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
    feed_fini(&rp.feed);
    pthread_cond_destroy(&rp.moved);
    pthread_mutex_destroy(&rp.lock);
    pthread_mutex_destroy(&rp.src_lock);
    return err;
}
