/*
 * Execution tracing into shared memory: exceptions and interrupts by target
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * After a delivery the registers have its number and syndrome, as the handler
 * reads them.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "interrupt.h"

#if defined(TARGET_ARM)
#include "hw/intc/arm_gic_common.h"
#include "hw/intc/arm_gicv3_common.h"
#include "internals.h"
#endif

uint64_t cannoli_frame(CPUState *cpu)
{
#if defined(TARGET_ARM)
    return cpu_env(cpu)->regs[13];
#else
    return 0;
#endif
}

#if defined(TARGET_ARM)
/* The interrupt that the controller signals, which the handler will read. */
static uint32_t intid(CPUState *cpu)
{
    static GICState *gic;
    static bool searched;
    uint32_t id = 1023;

    if (cpu_env(cpu)->gicv3state) {
        id = ((GICv3CPUState *)cpu_env(cpu)->gicv3state)->hppi.irq;
    } else {
        if (!searched) {
            searched = true;
            gic = (GICState *)object_resolve_path_type("", TYPE_ARM_GIC_COMMON,
                                                       NULL);
        }
        if (gic && cpu->cpu_index < GIC_NCPU) {
            id = gic->current_pending[cpu->cpu_index];
        }
    }
    /* 1020 to 1023 are none. */
    return id >= 1020 && id < 1024 ? CTR_INT_UNKNOWN : id;
}

/* Cortex-M: a handler returns by an exception, to what another may preempt. */
static void describe_m(CPUState *cpu, const CannoliBefore *before,
                       CannoliInterrupt *i)
{
    CPUARMState *env = cpu_env(cpu);

    i->number = env->v7m.exception;
    i->flags = CTR_INT_VECTOR;
    switch (before->index) {
    case EXCP_SEMIHOST:
        i->flags |= CTR_INT_TRAP | CTR_INT_EMULATED;
        i->from = cpu->cc->get_pc(cpu);
        i->number = 0;
        break;
    case EXCP_EXCEPTION_EXIT:
        /* The frame that was pushed is popped, unless it stays for the next. */
        i->returns = !i->number || env->regs[13] != before->frame;
        i->flags |= CTR_INT_ASYNC;
        break;
    case EXCP_SWI:
        i->flags |= CTR_INT_TRAP;
        break;
    case EXCP_PREFETCH_ABORT:
        i->flags |= CTR_INT_FETCH;
        break;
    default:
        i->flags |= before->index < 0 ? CTR_INT_ASYNC : 0;
        break;
    }
}

void cannoli_describe(CPUState *cpu, const CannoliBefore *before,
                      CannoliInterrupt *i)
{
    CPUARMState *env = cpu_env(cpu);
    uint64_t pc = cpu->cc->get_pc(cpu);

    if (arm_feature(env, ARM_FEATURE_M)) {
        describe_m(cpu, before, i);
        return;
    }
    switch (before->index < 0 ? cpu->exception_index : before->index) {
    case EXCP_FIQ:
        i->flags = CTR_INT_FAST;
        /* fall through */
    case EXCP_IRQ:
    case EXCP_NMI:
        i->flags |= CTR_INT_ASYNC;
        i->number = intid(cpu);
        return;
    case EXCP_VFIQ:
    case EXCP_VFNMI:
        i->flags = CTR_INT_FAST;
        /* fall through */
    case EXCP_VIRQ:
    case EXCP_VINMI:
        i->flags |= CTR_INT_ASYNC | CTR_INT_VIRTUAL;
        return;
    case EXCP_VSERR:
        i->flags = CTR_INT_ASYNC | CTR_INT_VIRTUAL | CTR_INT_ERROR;
        return;
    case EXCP_SEMIHOST:
        /* It has no syndrome: that in env is of another exception. */
        i->flags = CTR_INT_TRAP | CTR_INT_EMULATED;
        i->from = pc;
        i->number = 0;
        return;
    case EXCP_HVC:
    case EXCP_SMC:
        /* A power state call (PSCI) goes on after the instruction. */
        i->flags = CTR_INT_TRAP | (pc == before->pc ? CTR_INT_EMULATED : 0);
        break;
    case EXCP_SWI:
        i->flags = CTR_INT_TRAP;
        break;
    case EXCP_PREFETCH_ABORT:
        i->flags = CTR_INT_FETCH | CTR_INT_ADDR;
        break;
    case EXCP_DATA_ABORT:
        i->flags = CTR_INT_ADDR;
        break;
    }
    i->syndrome = env->exception.syndrome;
    i->number = syn_get_ec(i->syndrome);
    if (i->flags & CTR_INT_ADDR) {
        i->addr = env->exception.vaddress;
    }
}

