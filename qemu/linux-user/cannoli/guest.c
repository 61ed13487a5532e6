/*
 * Execution tracing into shared memory: what the guest requests
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A system call with a reserved number is for the recording (cannoli/guest.h):
 * programs switch recording on and off, make marks, name ranges of memory.
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

bool cannoli_tree_elsewhere(CPUState *cpu, uint64_t tree_sp)
{
    return sas_ss_flags(cannoli_stack_pointer(cpu)) == TARGET_SS_ONSTACK &&
           sas_ss_flags(tree_sp) != TARGET_SS_ONSTACK;
}
