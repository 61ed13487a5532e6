/*
 * Execution tracing into shared memory: when a thread is recorded
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * gate.c explains.
 */
#ifndef ACCEL_TCG_CANNOLI_GATE_H
#define ACCEL_TCG_CANNOLI_GATE_H

#include "cannoli/mempipe.h"
#include "exec/cannoli.h"

/* Instructions are counted, all threads together: */
enum CannoliPhase {
    CANNOLI_PHASE_AFTER, /* those before the part that is recorded */
    CANNOLI_PHASE_FOR,   /* those of that part */
    CANNOLI_PHASE_OVER,  /* it is over */
    CANNOLI_PHASE_NONE,  /* no more need to count: there is no end */
};

/* The gate of a thread. */
typedef struct CannoliGate {
    bool begun;     /* the first state is known */
    bool open;      /* changes in _enter, _elsewhere and _look only */
    bool paused;    /* by the guest */
    bool quiet;     /* it is not recorded yet, of what is executed again */
    bool elsewhere; /* a task or address space that is not chosen runs */
    bool in_tree;   /* see CannoliCPU.tree_sp */
    bool passed;    /* the place at passed_pc, before which it was left */
    uint64_t passed_pc;
    bool tree_aside;  /* a signal handler runs on a stack of its own: */
    uint64_t tree_sp; /* what it is outside of the handler */
    bool was_in_tree; /* when the gate was last checked */
    uint8_t blocked;  /* why it was closed then: CTR_GATE_*, 0: open */
    enum CannoliPhase phase;
    /* With turns: instructions of the quantum that are not in the budget */
    int32_t quantum;
    bool quantum_over;       /* others are ready to run */
    uint32_t guest_requests; /* requests of the guest, as last seen */
    uint32_t marks;          /* marks from outside that were recorded */
    uint32_t selection;      /* and the choice that was recorded */
} CannoliGate;

/* ---- processes and threads ---- */

/* The first thread of a new program begins; libraries are loaded. */
void cannoli_gate_program(CPUState *cpu);
/* A thread has emitted its first event; @parent: that of a forked child. */
void cannoli_gate_begin(CPUState *cpu, const CannoliGate *parent);
/* The instructions that it has not used go to the others. */
void cannoli_gate_end(CPUState *cpu);
/* Start the watch in a process that can have one. */
void cannoli_watch_start(void);

/* ---- in and out of translated code ---- */

/* The one place where gates change; emits what has happened meanwhile. */
void cannoli_gate_enter(CPUState *cpu);
void cannoli_gate_exit(CPUState *cpu);
/* A block requested to leave before it began. */
void cannoli_gate_request(CPUState *cpu, const TranslationBlock *tb);
/*
 * A block was left before its end; @restart: the instruction it was left in did
 * not run, either.
 */
void cannoli_gate_left(CPUState *cpu, bool restart);
/* The same, as found by a state restore. */
void cannoli_gate_restored(CPUState *cpu, const TranslationBlock *tb, int insn);

/* Called by blocks before they begin; not 0: leave. */
uint32_t helper_cannoli_place(CPUArchState *env, uint32_t triggers,
                              uint64_t pc);
uint32_t helper_cannoli_tree(CPUArchState *env, uint64_t pc);

/* Before a block is looked up: whether what runs is not chosen. */
void cannoli_gate_elsewhere(CPUState *cpu, bool elsewhere);
/*
 * Before an interrupt is taken, with the big lock: a gate that is about to open
 * or close does so now, and it depends on that whether the interrupt is
 * recorded.
 */
void cannoli_gate_interrupt(CPUState *cpu);
/* After a request of the guest, whose block is not linked to others. */
void cannoli_gate_look(CPUState *cpu);

/* ---- what the guest requests (guest.c) ---- */

void cannoli_gate_pause(CPUState *cpu, bool paused, bool process);

/* ---- of the target: stack.c ---- */

/* At the first instruction of a function, its return address. */
uint64_t cannoli_return_address(CPUState *cpu);
/* Offset of the stack pointer in env; -1: it has no fixed one. */
intptr_t cannoli_stack_pointer_off(void);
/* The call that made a tree has returned, if the thread is now at pc. */
bool cannoli_tree_over(CPUState *cpu, uint64_t pc);
/* A tree_sp that no stack pointer reaches. */
#ifdef TARGET_HPPA
#define CANNOLI_TREE_NEVER 0
#else
#define CANNOLI_TREE_NEVER UINT64_MAX
#endif

#endif