#elif defined(TARGET_RISCV)
void cannoli_describe(CPUState *cpu, const CannoliBefore *before,
                      CannoliInterrupt *i)
{
    CPURISCVState *env = cpu_env(cpu);
    bool machine = env->priv == PRV_M;
    target_ulong cause = machine ? env->mcause : env->scause;
    target_ulong value = machine ? env->mtval : env->stval;

    if (before->index == RISCV_EXCP_SEMIHOST) {
        i->flags = CTR_INT_TRAP | CTR_INT_EMULATED;
        i->number = RISCV_EXCP_SEMIHOST;
        i->from = env->pc;
        return;
    }
    i->number = cause & RISCV_EXCP_INT_MASK;
    if (before->index < 0) {
        i->flags = CTR_INT_ASYNC;
        return;
    }
    switch (i->number) {
    case RISCV_EXCP_U_ECALL:
    case RISCV_EXCP_S_ECALL:
    case RISCV_EXCP_VS_ECALL:
    case RISCV_EXCP_M_ECALL:
        i->flags = CTR_INT_TRAP;
        break;
    case RISCV_EXCP_INST_ADDR_MIS:
    case RISCV_EXCP_INST_ACCESS_FAULT:
    case RISCV_EXCP_INST_PAGE_FAULT:
    case RISCV_EXCP_INST_GUEST_PAGE_FAULT:
        i->flags = CTR_INT_FETCH | CTR_INT_ADDR;
        break;
    case RISCV_EXCP_LOAD_ADDR_MIS:
    case RISCV_EXCP_LOAD_ACCESS_FAULT:
    case RISCV_EXCP_STORE_AMO_ADDR_MIS:
    case RISCV_EXCP_STORE_AMO_ACCESS_FAULT:
    case RISCV_EXCP_LOAD_PAGE_FAULT:
    case RISCV_EXCP_STORE_PAGE_FAULT:
    case RISCV_EXCP_LOAD_GUEST_ACCESS_FAULT:
    case RISCV_EXCP_STORE_GUEST_AMO_ACCESS_FAULT:
        i->flags = CTR_INT_ADDR;
        break;
    }
    if (i->flags & CTR_INT_ADDR) {
        i->addr = value;
    }
}

#elif defined(TARGET_I386)
void cannoli_describe(CPUState *cpu, const CannoliBefore *before,
                      CannoliInterrupt *i)
{
    CPUX86State *env = cpu_env(cpu);

    if (i->number == CTR_INT_UNKNOWN) {
        /* Something else was done: a poll of the controller, a start-up. */
        i->none = !(env->hflags & HF_SMM_MASK) ||
                  before->privilege == CTR_PRIVILEGE_MONITOR;
        i->number = CTR_INT_SMI;
        i->flags = CTR_INT_ASYNC;
    }
    if (i->number == EXCP0E_PAGE &&
        !(i->flags & (CTR_INT_TRAP | CTR_INT_ASYNC))) {
        i->addr = env->cr[2];
        i->flags |= CTR_INT_ADDR;
        if (i->syndrome & PG_ERROR_I_D_MASK || i->addr == i->from) {
            i->flags |= CTR_INT_FETCH;
        }
    }
}

