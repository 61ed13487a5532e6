/*
 * Execution tracing into shared memory: system registers
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The registers that only code with privileges reaches, under the names that
 * they have in gdb's descriptions of the target, as far as they are fields of
 * env, or follow from some (tracefmt/model/derive*.c): not counters, which
 * QEMU computes when they are read.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "accel/tcg/cannoli/regs.h"
#ifdef TARGET_ARM
#include "cpregs.h"
#include "cpu-features.h"
#endif
#ifdef TARGET_I386
#include "hw/i386/apic_internal.h"
#endif

#define ENV(field) offsetof(CPUArchState, field)

static bool add(const char *name, intptr_t off, unsigned bytes)
{
    intptr_t at = off;

    /* Those of programs were added before. */
    if (cannoli_regs_next(&at, off + bytes) >= 0) {
        return false;
    }
    cannoli_regs_add(name, 0, 1, off, 0, bytes, CTR_REG_SPECIAL,
                     CANNOLI_REGS_SYSTEM);
    return true;
}

#define ADD(name, field) \
    add(name, ENV(field), sizeof(((CPUArchState *)0)->field))

#if defined(TARGET_ARM)

/* Whether gdb's description has it, and its value can change. */
static bool is_shown(ARMCPU *cpu, const ARMCPRegInfo *ri)
{
    bool a64 = arm_feature(&cpu->env, ARM_FEATURE_AARCH64);

    return !(ri->type & (ARM_CP_NO_RAW | ARM_CP_NO_GDB | ARM_CP_CONST)) &&
           (a64 ? ri->state == ARM_CP_STATE_AA64
                : ri->state == ARM_CP_STATE_AA32 &&
                      (arm_feature(&cpu->env, ARM_FEATURE_EL3) ||
                       !(ri->secure & ARM_CP_SECSTATE_S)));
}

/* Where EL3 has 32 bits, NSACR decides on bits of these. */
static bool is_by_nsacr(ARMCPU *cpu, const ARMCPRegInfo *ri)
{
    return (ri->fieldoffset == ENV(cp15.cpacr_el1) ||
            ri->fieldoffset == ENV(cp15.cptr_el[2])) &&
           arm_feature(&cpu->env, ARM_FEATURE_EL3) &&
           !arm_feature(&cpu->env, ARM_FEATURE_AARCH64);
}

static bool is_disr(const ARMCPRegInfo *ri)
{
    return ri->fieldoffset - ENV(cp15.disr_el1) < sizeof(uint64_t);
}

/*
 * The field that has the register's value, or of which a reader computes it,
 * or 0.  Where a register with a field has a raw_readfn, that reads the field:
 * what QEMU saves, and its gdbstub shows.  PMCCNTR's is no value of it.
 */
static size_t field_of(ARMCPU *cpu, const ARMCPRegInfo *ri)
{
    size_t low = cpreg_field_is_64bit(ri) ? 0 : 4 * HOST_BIG_ENDIAN;

    if (g_str_has_prefix(ri->name, "PMEVTYPER")) {
        return ENV(cp15.c14_pmevtyper) + low +
               8 * ((ri->crm & 3) << 3 | (ri->opc2 & 7));
    }
    if (g_str_equal(ri->name, "PMCCFILTR")) { /* nothing else can set bits */
        return ENV(cp15.pmccfiltr_el0) + low;
    }
    if (ri->fieldoffset == ENV(cp15.c15_ccnt)) {
        return 0;
    }
    return !ri->readfn || ri->raw_readfn || is_disr(ri) ||
                   ri->fieldoffset == ENV(cp15.cpacr_el1) ||
                   ri->fieldoffset == ENV(cp15.cptr_el[2])
               ? ri->fieldoffset
               : 0;
}

static bool is_timer_control(const ARMCPRegInfo *ri)
{
    for (int i = 0; i < NUM_GTIMERS; i++) {
        if (ri->fieldoffset - ENV(cp15.c14_timer[i].ctl) < sizeof(uint64_t)) {
            return true;
        }
    }
    return false;
}

/* What is a part of another register comes after it, and is not added. */
static int by_size_and_name(gconstpointer a, gconstpointer b)
{
    const ARMCPRegInfo *x = *(const ARMCPRegInfo *const *)a;
    const ARMCPRegInfo *y = *(const ARMCPRegInfo *const *)b;
    int order = cpreg_field_is_64bit(y) - cpreg_field_is_64bit(x);

    order = order ? order : strcmp(x->name, y->name);
    return order ? order
                 : (x->fieldoffset > y->fieldoffset) -
                       (x->fieldoffset < y->fieldoffset);
}

