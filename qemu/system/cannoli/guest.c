/*
 * Execution tracing into shared memory: what the code of a machine requests
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * An instruction that does nothing, with the address of a request in a register
 * (cannoli/guest.h), ends its block and the chain of blocks; the request is
 * answered before the next block, in the register.
 */
#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "cpu.h"
#include "exec/translation-block.h"
#include "exec/translator.h"
#include "tcg/tcg.h"
#include "tcg/helper-info.h"
#include "exec/helper-head.h.inc"
#include "cannoli/guest.h"
#include "accel/tcg/cannoli/event.h"
#include "accel/tcg/cannoli/guest.h"
#include "accel/tcg/cannoli/pass.h"
#include "accel/tcg/cannoli/regs.h"
#ifdef TARGET_ARM
#include "internals.h"
#endif

/*
 * The instruction's bytes; the register with the address, a field of env, but
 * of ARM and x86 that depends on the mode.
 */
#if defined(TARGET_ARM)
static const uint8_t codes[][4] = {
    { 0x43, 0xf0, 0x20, 0xe3 },
    { 0xaf, 0xf3, 0x43, 0x80 },
#ifdef TARGET_AARCH64
    { 0x5f, 0x6a, 0x88, 0xd2 },
#endif
};
#elif defined(TARGET_I386)
static const uint8_t codes[][7] = {
    { 0x0f, 0x1f, 0x80, 0x43, 0x52, 0x54, 0x43 },
};
#elif defined(TARGET_RISCV)
static const uint8_t codes[][4] = { { 0x37, 0x50, 0x52, 0x43 } };
#define REGISTER gpr[xA0]
#elif defined(TARGET_MIPS)
static const uint8_t codes[][4] = {
    { 0x52, 0x43, 0x00, 0x34 },
    { 0x34, 0x00, 0x43, 0x52 },
};
#define REGISTER active_tc.gpr[2]
#elif defined(TARGET_PPC)
static const uint8_t codes[][4] = {
    { 0x00, 0x00, 0x7b, 0x63 },
    { 0x63, 0x7b, 0x00, 0x00 },
};
#define REGISTER gpr[3]
#elif defined(TARGET_S390X)
static const uint8_t codes[][4] = { { 0x47, 0x00, 0x04, 0x35 } };
#define REGISTER regs[2]
#else
static const uint8_t codes[][4] = {};
#endif

static uint64_t get_register(CPUState *cpu)
{
#if defined(TARGET_ARM)
    CPUARMState *env = cpu_env(cpu);

    return is_a64(env) ? env->xregs[0] : env->regs[0];
#elif defined(TARGET_I386)
    CPUX86State *env = cpu_env(cpu);

    return env->hflags & HF_CS64_MASK ? env->regs[R_EAX]
                                      : (uint32_t)env->regs[R_EAX];
#elif defined(REGISTER)
    return cpu_env(cpu)->REGISTER;
#else
    return 0;
#endif
}

static void set_register(CPUState *cpu, int64_t value)
{
#if defined(TARGET_ARM)
    CPUARMState *env = cpu_env(cpu);

    if (is_a64(env)) {
        env->xregs[0] = value;
    } else {
        env->regs[0] = value;
    }
#elif defined(TARGET_I386)
    CPUX86State *env = cpu_env(cpu);

    env->regs[R_EAX] = env->hflags & HF_CS64_MASK ? value : (uint32_t)value;
#elif defined(REGISTER)
    cpu_env(cpu)->REGISTER = value;
#endif
}

/* In the byte order in which the vCPU stores now. */
static uint64_t number(CPUState *cpu, const uint8_t *p)
{
#ifdef TARGET_PPC
    return FIELD_EX64(cpu_env(cpu)->msr, MSR, LE) ? ldq_le_p(p) : ldq_be_p(p);
#elif defined(TARGET_ARM)
    return arm_cpu_data_is_big_endian(cpu_env(cpu)) ? ldq_be_p(p) : ldq_le_p(p);
#else
    return ldq_p(p);
#endif
}

/* Code of 32 bits on a processor of 64 has extended it in its own way. */
uint64_t cannoli_guest_address(CPUState *cpu, uint64_t addr)
{
#if defined(TARGET_MIPS64)
    CPUMIPSState *env = cpu_env(cpu);
    bool user = (env->hflags & MIPS_HFLAG_KSU) == MIPS_HFLAG_UM;

    return env->CP0_Status >> (user ? CP0St_UX : CP0St_KX) & 1 ? addr
                                                               : (int32_t)addr;
#elif defined(TARGET_RISCV64)
    return cpu_env(cpu)->xl == MXL_RV32 ? (uint32_t)addr : addr;
#else
    return addr;
#endif
}

void cannoli_request(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    uint8_t bytes[6 * 8];
    uint64_t args[4];

    if (!t->requests) {
        return;
    }
    t->requests = false;
    if (cannoli_read_guest(bytes, cannoli_guest_address(cpu, get_register(cpu)),
                           sizeof(bytes)) < sizeof(bytes) ||
        number(cpu, bytes) != CANNOLI_GUEST_MAGIC) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        args[i] = number(cpu, bytes + 16 + i * 8);
    }
    /* What the register was, if it is recorded; then it changes from outside */
    cannoli_regs_loop_exit(cpu);
    set_register(cpu, cannoli_guest_request(cpu, number(cpu, bytes + 8), args));
    cannoli_gate_look(cpu);
}

/* ---- translation ---- */

static void helper_cannoli_request(CPUArchState *env)
{
    CPUState *cpu = env_cpu(env);
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (t) {
        t->requests = true;
        cannoli_stop_chain(cpu);
    }
}

static TCGHelperInfo info_request = {
    .func = helper_cannoli_request,
    .name = "cannoli_request",
    .flags = TCG_CALL_NO_RWG,
    .typemask = dh_typemask(void, 0) | dh_typemask(env, 1),
};

static bool requests(const DisasContextBase *db, uint64_t pc)
{
    uint8_t bytes[sizeof(codes[0])];

    if (!ARRAY_SIZE(codes) || !translator_st(db, bytes, pc, sizeof(bytes))) {
        return false;
    }
    for (int i = 0; i < ARRAY_SIZE(codes); i++) {
        if (!memcmp(bytes, codes[i], sizeof(bytes))) {
            return true;
        }
    }
    return false;
}

TCGOp *cannoli_find_request(TCGContext *s, const DisasContextBase *db)
{
    int insn = 0;
    TCGOp *op;

    QTAILQ_FOREACH (op, &s->ops, link) {
        if (op->opc != INDEX_op_insn_start) {
            continue;
        }
        insn++;
        if (requests(db, tcg_get_insn_start_param(op, 0))) {
            if (insn < db->num_insns) {
                cannoli_shorten(s, insn);
            }
            return op;
        }
    }
    return NULL;
}

void cannoli_insert_request(TCGContext *s, TCGOp *op)
{
    cannoli_insert_exit(s, op, helper_cannoli_request, &info_request);
}
