/*
 * Execution tracing into shared memory: calls and returns
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where each target keeps the stack pointer and the return address.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "internal.h"

intptr_t cannoli_stack_pointer_off(void)
{
#if defined(TARGET_AARCH64)
    return offsetof(CPUArchState, xregs[31]);
#elif defined(TARGET_ALPHA)
    return offsetof(CPUArchState, ir[IR_SP]);
#elif defined(TARGET_ARM)
    return offsetof(CPUArchState, regs[13]);
#elif defined(TARGET_I386)
    return offsetof(CPUArchState, regs[R_ESP]);
#elif defined(TARGET_LOONGARCH64)
    return offsetof(CPUArchState, gpr[3]);
#elif defined(TARGET_M68K)
    return offsetof(CPUArchState, aregs[7]);
#elif defined(TARGET_MICROBLAZE)
    return offsetof(CPUArchState, regs[1]);
#elif defined(TARGET_MIPS)
    return offsetof(CPUArchState, active_tc.gpr[29]);
#elif defined(TARGET_PPC)
    return offsetof(CPUArchState, gpr[1]);
#elif defined(TARGET_RISCV)
    return offsetof(CPUArchState, gpr[xSP]);
#elif defined(TARGET_S390X)
    return offsetof(CPUArchState, regs[15]);
#elif defined(TARGET_SH4)
    return offsetof(CPUArchState, gregs[15]);
#else
    /* In a window of registers, or a stack that grows upwards. */
    return -1;
#endif
}

uint64_t cannoli_return_address(CPUState *cpu)
{
    G_GNUC_UNUSED CPUArchState *env = cpu_env(cpu);
#if defined(TARGET_AARCH64)
    return env->xregs[30];
#elif defined(TARGET_ALPHA)
    return env->ir[IR_RA];
#elif defined(TARGET_ARM)
    return env->regs[14] & ~1u;
#elif defined(TARGET_HEXAGON)
    return env->gpr[HEX_REG_LR];
#elif defined(TARGET_HPPA)
    return env->gr[2] & ~3;
#elif defined(TARGET_LOONGARCH64)
    return env->gpr[1];
#elif defined(TARGET_MICROBLAZE)
    return env->regs[15] + 8;
#elif defined(TARGET_MIPS)
    return env->active_tc.gpr[31] & ~(target_ulong)1;
#elif defined(TARGET_OPENRISC)
    return cpu_get_gpr(env, 9);
#elif defined(TARGET_PPC)
    return env->lr;
#elif defined(TARGET_RISCV)
    return env->gpr[xRA];
#elif defined(TARGET_S390X)
    return env->regs[14];
#elif defined(TARGET_SH4)
    return env->pr;
#elif defined(TARGET_SPARC)
    return env->regwptr[WREG_O7] + 8;
#else
    /*
     * On the stack (i386, m68k), so that the stack pointer is enough, or in a
     * register with the number of the window beside it (xtensa).
     */
    return -1;
#endif
}

bool cannoli_tree_over(CPUState *cpu, uint64_t pc)
{
    const CannoliCPU *c = cannoli_cpu(cpu);
    uint64_t sp = cannoli_stack_pointer(cpu);

#ifdef TARGET_HPPA
    return sp < c->tree_sp || (sp == c->tree_sp && pc == c->tree_return);
#else
    return sp > c->tree_sp || (sp >= c->tree_sp && pc == c->tree_return);
#endif
}