/* Of a register that depends on others: tracefmt/model/derive_arm.c */
static void add_part(const char *name, intptr_t off, unsigned bytes)
{
    if (add(name, off, bytes)) {
        cannoli_regs[cannoli_nr_regs - 1].flags = CTR_REG_RAW;
    }
}

#define ADD_PART(name, field) \
    add_part(name, ENV(field), sizeof(((CPUArchState *)0)->field))

/* DISR_EL1 is another register while HCR and SCR say so. */
static void add_disr(ARMCPU *cpu)
{
    bool el3 = arm_feature(&cpu->env, ARM_FEATURE_EL3);

    if (arm_feature(&cpu->env, ARM_FEATURE_AARCH64)) {
        ADD_PART(el3 ? "disr_rest" : "disr_rest_ns", cp15.disr_el1);
        ADD_PART("VDISR_EL2", cp15.vdisr_el2);
        ADD_PART("HCR_EL2", cp15.hcr_el2);
        ADD_PART("SCR_EL3", cp15.scr_el3);
        ADD_PART("aarch64", aarch64);
        ADD_PART("uncached_cpsr", uncached_cpsr);
    } else {
        intptr_t low = 4 * HOST_BIG_ENDIAN;

        add_part(el3 ? "disr_rest" : "disr_rest_ns", ENV(cp15.disr_el1) + low,
                 4);
        add_part("VDISR_EL2", ENV(cp15.vdisr_el2) + low, 4);
        add_part("HCR", ENV(cp15.hcr_el2) + low, 4);
        add_part("SCR", ENV(cp15.scr_el3) + low, 4);
    }
}

static void add_field(ARMCPU *cpu, const ARMCPRegInfo *ri)
{
    unsigned bytes = cpreg_field_is_64bit(ri) ? 8 : 4;
    size_t off = field_of(cpu, ri);

    if (is_by_nsacr(cpu, ri)) {
        g_autofree char *name = g_strdup_printf("%s_rest", ri->name);

        add_part(name, off, bytes);
    } else if (add(ri->name, off, bytes) && is_timer_control(ri)) {
        cannoli_regs_by_devices(); /* the timer sets ISTATUS */
    }
}

void cannoli_regs_system(CPUState *cs)
{
    ARMCPU *cpu = ARM_CPU(cs);
    g_autoptr(GPtrArray) fields = g_ptr_array_new();
    bool disr = false;
    GHashTableIter iter;
    gpointer ri;

    if (arm_feature(&cpu->env, ARM_FEATURE_M)) {
        ADD("primask", v7m.primask[M_REG_NS]);
        ADD("basepri", v7m.basepri[M_REG_NS]);
        ADD("faultmask", v7m.faultmask[M_REG_NS]);
        ADD("control", v7m.control[M_REG_NS]);
        ADD_PART("exception", v7m.exception);
        /* Of the Security extension there are four stack pointers. */
        if (!arm_feature(&cpu->env, ARM_FEATURE_M_SECURITY)) {
            ADD_PART("other_sp", v7m.other_sp);
        }
        if (cpu_isar_feature(aa32_vfp_simd, cpu)) {
            ADD("fpccr", v7m.fpccr[M_REG_NS]);
        }
    }
    g_hash_table_iter_init(&iter, cpu->cp_regs);
    while (g_hash_table_iter_next(&iter, NULL, &ri)) {
        if (!is_shown(cpu, ri) || !field_of(cpu, ri)) {
            continue;
        }
        if (is_disr(ri)) {
            disr = true;
        } else {
            g_ptr_array_add(fields, ri);
        }
    }
    g_ptr_array_sort(fields, by_size_and_name);
    for (guint i = 0; i < fields->len; i++) {
        add_field(cpu, g_ptr_array_index(fields, i));
    }
    if (disr) {
        add_disr(cpu);
    }
}

#elif defined(TARGET_I386)

void cannoli_regs_system(CPUState *cs)
{
    ADD("cr0", cr[0]);
    ADD("cr2", cr[2]);
    ADD("cr3", cr[3]);
    ADD("cr4", cr[4]);
    ADD("efer", efer);
#ifdef TARGET_X86_64
    ADD("k_gs_base", kernelgsbase);
#endif
    if (X86_CPU(cs)->apic_state) {
        cannoli_regs_add_pointed(
            "apic_tpr", offsetof(X86CPU, apic_state) - offsetof(X86CPU, env),
            offsetof(APICCommonState, tpr), 1, CTR_REG_RAW,
            CANNOLI_REGS_SYSTEM);
        cannoli_regs_by_devices();
    }
}

#elif defined(TARGET_RISCV)

#define WHOLE(field) ENV(field), sizeof(((CPUArchState *)0)->field)
/* Of a field of 64 bits, that an RV32 has as two registers. */
#define LOW(field)   ENV(field) + 4 * HOST_BIG_ENDIAN, 4
#define HIGH(field)  ENV(field) + 4 * !HOST_BIG_ENDIAN, 4