#elif defined(TARGET_MIPS)
/* ExcCode of Cause; of an interrupt the highest line that is pending. */
void cannoli_describe(CPUState *cpu, const CannoliBefore *before,
                      CannoliInterrupt *i)
{
    CPUMIPSState *env = cpu_env(cpu);
    uint32_t pending = env->CP0_Cause & env->CP0_Status & CP0Ca_IP_mask;

    i->number = extract32(env->CP0_Cause, CP0Ca_EC, 5);
    if (before->pc - env->CP0_EPC <= 4) {
        i->from = env->CP0_EPC; /* the branch, if it was in a delay slot */
    }
    if (before->index < 0 || before->index == EXCP_EXT_INTERRUPT) {
        i->flags = CTR_INT_ASYNC;
        i->number = pending ? 31 - clz32(pending) - CP0Ca_IP : CTR_INT_UNKNOWN;
        return;
    }
    switch (before->index) {
    case EXCP_SYSCALL:
        i->flags = CTR_INT_TRAP;
        break;
    case EXCP_LTLBL:
    case EXCP_TLBL:
    case EXCP_TLBF:
    case EXCP_TLBS:
    case EXCP_AdEL:
    case EXCP_AdES:
        i->addr = env->CP0_BadVAddr;
        i->flags = CTR_INT_ADDR;
        if (i->addr == before->pc) {
            i->flags |= CTR_INT_FETCH;
        }
        break;
    }
}

#elif defined(TARGET_PPC)
/* Offsets of vectors: those with translation on are at other addresses. */
#define VECTORS_SCV 0x3000
#define VECTORS_AIL 0x4000

/* The vector's offset. */
void cannoli_describe(CPUState *cpu, const CannoliBefore *before,
                      CannoliInterrupt *i)
{
    CPUPPCState *env = cpu_env(cpu);

    if (before->index == POWERPC_EXCP_SYSCALL && env->nip == before->pc + 4) {
        /* The hypervisor, which is QEMU. */
        i->flags = CTR_INT_TRAP | CTR_INT_EMULATED;
        i->number = 0xc00;
        i->from = env->nip;
        return;
    }
    i->number = env->nip & 0x7fff;
    if (i->number >= VECTORS_AIL) {
        i->number -= VECTORS_AIL;
    }
    if (before->index < 0) {
        i->flags = CTR_INT_ASYNC;
        return;
    }
    switch (i->number) {
    case 0x300:
        i->syndrome = env->spr[SPR_DSISR];
        /* fall through */
    case 0x380:
    case 0x600:
        i->addr = env->spr[SPR_DAR];
        i->flags = CTR_INT_ADDR;
        break;
    case 0x400:
    case 0x480:
        i->addr = before->pc;
        i->flags = CTR_INT_ADDR | CTR_INT_FETCH;
        break;
    case 0xc00:
    case VECTORS_SCV:
        i->flags = CTR_INT_TRAP;
        i->from = before->pc + 4;
        break;
    }
}

#elif defined(TARGET_S390X)
/* Whether the old PSW is at the instruction, not after it. */
static bool nullifies(unsigned code)
{
    switch (code & 0x7f) {
    case 0: /* PER */
    case PGM_SEGMENT_TRANS:
    case PGM_PAGE_TRANS:
    case PGM_ASCE_TYPE:
    case PGM_REG_FIRST_TRANS:
    case PGM_REG_SEC_TRANS:
    case PGM_REG_THIRD_TRANS:
        return true;
    default:
        return false;
    }
}

/* The code of a program interruption, the number of SVC. */
void cannoli_describe(CPUState *cpu, const CannoliBefore *before,
                      CannoliInterrupt *i)
{
    CPUS390XState *env = cpu_env(cpu);

    if (before->index == EXCP_SVC) {
        i->flags = CTR_INT_TRAP;
        i->number = env->int_svc_code;
        i->from = before->pc + env->int_svc_ilen;
    } else if (before->index == EXCP_PGM) {
        i->number = env->int_pgm_code;
        if (!nullifies(env->int_pgm_code)) {
            i->from = before->pc + env->int_pgm_ilen;
        }
    } else {
        i->flags = CTR_INT_ASYNC;
    }
}

#else
void cannoli_describe(CPUState *cpu, const CannoliBefore *before,
                      CannoliInterrupt *i)
{
    if (before->index < 0) {
        i->flags = CTR_INT_ASYNC;
    } else {
        i->number = before->index;
    }
}
#endif
