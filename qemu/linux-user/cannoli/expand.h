/*
 * Execution tracing into shared memory: a program that is executed again
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * expand.c explains.
 */
#ifndef LINUX_USER_CANNOLI_EXPAND_H
#define LINUX_USER_CANNOLI_EXPAND_H

#include "cannoli/inputs.h"
#include "event.h"

/* What a thread gets from outside, in its order. */
typedef struct CannoliInputs {
    const uint8_t *at, *end; /* the next input */
    uint64_t left; /* instructions until then, but for those of the gate */
    uint64_t ran;  /* instructions up to the next input */
    bool emitting; /* an input becomes an event */
    bool in_frame; /* the next ones are the frame of a signal */
    bool in_fork;  /* it begins in the child of a fork */
    bool natively; /* QEMU executes the system call that is under way */
    uint32_t
        prot; /* with which one under way maps or protects memory; 0: none */
    const uint8_t *clock; /* the input with the next value of a clock */
    uint32_t clock_used;  /* of its values */
} CannoliInputs;

/* The folder and what is in it; returns the seed of random numbers. */
uint64_t cannoli_expand_open(void);
/* The value of a clock that the thread reads. */
uint64_t cannoli_expand_clock(CPUState *cpu);

/* keyframes.c: a key frame of each page that holds anything. */
void cannoli_keyframes_all(CPUState *cpu);

/* The program does something else than what was recorded: ends it. */
G_NORETURN void cannoli_expand_differs(CPUState *cpu, const char *format, ...)
    G_GNUC_PRINTF(2, 3);

/*
 * exec.c: this QEMU runs another program: its path, argc arguments and its
 * environment, with a NUL each.  Returns if that fails, with a message.
 */
void cannoli_exec_again(uint32_t thread, const char *strings, uint32_t bytes,
                        uint32_t argc);

/* ---- what an input does: inputs.c ---- */

/* The user gives a seed of random numbers. */
void cannoli_light_seeded(void);
/* The loader has placed something there. */
void cannoli_light_placed(abi_ulong start);
/* The register that has the second result of a system call, NULL: none. */
target_ulong *cannoli_second_result(CPUState *cpu);
uint64_t cannoli_light_second(CPUState *cpu);
/* The call returns: a second result is recorded. */
void cannoli_light_return(CPUState *cpu, uint64_t before);
/* In expand.c: instructions up to the next input; false: it is due. */
bool cannoli_expand_renew(CPUState *cpu);
/* A signal. */
void cannoli_expand_signal(CPUState *cpu, int sig);

/* Opens file `number' of the folder; exits if that fails. */
int cannoli_input_open(uint32_t number);
/* Memory that the system read or wrote. */
void cannoli_input_memory(CPUState *cpu, const uint8_t *payload);
/* A change of the address space; prot: 0, or how the guest's call has it. */
void cannoli_input_map(CPUState *cpu, const struct input *in,
                       const uint8_t *payload, uint32_t prot);

#endif
