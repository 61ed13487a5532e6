/* SPDX-License-Identifier: MIT */
/*
 * A round goes in this order, and the order is what makes it exact:
 *
 *   1. ask which processes have ended: what they wrote is all there then;
 *   2. look at the state of each pipe: an ENDED one has sent all its mail;
 *   3. take mail;
 *   4. empty every aux ring: a block was described in one of them before it
 *      could run, so afterwards the blocks of all chunks taken in 3 are known,
 *      and so are the helpers' accesses that belong to them;
 *   5. make jobs of the chunks;
 *   6. close the books on threads and processes that had ended in 1 or 2.
 *
 * Nothing in a round waits, so that a guest waiting for room in its ring is
 * served whatever the workers do.
 */
#include "drain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "watchdog.h"

/* Chunks older than this are packed although a job is not full. */
#define AGE_NS 1000000000ull
#define AGE_LIVE_NS 50000000ull
/* A claimed pipe whose creator is dead may still come alive within this. */
#define CLAIM_NS 1000000000ull
/* More helper accesses than this are not put together into one job. */
#define JOB_EXTRAS (256u << 10)
/* Homes below this number keep their memory when they are given back. */
#define WARM_HOMES 64

struct tagged_extra {
    uint32_t seq;
    struct ctr_extra x;
};

/* The recorder's side of one pipe. */
struct slot {
    struct guest_thread *thread; /* NULL while nobody is known to own it */
    uint32_t next_seq;           /* of the mail expected */
    bool ended;                  /* the state was ENDED in step 2 */
    bool closing;                /* over, but its home chunk is being packed */
    uint64_t claimed_ns;         /* when it was first seen CLAIMED, 0: it is not */
    bool more;                   /* mail was left for the next round */
    unsigned n_pending, n_fresh; /* the last n_fresh came in this round */
    uint64_t pending_bytes, pending_ns;
    uint32_t pending_extras;
    struct tagged_extra *extras; /* of chunks that have not arrived */
    size_t n_extras, cap_extras;
    struct job_segment pending[JOB_SEGMENTS];
};

struct drain {
    struct mempipe_host *host;
    struct guests *guests;
    struct ctr_dict *dict;
    struct pipeline *pipeline;
    struct drain_ops ops;
    unsigned workers;
    bool begun;
    uint32_t n_pending; /* chunks in all slots */
    unsigned n_claimed, n_closing;
    bool exec_pending;
    uint64_t exec_look_ns, claim_look_ns;
    pid_t root;
    int root_status;
    struct drain_totals totals;
    struct ctr_diag *diag; /* of the round under way */
    uint32_t *news;        /* pipes that came alive, for sorting */
    struct slot *slots;
};

static uint32_t pipes_high(const struct drain *d)
{
    uint32_t high = __atomic_load_n(&d->host->ctl->pipes_high, __ATOMIC_SEQ_CST);

    return high < d->host->ctl->nr_pipes ? high : d->host->ctl->nr_pipes;
}

static int oddity(struct drain *d, uint32_t pipe, const char *text)
{
    memset(d->diag, 0, sizeof(*d->diag));
    d->diag->code = CTR_E_CORRUPT;
    d->diag->off = CTR_NO_OFF;
    snprintf(d->diag->field, sizeof(d->diag->field), "pipe %u", pipe);
    snprintf(d->diag->text, sizeof(d->diag->text), "%s", text);
    return -CTR_E_CORRUPT;
}

struct drain *drain_new(struct mempipe_host *host, struct guests *guests,
                        struct ctr_dict *dict, unsigned workers,
                        const struct drain_ops *ops)
{
    struct drain *d = calloc(1, sizeof(*d));

    if (!d) {
        return NULL;
    }
    d->host = host;
    d->guests = guests;
    d->dict = dict;
    d->workers = workers;
    d->ops = *ops;
    d->root_status = DRAIN_STATUS_UNKNOWN;
    /* Only what is used of these is ever touched. */
    d->slots = calloc(host->ctl->nr_pipes, sizeof(*d->slots));
    d->news = calloc(host->ctl->nr_pipes, sizeof(*d->news));
    if (!d->slots || !d->news) {
        drain_free(d);
        return NULL;
    }
    return d;
}

