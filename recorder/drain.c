/* SPDX-License-Identifier: MIT */
/*
 * A round has these steps.  Their order makes the result exact:
 *
 *     1. query which processes have ended: all that they wrote is there by then;
 *     2. read the state of each pipe: an ENDED one has sent all its mail;
 *     3. read mail;
 *     4. empty every side queue: the definition of a block was in one of them before the
 *        block could run, so after this step the blocks of all buffers from step 3 are
 *        known, and so are all side records that belong to them;
 *     5. make jobs of the buffers;
 *     6. finish threads and processes that had ended in step 1 or 2, and definitions that
 *        no pipe could need any more in step 2.
 *
 * Nothing in a round waits, so a guest that waits for room in its side queue is served
 * whatever the workers do.
 */
#include "drain_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often to look whether who has the turn can run. */
#define TURN_LOOK_NS 100000000u

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
    /* Only the part of these that is used is ever touched. */
    d->slots = calloc(host->layout.nr_pipes, sizeof(*d->slots));
    d->news = calloc(host->layout.nr_pipes, sizeof(*d->news));
    d->scratch = malloc(host->layout.side_bytes);
    if (!d->slots || !d->news || !d->scratch) {
        drain_free(d);
        return NULL;
    }
    return d;
}

void drain_set_again(struct drain *d)
{
    d->again = true;
}

void drain_free(struct drain *d)
{
    if (!d) {
        return;
    }
    for (uint32_t i = 0; d->slots && i < drain_pipes_high(d); i++) {
        struct slot *s = &d->slots[i];
        for (unsigned k = 0; k < s->n_pending; k++) {
            journal_drop(d->journal, s->pending[k].side);
        }
        drain_drop_side(d, s);
        free(s->thread);
    }
    free(d->slots);
    free(d->news);
    map64_fini(&d->files);
    free(d->scratch);
    free(d->regs);
    drain_epochs_free(d);
    free(d);
}

/* Mail is in the journal before the pipe loses it. */
static int next_mail(struct drain *d, uint32_t pipe, struct mempipe_mail *mail)
{
    const struct slot *s = &d->slots[pipe];
    int got = mempipe_host_see_mail(d->host, pipe, s->next_seq, mail);

    if (got > 0) {
        if (d->journal && s->thread->index != UINT32_MAX) {
            const struct journal_buffer what = {.thread = s->thread->index,
                                                .seq = s->next_seq};

            journal_accept(d->journal, mail->buffer, &what);
        }
        mempipe_host_clear_mail(d->host, pipe, s->next_seq);
    }
    return got;
}

static int read_mail(struct drain *d, uint32_t pipe, uint64_t now)
{
    struct slot *s = &d->slots[pipe];
    struct mempipe_mail mail;
    int any = 0, got = 0, err;

    /* What arrived in earlier rounds is complete and may be dispatched to make room. */
    if (s->n_pending > JOB_SEGMENTS / 2) {
        err = drain_dispatch(d, s);
        if (err) {
            return err;
        }
    }
    while (s->n_pending < JOB_SEGMENTS && (got = next_mail(d, pipe, &mail)) > 0) {
        struct job_segment seg = drain_segment(&mail, s->next_seq);

        drain_push_segment(d, s, &seg, now);
        s->next_seq++;
        s->n_fresh++;
        any = 1;
    }
    if (got < 0) {
        return drain_reject(d, pipe, "the header of a buffer is impossible");
    }
    s->more = s->n_pending == JOB_SEGMENTS;
    return any;
}

/* Sorts by a copy: a serial that changes during the comparison would break the sort. */
static struct drain_news news_of(const struct drain *d, uint32_t pipe)
{
    return (struct drain_news){
        .pipe = pipe,
        .serial = __atomic_load_n(&d->host->pipes[pipe].serial, __ATOMIC_RELAXED),
    };
}

