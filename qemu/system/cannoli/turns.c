/*
 * Execution tracing into shared memory: vCPUs and devices take turns
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU's devices work while they have the big lock (BQL), mostly in the main
 * loop, at the same time as translated code, which does not need it.  A vCPU
 * that polls memory would see what a device writes there before anybody knows
 * that it was written.  So while a thread other than those of vCPUs has the
 * lock, no vCPU runs: the thread that has got it waits until all of them have
 * left translated code, and they wait for the lock themselves.
 *
 * A vCPU that has the lock, to access a device, stops no other one.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/thread.h"
#include "cpu.h"
#include "memory.h"

/* How often to look before sleeping: a block takes less than a microsecond. */
#define SPINS 2000

/* Of a thread that runs vCPUs; never freed. */
typedef struct Turn {
    bool executes; /* it is in cpu_exec */
    bool inside;   /* and does not have the BQL, nor waits for it */
    struct Turn *next;
} Turn;

static Turn *turns;
static bool held; /* a thread that runs no vCPU has the BQL */
static QemuEvent outside;
static __thread Turn *mine;

bool cannoli_turns_mine(void)
{
    return mine;
}

void cannoli_turns_begin(void)
{
    BQL_LOCK_GUARD();

    if (!mine) {
        if (!turns) {
            qemu_event_init(&outside, false);
        }
        mine = g_new0(Turn, 1);
        mine->executes = true;
        mine->next = turns;
        qatomic_store_release(&turns, mine);
    }
}

static void go_outside(void)
{
    qatomic_store_release(&mine->inside, false);
    smp_mb();
    if (qatomic_read(&held)) {
        qemu_event_set(&outside);
    }
}

/* Pairs with cannoli_bql_got: one of both sees the other. */
static void go_inside(void)
{
    qatomic_set_mb(&mine->inside, true);
    if (qatomic_read(&held)) {
        bql_lock();
        bql_unlock();
    }
}

void cannoli_bql_wait(void)
{
    if (mine) {
        go_outside();
    }
}

void cannoli_bql_leave(void)
{
    if (mine && mine->executes) {
        qatomic_set(&mine->inside, true);
    } else if (!current_cpu) {
        qatomic_set(&held, false);
    }
}

static bool any_inside(void)
{
    for (Turn *t = qatomic_load_acquire(&turns); t; t = t->next) {
        if (qatomic_load_acquire(&t->inside)) {
            return true;
        }
    }
    return false;
}

static void wait_outside(void)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        cannoli_stop_chain(cpu);
    }
    for (unsigned i = 0; i < SPINS && any_inside(); i++) {
        cpu_relax();
    }
    while (any_inside()) {
        qemu_event_reset(&outside);
        if (any_inside()) {
            qemu_event_wait(&outside);
        }
    }
}

void cannoli_bql_got(void)
{
    if (mine) {
        if (cannoli_queue_pending()) {
            cannoli_queue_wake();
        }
    } else if (!current_cpu && qatomic_read(&turns)) {
        qatomic_set_mb(&held, true);
        if (any_inside()) {
            wait_outside();
        }
    }
}

void cannoli_turn_executes(bool executes)
{
    if (mine) {
        mine->executes = executes;
        if (executes) {
            go_inside();
        } else {
            go_outside();
        }
    }
}

void cannoli_turn_wait(QemuMutex *mutex)
{
    if (!qemu_mutex_trylock(mutex)) {
        return;
    }
    cannoli_bql_wait();
    qemu_mutex_lock(mutex);
    if (mine) {
        go_inside();
    }
}

void cannoli_turn(void)
{
    if (unlikely(qatomic_read(&held)) && mine && !bql_locked()) {
        bql_lock();
        bql_unlock();
    }
}