static void release_segment(struct drain *d, struct job_segment *s)
{
    mempipe_host_release(d->host, s->chunk, s->words, s->addrs, s->chunk >= WARM_HOMES);
    free(s->extras);
}

void drain_free(struct drain *d)
{
    if (!d) {
        return;
    }
    for (uint32_t i = 0; d->slots && i < pipes_high(d); i++) {
        struct slot *s = &d->slots[i];
        for (unsigned k = 0; k < s->n_pending; k++) {
            free(s->pending[k].extras);
        }
        free(s->extras);
        free(s->thread);
    }
    free(d->slots);
    free(d->news);
    free(d);
}

/* ------------------------------------------------------------------- jobs */

static struct job *job_new(enum job_kind kind, struct guest_process *p,
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

/* Hands a job over; without a pipeline what it carries is dropped. */
static int submit(struct drain *d, struct job *job)
{
    if (!job) {
        return -CTR_E_NOMEM;
    }
    if (d->pipeline) {
        pipeline_submit(d->pipeline, job);
        return 0;
    }
    for (unsigned i = 0; i < job->n_segs; i++) {
        release_segment(d, &job->segs[i]);
    }
    if (job->kind == JOB_THREAD_END) {
        free(job->thread);
    } else if (job->kind == JOB_PROCESS_END) {
        free(job->process);
    }
    free(job);
    return 0;
}

static uint64_t segment_bytes(const struct drain *d, const struct job_segment *seg)
{
    return (uint64_t)seg->words * sizeof(uint32_t) +
           (uint64_t)seg->addrs * d->host->ctl->addr_bytes;
}

/* Makes a job of the first n chunks that are pending. */
static int dispatch_first(struct drain *d, struct slot *s, unsigned n)
{
    struct job *job;

    if (!n) {
        return 0;
    }
    job = job_new(JOB_CHUNK, NULL, s->thread);
    if (!job) {
        return -CTR_E_NOMEM;
    }
    job->trim = (size_t)(s - d->slots) >= WARM_HOMES;
    job->n_segs = n;
    memcpy(job->segs, s->pending, n * sizeof(s->pending[0]));
    for (unsigned i = 0; i < n; i++) {
        s->pending_bytes -= segment_bytes(d, &s->pending[i]);
        s->pending_extras -= s->pending[i].n_extras;
    }
    d->n_pending -= n;
    s->n_pending -= n;
    memmove(s->pending, s->pending + n, s->n_pending * sizeof(s->pending[0]));
    return submit(d, job);
}

static int dispatch(struct drain *d, struct slot *s)
{
    return dispatch_first(d, s, s->n_pending);
}

/* Gives the segment the helper accesses that were made during it. */
static int attach_extras(struct drain *d, struct slot *s, struct job_segment *seg,
                         uint32_t seq)
{
    size_t n = 0, skip = 0;

    /* Of an earlier chunk: there is none, unless the guest scribbled. */
    while (skip < s->n_extras && (int32_t)(s->extras[skip].seq - seq) < 0) {
        skip++;
    }
    if (skip) {
        return oddity(d, (uint32_t)(s - d->slots), "an access came after its chunk");
    }
    while (n < s->n_extras && s->extras[n].seq == seq) {
        n++;
    }
    if (n) {
        seg->extras = malloc(n * sizeof(*seg->extras));
        if (!seg->extras) {
            return -CTR_E_NOMEM;
        }
        for (size_t i = 0; i < n; i++) {
            seg->extras[i] = s->extras[i].x;
        }
        seg->n_extras = (uint32_t)n;
        s->pending_extras += (uint32_t)n;
        s->n_extras -= n;
        memmove(s->extras, s->extras + n, s->n_extras * sizeof(*s->extras));
    }
    return 0;
}

static void push_segment(struct drain *d, struct slot *s, const struct job_segment *seg,
                         uint64_t now)
{
    if (!s->n_pending) {
        s->pending_ns = now;
    }
    s->pending[s->n_pending++] = *seg;
    s->pending_bytes += segment_bytes(d, seg);
    d->n_pending++;
}

/* --------------------------------------------------- threads and processes */

static int adopt(struct drain *d, uint32_t pipe, uint64_t now)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct slot *s = &d->slots[pipe];
    struct guest_process *process;
    struct guest_thread *t;
    int err = 0;

    if (!d->begun) {
        if (d->host->ctl->addr_bytes != 4 && d->host->ctl->addr_bytes != 8) {
            return oddity(d, pipe, "QEMU did not say how wide addresses are");
        }
        d->begun = true;
        d->pipeline = d->ops.begin(d->ops.arg);
    }
    process = guests_find(d->guests, p->pid);
    if (!process) {
        process = guests_add(d->guests, p->pid, p->ppid);
        if (!process) {
            return -CTR_E_NOMEM;
        }
        process->start_ns = p->start_ns;
        d->totals.processes++;
        err = submit(d, job_new(JOB_PROCESS, process, NULL));
    }
    t = calloc(1, sizeof(*t));
    if (!t) {
        return -CTR_E_NOMEM;
    }
    t->process = process;
    t->tid = p->tid;
    t->ptid = p->ptid;
    t->start_ns = p->start_ns;
    process->threads++;
    memset(s, 0, sizeof(*s));
    s->thread = t;
    s->pending_ns = now;
    d->totals.threads++;
    return err ? err : submit(d, job_new(JOB_THREAD, process, t));
}

