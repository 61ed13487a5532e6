/*
 * Execution tracing into shared memory: one guest thread at a time
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With CTR_EVENTS_ORDER the threads of all processes take turns, so that what
 * they do has one order (order.c).  A thread has the turn while it executes
 * guest code, and while QEMU works on guest memory for it.  It passes the turn
 * on
 *   - when it has executed its quantum of instructions and others are ready;
 *   - when it yields or ends;
 *   - while a call of the host waits.  All calls that may do that pass
 *     safe_syscall, but for a few (calls.c).
 *
 * Of calls that may wait, some as a rule do (AWAY), others hardly ever: a
 * thread keeps the turn in these (CALLS), until another one has waited for it
 * for some time.
 */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "qemu.h"
#include "user-internals.h"
#include "user/signal.h"
#include "cannoli/turns.h"
#include "turn.h"
#include "expand.h"
#include <sys/syscall.h>
#include <linux/futex.h>

/*
 * A thread waits from CANNOLI_FIRST_LOOK_NS up to so long before it looks at
 * who has the turn; at the second look a call of the host has been waiting.
 */
#define LAST_LOOK_NS (100 * 1000 * 1000)

bool cannoli_turns;

/* This thread's. */
__thread struct mempipe_pipe *cannoli_mine;
static __thread uint64_t name; /* as the holder of the turn */