/* Step 2 and the first half of adoption: finds the pipes that are new. */
static uint32_t look_at_states(struct drain *d, uint64_t now)
{
    uint32_t n_news = 0;

    d->n_claimed = 0;
    d->exec_pending = false;
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
        const struct mempipe_pipe *p = &d->host->pipes[i];
        struct slot *s = &d->slots[i];
        /* pairs with the producer's release stores */
        uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);

        if (state == MEMPIPE_CLAIMED && !s->thread && !s->closing) {
            d->n_claimed++;
            s->claimed_ns = s->claimed_ns ? s->claimed_ns : now;
            continue;
        }
        s->claimed_ns = 0;
        if (state == MEMPIPE_FREE || s->closing) {
            continue;
        }
        if (!s->thread) {
            d->news[n_news++] = news_of(d, i);
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

static int by_serial(const void *a, const void *b)
{
    const struct drain_news *x = a, *y = b;

    return (x->serial > y->serial) - (x->serial < y->serial);
}

static int adopt_news(struct drain *d, uint32_t n, uint64_t now)
{
    if (n > 1) {
        qsort(d->news, n, sizeof(*d->news), by_serial);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct slot *s = &d->slots[d->news[i].pipe];
        bool ended = s->ended;
        int err = drain_adopt(d, d->news[i].pipe, now);

        s->ended = ended;
        if (err) {
            return err;
        }
    }
    return 0;
}

/* Pipes that came alive since step 2: their block definitions may be in use already. */
static int adopt_late(struct drain *d, uint64_t now)
{
    uint32_t n = 0;
    int err;

    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
        uint32_t state = __atomic_load_n(&d->host->pipes[i].state, __ATOMIC_ACQUIRE);

        if (!d->slots[i].thread && !d->slots[i].closing &&
            (state == MEMPIPE_LIVE || state == MEMPIPE_ENDED)) {
            d->slots[i].ended = false; /* as of step 2 */
            d->news[n++] = news_of(d, i);
        }
    }
    err = adopt_news(d, n, now);
    return err ? err : n > 0;
}

/* Step 4.  The side queue of a pipe that is not alive yet may hold its first state. */
int drain_side_queues(struct drain *d, uint64_t now)
{
    int any = adopt_late(d, now);

    d->host->side_most = 0;
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high && any >= 0; i++) {
        int got;

        if (!d->slots[i].thread) {
            continue;
        }
        got = mempipe_host_drain_side(d->host, i, drain_on_record, d);
        if (got < 0) {
            return got == -EPROTO ? drain_reject(d, i, "its side queue is invalid") : got;
        }
        any |= got;
    }
    return any;
}

int drain_round(struct drain *d, uint64_t now_ns, struct ctr_diag *diag)
{
    bool look_exec;
    int any = 0, got;
    uint32_t n_news;

    /* The workers are late: the guest has to wait, see drain_side.c. */
    if (d->pipeline && pipeline_side_held(d->pipeline) > PIPELINE_SIDE_BYTES) {
        return 0;
    }
    look_exec = d->exec_pending && now_ns - d->exec_look_ns > 50000000u;
    d->diag = diag;
    if (look_exec) {
        d->exec_look_ns = now_ns;
    }
    guests_poll(d->guests, look_exec, now_ns);
    drain_free_closing(d);
    n_news = look_at_states(d, now_ns);
    got = adopt_news(d, n_news, now_ns);
    if (got < 0) {
        return got;
    }
    any = n_news > 0;
    drain_epochs_look(d, now_ns);
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
        if (d->slots[i].thread) {
            got = read_mail(d, i, now_ns);
            if (got < 0) {
                return got;
            }
            any |= got;
        }
    }
    got = drain_side_queues(d, now_ns);
    if (got < 0) {
        return got;
    }
    any |= got;
    got = drain_make_jobs(d, now_ns);
    if (got < 0) {
        return got;
    }
    got = drain_finish_the_dead(d, now_ns);
    if (got < 0) {
        return got;
    }
    any |= got;
    got = drain_epochs_settle(d);
    if (got < 0) {
        return got;
    }
    if (d->n_claimed && now_ns - d->claim_look_ns > 100000000u) {
        d->claim_look_ns = now_ns;
        drain_sweep_claims(d, now_ns);
    }
    if (now_ns - d->turn_look_ns > TURN_LOOK_NS) {
        drain_turns_look(d, now_ns);
    }
    return any;
}

bool drain_is_over(const struct drain *d)
{
    return !d->guests->processes && !d->n_claimed;
}

int drain_patience(const struct drain *d)
{
    if (d->exec_pending || d->n_claimed || (d->n_pending && d->host->layout.live)) {
        return 50;
    }
    return d->n_pending || (drain_is_ordered(d) && d->n_threads > 1) ? 250 : 1000;
}

void drain_set_root(struct drain *d, pid_t pid, int wait_status)
{
    d->root = pid;
    d->root_status = wait_status;
}

void drain_get_totals(const struct drain *d, struct drain_totals *totals)
{
    *totals = d->totals;
    for (uint32_t i = 0, high = drain_pipes_high(d); i < high; i++) {
        if (d->slots[i].thread) {
            const struct mempipe_pipe *p = &d->host->pipes[i];
            totals->waits += __atomic_load_n(&p->waits, __ATOMIC_RELAXED);
            totals->wait_ns += __atomic_load_n(&p->wait_ns, __ATOMIC_RELAXED);
        }
    }
}
