/* SPDX-License-Identifier: MIT */
/*
 * Turns of threads that run one at a time (mempipe.h): QEMU passes them on, but a process
 * that has died with the turn cannot.
 */
#include "drain_priv.h"

#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cannoli/turns.h"

/* A child that has the turn and is not attached is looked for after this time. */
#define CHILD_NS 1000000000ull

static struct mempipe_turns *turns_of(const struct drain *d)
{
    return &d->host->shared->turns;
}

static void pass_on(const struct drain *d, uint64_t holder)
{
    struct mempipe_pipe *next = mempipe_turns_pass(
        &d->host->layout, turns_of(d), d->host->pipes, drain_pipes_high(d), holder);

    if (next) {
        syscall(SYS_futex, &next->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static bool others_wait(const struct drain *d)
{
    return mempipe_turns_any(d->host->pipes, drain_pipes_high(d));
}

/* Whether the pipe is that of a thread of the process. */
static bool is_of(const struct drain *d, uint32_t pipe, const struct guest_process *p)
{
    const struct guest_thread *t = d->slots[pipe].thread;

    return (t && t->process == p) ||
           __atomic_load_n(&d->host->pipes[pipe].process, __ATOMIC_RELAXED) == p->serial;
}

void drain_turns_end(struct drain *d, const struct guest_process *p)
{
    const uint32_t high = drain_pipes_high(d);
    uint64_t holder;

    if (!drain_is_ordered(d)) {
        return;
    }
    for (uint32_t i = 0; i < high; i++) {
        if (is_of(d, i, p)) {
            __atomic_store_n(&d->host->pipes[i].turn, MEMPIPE_TURN_OUT, __ATOMIC_SEQ_CST);
        }
    }
    /* Only now: it may have been passed to one of them meanwhile. */
    holder = __atomic_load_n(&turns_of(d)->holder, __ATOMIC_SEQ_CST);
    if (holder && holder >> 32 < high &&
        mempipe_turns_process(turns_of(d), d->host->pipes, holder) == p->serial) {
        pass_on(d, holder);
    }
}

/* Of a process, as proc(5) has it; 'X': there is none. */
static char state_of(int32_t pid)
{
    char path[40], line[256], state = 'X', *name_end;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    f = fopen(path, "re");
    if (f) {
        line[fread(line, 1, sizeof(line) - 1, f)] = 0;
        name_end = strrchr(line, ')');
        state = name_end && name_end[1] ? name_end[2] : 'R';
        fclose(f);
    }
    return state;
}

/* A process with the turn does not come: it is dead, but its parent does not know. */
static void look_for_child(struct drain *d, uint64_t holder, uint64_t now)
{
    struct mempipe_pipe *p = &d->host->pipes[holder >> 32];

    if (d->turn_child != holder) {
        d->turn_child = holder;
        d->turn_child_ns = now;
    } else if (now - d->turn_child_ns > CHILD_NS) {
        const char state = state_of(__atomic_load_n(&p->pid, __ATOMIC_RELAXED));

        if (state == 'X' || state == 'Z') {
            __atomic_store_n(&p->turn, MEMPIPE_TURN_OUT, __ATOMIC_SEQ_CST);
            pass_on(d, holder);
        }
        d->turn_child = 0;
    }
}

/* Others go on while the process that has the turn is stopped. */
static void look_for_stopped(struct drain *d, uint64_t holder)
{
    struct mempipe_pipe *p = &d->host->pipes[holder >> 32];
    const struct guest_thread *t = d->slots[holder >> 32].thread;
    const int sig = (int)__atomic_load_n(&p->stopped_signal, __ATOMIC_RELAXED);
    uint32_t turn = __atomic_load_n(&p->turn, __ATOMIC_SEQ_CST);
    char state;

    if (!t || !t->process->host_pid || !others_wait(d)) {
        return;
    }
    state = state_of(t->process->host_pid);
    if ((state == 'T' || state == 't') &&
        (turn == MEMPIPE_TURN_RUNS || turn == MEMPIPE_TURN_READY) &&
        __atomic_compare_exchange_n(&p->turn, &turn, MEMPIPE_TURN_TAKEN, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        if (!t->process->nested && sig >= SIGRTMIN && sig <= SIGRTMAX) {
            syscall(SYS_tgkill, t->process->host_pid, t->tid, sig);
        }
        pass_on(d, holder);
    }
}

void drain_turns_look(struct drain *d, uint64_t now)
{
    const uint64_t holder = __atomic_load_n(&turns_of(d)->holder, __ATOMIC_SEQ_CST);
    const uint32_t pipe = (uint32_t)(holder >> 32);
    const struct mempipe_pipe *p;
    uint64_t passing = 0;

    d->turn_look_ns = now;
    if (!drain_is_ordered(d) || !holder || pipe >= drain_pipes_high(d)) {
        return;
    }
    p = &d->host->pipes[pipe];
    if (p->serial + 1 != (uint32_t)holder) {
        return;
    }
    if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) == MEMPIPE_CLAIMED) {
        look_for_child(d, holder, now);
        return;
    }
    switch (__atomic_load_n(&p->turn, __ATOMIC_SEQ_CST)) {
    case MEMPIPE_TURN_RUNS:
    case MEMPIPE_TURN_READY:
        look_for_stopped(d, holder);
        break;
    case MEMPIPE_TURN_AWAY:
    case MEMPIPE_TURN_WAITS:
        /* It was stopped while it passed the turn on. */
        if (d->turn_passing == holder && others_wait(d)) {
            pass_on(d, holder);
        }
        passing = holder;
        break;
    default:
        break;
    }
    d->turn_passing = passing;
}
