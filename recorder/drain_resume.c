/* SPDX-License-Identifier: MIT */
/*
 * Goes on where the drain of a killed recorder stopped, in another process.  The ring
 * knows the processes and threads and how far each has been committed to it; the journal
 * knows which buffers the drain had read, their side records and what their blocks are;
 * the pipe has the rest.  Data that was on its way from one to the other is in both, and
 * is recognized by its number.
 *
 * The guest has ended, so every process is dead from the start, and the next round does
 * what there is to do for a guest that was killed.
 */
#include "drain_priv.h"

#include <stdlib.h>
#include <string.h>

#include "ring_priv.h"

/* A buffer that had been read. */
struct held {
    struct job_segment seg;
    uint32_t thread;
    uint64_t time_ns; /* not before the thread's previous one */
};

struct resume {
    struct drain *d;
    const struct ring *r;
    uint32_t nproc, nthread;
    struct guest_process **proc; /* of the ring's numbers; NULL: it has ended */
    struct slot **slot;          /* ... of threads */
    struct ring_place *next;
    struct held *held;
    size_t n_held;
    struct side_records **records; /* by thread and buffer */
    size_t n_records;
};

static int make_processes(struct resume *x)
{
    for (uint32_t i = 0; i < x->nproc; i++) {
        const struct ring_proc *from = &x->r->proc[i];
        const struct guest_claim claim = {
            .serial = from->serial, .pid = from->pid, .ppid = from->ppid};
        struct guest_process *p;

        if (from->ended) {
            continue;
        }
        p = from->ending ? calloc(1, sizeof(*p)) : guests_add(x->d->guests, &claim);
        if (!p) {
            return -CTR_E_NOMEM;
        }
        p->serial = from->serial;
        p->pid = from->pid;
        p->ppid = from->ppid;
        p->start_ns = from->start_ns;
        p->index = i;
        p->dead = true;
        p->end_ns = from->end_ns;
        p->end_reason = from->reason;
        p->end_status = from->status;
        x->proc[i] = p;
    }
    return 0;
}

/* Whether the pipe is still the thread's. */
static bool has_pipe(const struct resume *x, const struct ring_thread *t)
{
    const struct mempipe_pipe *p = &x->d->host->pipes[t->pipe];

    return t->pipe < drain_pipes_high(x->d) &&
           __atomic_load_n(&p->serial, __ATOMIC_RELAXED) == t->serial &&
           __atomic_load_n(&p->state, __ATOMIC_RELAXED) != MEMPIPE_FREE;
}

static int make_thread(struct resume *x, uint32_t i)
{
    const struct ring_thread *from = &x->r->thread[i];
    struct guest_process *p = x->proc[from->process];
    struct drain *d = x->d;
    struct slot *s;
    struct guest_thread *t;

    if (from->ending && has_pipe(x, from) && !d->slots[from->pipe].thread) {
        d->slots[from->pipe].closing = true;
        d->n_closing++;
    }
    if (from->ended || !p) {
        return 0;
    }
    s = !from->ending && has_pipe(x, from) ? &d->slots[from->pipe]
                                           : calloc(1, sizeof(*s));
    t = calloc(1, sizeof(*t));
    if (!s || !t) {
        return -CTR_E_NOMEM;
    }
    *t = (struct guest_thread){.process = p,
                               .tid = from->tid,
                               .ptid = from->ptid,
                               .pipe = from->pipe,
                               .serial = from->serial,
                               .start_ns = from->start_ns,
                               .end_ns = from->ending ? from->end_ns : from->last_ns,
                               .end_reason = from->ending ? from->reason : CTR_END_KILLED,
                               .end_status = from->ending ? from->status : 0,
                               .incomplete = from->ending ? from->incomplete : true,
                               .unsure = from->unsure,
                               .index = i};
    s->thread = t;
    s->side_end = &s->side;
    ring_goes_on(x->r, i, &x->next[i]);
    s->next_seq = x->next[i].seq;
    x->slot[i] = s;
    if (!from->ending) {
        p->threads++;
        d->n_threads++;
    }
    return 0;
}

/* ---------------------------------------------------------------- buffers */

static int by_thread(const void *a, const void *b)
{
    const struct held *x = a, *y = b;
    int32_t seq = (int32_t)(x->seg.seq - y->seg.seq);

    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    return (seq > 0) - (seq < 0);
}

static int by_time(const void *a, const void *b)
{
    const struct held *x = a, *y = b;

    if (x->time_ns != y->time_ns) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return by_thread(a, b);
}

