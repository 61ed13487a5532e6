/* SPDX-License-Identifier: MIT */
/*
 * Computes registers as the machine's manual and gdb define them from the parts in
 * which QEMU keeps them. Each formula is the one with which QEMU itself reads the whole
 * register; the parts are its variables.
 */
#include "model/derive_priv.h"

#include <stddef.h>
#include "cannoli/events.h"

#define EM_386 3
#define EM_MIPS 8
#define EM_PPC 20
#define EM_PPC64 21
#define EM_S390 22
#define EM_ARM 40
#define EM_X86_64 62
#define EM_AARCH64 183
#define EM_RISCV 243

static struct regval as_it_is(const struct derive_args *a)
{
    return a->in[0];
}

/* --------------------------------------------------------------------- x86 */

#define X86_C 0x1u
#define X86_P 0x4u
#define X86_A 0x10u
#define X86_Z 0x40u
#define X86_S 0x80u
#define X86_O 0x800u

/* Groups of four operations (8, 16, 32, 64 bits) from cc_op 4 on. */
enum {
    OP_MUL,
    OP_ADD,
    OP_ADC,
    OP_SUB,
    OP_SBB,
    OP_LOGIC,
    OP_INC,
    OP_DEC,
    OP_SHL,
    OP_SAR,
    OP_BMILG,
    OP_BLSI,
    OP_POPCNT,
};

struct x86_op {
    unsigned op;
    uint64_t mask; /* of the width */
    uint64_t sign; /* its highest bit */
    uint64_t dst, src, src2;
    uint64_t full_src; /* not cut to the width */
};

static uint64_t x86_parity(uint64_t v)
{
    v ^= v >> 4;
    v ^= v >> 2;
    v ^= v >> 1;
    return v & 1 ? 0 : X86_P;
}

/* Carry, auxiliary carry and overflow. */
static uint64_t x86_carries(const struct x86_op *x)
{
    uint64_t d = x->dst, s = x->src, other, c, o;
    switch (x->op) {
    case OP_MUL:
        return x->full_src ? X86_C | X86_O : 0;
    case OP_ADD:
    case OP_ADC:
        other = (d - s - (x->op == OP_ADC ? x->src2 : 0)) & x->mask;
        c = x->op == OP_ADC && x->src2 ? d <= s : d < s;
        o = (s ^ other ^ x->mask) & (s ^ d);
        break;
    case OP_SUB:
    case OP_SBB:
        other = (d + s + (x->op == OP_SBB ? x->src2 : 0)) & x->mask;
        c = x->op == OP_SBB && x->src2 ? other <= s : other < s;
        o = (other ^ s) & (other ^ d);
        break;
    case OP_INC:
    case OP_DEC:
        c = x->src;
        other = x->op == OP_INC ? d - 1 : d + 1;
        s = 1;
        o = d == (x->op == OP_INC ? x->sign : x->sign - 1) ? x->sign : 0;
        break;
    case OP_SHL:
    case OP_SAR:
        c = x->op == OP_SHL ? (s & x->sign) != 0 : s & 1;
        return c | ((s ^ d) & x->sign ? X86_O : 0);
    case OP_BMILG:
        return s == 0;
    case OP_BLSI:
        return s != 0;
    default:
        return 0;
    }
    return c | ((d ^ other ^ s) & X86_A) | (o & x->sign ? X86_O : 0);
}

static uint64_t x86_cc(uint64_t cc_op, uint64_t dst, uint64_t src, uint64_t src2)
{
    switch (cc_op) {
    case 0:
        return src;
    case 1:
        return (src & ~(uint64_t)X86_C) | dst * X86_C;
    case 2:
        return (src & ~(uint64_t)X86_O) | src2 * X86_O;
    case 3:
        return (src & ~(uint64_t)(X86_C | X86_O)) | dst * X86_C | src2 * X86_O;
    }
    struct x86_op x = {.op = (unsigned)(cc_op - 4) / 4, .full_src = src};
    if (x.op > OP_POPCNT) {
        return 0;
    }
    x.sign = 1ull << ((8u << (cc_op & 3)) - 1);
    x.mask = x.sign | (x.sign - 1);
    x.dst = dst & x.mask;
    x.src = src & x.mask;
    x.src2 = src2 & x.mask;
    uint64_t flags = x.dst == 0 ? X86_Z : 0;
    if (x.op == OP_POPCNT) {
        return flags;
    }
    flags |= x86_carries(&x) | (x.dst & x.sign ? X86_S : 0);
    return x.op == OP_BMILG || x.op == OP_BLSI ? flags : flags | x86_parity(x.dst);
}

