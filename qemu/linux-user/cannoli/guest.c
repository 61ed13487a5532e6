/*
 * Execution tracing into shared memory: what the guest requests
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A system call with a reserved number is for the recording (cannoli/guest.h):
 * programs switch recording on and off, make marks, name ranges of memory.
 * Also here: where a target keeps the stack pointer and the return address.
 */
#include "qemu/osdep.h"
#include "qemu.h"
#include "user-internals.h"
#include "signal-common.h"
#include "target_cpu.h"
#include "event.h"
#include "cannoli/guest.h"

/* A name or type that the guest gives. */
#define MAX_NAME 1024

#if defined(TARGET_ABI_MIPSO32)
#define GUEST_CALL (4000 + CANNOLI_GUEST_NR)
#elif defined(TARGET_ABI_MIPSN64)
#define GUEST_CALL (5000 + CANNOLI_GUEST_NR)
#elif defined(TARGET_ABI_MIPSN32)
#define GUEST_CALL (6000 + CANNOLI_GUEST_NR)
#else
#define GUEST_CALL CANNOLI_GUEST_NR
#endif

void cannoli_put_mark(CPUState *cpu, uint32_t source, uint32_t number,
                      uint64_t asked_ns, uint64_t value, const char *text,
                      uint32_t len)
{
    uint32_t bytes = 4 + 4 + 8 + 8 + 2 + len;
    uint8_t *p = cannoli_event(cpu, CTR_EVENT_MARK, bytes, cannoli_now());

    if (p) {
        cannoli_put32(&p, source);
        cannoli_put32(&p, number);
        cannoli_put64(&p, asked_ns);
        cannoli_put64(&p, value);
        cannoli_put_str(&p, text, len);
        cannoli_event_end(cpu, bytes);
    }
}

static int64_t guest_mark(CPUState *cpu, abi_ulong text, abi_ulong len,
                          abi_ulong value)
{
    char buf[CANNOLI_MAX_STR];
    uint32_t n = MIN(len, sizeof(buf));

    if (n && cannoli_peek(buf, cpu_untagged_addr(cpu, text), n) < n) {
        return -TARGET_EFAULT;
    }
    cannoli_put_mark(cpu, CTR_MARK_GUEST, 0, cannoli_now(), value, buf, n);
    return 0;
}

/* A string of the guest, cut at MAX_NAME; its length, or -1. */
static int read_string(CPUState *cpu, char *buf, abi_ulong addr)
{
    uint32_t got = cannoli_peek(buf, cpu_untagged_addr(cpu, addr), MAX_NAME);
    uint32_t len = strnlen(buf, got);

    return len < got || got == MAX_NAME ? len : -1;
}

static int64_t guest_label(CPUState *cpu, uint32_t op, abi_ulong start,
                           abi_ulong size, abi_ulong type_addr,
                           abi_ulong name_addr)
{
    char type[MAX_NAME], name[MAX_NAME];
    int type_len = 0, name_len = 0;
    uint32_t bytes;
    uint8_t *p;

    if (op == CTR_LABEL_SET) {
        type_len = read_string(cpu, type, type_addr);
        name_len = read_string(cpu, name, name_addr);
        if (type_len < 0 || name_len < 0) {
            return -TARGET_EFAULT;
        }
    }
    bytes = 4 + 4 + 8 + 8 + 2 + type_len + 2 + name_len;
    p = cannoli_event(cpu, CTR_EVENT_LABEL, bytes, cannoli_now());
    if (p) {
        cannoli_put32(&p, op);
        cannoli_put32(&p, 0);
        cannoli_put64(&p, cpu_untagged_addr(cpu, start));
        cannoli_put64(&p, size);
        cannoli_put_str(&p, type, type_len);
        cannoli_put_str(&p, name, name_len);
        cannoli_event_end(cpu, bytes);
    }
    return 0;
}

bool cannoli_guest_syscall(CPUState *cpu, int num, const uint64_t args[8],
                           abi_long *ret)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (num != GUEST_CALL || args[0] != CANNOLI_GUEST_MAGIC || !t) {
        return false;
    }
    *ret = 0;
    switch (args[1]) {
    case CANNOLI_GUEST_STATUS:
        *ret = t->gate.open;
        break;
    case CANNOLI_GUEST_PAUSE:
    case CANNOLI_GUEST_RESUME:
        if (args[2] > CANNOLI_PROCESS) {
            *ret = -TARGET_EINVAL;
        } else {
            cannoli_gate_pause(cpu, args[1] == CANNOLI_GUEST_PAUSE,
                               args[2] == CANNOLI_PROCESS);
        }
        break;
    case CANNOLI_GUEST_MARK:
        *ret = guest_mark(cpu, args[2], args[3], args[4]);
        break;
    case CANNOLI_GUEST_LABEL:
        *ret =
            guest_label(cpu, CTR_LABEL_SET, args[2], args[3], args[4], args[5]);
        break;
    case CANNOLI_GUEST_UNLABEL:
        *ret = guest_label(cpu, CTR_LABEL_REMOVE, args[2], 0, 0, 0);
        break;
    default:
        *ret = -TARGET_EINVAL;
        break;
    }
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

bool cannoli_tree_elsewhere(CPUState *cpu, uint64_t tree_sp)
{
    return sas_ss_flags(cannoli_stack_pointer(cpu)) == TARGET_SS_ONSTACK &&
           sas_ss_flags(tree_sp) != TARGET_SS_ONSTACK;
}
