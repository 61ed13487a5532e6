/* SPDX-License-Identifier: MIT */
/*
 * Threads and processes: which of them owns a pipe, how they ended, and what can be saved
 * of the data that they had not handed over.
 */
#include "drain_priv.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A claimed pipe whose creator is dead may still come alive within this time. */
#define CLAIM_NS 1000000000ull

/* The process of the pipe's thread, a new one if it is not known. */
static int process_of(struct drain *d, const struct mempipe_pipe *p, uint64_t start_ns,
                      struct guest_process **out)
{
    const struct guest_claim claim = {
        .serial = __atomic_load_n(&p->process, __ATOMIC_RELAXED),
        .pid = __atomic_load_n(&p->pid, __ATOMIC_RELAXED),
        .ppid = __atomic_load_n(&p->ppid, __ATOMIC_RELAXED),
        .nested = __atomic_load_n(&p->nested, __ATOMIC_RELAXED) != 0,
        .inside_exec =
            __atomic_load_n(&p->end_reason, __ATOMIC_RELAXED) == MEMPIPE_END_EXEC,
    };

    *out = guests_find(d->guests, claim.serial);
    if (*out) {
        return 0;
    }
    *out = guests_add(d->guests, &claim);
    if (!*out) {
        return -CTR_E_NOMEM;
    }
    (*out)->start_ns = start_ns;
    if (__atomic_load_n(&p->was_pid, __ATOMIC_RELAXED)) {
        (*out)->pid = __atomic_load_n(&p->was_pid, __ATOMIC_RELAXED);
        (*out)->ppid = __atomic_load_n(&p->was_ppid, __ATOMIC_RELAXED);
    }
    d->totals.processes++;
    return drain_submit(d, drain_job_new(JOB_PROCESS, *out, NULL));
}

int drain_adopt(struct drain *d, uint32_t pipe, uint64_t now)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct slot *s = &d->slots[pipe];
    struct guest_process *process;
    struct guest_thread *t;
    int err;

    if (!d->begun) {
        if (mempipe_host_target(d->host, &d->target)) {
            return drain_reject(d, pipe, "QEMU did not say how wide addresses are");
        }
        d->begun = true;
        d->pipeline = d->ops.begin(d->ops.arg, &d->target);
        d->journal = d->pipeline ? pipeline_journal(d->pipeline) : NULL;
    }
    t = calloc(1, sizeof(*t));
    if (!t) {
        return -CTR_E_NOMEM;
    }
    t->tid = __atomic_load_n(&p->tid, __ATOMIC_RELAXED);
    t->ptid = __atomic_load_n(&p->ptid, __ATOMIC_RELAXED);
    t->start_ns = __atomic_load_n(&p->start_ns, __ATOMIC_RELAXED);
    err = process_of(d, p, t->start_ns, &process);
    if (!process) {
        free(t);
        return err;
    }
    err = err ? err : drain_epoch_adopt(d, pipe, process);
    t->process = process;
    t->pipe = pipe;
    t->serial = __atomic_load_n(&p->serial, __ATOMIC_RELAXED);
    process->threads++;
    memset(s, 0, sizeof(*s));
    s->thread = t;
    s->side_end = &s->side;
    s->trim = pipe >= WARM_RESERVED;
    s->pending_ns = now;
    d->n_threads++;
    d->totals.threads++;
    return err ? err : drain_submit(d, drain_job_new(JOB_THREAD, process, t));
}

/* Whether there is a buffer that a thread was filling when it ended, and did not hand
 * over. */
static bool find_live_buffer(struct drain *d, uint32_t pipe, uint32_t *buffer)
{
    struct mempipe_pipe *p = &d->host->pipes[pipe];
    /* pairs with the producer's release store; it set live_seq before */
    uint32_t live = __atomic_load_n(&p->live_buffer, __ATOMIC_ACQUIRE);

    if (!live || live > d->host->layout.nr_pipes + d->host->layout.nr_pool) {
        return false;
    }
    /* Already handed over, unless nothing ever is (--discard). */
    if (!d->host->layout.discard &&
        __atomic_load_n(&p->live_seq, __ATOMIC_RELAXED) != d->slots[pipe].next_seq) {
        return false;
    }
    *buffer = live - 1;
    return true;
}

static void accept_live_buffer(struct drain *d, uint32_t pipe, uint32_t buffer)
{
    __atomic_store_n(&d->host->pipes[pipe].live_buffer, 0, __ATOMIC_RELEASE);
    mempipe_host_hold(d->host, buffer);
}