/* Takes the chunk that a thread was filling when it ended, if there is one that
 * it did not hand over. */
static bool take_live_chunk(struct drain *d, uint32_t pipe, uint32_t *chunk)
{
    struct mempipe_pipe *p = &d->host->pipes[pipe];
    /* pairs with the producer's release store; it set live_seq before */
    uint32_t live = __atomic_load_n(&p->live_chunk, __ATOMIC_ACQUIRE);

    if (!live || live > d->host->ctl->nr_pipes + d->host->ctl->nr_pool) {
        return false;
    }
    /* Already handed over, unless nothing ever is. */
    if (!d->host->ctl->discard &&
        __atomic_load_n(&p->live_seq, __ATOMIC_RELAXED) != d->slots[pipe].next_seq) {
        return false;
    }
    *chunk = live - 1;
    __atomic_store_n(&p->live_chunk, 0, __ATOMIC_RELAXED);
    mempipe_host_hold(d->host, *chunk);
    return true;
}

/* Saves what a thread that got no chance to hand over had written. */
static int recover_tail(struct drain *d, uint32_t pipe, uint64_t now)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct slot *s = &d->slots[pipe];
    struct job_segment seg = {.end_ns = now};
    int err;

    if (!take_live_chunk(d, pipe, &seg.chunk)) {
        return 0;
    }
    seg.start_ns =
        s->n_pending ? s->pending[s->n_pending - 1].end_ns : s->thread->start_ns;
    if (__atomic_load_n(&p->running, __ATOMIC_RELAXED)) {
        seg.flags = CTR_SEGMENT_UNSURE;
        s->thread->incomplete = true;
        mempipe_host_measure(d->host, seg.chunk, &seg.words, &seg.addrs);
    } else {
        seg.words = p->quiet_words;
        seg.addrs = p->quiet_addrs;
        if (segment_bytes(d, &seg) > d->host->ctl->chunk_bytes) {
            return oddity(d, pipe, "the lengths of its last chunk are impossible");
        }
    }
    if (!seg.words) {
        release_segment(d, &seg);
        return 0;
    }
    if (s->n_pending == JOB_SEGMENTS) {
        err = dispatch(d, s);
        if (err) {
            return err;
        }
    }
    err = attach_extras(d, s, &seg, s->next_seq);
    s->next_seq++;
    push_segment(d, s, &seg, now);
    return err;
}

