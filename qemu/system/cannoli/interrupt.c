/*
 * Execution tracing into shared memory: exceptions and interrupts
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The main loop delivers exceptions and interrupts between blocks.  Events are
 * made after the delivery, when the processor's registers show what it was, and
 * before the first block of the handler.
 *
 * An instruction that returns, or enters the kernel in a way of its own, is the
 * last one of its block, which goes back to the main loop: its helper leaves a
 * note, and the event is made there.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "accel/tcg/cannoli/event.h"
#include "accel/tcg/cannoli/regs.h"
#include "hooks.h"
#include "interrupt.h"

/* Of the vCPU that this thread runs. */
static __thread CannoliBefore before;
static __thread CannoliInterrupt now;
static __thread bool delivering;

static void where(CPUState *cpu, uint64_t *pc, unsigned *privilege)
{
    uint64_t cs_base;
    uint32_t flags;
    vaddr at;

#ifdef TARGET_S390X
    /* Of an odd address QEMU would raise an exception, here again and again. */
    uint64_t addr = cpu_env(cpu)->psw.addr;

    cpu_env(cpu)->psw.addr &= ~1ull;
    cpu_get_tb_cpu_state(cpu_env(cpu), &at, &cs_base, &flags);
    cpu_env(cpu)->psw.addr = at = addr;
#else
    cpu_get_tb_cpu_state(cpu_env(cpu), &at, &cs_base, &flags);
#endif
    *pc = at;
    *privilege = cannoli_privilege(cpu, flags, cs_base);
}

static bool recorded(CPUState *cpu)
{
    const CannoliThread *t = cannoli_cpu(cpu)->thread;

    return t && t->gate.open && cannoli_ctl->events & CTR_EVENTS_INT;
}

static void put_interrupt(CPUState *cpu, const CannoliInterrupt *i,
                          unsigned old_privilege)
{
    const uint32_t bytes = 2 * 4 + 4 * 8 + 2 * 4;
    unsigned privilege;
    uint64_t to;
    uint8_t *p;

    where(cpu, &to, &privilege);
    p = cannoli_event(cpu, CTR_EVENT_INTERRUPT, bytes, cannoli_now());
    if (p) {
        cannoli_put32(&p, i->flags);
        cannoli_put32(&p, i->number);
        cannoli_put64(&p, i->syndrome);
        cannoli_put64(&p, i->addr);
        cannoli_put64(&p, i->from);
        cannoli_put64(&p, to);
        cannoli_put32(&p, old_privilege);
        cannoli_put32(&p, privilege);
        cannoli_event_end(cpu, bytes);
    }
}

static void put_return(CPUState *cpu, unsigned old_privilege)
{
    const uint32_t bytes = 8 + 2 * 4;
    unsigned privilege;
    uint64_t pc;
    uint8_t *p;

    where(cpu, &pc, &privilege);
    p = cannoli_event(cpu, CTR_EVENT_INTRET, bytes, cannoli_now());
    if (p) {
        cannoli_put64(&p, pc);
        cannoli_put32(&p, old_privilege);
        cannoli_put32(&p, privilege);
        cannoli_event_end(cpu, bytes);
    }
}

/* ---- what the main loop delivers ---- */

void cannoli_interrupt(CPUState *cpu)
{
    if (!cannoli_cpu(cpu)->thread) {
        return;
    }
    if (cpu->exception_index < 0) {
        cannoli_gate_interrupt(cpu);
    }
    cannoli_regs_loop_exit(cpu);
    cannoli_regs_excepted(cpu);
    before.index = cpu->exception_index;
    before.frame = cannoli_frame(cpu);
    where(cpu, &before.pc, &before.privilege);
    now = (CannoliInterrupt){ .number = CTR_INT_UNKNOWN, .from = before.pc };
    delivering = true;
}

void cannoli_interrupt_vector(CPUState *cpu, int number, bool requested,
                              uint64_t error_code, uint64_t next, bool hardware)
{
    now.number = number;
    now.syndrome = error_code;
    now.flags = requested ? CTR_INT_TRAP : hardware ? CTR_INT_ASYNC : 0;
    if (requested) {
        now.from = next;
    }
}

/* A call of the hypervisor may leave the main loop, to let another vCPU run. */
void cannoli_interrupt_left(CPUState *cpu)
{
    if (delivering && before.index >= 0) {
        cannoli_interrupted(cpu);
    }
}

static void put_delivery(CPUState *cpu)
{
    cannoli_describe(cpu, &before, &now);
    if (now.none) {
        return;
    }
    if (!now.returns &&
        !(now.flags & (CTR_INT_ASYNC | CTR_INT_TRAP | CTR_INT_FETCH))) {
        cannoli_fault(cpu);
    }
    if (!recorded(cpu)) {
        return;
    }
    if (now.returns) {
        put_return(cpu, before.privilege);
    } else {
        put_interrupt(cpu, &now, before.privilege);
    }
}

void cannoli_interrupted(CPUState *cpu)
{
    delivering = false;
    if (cannoli_cpu(cpu)->thread) {
        put_delivery(cpu);
        cannoli_cpu(cpu)->thread->look_again = true;
        cannoli_select(cpu);
    }
}

/* ---- what instructions do ---- */

void cannoli_transition_begin(CPUState *cpu, uint64_t return_pc)
{
    if (cannoli_cpu(cpu)->thread) {
        where(cpu, &before.pc, &before.privilege);
        now = (CannoliInterrupt){ .flags = CTR_INT_TRAP, .from = return_pc };
    }
}

void cannoli_transition(CPUState *cpu)
{
    CannoliCPU *c = cannoli_cpu(cpu);

    now.number = c->transition;
    c->transition = 0;
    c->thread->look_again = true;
    if (!recorded(cpu)) {
        return;
    }
    if (now.number == CANNOLI_RETURN) {
        put_return(cpu, before.privilege);
    } else {
        put_interrupt(cpu, &now, before.privilege);
    }
}