/* As if it had been handed over: its header gets what is known, for the journal. */
static void note_live_buffer(struct drain *d, uint32_t pipe,
                             const struct job_segment *seg)
{
    const struct slot *s = &d->slots[pipe];
    struct mempipe_buffer *b = &d->host->buffers[seg->buffer];
    const struct journal_buffer what = {.thread = d->journal ? s->thread->index : 0,
                                        .seq = s->next_seq,
                                        .unsure = (seg->flags & CTR_SEGMENT_UNSURE) != 0};

    if (d->journal && s->thread->index != UINT32_MAX) {
        __atomic_store_n(&b->pipe, pipe, __ATOMIC_RELAXED);
        __atomic_store_n(&b->seq, s->next_seq, __ATOMIC_RELAXED);
        __atomic_store_n(&b->words, seg->words, __ATOMIC_RELAXED);
        __atomic_store_n(&b->units, seg->units, __ATOMIC_RELAXED);
        __atomic_store_n(&b->set, seg->set, __ATOMIC_RELAXED);
        __atomic_store_n(&b->first, (seg->flags & CTR_SEGMENT_FIRST) != 0,
                         __ATOMIC_RELAXED);
        __atomic_store_n(&b->start_ns, seg->start_ns, __ATOMIC_RELAXED);
        __atomic_store_n(&b->end_ns, seg->end_ns, __ATOMIC_RELAXED);
        journal_accept(d->journal, seg->buffer, &what);
    }
}

/* Of what ended without saying when: now, or of what is executed again, after all that is known
 * of it. */
static uint64_t time_of_end(const struct drain *d, uint64_t now)
{
    return d->again ? d->last_ns : now;
}

/* Saves what a thread had written that had no chance to hand it over. */
static int recover_tail(struct drain *d, uint32_t pipe, uint64_t now)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct slot *s = &d->slots[pipe];
    struct mempipe_mail header;
    struct job_segment seg;
    uint32_t buffer;
    uint64_t end;
    int err = 0;

    if (!find_live_buffer(d, pipe, &buffer)) {
        return 0;
    }
    header = mempipe_host_header(d->host, buffer);
    seg = drain_segment(&header, s->next_seq);
    if (d->again && seg.start_ns > d->last_ns) {
        d->last_ns = seg.start_ns;
    }
    end = time_of_end(d, now);
    if (seg.start_ns < s->thread->start_ns || seg.start_ns > end) {
        seg.start_ns = end; /* overwritten by the guest */
    }
    /* When it stopped, if it has not run since, as a rule. */
    if (!drain_is_ordered(d) || seg.end_ns <= seg.start_ns || seg.end_ns > end) {
        seg.end_ns = end;
    }
    if (__atomic_load_n(&p->running, __ATOMIC_RELAXED)) {
        seg.end_ns = end;
        seg.flags |= CTR_SEGMENT_UNSURE;
        s->thread->incomplete = true;
        mempipe_host_measure(d->host, seg.buffer, &seg.words, &seg.units);
        if (s->side && s->side->seq == s->next_seq && seg.units < s->last_units) {
            seg.units = s->last_units;
        }
    } else {
        seg.words = __atomic_load_n(&p->quiet_words, __ATOMIC_RELAXED);
        seg.units = __atomic_load_n(&p->quiet_units, __ATOMIC_RELAXED);
    }
    if (!mempipe_host_fits(d->host, seg.words, seg.units)) {
        accept_live_buffer(d, pipe, seg.buffer);
        drain_release_segment(d, &(struct job_segment){.buffer = seg.buffer});
        return drain_reject(d, pipe, "the lengths of its last buffer are impossible");
    }
    note_live_buffer(d, pipe, &seg);
    accept_live_buffer(d, pipe, seg.buffer);
    drain_attach_side(d, s, &seg, s->next_seq);
    if (!seg.words && !seg.side) {
        drain_release_segment(d, &seg);
        return 0;
    }
    if (s->n_pending == JOB_SEGMENTS || s->pending_side > JOB_SIDE_BYTES) {
        err = drain_dispatch(d, s);
        if (err) {
            drain_release_segment(d, &seg);
            return err;
        }
    }
    s->next_seq++;
    drain_push_segment(d, s, &seg, now);
    return 0;
}