/* The thread is over and its pipe is empty. */
static int finish_thread(struct drain *d, uint32_t pipe)
{
    struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct slot *s = &d->slots[pipe];
    struct guest_thread *t = s->thread;
    struct job_segment left = {0};
    int err = dispatch(d, s);

    if (take_live_chunk(d, pipe, &left.chunk)) {
        release_segment(d, &left);
    }
    d->totals.waits += p->waits;
    d->totals.wait_ns += p->wait_ns;
    t->process->threads--;
    if (t->end_ns > t->process->end_ns) {
        t->process->end_ns = t->end_ns;
    }
    if (!err) {
        err = submit(d, job_new(JOB_THREAD_END, NULL, t));
    }
    free(s->extras);
    memset(s, 0, sizeof(*s));
    /* Its next owner takes the home chunk without asking. */
    s->closing = true;
    d->n_closing++;
    __atomic_store_n(&p->state, MEMPIPE_ENDED, __ATOMIC_RELAXED);
    return err;
}

static void free_closing(struct drain *d)
{
    for (uint32_t i = 0, high = pipes_high(d); d->n_closing && i < high; i++) {
        if (d->slots[i].closing && mempipe_host_home_is_back(d->host, i)) {
            d->slots[i].closing = false;
            d->n_closing--;
            mempipe_host_free_pipe(d->host, i);
        }
    }
}

/* A thread that ended in the regular way. */
static int finish_ended(struct drain *d, uint32_t pipe)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct guest_thread *t = d->slots[pipe].thread;

    t->end_reason = p->end_reason;
    t->end_status = p->end_status;
    t->end_ns = p->end_ns;
    if (p->end_reason != MEMPIPE_END_EXIT || t->process->end_reason <= CTR_END_EXIT) {
        t->process->end_reason = p->end_reason;
        t->process->end_status = p->end_status;
    }
    return finish_thread(d, pipe);
}

/* How a process ended, from what its threads say. */
static void judge_process(struct drain *d, struct guest_process *p)
{
    bool left = false;

    for (uint32_t i = 0, high = pipes_high(d); i < high; i++) {
        const struct mempipe_pipe *q = &d->host->pipes[i];

        if (!d->slots[i].thread || d->slots[i].thread->process != p) {
            continue;
        }
        if (q->end_reason > MEMPIPE_END_EXIT) {
            p->end_reason = q->end_reason;
            p->end_status = q->end_status;
            return;
        }
        left = true;
    }
    if (p->execed) {
        p->end_reason = CTR_END_EXEC;
    } else if (p->end_reason <= CTR_END_EXIT && (left || !p->end_reason)) {
        p->end_reason = CTR_END_KILLED;
        p->end_status = 0;
        if (p->pid == d->root && d->root_status != DRAIN_STATUS_UNKNOWN &&
            WIFSIGNALED(d->root_status)) {
            p->end_status = WTERMSIG(d->root_status);
        }
    }
}

static int finish_process(struct drain *d, struct guest_process *p, uint64_t now)
{
    int err = 0;

    judge_process(d, p);
    for (uint32_t i = 0, high = pipes_high(d); i < high && !err; i++) {
        const struct mempipe_pipe *q = &d->host->pipes[i];
        struct guest_thread *t = d->slots[i].thread;

        if (!t || t->process != p) {
            continue;
        }
        if (d->slots[i].ended) {
            err = finish_ended(d, i);
            continue;
        }
        err = recover_tail(d, i, now);
        t->end_reason = q->end_reason ? q->end_reason : p->end_reason;
        t->end_status = q->end_reason ? q->end_status : p->end_status;
        t->end_ns = q->end_ns && q->end_reason ? q->end_ns : now;
        if (p->end_reason == CTR_END_KILLED) {
            t->incomplete = true;
        }
        if (!err) {
            err = finish_thread(d, i);
        }
    }
    if (!p->end_ns) {
        p->end_ns = now;
    }
    guests_remove(d->guests, p);
    return err ? err : submit(d, job_new(JOB_PROCESS_END, p, NULL));
}

/* ----------------------------------------------------------------- a round */

