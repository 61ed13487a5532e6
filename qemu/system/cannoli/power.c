/*
 * Execution tracing into shared memory: vCPUs that wait, and the clock then
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What stops a vCPU and lets it go on is done in many places of the targets
 * and devices; all of them leave it in CPUState.halted, which is looked at
 * where the vCPU enters and leaves the loop.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "accel/tcg/cannoli/event.h"
#include "hooks.h"

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

void cannoli_power(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);
    CannoliThread *t = c->thread;
    uint32_t now;

    if (!t || !t->gate.open || !(cannoli_ctl->events & CTR_EVENTS_PWR)) {
        return;
    }
    if (c->was_reset) {
        c->was_reset = false;
        put_power(cpu, CTR_POWER_RESET);
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