/* The thread has ended and its pipe is empty. */
static int finish_thread(struct drain *d, uint32_t pipe)
{
    struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct slot *s = &d->slots[pipe];
    struct guest_thread *t = s->thread;
    struct job_segment left = {0};
    int err = drain_dispatch(d, s);

    if (find_live_buffer(d, pipe, &left.buffer)) {
        accept_live_buffer(d, pipe, left.buffer);
        drain_release_segment(d, &left);
    }
    d->totals.waits += __atomic_load_n(&p->waits, __ATOMIC_RELAXED);
    d->totals.wait_ns += __atomic_load_n(&p->wait_ns, __ATOMIC_RELAXED);
    t->process->threads--;
    if (t->end_ns > t->process->end_ns) {
        t->process->end_ns = t->end_ns;
    }
    if (!err) {
        err = drain_submit(d, drain_job_new(JOB_THREAD_END, NULL, t));
    }
    drain_drop_side(d, s);
    d->n_threads--;
    memset(s, 0, sizeof(*s));
    /* The next owner uses the reserved buffer without a check. */
    s->closing = true;
    d->n_closing++;
    __atomic_store_n(&p->state, MEMPIPE_ENDED, __ATOMIC_RELAXED);
    return err;
}

void drain_free_closing(struct drain *d)
{
    for (uint32_t i = 0, high = drain_pipes_high(d); d->n_closing && i < high; i++) {
        if (d->slots[i].closing && mempipe_host_reserved_is_back(d->host, i)) {
            d->slots[i].closing = false;
            d->n_closing--;
            mempipe_host_free_pipe(d->host, i);
        }
    }
}

/* How a thread ended, according to its pipe; a copy. */
struct pipe_end {
    uint32_t reason;
    int32_t status;
    uint64_t ns;
};

static struct pipe_end end_of(const struct drain *d, uint32_t pipe)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct pipe_end e = {
        .reason = __atomic_load_n(&p->end_reason, __ATOMIC_RELAXED),
        .status = __atomic_load_n(&p->end_status, __ATOMIC_RELAXED),
        .ns = __atomic_load_n(&p->end_ns, __ATOMIC_RELAXED),
    };

    /* The reasons of the pipe are those of the trace; other values are invalid. */
    if (e.reason > MEMPIPE_END_EXEC) {
        e = (struct pipe_end){0};
    }
    return e;
}

/* A thread that ended regularly. */
static int finish_ended(struct drain *d, uint32_t pipe)
{
    const struct pipe_end e = end_of(d, pipe);
    struct guest_thread *t = d->slots[pipe].thread;

    t->end_reason = e.reason;
    t->end_status = e.status;
    t->end_ns = e.ns;
    if (e.reason != MEMPIPE_END_EXIT || t->process->end_reason <= CTR_END_EXIT) {
        t->process->end_reason = e.reason;
        t->process->end_status = e.status;
    }
    return finish_thread(d, pipe);
}

/*
 * Whether it is the command's first program.  One that was gone when it was first seen is
 * identified by its own statement: a lie makes its end wait for the command's.
 */
static bool is_command(const struct drain *d, const struct guest_process *p)
{
    if (d->root <= 0 || p->execed) {
        return false;
    }
    return p->host_pid ? p->host_pid == d->root : !p->nested && p->pid == d->root;
}

/* How a process ended, according to its threads. */
static void judge_process(struct drain *d, struct guest_process *p)
{
    bool left = false;

    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
        struct pipe_end e;

        if (!d->slots[i].thread || d->slots[i].thread->process != p) {
            continue;
        }
        e = end_of(d, i);
        if (e.reason > MEMPIPE_END_EXIT) {
            p->end_reason = e.reason;
            p->end_status = e.status;
            return;
        }
        left = true;
    }
    if (p->execed) {
        p->end_reason = CTR_END_EXEC;
    } else if (p->end_reason <= CTR_END_EXIT && (left || !p->end_reason)) {
        p->end_reason = CTR_END_KILLED;
        p->end_status = 0;
        if (is_command(d, p) && WIFSIGNALED(d->root_status)) {
            p->end_status = WTERMSIG(d->root_status);
        }
    }
}

/*
 * How the code that a process died in has ended it, if that can be known: the process
 * reports it (QEMU's handlers of signals, and of exit), or it was the command, whose
 * status distinguishes a crash from a kill from outside.  0: it was not that code.
 */
static uint32_t how_ended(const struct drain *d, const struct guest_process *p,
                          const struct mempipe_pipe *q)
{
    uint32_t how = __atomic_load_n(&q->inside_end, __ATOMIC_RELAXED);

    if (how || !is_command(d, p) || d->root_status == DRAIN_STATUS_UNKNOWN) {
        return how;
    }
    if (WIFEXITED(d->root_status)) {
        return MEMPIPE_INSIDE_EXIT;
    }
    switch (WTERMSIG(d->root_status)) {
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGSEGV:
    case SIGSYS:
    case SIGTRAP:
        return (uint32_t)WTERMSIG(d->root_status);
    default:
        return 0;
    }
}