static void find_held(struct resume *x)
{
    const struct mempipe_host *h = x->d->host;

    for (uint32_t i = 0; i < h->layout.nr_pipes + h->layout.nr_pool; i++) {
        struct mempipe_mail header;
        struct journal_buffer what;
        struct held *to = &x->held[x->n_held];

        if (!journal_holds(x->d->journal, i, &what) || what.thread >= x->nthread ||
            !x->slot[what.thread] || (int32_t)(what.seq - x->next[what.thread].seq) < 0) {
            continue;
        }
        /* The guest has ended, but may have overwritten it. */
        header = mempipe_host_header(h, i);
        *to =
            (struct held){.thread = what.thread, .seg = drain_segment(&header, what.seq)};
        to->seg.flags |= what.unsure ? CTR_SEGMENT_UNSURE : 0;
        x->n_held += mempipe_host_fits(h, to->seg.words, to->seg.units);
    }
}

/* Keeps those of each thread that follow one another; in the order of their times. */
static void order_held(struct resume *x)
{
    size_t n = 0;

    qsort(x->held, x->n_held, sizeof(*x->held), by_thread);
    for (size_t i = 0; i < x->n_held; i++) {
        struct held h = x->held[i];
        struct slot *s = x->slot[h.thread];

        if (h.seg.seq == s->next_seq) {
            s->next_seq++;
            s->n_fresh++;
            h.time_ns = h.seg.start_ns;
            if (n && x->held[n - 1].thread == h.thread &&
                h.time_ns < x->held[n - 1].time_ns) {
                h.time_ns = x->held[n - 1].time_ns;
            }
            x->held[n++] = h;
        }
    }
    x->n_held = n;
    qsort(x->held, n, sizeof(*x->held), by_time);
}

/* ----------------------------------------------------------------- records */

static int by_buffer(const void *a, const void *b)
{
    const struct side_records *x = *(struct side_records *const *)a;
    const struct side_records *y = *(struct side_records *const *)b;
    int32_t seq = (int32_t)(x->seq - y->seq);

    if (x->thread != y->thread) {
        return x->thread < y->thread ? -1 : 1;
    }
    return (seq > 0) - (seq < 0);
}

static int find_records(struct resume *x)
{
    struct journal *j = x->d->journal;
    struct side_records *r;
    uint32_t at = 0;
    size_t n = 0;

    while (journal_next(j, &at)) {
        n++;
    }
    x->records = calloc(n + 1, sizeof(struct side_records *));
    if (!x->records) {
        return -CTR_E_NOMEM;
    }
    for (at = 0; (r = journal_next(j, &at)) != NULL;) {
        if (r->thread >= x->nthread || !x->slot[r->thread]) {
            continue;
        }
        if (!x->r->thread[r->thread].ending) {
            journal_cut(r, x->d->host->side_tails[x->r->thread[r->thread].pipe]);
        }
        r->next = NULL;
        if (r->bytes && r->bytes <= r->cap) {
            x->records[x->n_records++] = r;
        }
    }
    qsort(x->records, x->n_records, sizeof(struct side_records *), by_buffer);
    return 0;
}

/* Keeps all but those of buffers that are in the ring. */
static void keep_records(struct resume *x)
{
    for (size_t i = 0; i < x->n_records; i++) {
        struct side_records *r = x->records[i];
        struct slot *s = x->slot[r->thread];
        const struct mempipe_side_place *p;

        if ((int32_t)(r->seq - x->next[r->thread].seq) < 0) {
            continue;
        }
        if (*s->side_end) {
            s->side_end = &(*s->side_end)->next;
        }
        *s->side_end = r;
        for (uint32_t at = 0; at < r->bytes; at += p->h.bytes) {
            p = (const void *)((const uint8_t *)r->data + at);
            s->last_units = p->units;
        }
        s->kept += r->bytes;
        x->d->kept += r->bytes;
    }
}

static int keep_regs(struct resume *x)
{
    for (const struct ring_item *i = NULL; (i = ring_item_next(x->r, i)) != NULL;) {
        struct mempipe_side_regtable *t;

        if (i->kind != RING_REGS) {
            continue;
        }
        t = malloc(sizeof(*t) + i->bytes);
        if (!t) {
            return -CTR_E_NOMEM;
        }
        *t = (struct mempipe_side_regtable){.n = i->n, .table_bytes = (uint32_t)i->bytes};
        memcpy(t + 1, i + 1, i->bytes);
        drain_set_regs(x->d, t);
        break;
    }
    return 0;
}

/* -------------------------------------------------------------------- jobs */