static int on_aux(void *arg, uint32_t pipe, const struct mempipe_aux *rec)
{
    struct drain *d = arg;
    struct slot *s = &d->slots[pipe];

    if (rec->type == MEMPIPE_AUX_BLOCK) {
        const struct mempipe_aux_block *b = (const struct mempipe_aux_block *)rec;
        if (rec->bytes < sizeof(*b) || b->def_bytes > rec->bytes - sizeof(*b)) {
            return oddity(d, pipe, "a block definition is longer than its record");
        }
        return d->host->ctl->discard
                   ? 0
                   : ctr_dict_add(d->dict, b->id, b + 1, b->def_bytes, d->diag);
    }
    if (rec->type == MEMPIPE_AUX_ACCESS) {
        const struct mempipe_aux_access *a = (const struct mempipe_aux_access *)rec;
        if (rec->bytes < sizeof(*a) || !s->thread) {
            return oddity(d, pipe, "an access came from nobody");
        }
        if (!d->pipeline) {
            return 0;
        }
        if (s->n_extras == s->cap_extras) {
            size_t cap = s->cap_extras ? 2 * s->cap_extras : 256;
            void *grown = realloc(s->extras, cap * sizeof(*s->extras));
            if (!grown) {
                return -CTR_E_NOMEM;
            }
            s->extras = grown;
            s->cap_extras = cap;
        }
        s->extras[s->n_extras++] = (struct tagged_extra){
            .seq = a->seq,
            .x = {.words = a->words,
                  .addrs = a->addrs,
                  .insn = a->insn,
                  .store = a->store,
                  .big_endian = a->big_endian,
                  .size = a->size,
                  .addr = a->addr},
        };
        return 0;
    }
    return oddity(d, pipe, "a record of unknown type");
}

static int take_mail(struct drain *d, uint32_t pipe, uint64_t now)
{
    struct slot *s = &d->slots[pipe];
    uint32_t mail;
    int any = 0, err;

    /* What came in earlier rounds is complete and may go to make room. */
    if (s->n_pending > JOB_SEGMENTS / 2) {
        err = dispatch(d, s);
        if (err) {
            return err;
        }
    }
    while (s->n_pending < JOB_SEGMENTS &&
           (mail = mempipe_host_take_mail(d->host, pipe, s->next_seq)) != 0) {
        const struct mempipe_chunk *c = &d->host->chunks[mail - 1];
        struct job_segment seg = {
            .chunk = mail - 1,
            .words = c->words,
            .addrs = c->addrs,
            .start_ns = c->start_ns,
            .end_ns = c->end_ns,
        };
        if (c->pipe != pipe || c->seq != s->next_seq ||
            segment_bytes(d, &seg) > d->host->ctl->chunk_bytes) {
            return oddity(d, pipe, "the header of a chunk is impossible");
        }
        push_segment(d, s, &seg, now);
        s->next_seq++;
        s->n_fresh++;
        any = 1;
    }
    s->more = s->n_pending == JOB_SEGMENTS;
    return any;
}

/* Steps 2 and the first half of adopting: which pipes are new. */
static uint32_t look_at_states(struct drain *d, uint64_t now)
{
    uint32_t n_news = 0;

    d->n_claimed = 0;
    d->exec_pending = false;
    for (uint32_t i = 0, high = pipes_high(d); i < high; i++) {
        const struct mempipe_pipe *p = &d->host->pipes[i];
        struct slot *s = &d->slots[i];
        /* pairs with the producer's release stores */
        uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);

        if (state == MEMPIPE_CLAIMED) {
            d->n_claimed++;
            s->claimed_ns = s->claimed_ns ? s->claimed_ns : now;
            continue;
        }
        s->claimed_ns = 0;
        if (state == MEMPIPE_FREE || s->closing) {
            continue;
        }
        if (!s->thread) {
            d->news[n_news++] = i;
        }
        s->ended = state == MEMPIPE_ENDED;
        if (s->thread && !s->ended &&
            __atomic_load_n(&p->end_reason, __ATOMIC_RELAXED) == MEMPIPE_END_EXEC) {
            s->thread->process->exec_pending = true;
            d->exec_pending = true;
        }
    }
    return n_news;
}

static int by_serial(const void *a, const void *b, void *arg)
{
    const struct mempipe_pipe *pipes = arg;
    uint32_t x = pipes[*(const uint32_t *)a].serial;
    uint32_t y = pipes[*(const uint32_t *)b].serial;

    return (x > y) - (x < y);
}