/* They are there if the processor has them. */
static const struct {
    int number;
    intptr_t off;
    unsigned bytes;
} csrs[] = {
    { CSR_VSSTATUS, WHOLE(vsstatus) },
    { CSR_VSTVEC, WHOLE(vstvec) },
    { CSR_VSSCRATCH, WHOLE(vsscratch) },
    { CSR_VSEPC, WHOLE(vsepc) },
    { CSR_VSCAUSE, WHOLE(vscause) },
    { CSR_VSTVAL, WHOLE(vstval) },
    { CSR_VSATP, WHOLE(vsatp) },
    { CSR_HEDELEG, WHOLE(hedeleg) },
    { CSR_HCOUNTEREN, WHOLE(hcounteren) },
    { CSR_HGEIE, WHOLE(hgeie) },
    { CSR_HTVAL, WHOLE(htval) },
    { CSR_HTINST, WHOLE(htinst) },
    { CSR_HGATP, WHOLE(hgatp) },
    { CSR_MTINST, WHOLE(mtinst) },
    { CSR_MTVAL2, WHOLE(mtval2) },
    { CSR_MCOUNTINHIBIT, WHOLE(mcountinhibit) },
    { CSR_MCONTEXT, WHOLE(mcontext) },
#ifdef TARGET_RISCV32
    { CSR_MSTATUSH, HIGH(mstatus) },
    { CSR_MENVCFG, LOW(menvcfg) },
    { CSR_MENVCFGH, HIGH(menvcfg) },
    { CSR_HENVCFG, LOW(henvcfg) },
    { CSR_HTIMEDELTA, LOW(htimedelta) },
    { CSR_HTIMEDELTAH, HIGH(htimedelta) },
#else
    { CSR_HTIMEDELTA, WHOLE(htimedelta) },
#endif
};

/* As QEMU's gdbstub decides it. */
static bool has_csr(CPURISCVState *env, int number)
{
    const riscv_csr_operations *csr = &csr_ops[number];
    bool debugger = env->debugger, has;

    env->debugger = true;
    has = env->priv_ver >= csr->min_priv_ver && csr->predicate &&
          csr->predicate(env, number) == RISCV_EXCP_NONE;
    env->debugger = debugger;
    return has;
}

static void add_part(const char *name, intptr_t off, unsigned bytes)
{
    cannoli_regs_add(name, 0, 1, off, 0, bytes, CTR_REG_RAW,
                     CANNOLI_REGS_SYSTEM);
}

/* What registers of interrupts are computed from. */
static void add_interrupts(bool hypervisor)
{
    add_part("mip_rest", WHOLE(mip));
    cannoli_regs_by_devices();
    ADD("hgeip", hgeip);
    if (!hypervisor) {
        cannoli_regs[cannoli_nr_regs - 1].flags = CTR_REG_RAW;
    }
    cannoli_regs_by_devices();
    add_part("vstime_irq", WHOLE(vstime_irq));
    cannoli_regs_by_devices();
    add_part("priv_mode", WHOLE(priv));
    add_part("virt_enabled", WHOLE(virt_enabled));
    /* The byte with bit 63, STCE */
    add_part("menvcfg_stce", ENV(menvcfg) + 7 * !HOST_BIG_ENDIAN, 1);
    add_part("sie_rest", WHOLE(sie));
    add_part("mvien", WHOLE(mvien));
    add_part("mvip", WHOLE(mvip));
    add_part("hstatus_rest", WHOLE(hstatus));
    ADD("hideleg", hideleg);
    if (!hypervisor) {
        cannoli_regs[cannoli_nr_regs - 1].flags = CTR_REG_RAW;
    }
    add_part("hvien", WHOLE(hvien));
    add_part("hvip_rest", WHOLE(hvip));
    add_part("vsie_rest", WHOLE(vsie));
}

static void add_counting(void)
{
    cannoli_regs_add("mhpmevent%d", 3, RV_MAX_MHPMEVENTS - 3,
                     ENV(mhpmevent_val[3]), sizeof(target_ulong),
                     sizeof(target_ulong), CTR_REG_SPECIAL,
                     CANNOLI_REGS_SYSTEM);
}

static void add_protection(void)
{
    intptr_t stride = sizeof(pmp_entry_t);

    cannoli_regs_add(
        "pmpaddr%d", 0, MAX_RISCV_PMPS, ENV(pmp_state.pmp[0].addr_reg), stride,
        sizeof(target_ulong), CTR_REG_SPECIAL, CANNOLI_REGS_SYSTEM);
    cannoli_regs_add("pmp%dcfg", 0, MAX_RISCV_PMPS,
                     ENV(pmp_state.pmp[0].cfg_reg), stride, 1, CTR_REG_RAW,
                     CANNOLI_REGS_SYSTEM);
}