/* A buffer that is in the ring in part: a job of its own. */
static int submit_rest(struct resume *x, const struct held *h)
{
    const struct ring_place *next = &x->next[h->thread];
    struct slot *s = x->slot[h->thread];
    struct job *job = drain_job_new(JOB_CHUNK, NULL, s->thread);

    s->pending_side -= h->seg.side ? h->seg.side->bytes : 0;
    x->d->pending_side -= h->seg.side ? h->seg.side->bytes : 0;
    if (job && next->state_bytes) {
        job->state = malloc(next->state_bytes);
        if (!job->state) {
            free(job);
            job = NULL;
        } else {
            memcpy(job->state, next->state, next->state_bytes);
            job->state_bytes = next->state_bytes;
        }
    }
    if (job) {
        job->n_segs = 1;
        job->segs[0] = h->seg;
        job->segs[0].from_word = next->from_word;
        job->segs[0].from_unit = next->from_unit;
        job->segs[0].from_side = next->from_side;
        job->segs[0].from_insn = next->from_insn;
    }
    return drain_submit(x->d, job);
}

static int submit_held(struct resume *x, uint64_t now)
{
    /* Side records of the buffers that were read last may still be in the pipes. */
    int err = drain_side_queues(x->d, now);

    for (size_t i = 0; err >= 0 && i < x->n_held; i++) {
        x->slot[x->held[i].thread]->n_fresh = 0;
    }
    err = err > 0 ? 0 : err;
    for (size_t i = 0; !err && i < x->n_held; i++) {
        struct held *h = &x->held[i];
        const struct ring_place *next = &x->next[h->thread];

        mempipe_host_hold(x->d->host, h->seg.buffer);
        drain_attach_side(x->d, x->slot[h->thread], &h->seg, h->seg.seq);
        if (h->seg.seq == next->seq &&
            (next->from_word || next->from_side || next->from_insn)) {
            err = submit_rest(x, h);
        } else {
            err = drain_push_old(x->d, x->slot[h->thread], &h->seg, now);
        }
    }
    for (uint32_t i = 0; !err && i < x->nthread; i++) {
        if (x->slot[i]) {
            err = drain_dispatch(x->d, x->slot[i]);
        }
    }
    return err;
}

/* Submits the ends that were under way, too. */
static int submit_ends(struct resume *x)
{
    int err = 0;

    for (uint32_t i = 0; !err && i < x->nthread; i++) {
        const struct ring_thread *t = &x->r->thread[i];

        if (x->slot[i] && (t->ending || !has_pipe(x, t))) {
            err = drain_submit(x->d,
                               drain_job_new(JOB_THREAD_END, NULL, x->slot[i]->thread));
            free(x->slot[i]);
            x->slot[i] = NULL;
        }
    }
    for (uint32_t i = 0; !err && i < x->nproc; i++) {
        if (x->proc[i] && x->r->proc[i].ending) {
            err = drain_submit(x->d, drain_job_new(JOB_PROCESS_END, x->proc[i], NULL));
        }
    }
    return err;
}

static int resume(struct resume *x, uint64_t now)
{
    const struct mempipe_ctl *ctl = &x->d->host->layout;
    int err;

    x->proc = calloc((size_t)x->nproc + 1, sizeof(struct guest_process *));
    x->slot = calloc((size_t)x->nthread + 1, sizeof(struct slot *));
    x->next = calloc((size_t)x->nthread + 1, sizeof(*x->next));
    x->held = calloc((size_t)ctl->nr_pipes + ctl->nr_pool + 1, sizeof(*x->held));
    if (!x->proc || !x->slot || !x->next || !x->held) {
        return -CTR_E_NOMEM;
    }
    err = make_processes(x);
    for (uint32_t i = x->nthread; !err && i--;) { /* a pipe's last owner first */
        err = make_thread(x, i);
    }
    if (!err) {
        err = keep_regs(x);
    }
    if (!err) {
        find_held(x);
        order_held(x);
        err = find_records(x);
    }
    if (!err) {
        keep_records(x);
        err = submit_held(x, now);
    }
    return err ? err : submit_ends(x);
}

int drain_resume(struct drain *d, const struct ring *r, uint64_t now_ns,
                 struct ctr_diag *diag)
{
    struct resume x = {
        .d = d, .r = r, .nproc = r->image->nproc, .nthread = r->image->nthread};
    int err;

    d->diag = diag;
    d->resumed = true;
    d->root = -1; /* no process's end is waited for */
    if (!ring_has_begun(r)) {
        return 0;
    }
    /* As it was when the trace was begun, whatever the guest has written since. */
    d->target.addr_bytes = ring_addr_bytes(r);
    d->host->addr_bytes = d->target.addr_bytes;
    d->begun = true;
    d->pipeline = d->ops.begin(d->ops.arg, &d->target);
    if (!d->pipeline) {
        return -CTR_E_NOMEM;
    }
    d->journal = pipeline_journal(d->pipeline);
    err = resume(&x, now_ns);
    free(x.proc);
    free(x.slot);
    free(x.next);
    free(x.held);
    free(x.records);
    return err;
}
