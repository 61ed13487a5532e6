/* SPDX-License-Identifier: MIT */
/*
 * Threads and processes: who owns a pipe, how they ended, and what can be saved
 * of what they had not handed over.
 */
#include "drain_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "watchdog.h"

/* A claimed pipe whose creator is dead may still come alive within this. */
#define CLAIM_NS 1000000000ull

int drain_adopt(struct drain *d, uint32_t pipe, uint64_t now)
{
    const struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct slot *s = &d->slots[pipe];
    struct guest_process *process;
    struct guest_thread *t;
    int err = 0;

    if (p->pid <= 0) {
        return drain_oddity(d, pipe, "its thread belongs to no process");
    }
    if (!d->begun) {
        if (d->host->ctl->addr_bytes != 4 && d->host->ctl->addr_bytes != 8) {
            return drain_oddity(d, pipe, "QEMU did not say how wide addresses are");
        }
        d->begun = true;
        d->pipeline = d->ops.begin(d->ops.arg);
    }
    process = guests_find(d->guests, p->pid);
    if (process && p->is_process && process->has_first) {
        guests_replace(d->guests, process);
        process = NULL;
    }
    if (!process) {
        process = guests_add(d->guests, p->pid, p->ppid);
        if (!process) {
            return -CTR_E_NOMEM;
        }
        process->start_ns = p->start_ns;
        d->totals.processes++;
        err = drain_submit(d, drain_job_new(JOB_PROCESS, process, NULL));
    }
    t = calloc(1, sizeof(*t));
    if (!t) {
        return -CTR_E_NOMEM;
    }
    process->has_first |= p->is_process != 0;
    t->process = process;
    t->tid = p->tid;
    t->ptid = p->ptid;
    t->start_ns = p->start_ns;
    process->threads++;
    memset(s, 0, sizeof(*s));
    s->thread = t;
    s->aux_end = &s->aux;
    s->pending_ns = now;
    d->n_threads++;
    d->totals.threads++;
    return err ? err : drain_submit(d, drain_job_new(JOB_THREAD, process, t));
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
    int err = 0;

    if (!take_live_chunk(d, pipe, &seg.chunk)) {
        return 0;
    }
    seg.start_ns = d->host->chunks[seg.chunk].start_ns;
    if (seg.start_ns < s->thread->start_ns || seg.start_ns > now) {
        seg.start_ns = now; /* scribbled over */
    }
    if (__atomic_load_n(&p->running, __ATOMIC_RELAXED)) {
        seg.flags = CTR_SEGMENT_UNSURE;
        s->thread->incomplete = true;
        mempipe_host_measure(d->host, seg.chunk, &seg.words, &seg.units);
        if (s->aux && s->aux->seq == s->next_seq && seg.units < s->last_units) {
            seg.units = s->last_units;
        }
    } else {
        seg.words = p->quiet_words;
        seg.units = p->quiet_units;
    }
    if (drain_segment_bytes(d, &seg) > d->host->ctl->chunk_bytes) {
        return drain_oddity(d, pipe, "the lengths of its last chunk are impossible");
    }
    drain_attach_aux(d, s, &seg, s->next_seq);
    if (!seg.words && !seg.aux) {
        drain_release_segment(d, &seg);
        return 0;
    }
    if (s->n_pending == JOB_SEGMENTS || s->pending_aux > JOB_AUX_BYTES) {
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

/* The thread is over and its pipe is empty. */
static int finish_thread(struct drain *d, uint32_t pipe)
{
    struct mempipe_pipe *p = &d->host->pipes[pipe];
    struct slot *s = &d->slots[pipe];
    struct guest_thread *t = s->thread;
    struct job_segment left = {0};
    int err = drain_dispatch(d, s);

    if (take_live_chunk(d, pipe, &left.chunk)) {
        drain_release_segment(d, &left);
    }
    d->totals.waits += p->waits;
    d->totals.wait_ns += p->wait_ns;
    t->process->threads--;
    if (t->end_ns > t->process->end_ns) {
        t->process->end_ns = t->end_ns;
    }
    if (!err) {
        err = drain_submit(d, drain_job_new(JOB_THREAD_END, NULL, t));
    }
    drain_drop_aux(s);
    d->n_threads--;
    memset(s, 0, sizeof(*s));
    /* Its next owner takes the home chunk without asking. */
    s->closing = true;
    d->n_closing++;
    __atomic_store_n(&p->state, MEMPIPE_ENDED, __ATOMIC_RELAXED);
    return err;
}

void drain_free_closing(struct drain *d)
{
    for (uint32_t i = 0, high = drain_pipes_high(d); d->n_closing && i < high; i++) {
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

    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
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
        if (p->pid == d->root && WIFSIGNALED(d->root_status)) {
            p->end_status = WTERMSIG(d->root_status);
        }
    }
}

static int finish_process(struct drain *d, struct guest_process *p, uint64_t now)
{
    int err = 0;

    judge_process(d, p);
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high && !err; i++) {
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
    return err ? err : drain_submit(d, drain_job_new(JOB_PROCESS_END, p, NULL));
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
 * Whether wait(2) is still to tell how the command came to its end: its pidfd is
 * ready before that, and long before if a debugger holds the process.
 */
static bool awaits_status(const struct drain *d, const struct guest_process *p)
{
    return p->pid == d->root && !p->execed && d->root_status == DRAIN_STATUS_UNKNOWN;
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
 * Whether nobody will come any more for a pipe that was claimed: the thread or
 * the fork it was for was killed in the middle.  While others run that is not
 * asked, since a parent may be late to say which child it meant; until then the
 * pipe is lost, and there are many.
 */
static bool claim_is_stale(const struct drain *d, const struct mempipe_pipe *p,
                           uint64_t age)
{
    pid_t pid = __atomic_load_n(&p->pid, __ATOMIC_RELAXED);
    pid_t ppid = __atomic_load_n(&p->ppid, __ATOMIC_RELAXED);

    if (d->guests->processes || (pid > 1 && !watchdog_has_ended(pid))) {
        return false;
    }
    /* A child whose parent is dead may be about to say who it is; the command's
     * own threads, whose parent we are, have died with the command. */
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