void cannoli_regs_system(CPUState *cs)
{
    CPURISCVState *env = cpu_env(cs);
    bool hypervisor = has_csr(env, CSR_HSTATUS);

    ADD("satp", satp);
    ADD("stvec", stvec);
    ADD("sscratch", sscratch);
    ADD("sepc", sepc);
    ADD("scause", scause);
    ADD("stval", stval);
    ADD("senvcfg", senvcfg);
    ADD("scounteren", scounteren);
    ADD("mtvec", mtvec);
    ADD("mscratch", mscratch);
    ADD("mepc", mepc);
    ADD("mcause", mcause);
    ADD("mtval", mtval);
    ADD("medeleg", medeleg);
    ADD("mideleg", mideleg);
    ADD("mcounteren", mcounteren);
    ADD("mie", mie);
#ifdef TARGET_RISCV64
    ADD("menvcfg", menvcfg);
#endif
    /* Without the bit that sums up what is dirty */
    add_part("mstatus_rest", WHOLE(mstatus));
    add_part("misa_ext", WHOLE(misa_ext));
    add_interrupts(hypervisor);
    for (int i = 0; i < ARRAY_SIZE(csrs); i++) {
        if (has_csr(env, csrs[i].number)) {
            cannoli_regs_add(csr_ops[csrs[i].number].name, 0, 1, csrs[i].off, 0,
                             csrs[i].bytes, CTR_REG_SPECIAL,
                             CANNOLI_REGS_SYSTEM);
        }
    }
    if (hypervisor) {
#ifdef TARGET_RISCV64
        add_part("henvcfg_rest", WHOLE(henvcfg));
#else
        add_part("henvcfgh_rest", HIGH(henvcfg));
#endif
    }
    add_counting();
    if (has_csr(env, CSR_PMPCFG0)) {
        add_protection();
    }
}

#elif defined(TARGET_PPC)

static bool is_computed(int spr)
{
    switch (spr) {
    case SPR_XER: /* globals */
    case SPR_LR:
    case SPR_CTR:
    case SPR_DECR: /* counters */
    case SPR_HDEC:
    case SPR_TBL:
    case SPR_TBU:
        return true;
    default:
        return false;
    }
}

/* Where its value is. */
static intptr_t place_of(int spr)
{
#ifdef TARGET_PPC64
    if (spr == SPR_CFAR) {
        return ENV(cfar); /* each branch that is taken writes it */
    }
#endif
    return ENV(spr[spr]);
}

void cannoli_regs_system(CPUState *cs)
{
    CPUPPCState *env = cpu_env(cs);

    for (int i = 0; i < ARRAY_SIZE(env->spr_cb); i++) {
        if (env->spr_cb[i].name && !is_computed(i)) {
            g_autofree char *name = g_ascii_strdown(env->spr_cb[i].name, -1);

            add(name, place_of(i), sizeof(env->spr[i]));
        }
    }
}

#elif defined(TARGET_S390X)

void cannoli_regs_system(CPUState *cs)
{
    cannoli_regs_add("cr%d", 0, 16, ENV(cregs), 8, 8, CTR_REG_SPECIAL,
                     CANNOLI_REGS_SYSTEM);
    ADD("pp", pp);
    ADD("bea", gbea);
    ADD("ckc", ckc);
    ADD("cputm", cputm);
    ADD("prefix", psa);
}

#elif defined(TARGET_MIPS)

void cannoli_regs_system(CPUState *cs)
{
    ADD("status", CP0_Status);
    ADD("badvaddr", CP0_BadVAddr);
    ADD("cause", CP0_Cause);
}

#else

void cannoli_regs_system(CPUState *cs)
{
}

#endif

void cannoli_regs_excepted(CPUState *cpu)
{
    static const intptr_t set[] = {
#if defined(TARGET_I386)
        ENV(cr[2]),
#elif defined(TARGET_MIPS)
        ENV(CP0_BadVAddr),
#elif defined(TARGET_PPC)
        ENV(spr[SPR_DAR]),       ENV(spr[SPR_DSISR]), ENV(spr[SPR_HDAR]),
        ENV(spr[SPR_HDSISR]),    ENV(spr[SPR_ASDR]),  ENV(spr[SPR_BOOKE_DEAR]),
        ENV(spr[SPR_BOOKE_ESR]),
#endif
    };

    if (cpu->exception_index >= 0) {
        cannoli_regs_touch(cpu, set, ARRAY_SIZE(set));
    }
}
