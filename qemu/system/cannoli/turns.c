/*
 * Execution tracing into shared memory: vCPUs and devices take turns
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU's devices work while they have the big lock (BQL), mostly in the main
 * loop, at the same time as translated code, which does not need it.  A vCPU
 * that polls memory would see what a device writes there before anybody knows
 * that it was written.  So while a thread other than that of the vCPUs has the
 * lock, no vCPU runs: the thread that has got it waits until the vCPUs' thread
 * has left translated code, and waits for the lock itself.
 */
#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qemu/thread.h"
#include "cpu.h"
#include "memory.h"

/* How often to look before sleeping: a block takes less than a microsecond. */
#define SPINS 2000

static bool on;
static bool inside; /* the vCPUs' thread runs, without the BQL */
static bool wanted; /* another thread has the BQL and waits for that to end */
static QemuEvent outside;
static __thread bool mine;

bool cannoli_turns_mine(void)
{
    return mine;
}

void cannoli_turns_begin(void)
{
    qemu_event_init(&outside, false);
    bql_lock();
    mine = true;
    qatomic_set(&on, true);
    bql_unlock();
}

void cannoli_bql_wait(void)
{
    if (mine) {
        qatomic_store_release(&inside, false);
        smp_mb();
        if (qatomic_read(&wanted)) {
            qemu_event_set(&outside);
        }
    }
}

void cannoli_bql_leave(void)
{
    if (mine) {
        qatomic_set(&inside, true);
    }
}

static void wait_outside(void)
{
    CPUState *cpu;

    qatomic_set_mb(&wanted, true);
    CPU_FOREACH (cpu) {
        cannoli_stop_chain(cpu);
    }
    for (unsigned i = 0; i < SPINS && qatomic_read(&inside); i++) {
        cpu_relax();
    }
    while (qatomic_load_acquire(&inside)) {
        qemu_event_reset(&outside);
        if (qatomic_load_acquire(&inside)) {
            qemu_event_wait(&outside);
        }
    }
    qatomic_set(&wanted, false);
}

void cannoli_bql_got(void)
{
    if (mine) {
        if (cannoli_queue_pending()) {
            cannoli_queue_wake();
        }
    } else if (qatomic_read(&on) && qatomic_load_acquire(&inside)) {
        wait_outside();
    }
}

/* The vCPU is about to run a chain of blocks. */
void cannoli_turn_enter(CPUState *cpu)
{
    if (unlikely(qatomic_read(&wanted))) {
        /* It leaves the chain at once, and comes back to cannoli_turn. */
        qatomic_set(&cpu->neg.icount_decr.u16.high, -1);
    }
}

/* It has left the chain, before the end of a block. */
void cannoli_turn(CPUState *cpu)
{
    if (qatomic_read(&wanted) && !bql_locked()) {
        bql_lock();
        bql_unlock();
    }
}