static int adopt_news(struct drain *d, uint32_t n, uint64_t now)
{
    if (n > 1) {
        qsort_r(d->news, n, sizeof(*d->news), by_serial, d->host->pipes);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct slot *s = &d->slots[d->news[i]];
        bool ended = s->ended;
        int err = adopt(d, d->news[i], now);

        s->ended = ended;
        if (err) {
            return err;
        }
    }
    return 0;
}

/* Step 4, over all pipes, also those that came alive since step 2. */
static int drain_rings(struct drain *d, uint64_t now)
{
    int any = 0;

    for (uint32_t i = 0, high = pipes_high(d); i < high; i++) {
        const struct mempipe_pipe *p = &d->host->pipes[i];
        int got;

        if (!d->slots[i].thread && !d->slots[i].closing) {
            uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
            if (state == MEMPIPE_LIVE || state == MEMPIPE_ENDED) {
                got = adopt(d, i, now);
                if (got < 0) {
                    return got;
                }
                any = 1;
            }
        }
        got = mempipe_host_drain_aux(d->host, i, on_aux, d);
        if (got < 0) {
            return got == -EPROTO ? oddity(d, i, "its ring of records holds nonsense")
                                  : got;
        }
        any |= got;
    }
    return any;
}

/* Completes the chunks of this round; what gets too large goes at once. */
static int settle_fresh(struct drain *d, struct slot *s)
{
    int err = 0;

    while (s->n_fresh && !err) {
        unsigned i = s->n_pending - s->n_fresh;

        err = attach_extras(d, s, &s->pending[i], s->next_seq - s->n_fresh);
        s->n_fresh--;
        if (!err && s->pending_extras > JOB_EXTRAS) {
            err = dispatch_first(d, s, i + 1);
        }
    }
    return err;
}

static bool is_due(const struct drain *d, const struct slot *s, uint64_t now)
{
    uint64_t full = (uint64_t)JOB_FULL_CHUNKS * d->host->ctl->chunk_bytes;
    uint64_t age = d->host->ctl->live ? AGE_LIVE_NS : AGE_NS;

    return s->n_pending == JOB_SEGMENTS || s->pending_bytes >= full - full / 8 ||
           now - s->pending_ns >= age;
}

/* Whether threads wait for chunks, or soon will. */
static bool chunks_are_short(const struct drain *d)
{
    /* Pairs with the addition of who is about to wait, and rings. */
    return __atomic_load_n(&d->host->ctl->space_waiters, __ATOMIC_SEQ_CST) ||
           (d->n_pending + pipeline_chunks_held(d->pipeline)) * 4 >=
               d->host->ctl->nr_pool * 3;
}

/* Step 5: jobs of what is due; smaller ones when the guest runs out of chunks. */
static int make_jobs(struct drain *d, uint64_t now)
{
    uint32_t high = pipes_high(d);
    int err = 0;

    for (uint32_t i = 0; i < high && !err; i++) {
        struct slot *s = &d->slots[i];
        if (s->n_fresh) {
            err = settle_fresh(d, s);
        }
        if (!err && s->n_pending && is_due(d, s, now)) {
            err = dispatch(d, s);
        }
    }
    while (!err && d->pipeline && d->n_pending && chunks_are_short(d) &&
           pipeline_backlog(d->pipeline) < d->workers) {
        struct slot *most = NULL;
        for (uint32_t i = 0; i < high; i++) {
            if (d->slots[i].n_pending &&
                (!most || d->slots[i].pending_bytes > most->pending_bytes)) {
                most = &d->slots[i];
            }
        }
        err = most ? dispatch(d, most) : 0;
    }
    return err;
}

/*
 * Frees pipes that were claimed for somebody who will never come: the thread or
 * the fork was killed in the middle.
 */
