/*
 * Execution tracing into shared memory: address spaces
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Instructions that write the registers of the page tables end the chain of
 * blocks, so that a comparison before each chain finds every change.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "accel/tcg/cannoli/event.h"
#include "task.h"
#ifdef TARGET_ARM
#include "internals.h"
#endif

#ifdef TARGET_ARM
int cannoli_kernel_el(CPUARMState *env)
{
    const uint64_t host = HCR_E2H | HCR_TGE;

    return arm_feature(env, ARM_FEATURE_EL2) &&
                   (arm_hcr_el2_eff(env) & host) == host
               ? 2
               : 1;
}
#endif

/* The fields of CTR_EVENT_CONTEXT; false: not known for this target. */
static bool read_context(CPUState *cpu, CannoliContext *c)
{
#if defined(TARGET_ARM)
    CPUARMState *env = cpu_env(cpu);
    int el = cannoli_kernel_el(env);
    uint64_t ttbr0 = env->cp15.ttbr0_el[el], ttbr1 = env->cp15.ttbr1_el[el];
    uint64_t tcr = env->cp15.tcr_el[el];

    if (arm_feature(env, ARM_FEATURE_M)) {
        return false;
    }
    c->id = env->cp15.contextidr_el[el];
    if (arm_el_is_aa64(env, el) || tcr & TTBCR_EAE) {
        c->table = extract64(ttbr0, 1, 47) << 1;
        c->asid = extract64(tcr & TTBCR_A1 ? ttbr1 : ttbr0, 48, 16);
    } else {
        c->table = ttbr0 & ~0x7full;
        c->asid = c->id & 0xff;
    }
    if (!(env->cp15.sctlr_el[el] & SCTLR_M)) {
        c->table = c->asid = 0;
    }
    return true;
#elif defined(TARGET_RISCV)
    CPURISCVState *env = cpu_env(cpu);

    if (riscv_cpu_mxl(env) == MXL_RV32) {
        c->table = env->satp & SATP32_MODE
                       ? (uint64_t)(env->satp & SATP32_PPN) << 12
                       : 0;
        c->asid = c->table ? extract32(env->satp, 22, 9) : 0;
    } else {
        c->table = env->satp & SATP64_MODE ? (env->satp & SATP64_PPN) << 12 : 0;
        c->asid = c->table ? extract64(env->satp, 44, 16) : 0;
    }
    c->id = 0;
    return true;
#elif defined(TARGET_I386)
    CPUX86State *env = cpu_env(cpu);
    bool on = env->cr[0] & CR0_PG_MASK;
    bool pae = env->cr[4] & CR4_PAE_MASK && !(env->hflags & HF_LMA_MASK);

    c->table = on ? env->cr[3] & ~(pae ? 0x1full : 0xfffull) : 0;
    c->asid = on && env->cr[4] & CR4_PCIDE_MASK ? env->cr[3] & 0xfff : 0;
    c->id = 0;
    return true;
#else
    return false;
#endif
}

uint64_t cannoli_page_table(CPUState *cpu)
{
    CannoliContext now;

    return read_context(cpu, &now) ? now.table : 0;
}

void cannoli_context(CPUState *cpu)
{
    const uint32_t bytes = 3 * 8;
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    CannoliContext now;
    uint8_t *p;

    if (!t->gate.open || !read_context(cpu, &now) ||
        !memcmp(&now, &t->context, sizeof(now))) {
        return;
    }
    p = cannoli_event(cpu, CTR_EVENT_CONTEXT, bytes, cannoli_now());
    if (p) {
        t->context = now;
        cannoli_put64(&p, now.table);
        cannoli_put64(&p, now.asid);
        cannoli_put64(&p, now.id);
        cannoli_event_end(cpu, bytes);
    }
}
