/*
 * Execution tracing into shared memory: what code may do
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "internal.h"
#ifdef TARGET_ARM
#include "internals.h"
#endif

#ifdef CONFIG_USER_ONLY
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base)
{
    return CTR_PRIVILEGE_NONE;
}
#elif defined(TARGET_ARM)
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base)
{
    CPUARMTBFlags tb = { flags, cs_base };
    int core = EX_TBFLAG_ANY(tb, MMUIDX);
    int el = arm_mmu_idx_to_el(core_to_arm_mmu_idx(cpu_env(cpu), core));

    if (arm_feature(cpu_env(cpu), ARM_FEATURE_M)) {
        return el ? CTR_PRIVILEGE_M : CTR_PRIVILEGE_M_USER;
    }
    return CTR_PRIVILEGE_USER + el;
}
#elif defined(TARGET_RISCV)
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base)
{
    bool virt = FIELD_EX32(flags, TB_FLAGS, VIRT_ENABLED);

    switch (FIELD_EX32(flags, TB_FLAGS, PRIV)) {
    case PRV_U:
        return virt ? CTR_PRIVILEGE_GUEST_USER : CTR_PRIVILEGE_USER;
    case PRV_S:
        return virt ? CTR_PRIVILEGE_GUEST_KERNEL : CTR_PRIVILEGE_KERNEL;
    default:
        return CTR_PRIVILEGE_MONITOR;
    }
}
#elif defined(TARGET_I386)
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base)
{
    static const uint8_t rings[] = {
        CTR_PRIVILEGE_KERNEL,
        CTR_PRIVILEGE_RING1,
        CTR_PRIVILEGE_RING2,
        CTR_PRIVILEGE_USER,
    };

    return flags & HF_SMM_MASK ? CTR_PRIVILEGE_MONITOR
                               : rings[flags & HF_CPL_MASK];
}
#elif defined(TARGET_PPC)
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base)
{
    return flags >> HFLAGS_PR & 1 ? CTR_PRIVILEGE_USER : CTR_PRIVILEGE_KERNEL;
}
#elif defined(TARGET_S390X)
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base)
{
    return flags & FLAG_MASK_PSTATE ? CTR_PRIVILEGE_USER : CTR_PRIVILEGE_KERNEL;
}
#elif defined(TARGET_HPPA)
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base)
{
    int idx = cpu_mmu_index(cpu, false);

    return idx == MMU_USER_IDX || idx == MMU_USER_P_IDX ? CTR_PRIVILEGE_USER
                                                        : CTR_PRIVILEGE_KERNEL;
}
#elif !defined(MMU_USER_IDX)
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base)
{
    return CTR_PRIVILEGE_NONE;
}
#else
/* Block flags determine the MMU index, so that it holds for the whole block. */
unsigned cannoli_privilege(CPUState *cpu, uint32_t flags, uint64_t cs_base)
{
    return cpu_mmu_index(cpu, false) == MMU_USER_IDX ? CTR_PRIVILEGE_USER
                                                     : CTR_PRIVILEGE_KERNEL;
}
#endif
