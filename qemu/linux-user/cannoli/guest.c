/*
 * Execution tracing into shared memory: what programs request
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A system call with a reserved number is for the recording (cannoli/guest.h).
 */
#include "qemu/osdep.h"
#include "qemu.h"
#include "user-internals.h"
#include "signal-common.h"
#include "target_cpu.h"
#include "event.h"
#include "accel/tcg/cannoli/guest.h"
#include "cannoli/guest.h"

#if defined(TARGET_ABI_MIPSO32)
#define GUEST_CALL (4000 + CANNOLI_GUEST_NR)
#elif defined(TARGET_ABI_MIPSN64)
#define GUEST_CALL (5000 + CANNOLI_GUEST_NR)
#elif defined(TARGET_ABI_MIPSN32)
#define GUEST_CALL (6000 + CANNOLI_GUEST_NR)
#else
#define GUEST_CALL CANNOLI_GUEST_NR
#endif

uint64_t cannoli_guest_address(CPUState *cpu, uint64_t addr)
{
    return cpu_untagged_addr(cpu, (abi_ulong)addr);
}

bool cannoli_guest_syscall(CPUState *cpu, int num, const uint64_t args[8],
                           abi_long *ret)
{
    int64_t result;

    if (num != GUEST_CALL || args[0] != CANNOLI_GUEST_MAGIC ||
        !cannoli_cpu(cpu)->thread) {
        return false;
    }
    result = cannoli_guest_request(cpu, args[1], args + 2);
    if (result < 0) {
        errno = -result;
        result = get_errno(-1);
    }
    *ret = result;
    return true;
}

#ifdef TARGET_ABI_MIPSO32
void cannoli_guest_o32(CPUState *cpu, abi_long *ret)
{
    const target_ulong *gpr = cpu_env(cpu)->active_tc.gpr;
    abi_ulong arg5 = 0, arg6 = 0;

    if (!cannoli_on || gpr[2] != GUEST_CALL) {
        return;
    }
    if (get_user_ual(arg5, gpr[29] + 16) || get_user_ual(arg6, gpr[29] + 20)) {
        *ret = -TARGET_EFAULT;
        return;
    }
    *ret = do_syscall(cpu_env(cpu), gpr[2], gpr[4], gpr[5], gpr[6], gpr[7],
                      arg5, arg6, 0, 0);
}
#endif

/* ---- calls and returns ---- */

uint64_t cannoli_stack_pointer(CPUState *cpu)
{
    return (abi_ulong)get_sp_from_cpustate(cpu_env(cpu));
}

bool cannoli_tree_elsewhere(CPUState *cpu, uint64_t tree_sp)
{
    return sas_ss_flags(cannoli_stack_pointer(cpu)) == TARGET_SS_ONSTACK &&
           sas_ss_flags(tree_sp) != TARGET_SS_ONSTACK;
}