static void sweep_claims(struct drain *d, uint64_t now)
{
    for (uint32_t i = 0, high = pipes_high(d); i < high; i++) {
        struct mempipe_pipe *p = &d->host->pipes[i];
        pid_t owner = __atomic_load_n(&p->pid, __ATOMIC_RELAXED);
        bool known = owner > 1;

        if (!d->slots[i].claimed_ns || now - d->slots[i].claimed_ns < CLAIM_NS) {
            continue;
        }
        owner = known ? owner : __atomic_load_n(&p->ppid, __ATOMIC_RELAXED);
        if (owner > 1 ? watchdog_has_ended(owner) : !d->guests->processes) {
            uint32_t want = MEMPIPE_CLAIMED;
            /* pairs with the claim; keeps others off while it is cleared */
            if (__atomic_compare_exchange_n(&p->state, &want, MEMPIPE_ENDED, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
                d->slots[i].claimed_ns = 0;
                d->slots[i].closing = true;
                d->n_claimed--;
                d->n_closing++;
            }
        }
    }
}

static bool has_more(const struct drain *d, const struct guest_process *p)
{
    for (uint32_t i = 0, high = pipes_high(d); i < high; i++) {
        if (d->slots[i].thread && d->slots[i].thread->process == p && d->slots[i].more) {
            return true;
        }
    }
    return false;
}

static int finish_the_dead(struct drain *d, uint64_t now)
{
    struct guest_process *p, *next;
    int any = 0, err;

    for (uint32_t i = 0, high = pipes_high(d); i < high; i++) {
        if (d->slots[i].thread && d->slots[i].ended && !d->slots[i].more) {
            err = finish_ended(d, i);
            if (err) {
                return err;
            }
            any = 1;
        }
    }
    for (p = d->guests->processes; p; p = next) {
        next = p->next;
        if (p->dead && !has_more(d, p)) {
            err = finish_process(d, p, now);
            if (err) {
                return err;
            }
            any = 1;
        }
    }
    return any;
}

int drain_round(struct drain *d, uint64_t now_ns, struct ctr_diag *diag)
{
    bool look_exec = d->exec_pending && now_ns - d->exec_look_ns > 50000000u;
    int any = 0, got;
    uint32_t n_news;

    d->diag = diag;
    if (look_exec) {
        d->exec_look_ns = now_ns;
    }
    guests_poll(d->guests, look_exec);
    free_closing(d);
    n_news = look_at_states(d, now_ns);
    got = adopt_news(d, n_news, now_ns);
    if (got < 0) {
        return got;
    }
    any = n_news > 0;
    for (uint32_t i = 0, high = pipes_high(d); i < high; i++) {
        if (d->slots[i].thread) {
            got = take_mail(d, i, now_ns);
            if (got < 0) {
                return got;
            }
            any |= got;
        }
    }
    got = drain_rings(d, now_ns);
    if (got < 0) {
        return got;
    }
    any |= got;
    got = make_jobs(d, now_ns);
    if (got < 0) {
        return got;
    }
    got = finish_the_dead(d, now_ns);
    if (got < 0) {
        return got;
    }
    any |= got;
    if (d->n_claimed && now_ns - d->claim_look_ns > 100000000u) {
        d->claim_look_ns = now_ns;
        sweep_claims(d, now_ns);
    }
    return any;
}

bool drain_is_over(const struct drain *d)
{
    return !d->guests->processes && !d->n_claimed;
}

int drain_patience(const struct drain *d)
{
    if (d->exec_pending || d->n_claimed || (d->n_pending && d->host->ctl->live)) {
        return 50;
    }
    return d->n_pending ? 250 : 1000;
}

void drain_set_root(struct drain *d, pid_t pid, int wait_status)
{
    d->root = pid;
    d->root_status = wait_status;
}

void drain_get_totals(const struct drain *d, struct drain_totals *totals)
{
    *totals = d->totals;
    for (uint32_t i = 0, high = pipes_high(d); i < high; i++) {
        if (d->slots[i].thread) {
            const struct mempipe_pipe *p = &d->host->pipes[i];
            totals->waits += __atomic_load_n(&p->waits, __ATOMIC_RELAXED);
            totals->wait_ns += __atomic_load_n(&p->wait_ns, __ATOMIC_RELAXED);
        }
    }
}