static struct regval x86_eflags(const struct derive_args *a)
{
    return whole(IN(4) | (IN(5) & 0x400) | x86_cc(IN(0), IN(1), IN(2), IN(3)));
}

/* Parts: the top, then low and high part of each physical register. */
static struct regval x86_st(const struct derive_args *a)
{
    unsigned i = (a->number + (unsigned)IN(0)) & 7;
    return (struct regval){IN(1 + 2 * i), IN(2 + 2 * i)};
}

static struct regval x86_fstat(const struct derive_args *a)
{
    return whole((IN(0) & ~0x3800ull) | (IN(1) & 7) << 11);
}

static struct regval x86_mxcsr(const struct derive_args *a)
{
    uint64_t f = IN(1);
    return whole(IN(0) | (f & F_INVALID ? 1u : 0) | (f & F_DIVBYZERO ? 4u : 0) |
                 (f & F_OVERFLOW ? 8u : 0) | (f & F_UNDERFLOW ? 0x10u : 0) |
                 (f & F_INEXACT ? 0x20u : 0) | (f & F_OUT_FLUSHED ? 0x30u : 0));
}

static struct regval x86_cr8(const struct derive_args *a)
{
    return whole(IN(0) >> 4);
}

/* -------------------------------------------------------------- mips, ppc */

static struct regval mips_w(const struct derive_args *a)
{
    return (struct regval){IN(0), IN(1)};
}

static struct regval ppc_cr(const struct derive_args *a)
{
    uint64_t cr = 0;
    for (unsigned i = 0; i < 8; i++) {
        cr = cr << 4 | (IN(i) & 15);
    }
    return whole(cr);
}

static struct regval ppc_xer(const struct derive_args *a)
{
    return whole(IN(0) | (IN(1) & 1) << 31 | (IN(2) & 1) << 30 | (IN(3) & 1) << 29 |
                 (IN(4) & 1) << 19 | (IN(5) & 1) << 18);
}

/* ------------------------------------------------------------------- table */

#define FPR(i) "fpr" #i "_lo", "fpr" #i "_hi"
/* riscv: the interrupts that are pending; four areas of memory that are protected. */
#define PENDING "mip_rest", "hgeip", "hstatus_rest", "vstime_irq"
/* aarch64: TTBR1_EL2 is there if the processor has names for what EL1 has. */
#define EL12(name, of)                                                                   \
    {                                                                                    \
        {EM_AARCH64}, 0, 8, CTR_REG_SPECIAL, name, a64_el12,                             \
        {                                                                                \
            "TTBR1_EL2", of                                                              \
        }                                                                                \
    }
#define PMP(i, j, k, l) "pmp" #i "cfg", "pmp" #j "cfg", "pmp" #k "cfg", "pmp" #l "cfg"

