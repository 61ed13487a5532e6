/*
 * Execution tracing into shared memory: vCPUs that run in parallel
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * With thread=multi each vCPU has a host thread, as each thread of a program
 * has.  QEMU then also translates on several threads at a time, but the passes
 * over blocks and the dictionary of blocks are made for one (in programs under
 * mmap_lock): one vCPU translates at a time.
 */
#include "qemu/osdep.h"
#include "qemu/lockable.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "cpu.h"
#include "exec/exec-all.h"
#include "hw/core/cpu.h"
#include "memory.h"
#include "hooks.h"

static QemuMutex lock;
static __thread bool translates; /* and has the lock */

static void __attribute__((constructor)) init_lock(void)
{
    qemu_mutex_init(&lock);
}

bool cannoli_parallel(void)
{
    return qemu_tcg_mttcg_enabled();
}

bool cannoli_refuse_mttcg(Error **errp)
{
    if (cannoli_on && cannoli_ctl->events & CTR_EVENTS_ORDER) {
        error_setg(errp, "cannoli-record has not seen thread=multi; write "
                         "\"-accel tcg,thread=multi\"");
        return true;
    }
    return false;
}

bool cannoli_translate(void)
{
    if (cannoli_on && cannoli_parallel()) {
        cannoli_turn_wait(&lock);
        translates = true;
    }
    return translates;
}

void cannoli_translation_left(void)
{
    if (translates) {
        translates = false;
        qemu_mutex_unlock(&lock);
    }
}

void cannoli_translated(bool *unused)
{
    cannoli_translation_left();
}

static void report(CPUState *cpu, run_on_cpu_data unused)
{
    const CannoliThread *t = cannoli_cpu(cpu)->thread;

    /* No other vCPU runs; with the big lock, devices do nothing, either. */
    BQL_LOCK_GUARD();
    if (t && t->gate.open && qatomic_read(&cannoli_ram_changed)) {
        cannoli_ram_report(cpu);
    }
}

void cannoli_report_alone(CPUState *cpu)
{
    if (!cannoli_parallel() || current_cpu != cpu || !cpu->running) {
        cannoli_ram_report(cpu);
    } else if (cpu_in_exclusive_context(cpu)) {
        report(cpu, RUN_ON_CPU_NULL);
    } else {
        async_safe_run_on_cpu(cpu, report, RUN_ON_CPU_NULL);
        cpu_loop_exit_noexc(cpu);
    }
}