/* Whether the process died in a jitter library. */
static void look_for_library(struct drain *d, const struct guest_process *p)
{
    if (p->end_reason != CTR_END_KILLED || d->library_end.pid) {
        return;
    }
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
        const struct mempipe_pipe *q = &d->host->pipes[i];
        struct drain_library_end end = {.pid = p->pid};

        if (!d->slots[i].thread || d->slots[i].thread->process != p ||
            d->slots[i].ended) {
            continue;
        }
        end.library = __atomic_load_n(&q->inside, __ATOMIC_RELAXED);
        end.how = how_ended(d, p, q);
        if (end.library && end.how) {
            d->library_end = end;
            return;
        }
    }
}

bool drain_get_library_end(const struct drain *d, struct drain_library_end *end)
{
    *end = d->library_end;
    return end->pid != 0;
}

static int finish_process(struct drain *d, struct guest_process *p, uint64_t now)
{
    int err = 0;

    judge_process(d, p);
    look_for_library(d, p);
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high && !err; i++) {
        struct guest_thread *t = d->slots[i].thread;
        struct pipe_end e;

        if (!t || t->process != p) {
            continue;
        }
        if (d->slots[i].ended) {
            err = finish_ended(d, i);
            continue;
        }
        err = recover_tail(d, i, now);
        e = end_of(d, i);
        t->end_reason = e.reason ? e.reason : p->end_reason;
        t->end_status = e.reason ? e.status : p->end_status;
        t->end_ns = e.reason && e.ns ? e.ns : time_of_end(d, now);
        if (p->end_reason == CTR_END_KILLED) {
            t->incomplete = true;
        }
        if (!err) {
            err = finish_thread(d, i);
        }
    }
    if (!p->end_ns) {
        p->end_ns = time_of_end(d, now);
    }
    if (err) {
        return err; /* the process stays in the list, whose end frees it */
    }
    d->totals.left += p->end_reason == CTR_END_EXEC && !p->replaced;
    drain_epoch_end(d, p);
    guests_remove(d->guests, p);
    return drain_submit(d, drain_job_new(JOB_PROCESS_END, p, NULL));
}

static bool has_more(const struct drain *d, const struct guest_process *p)
{
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
        if (d->slots[i].thread && d->slots[i].thread->process == p && d->slots[i].more) {
            return true;
        }
    }
    return false;
}

/*
 * Whether wait(2) has yet to report how the command ended: its pidfd is ready before
 * that, and long before if a debugger holds the process.
 */
static bool awaits_status(const struct drain *d, const struct guest_process *p)
{
    return is_command(d, p) && d->root_status == DRAIN_STATUS_UNKNOWN;
}

int drain_finish_the_dead(struct drain *d, uint64_t now)
{
    struct guest_process *p, *next;
    int any = 0, err;

    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
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
        if (p->dead) {
            drain_turns_end(d, p);
        }
        if (p->dead && !has_more(d, p) && !awaits_status(d, p)) {
            err = finish_process(d, p, now);
            if (err) {
                return err;
            }
            any = 1;
        }
    }
    return any;
}

/*
 * Whether nobody will use a claimed pipe any more: the thread or the fork that it was for
 * was killed in the middle.  While others run this is not checked, since a parent may be
 * late to say which child it meant; until then the pipe is lost, and there are many.
 */
static bool claim_is_stale(const struct drain *d, const struct mempipe_pipe *p,
                           uint64_t age)
{
    pid_t pid = __atomic_load_n(&p->pid, __ATOMIC_RELAXED);
    pid_t ppid = __atomic_load_n(&p->ppid, __ATOMIC_RELAXED);

    if (d->guests->processes || guests_has_strangers(d->guests)) {
        return false;
    }
    /* A child whose parent is dead may be about to identify itself; the command's own
     * threads, whose parent we are, have died with the command. */
    return age >= CLAIM_NS || (pid <= 1 && ppid == getpid());
}

void drain_sweep_claims(struct drain *d, uint64_t now)
{
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
        struct mempipe_pipe *p = &d->host->pipes[i];
        struct slot *s = &d->slots[i];
        uint32_t want = MEMPIPE_CLAIMED;

        /* The exchange pairs with the claim; it keeps others off until the pipe
         * is cleared. */
        if (s->claimed_ns && claim_is_stale(d, p, now - s->claimed_ns) &&
            __atomic_compare_exchange_n(&p->state, &want, MEMPIPE_ENDED, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            s->claimed_ns = 0;
            s->closing = true;
            d->n_claimed--;
            d->n_closing++;
        }
    }
}