/* clang-format off */
const struct derive derive_all[] = {
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "cpsr", arm_cpsr,
     {"NF", "ZF", "CF", "VF", "QF", "GE", "condexec_bits", "uncached_cpsr", "thumb",
      "daif"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "xpsr", arm_xpsr,
     {"NF", "ZF", "CF", "VF", "QF", "GE", "condexec_bits", "thumb", "exception"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "msp", arm_msp,
     {"sp", "other_sp", "exception", "control"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "psp", arm_psp,
     {"sp", "other_sp", "exception", "control"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "fpscr", arm_fpscr,
     {"vfp_fpsr", "vfp_fpcr", "vfp_qc", "vfp_len", "vfp_stride", "fpst_a32", "fpst_std",
      "fpst_a32_f16", "fpst_std_f16"}},
    {{EM_AARCH64}, 0, 4, CTR_REG_SPECIAL, "cpsr", a64_cpsr,
     {"NF", "ZF", "CF", "VF", "pstate", "btype", "daif"}},
    {{EM_AARCH64}, 0, 4, CTR_REG_SPECIAL, "fpsr", a64_fpsr,
     {"vfp_fpsr", "vfp_fpcr", "vfp_qc", "fpst_a64", "fpst_a64_f16"}},
    {{EM_AARCH64}, 0, 4, CTR_REG_SPECIAL, "fpcr", as_it_is, {"vfp_fpcr"}},
    /* Registers that set bits and registers that clear them read the same. */
    {{EM_AARCH64}, 0, 0, CTR_REG_SPECIAL, "PMCNTENSET_EL0", as_it_is, {"PMCNTENCLR_EL0"}},
    {{EM_AARCH64}, 0, 0, CTR_REG_SPECIAL, "PMOVSSET_EL0", as_it_is, {"PMOVSCLR_EL0"}},
    {{EM_ARM}, 0, 0, CTR_REG_SPECIAL, "PMCNTENSET", as_it_is, {"PMCNTENCLR"}},
    {{EM_ARM}, 0, 0, CTR_REG_SPECIAL, "PMOVSSET", as_it_is, {"PMOVSR"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "TTBR0_EL1", as_it_is, {"TTBR0"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "TTBR1_EL1", as_it_is, {"TTBR1"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "TTBR0_EL1_S", as_it_is, {"TTBR0_S"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "TTBR1_EL1_S", as_it_is, {"TTBR1_S"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "FAR_EL2", as_it_is, {"DFAR_S"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "IFAR_S", as_it_is, {"HIFAR"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "MDSCR_EL1", as_it_is, {"DBGDSCRint"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "DISR_EL1", arm_disr,
     {"disr_rest", "VDISR_EL2", "HCR", "SCR", "uncached_cpsr"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "DISR_EL1", arm_disr_ns,
     {"disr_rest_ns", "VDISR_EL2", "HCR", "SCR", "uncached_cpsr"}},
    {{EM_AARCH64}, 0, 8, CTR_REG_SPECIAL, "DISR_EL1", a64_disr,
     {"disr_rest", "VDISR_EL2", "HCR_EL2", "SCR_EL3", "aarch64", "uncached_cpsr",
      "pstate"}},
    {{EM_AARCH64}, 0, 8, CTR_REG_SPECIAL, "DISR_EL1", a64_disr_ns,
     {"disr_rest_ns", "VDISR_EL2", "HCR_EL2", "SCR_EL3", "aarch64", "uncached_cpsr",
      "pstate"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "CPACR", arm_cpacr,
     {"CPACR_rest", "NSACR", "SCR", "uncached_cpsr"}},
    {{EM_ARM}, 0, 4, CTR_REG_SPECIAL, "CPTR_EL2", arm_hcptr,
     {"CPTR_EL2_rest", "NSACR", "SCR", "uncached_cpsr"}},
    EL12("SCTLR_EL12", "SCTLR"),
    EL12("CPACR_EL12", "CPACR"),
    EL12("TTBR0_EL12", "TTBR0_EL1"),
    EL12("TTBR1_EL12", "TTBR1_EL1"),
    EL12("TCR_EL12", "TCR_EL1"),
    EL12("SPSR_EL12", "SPSR_EL1"),
    EL12("ELR_EL12", "ELR_EL1"),
    EL12("ESR_EL12", "ESR_EL1"),
    EL12("FAR_EL12", "FAR_EL1"),
    EL12("MAIR_EL12", "MAIR_EL1"),
    EL12("VBAR_EL12", "VBAR"),
    EL12("CONTEXTIDR_EL12", "CONTEXTIDR_EL1"),
    EL12("CNTKCTL_EL12", "CNTKCTL"),
    EL12("ZCR_EL12", "ZCR_EL1"),
    EL12("SMCR_EL12", "SMCR_EL1"),
    EL12("TFSR_EL12", "TFSR_EL1"),
    EL12("SCXTNUM_EL12", "SCXTNUM_EL1"),
    EL12("CNTP_CTL_EL02", "CNTP_CTL_EL0"),
    EL12("CNTP_CVAL_EL02", "CNTP_CVAL_EL0"),
    EL12("CNTV_CTL_EL02", "CNTV_CTL_EL0"),
    EL12("CNTV_CVAL_EL02", "CNTV_CVAL_EL0"),
    {{EM_X86_64, EM_386}, 0, 4, CTR_REG_SPECIAL, "eflags", x86_eflags,
     {"cc_op", "cc_dst", "cc_src", "cc_src2", "eflags_rest", "df"}},
    {{EM_X86_64, EM_386}, 8, 10, CTR_REG_VECTOR, "st%", x86_st,
     {"fpst_top", FPR(0), FPR(1), FPR(2), FPR(3), FPR(4), FPR(5), FPR(6), FPR(7)}},
    {{EM_X86_64, EM_386}, 0, 4, CTR_REG_SPECIAL, "fctrl", as_it_is, {"fpuc"}},
    {{EM_X86_64, EM_386}, 0, 4, CTR_REG_SPECIAL, "fstat", x86_fstat,
     {"fpus", "fpst_top"}},
    {{EM_X86_64, EM_386}, 0, 4, CTR_REG_SPECIAL, "mxcsr", x86_mxcsr,
     {"mxcsr_rest", "fpst_sse"}},
    {{EM_X86_64}, 0, 8, CTR_REG_SPECIAL, "cr8", x86_cr8, {"apic_tpr"}},
    {{EM_386}, 0, 4, CTR_REG_SPECIAL, "cr8", x86_cr8, {"apic_tpr"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "fflags", riscv_fflags, {"fpst", "frm"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "fcsr", riscv_fcsr, {"fpst", "frm"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "vcsr", riscv_vcsr, {"vxrm", "vxsat"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "vtype", riscv_vtype, {"vill", "vtype_rest"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "mstatus", riscv_mstatus,
     {"mstatus_rest", "satp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "sstatus", riscv_sstatus,
     {"mstatus_rest", "satp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "mip", riscv_mip, {PENDING, "satp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "sip", riscv_sip,
     {PENDING, "mideleg", "mvien", "mvip", "priv_mode", "menvcfg_stce", "virt_enabled",
      "hideleg", "hvien", "hvip_rest", "satp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "sie", riscv_sie,
     {"mie", "mideleg", "mvien", "sie_rest", "virt_enabled", "hideleg", "hvien",
      "vsie_rest", "satp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "hip", riscv_hip, {PENDING, "vsatp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "hie", riscv_hie, {"mie", "vsatp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "hvip", riscv_hvip,
     {"mip_rest", "hideleg", "hvien", "hvip_rest", "vsatp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "vsip", riscv_vsip,
     {PENDING, "hideleg", "hvien", "hvip_rest", "vsatp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "vsie", riscv_vsie,
     {"mie", "hideleg", "hvien", "vsie_rest", "vsatp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "misa", riscv_misa, {"misa_ext", "satp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "priv", riscv_priv,
     {"virt_enabled", "priv_mode"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "hstatus", riscv_hstatus,
     {"hstatus_rest", "vsatp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "henvcfg", riscv_henvcfg,
     {"henvcfg_rest", "menvcfg"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "henvcfgh", riscv_henvcfgh,
     {"henvcfgh_rest", "menvcfgh"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "pmpcfg0", riscv_pmpcfg,
     {PMP(0, 1, 2, 3), PMP(4, 5, 6, 7), "satp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "pmpcfg1", riscv_pmpcfg, /* of 32 bits */
     {PMP(4, 5, 6, 7), "menvcfgh"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "pmpcfg2", riscv_pmpcfg,
     {PMP(8, 9, 10, 11), PMP(12, 13, 14, 15), "satp"}},
    {{EM_RISCV}, 0, 0, CTR_REG_SPECIAL, "pmpcfg3", riscv_pmpcfg, /* of 32 bits */
     {PMP(12, 13, 14, 15), "menvcfgh"}},
    {{EM_MIPS}, 32, 16, CTR_REG_VECTOR, "w%", mips_w, {"f%", "w%.d1"}},
    {{EM_PPC, EM_PPC64}, 0, 4, CTR_REG_SPECIAL, "cr", ppc_cr,
     {"crf0", "crf1", "crf2", "crf3", "crf4", "crf5", "crf6", "crf7"}},
    {{EM_PPC, EM_PPC64}, 0, 4, CTR_REG_SPECIAL, "xer", ppc_xer,
     {"xer_rest", "SO", "OV", "CA", "OV32", "CA32"}},
    {{EM_S390}, 0, 8, CTR_REG_SPECIAL, "pswm", s390x_pswm,
     {"psw_mask", "cc_op", "cc_src", "cc_dst", "cc_vr"}},
    {{0}, 0, 0, 0, NULL, NULL, {NULL}},
};
/* clang-format on */
