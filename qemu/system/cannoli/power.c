/*
 * Execution tracing into shared memory: vCPUs that wait, the clock, snapshots
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What stops a vCPU and lets it go on is done in many places of the targets
 * and devices; all of them leave it in CPUState.halted, which is looked at
 * where the vCPU enters and leaves the loop.  A reset, and what is done with
 * snapshots, is noted where it happens and recorded there, too.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "accel/tcg/cannoli/event.h"
#include "devices.h"
#include "hooks.h"
#include "memory.h"

/* CTR_POWER_HALT or _OFF; 0: it runs. */
static uint32_t state_of(CPUState *cpu)
{
    if (!cpu->halted) {
        return 0;
    }
#ifdef TARGET_ARM
    if (ARM_CPU(cpu)->power_state != PSCI_ON) {
        return CTR_POWER_OFF;
    }
#endif
    return CTR_POWER_HALT;
}

static void put_power(CPUState *cpu, uint32_t op)
{
    const uint32_t bytes = 2 * 4;
    uint8_t *p = cannoli_event(cpu, CTR_EVENT_POWER, bytes, cannoli_now());

    if (p) {
        cannoli_put32(&p, op);
        cannoli_put32(&p, 0);
        cannoli_event_end(cpu, bytes);
    }
}

/* What was done more than once in a row is recorded once. */
static void put_moments(CPUState *cpu)
{
    static const uint32_t op[] = {
        [CANNOLI_MOMENT_RESET] = CTR_POWER_RESET,
        [CANNOLI_MOMENT_SAVED] = CTR_POWER_SAVED,
        [CANNOLI_MOMENT_LOADED] = CTR_POWER_LOADED,
    };
    CannoliCPU *c = cannoli_cpu(cpu);
    uint32_t moments = c->moments, last = 0;

    c->moments = 0;
    for (int at = 6; at >= 0; at -= 2) {
        uint32_t moment = extract32(moments, at, 2);

        if (moment && moment != last) {
            put_power(cpu, op[moment]);
        }
        last = moment;
    }
}

/* The reset before it is a part of loading. */
void cannoli_loaded(void)
{
    CPUState *cpu;

    cannoli_ram_anew();
    CPU_FOREACH (cpu) {
        CannoliCPU *c = cannoli_cpu(cpu);

        while ((c->moments & 3) == CANNOLI_MOMENT_RESET) {
            c->moments >>= 2;
        }
        cannoli_moment(cpu, CANNOLI_MOMENT_LOADED);
        c->task_stale = true;
    }
}

void cannoli_saved(void)
{
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        cannoli_moment(cpu, CANNOLI_MOMENT_SAVED);
    }
}

void cannoli_power(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;
    uint32_t now;

    if (!t || !t->gate.open || !(cannoli_ctl->events & CTR_EVENTS_PWR)) {
        return;
    }
    if (c->moments) {
        put_moments(cpu);
    }
    now = state_of(cpu);
    if (now != t->power) {
        t->power = now;
        put_power(cpu, now ? now : CTR_POWER_WAKE);
    }
}

/*
 * A vCPU is halted from an instruction on, but what it executed is counted when
 * it has left the loop, later than in a QEMU that does not record.
 */
bool cannoli_clock_lags(void)
{
    CPUState *cpu;

    if (!cannoli_on) {
        return false;
    }
    CPU_FOREACH (cpu) {
        if (qatomic_read(&cpu->icount_budget)) {
            return true;
        }
    }
    return false;
}