void cannoli_turn_wake(struct mempipe_pipe *p)
{
    if (p) {
        syscall(__NR_futex, &p->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

static void pass_on(void)
{
    cannoli_turn_wake(mempipe_turns_pass(cannoli_ctl, turns(), cannoli_pipes(),
                                         nr_pipes(), name));
}

/* ---- getting the turn ---- */

/*
 * Nobody has the turn, or who passes it on to this thread was stopped.  This
 * one, too, may be stopped anywhere, and its turn be taken.
 */
static bool take_if_free(void)
{
    uint64_t holder = qatomic_read(&turns()->holder);

    if (qatomic_read(&cannoli_mine->turn) == MEMPIPE_TURN_TAKEN) {
        return false;
    }
    if (!holder) {
        holder = qatomic_cmpxchg(&turns()->holder, 0, name);
        holder = holder ? holder : name;
    }
    if (holder != name ||
        qatomic_cmpxchg(&cannoli_mine->turn, MEMPIPE_TURN_READY,
                        MEMPIPE_TURN_RUNS) != MEMPIPE_TURN_READY) {
        return false;
    }
    qatomic_set(&turns()->process, cannoli_mine->process);
    return true;
}

/* What a thread that waits has seen of the one that has the turn. */
typedef struct Sight {
    uint64_t holder;
    uint32_t calls;
    bool called;
} Sight;

/* Takes the turn from a thread that has been in a call of the host for long. */
static bool take_from_caller(Sight *last)
{
    Sight now = { .holder = qatomic_read(&turns()->holder) };
    struct mempipe_pipe *p = cannoli_pipes() + (uint32_t)(now.holder >> 32);

    if (now.holder && now.holder >> 32 < cannoli_ctl->nr_pipes) {
        now.calls = qatomic_read(&p->turn_calls);
        now.called = qatomic_read(&p->turn) == MEMPIPE_TURN_CALLS;
    }
    if (!now.called || !last->called || now.holder != last->holder ||
        now.calls != last->calls ||
        qatomic_cmpxchg(&p->turn, MEMPIPE_TURN_CALLS, MEMPIPE_TURN_AWAY) !=
            MEMPIPE_TURN_CALLS) {
        *last = now;
        return false;
    }
    return qatomic_cmpxchg(&turns()->holder, now.holder, name) == now.holder &&
           take_if_free();
}

/*
 * Gets in line, after a call, or as the turn was taken while the process was
 * stopped.
 */
static void get_in_line(void)
{
    const struct timespec moment = { .tv_nsec = 1000 * 1000 };

    /* Somebody is about to pass it on. */
    while (qatomic_read(&turns()->holder) == name) {
        nanosleep(&moment, NULL);
        cannoli_check_recorder(NULL);
    }
    qatomic_set(&cannoli_mine->turn, MEMPIPE_TURN_READY);
}

/* Somebody who was late may have said so when others had passed it on. */
static bool was_passed(void)
{
    return qatomic_read(&cannoli_mine->turn) == MEMPIPE_TURN_RUNS &&
           (qatomic_read(&turns()->holder) == name ||
            qatomic_cmpxchg(&cannoli_mine->turn, MEMPIPE_TURN_RUNS,
                            MEMPIPE_TURN_READY) != MEMPIPE_TURN_RUNS);
}

/* Waits for the turn; this thread is ready. */
void cannoli_turn_get(void)
{
    int saved = errno;
    struct timespec tick = { .tv_nsec = CANNOLI_FIRST_LOOK_NS };
    Sight sight = { 0 };

    smp_mb();
    while (!was_passed() && !take_if_free()) {
        long ret = syscall(__NR_futex, &cannoli_mine->turn, FUTEX_WAIT,
                           MEMPIPE_TURN_READY, &tick, NULL, 0);

        switch (qatomic_read(&cannoli_mine->turn)) {
        case MEMPIPE_TURN_TAKEN:
            get_in_line();
            break;
        case MEMPIPE_TURN_OUT: /* the process ends */
            nanosleep(&tick, NULL);
            break;
        }
        if (ret < 0 && errno == ETIMEDOUT) {
            cannoli_check_recorder(NULL);
            if (take_from_caller(&sight)) {
                break;
            }
            tick.tv_nsec = MIN(tick.tv_nsec * 2, LAST_LOOK_NS);
        }
    }
    errno = saved;
}

/*
 * The process was stopped for a while, and others have run.  A signal of the
 * recorder's makes it leave translated code: what is left of the block runs at
 * the same time as others, since it must not wait where others wait for it.
 */
void cannoli_turn_regain(void)
{
    if (qatomic_read(&cannoli_mine->turn) == MEMPIPE_TURN_TAKEN) {
        get_in_line();
        cannoli_turn_get();
    }
}

/* By the seed: turns are shorter by that power of two. */
static unsigned usual_shift(void)
{
    return (cannoli_ctl->seed * 0x9e3779b97f4a7c15ull >> 32) % 16;
}

/* The thread's next quantum begins. */
static int32_t draw_quantum(void)
{
    uint64_t most = cannoli_ctl->quantum, n;

    if (!cannoli_ctl->vary) {
        return most;
    }
    /*
     * Races are lost within few instructions: each seed has turns of its own
     * usual length, and each fourth turn is of any.
     */
    n = mempipe_turns_draw(turns(), cannoli_ctl->seed);
    most >>= n & 3 ? usual_shift() : (n >> 2) % 18;
    return 1 + (n >> 32) % MAX(most, 1);
}

/* ---- where threads begin and end ---- */

/* If this thread was alone, its turn is one among others now. */
void cannoli_turn_redraw(void)
{
    CPUState *cpu = thread_cpu;

    if (cannoli_turns && cannoli_ctl->vary && cannoli_mine && cpu &&
        cannoli_cpu(cpu)->thread) {
        cannoli_cpu(cpu)->thread->gate.quantum = draw_quantum();
    }
}

void cannoli_turn_claimed(struct mempipe_pipe *p, uint32_t process)
{
    if (cannoli_turns) {
        p->process = process;
        qatomic_set(&p->turn, MEMPIPE_TURN_READY);
        cannoli_turn_redraw();
    }
}

void cannoli_turn_drop(struct mempipe_pipe *p)
{
    if (cannoli_turns) {
        qatomic_set(&p->turn, MEMPIPE_TURN_OUT);
    }
}

/* The threads of a process get no turn any more. */
static void end_threads(uint32_t process)
{
    for (uint32_t i = 0; i < nr_pipes(); i++) {
        struct mempipe_pipe *p = cannoli_pipes() + i;

        if (p->process == process && p != cannoli_mine) {
            qatomic_set(&p->turn, MEMPIPE_TURN_OUT);
        }
    }
}

/* This program has the turn of the one that it has replaced. */
static void follow_exec(void)
{
    for (uint32_t i = 0; i < nr_pipes(); i++) {
        struct mempipe_pipe *p = cannoli_pipes() + i;
        uint64_t before;

        if (p != cannoli_mine && qatomic_read(&p->pid) == getpid() &&
            qatomic_read(&p->end_reason) == MEMPIPE_END_EXEC &&
            qatomic_read(&p->turn) != MEMPIPE_TURN_OUT) {
            before = qatomic_read(&turns()->holder);
            end_threads(p->process);
            /* All of these threads are dead, whichever had it. */
            if (before && before >> 32 < cannoli_ctl->nr_pipes &&
                mempipe_turns_process(turns(), cannoli_pipes(), before) ==
                    p->process &&
                qatomic_cmpxchg(&turns()->holder, before, name) == before) {
                qatomic_set(&turns()->process, cannoli_mine->process);
                qatomic_set(&cannoli_mine->turn, MEMPIPE_TURN_RUNS);
            }
            break;
        }
    }
}

void cannoli_turn_begin(struct mempipe_pipe *p, bool execed)
{
    cannoli_turns =
        cannoli_ctl->events & CTR_EVENTS_ORDER && !cannoli_expanding;
    if (!cannoli_turns) {
        return;
    }
    cannoli_mine = p;
    name = mempipe_turns_name(cannoli_pipes(), p);
    p->stopped_signal = host_interrupt_signal;
    if (execed) {
        follow_exec();
    }
    qatomic_cmpxchg(&p->turn, MEMPIPE_TURN_OUT, MEMPIPE_TURN_READY);
    cannoli_turn_get();
}

/*
 * A process keeps the turn until it has died, when the recorder passes it on:
 * whoever waits for that can have it.
 */
void cannoli_turn_end(bool process)
{
    if (cannoli_mine && cannoli_turns) {
        if (process) {
            end_threads(cannoli_mine->process);
        }
        qatomic_set(&cannoli_mine->turn, MEMPIPE_TURN_OUT);
    }
}

void cannoli_turn_lost(void)
{
    cannoli_turns = false;
    cannoli_mine = NULL;
}

void cannoli_thread_gone(void)
{
    if (cannoli_expanding) {
        cannoli_expand_pass();
    }
    if (cannoli_mine && cannoli_turns) {
        pass_on();
        cannoli_mine = NULL;
    }
}

/* ---- in and out of translated code ---- */

void cannoli_turn_enter(CPUState *cpu)
{
    CannoliGate *g = &cannoli_cpu(cpu)->thread->gate;

    if (!cannoli_turns) {
        return;
    }
    if (cpu->running && !cpu_in_exclusive_context(cpu)) {
        bool taken = qatomic_read(&cannoli_mine->turn) == MEMPIPE_TURN_TAKEN;

        if (taken || g->quantum_over) {
            /* Others may need all threads to leave translated code. */
            cpu_exec_end(cpu);
            rcu_read_unlock(); /* of cpu_exec */
            if (taken) {
                cannoli_turn_regain();
            } else {
                cannoli_turn_wait(MEMPIPE_TURN_READY);
                cannoli_turn_get();
            }
            cannoli_order_go_on(cannoli_cpu(cpu)->thread);
            rcu_read_lock();
            cpu_exec_start(cpu);
            g->quantum_over = false;
            g->quantum = 0;
        }
    }
    if (g->quantum <= 0) {
        g->quantum = draw_quantum();
    }
}

bool cannoli_turn_renew(CPUState *cpu)
{
    if (cannoli_expanding) {
        return cannoli_expand_renew(cpu);
    }
    if (mempipe_turns_any(cannoli_pipes(), nr_pipes())) {
        return false;
    }
    /* As long as it is alone, see cannoli_turn_redraw. */
    cannoli_cpu(cpu)->thread->gate.quantum = cannoli_ctl->quantum;
    return true;
}

/* ---- calls of the host ---- */

void cannoli_turn_wait(uint32_t state)
{
    cannoli_order_pass(thread_cpu);
    qatomic_set(&cannoli_mine->turn, state);
    pass_on();
}

void cannoli_turn_away(void)
{
    cannoli_turn_wait(MEMPIPE_TURN_AWAY);
}

void cannoli_turn_back(void)
{
    int saved = errno;

    get_in_line();
    cannoli_turn_get();
    cannoli_order_go_on(cannoli_cpu(thread_cpu)->thread);
    errno = saved;
}

void cannoli_turn_call_begin(void)
{
    cannoli_order_stop(cannoli_cpu(thread_cpu)->thread);
    qatomic_set(&cannoli_mine->turn_calls, cannoli_mine->turn_calls + 1);
    qatomic_cmpxchg(&cannoli_mine->turn, MEMPIPE_TURN_RUNS, MEMPIPE_TURN_CALLS);
}

void cannoli_turn_call_end(void)
{
    if (qatomic_cmpxchg(&cannoli_mine->turn, MEMPIPE_TURN_CALLS,
                        MEMPIPE_TURN_RUNS) != MEMPIPE_TURN_CALLS) {
        cannoli_turn_back();
    } else {
        cannoli_order_go_on(cannoli_cpu(thread_cpu)->thread);
    }
}

void cannoli_turn_hold(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (!cannoli_turns || !cannoli_mine || t->holds) {
        return;
    }
    switch (qatomic_read(&cannoli_mine->turn)) {
    case MEMPIPE_TURN_CALLS:
    case MEMPIPE_TURN_AWAY:
        t->holds = true;
        cannoli_turn_call_end();
        break;
    }
}

void cannoli_turn_let_go(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (t->holds) {
        t->holds = false;
        cannoli_turn_call_begin();
    }
}
