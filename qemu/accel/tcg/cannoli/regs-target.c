/*
 * Execution tracing into shared memory: the registers of each target
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * regs.c finds the TCG globals; this file has gdb's names for them, the
 * registers that are no globals (vectors, status and control), and what helpers
 * that run often may write, so that these need no comparison.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "exec/translation-block.h"
#ifdef TARGET_AARCH64
#include "cpu-features.h"
#endif
#ifdef TARGET_S390X
#include "s390x-internal.h"
#endif
#include "regs.h"

#define ENV(field)    offsetof(CPUArchState, field)
#define STRIDE(array) (ENV(array[1]) - ENV(array[0]))

/* One register, a field of env. */
#define ADD(name, field, flags, set) \
    cannoli_regs_add(name, 0, 1, ENV(field), 0, \
                     sizeof(((CPUArchState *)0)->field), flags, set)

/* Exception flags of a float_status; helpers get a pointer to it. */
#define ADD_STATUS(name, field) \
    do { \
        ADD(name, field.float_exception_flags, CTR_REG_RAW, \
            CANNOLI_REGS_FLOAT); \
        cannoli_regs_object(ENV(field), sizeof(float_status), 1, \
                            sizeof(float_status), false); \
    } while (0)

enum {
    RAW = CTR_REG_RAW,
    VECTOR = CTR_REG_VECTOR,
    SPECIAL = CTR_REG_SPECIAL,
};

/* ---- registers that are no globals ---- */

#if defined(TARGET_AARCH64)

void cannoli_regs_target(CPUState *cpu)
{
    ARMCPU *arm = ARM_CPU(cpu);
    intptr_t stride = STRIDE(vfp.zregs);

    cannoli_regs_object(ENV(vfp.zregs), stride, 32, stride, true);
    if (cpu_isar_feature(aa64_sve, arm)) {
        unsigned bytes = arm->sve_max_vq * 16;

        cannoli_regs_add("z%d", 0, 32, ENV(vfp.zregs), stride, bytes, VECTOR,
                         CANNOLI_REGS_VECTOR);
        stride = STRIDE(vfp.pregs);
        cannoli_regs_add("p%d", 0, 16, ENV(vfp.pregs), stride, bytes / 8,
                         VECTOR, CANNOLI_REGS_VECTOR);
        cannoli_regs_add("ffr", 0, 1, ENV(vfp.pregs[FFR_PRED_NUM]), stride,
                         bytes / 8, VECTOR, CANNOLI_REGS_VECTOR);
        cannoli_regs_object(ENV(vfp.pregs), stride, 17, stride, true);
    } else {
        cannoli_regs_add("v%d", 0, 32, ENV(vfp.zregs), stride, 16, VECTOR,
                         CANNOLI_REGS_VECTOR);
    }
    ADD("pstate", pstate, RAW, CANNOLI_REGS_OTHER);
    ADD("btype", btype, RAW, CANNOLI_REGS_OTHER);
    ADD("daif", daif, RAW, CANNOLI_REGS_OTHER);
    ADD("vfp_fpsr", vfp.fpsr, RAW, CANNOLI_REGS_FLOAT);
    ADD("vfp_fpcr", vfp.fpcr, RAW, CANNOLI_REGS_FLOAT);
    ADD("vfp_qc", vfp.qc, RAW, CANNOLI_REGS_FLOAT);
    cannoli_regs_object(ENV(vfp.qc), 16, 1, 16, false);
    ADD_STATUS("fpst_a64", vfp.fp_status[FPST_A64]);
    ADD_STATUS("fpst_a64_f16", vfp.fp_status[FPST_A64_F16]);
    ADD("tpidr_el0", cp15.tpidr_el[0], SPECIAL, CANNOLI_REGS_OTHER);
    ADD("svcr", svcr, SPECIAL, CANNOLI_REGS_OTHER);
    ADD("tpidr2_el0", cp15.tpidr2_el0, SPECIAL, CANNOLI_REGS_OTHER);
}

#elif defined(TARGET_ARM)

void cannoli_regs_target(CPUState *cpu)
{
    intptr_t stride = STRIDE(vfp.zregs);

    cannoli_regs_add("d%d", 0, 32, ENV(vfp.zregs), 8, 8, VECTOR,
                     CANNOLI_REGS_VECTOR);
    QEMU_BUILD_BUG_ON(STRIDE(vfp.zregs) != 16);
    cannoli_regs_object(ENV(vfp.zregs), stride, 16, stride, false);
    ADD("QF", QF, RAW, CANNOLI_REGS_OTHER);
    ADD("GE", GE, RAW, CANNOLI_REGS_OTHER);
    cannoli_regs_object(ENV(GE), 4, 1, 4, false);
    ADD("thumb", thumb, RAW, CANNOLI_REGS_OTHER);
    ADD("condexec_bits", condexec_bits, RAW, CANNOLI_REGS_OTHER);
    cannoli_regs_lazy(UINT64_MAX, UINT64_MAX);
    ADD("uncached_cpsr", uncached_cpsr, RAW, CANNOLI_REGS_OTHER);
    ADD("daif", daif, RAW, CANNOLI_REGS_OTHER);
    ADD("vfp_fpsr", vfp.fpsr, RAW, CANNOLI_REGS_FLOAT);
    ADD("vfp_fpcr", vfp.fpcr, RAW, CANNOLI_REGS_FLOAT);
    ADD("vfp_qc", vfp.qc, RAW, CANNOLI_REGS_FLOAT);
    cannoli_regs_object(ENV(vfp.qc), 16, 1, 16, false);
    ADD("vfp_len", vfp.vec_len, RAW, CANNOLI_REGS_FLOAT);
    ADD("vfp_stride", vfp.vec_stride, RAW, CANNOLI_REGS_FLOAT);
    ADD_STATUS("fpst_a32", vfp.fp_status[FPST_A32]);
    ADD_STATUS("fpst_std", vfp.fp_status[FPST_STD]);
    ADD_STATUS("fpst_a32_f16", vfp.fp_status[FPST_A32_F16]);
    ADD_STATUS("fpst_std_f16", vfp.fp_status[FPST_STD_F16]);
    ADD("fpexc", vfp.xregs[ARM_VFP_FPEXC], SPECIAL, CANNOLI_REGS_OTHER);
    cannoli_regs_add("tpidruro", 0, 1,
                     ENV(cp15.tpidruro_ns) + 4 * HOST_BIG_ENDIAN, 0, 4, SPECIAL,
                     CANNOLI_REGS_OTHER);
}

#elif defined(TARGET_I386)

void cannoli_regs_target(CPUState *cpu)
{
    intptr_t stride = STRIDE(xmm_regs);

    cannoli_regs_object(ENV(xmm_regs), stride, CPU_NB_REGS, stride, false);
    cannoli_regs_add("xmm%d", 0, CPU_NB_REGS, ENV(xmm_regs), stride, 16, VECTOR,
                     CANNOLI_REGS_VECTOR);
    cannoli_regs_add("ymm%dh", 0, CPU_NB_REGS, ENV(xmm_regs) + 16, stride, 16,
                     VECTOR, CANNOLI_REGS_VECTOR);
    stride = STRIDE(fpregs);
    cannoli_regs_object(ENV(fpregs), stride, 8, 16, false);
    cannoli_regs_add("fpr%d_lo", 0, 8, ENV(fpregs[0].d.low), stride, 8, RAW,
                     CANNOLI_REGS_X87);
    cannoli_regs_add("fpr%d_hi", 0, 8, ENV(fpregs[0].d.high), stride, 2, RAW,
                     CANNOLI_REGS_X87);
    ADD("fpst_top", fpstt, RAW, CANNOLI_REGS_X87);
    ADD("fpus", fpus, RAW, CANNOLI_REGS_X87);
    ADD("fpuc", fpuc, RAW, CANNOLI_REGS_X87);
    ADD("fptags", fptags, RAW, CANNOLI_REGS_X87);
    ADD("mxcsr_rest", mxcsr, RAW, CANNOLI_REGS_FLOAT);
    ADD_STATUS("fpst_sse", sse_status);
    ADD("eflags_rest", eflags, RAW, CANNOLI_REGS_OTHER);
    ADD("df", df, RAW, CANNOLI_REGS_OTHER);
    ADD("es", segs[R_ES].selector, 0, CANNOLI_REGS_OTHER);
    ADD("cs", segs[R_CS].selector, 0, CANNOLI_REGS_OTHER);
    ADD("ss", segs[R_SS].selector, 0, CANNOLI_REGS_OTHER);
    ADD("ds", segs[R_DS].selector, 0, CANNOLI_REGS_OTHER);
    ADD("fs", segs[R_FS].selector, 0, CANNOLI_REGS_OTHER);
    ADD("gs", segs[R_GS].selector, 0, CANNOLI_REGS_OTHER);
    ADD("cc_op", cc_op, RAW, CANNOLI_REGS_OTHER);
    cannoli_regs_lazy(CC_OP_DYNAMIC, CC_OP_DYNAMIC);
}

#elif defined(TARGET_RISCV)

void cannoli_regs_target(CPUState *cpu)
{
    const RISCVCPU *riscv = RISCV_CPU(cpu);

    if (riscv->cfg.ext_zve32x) {
        cannoli_regs_add("v%d", 0, 32, ENV(vreg), riscv->cfg.vlenb,
                         riscv->cfg.vlenb, VECTOR, CANNOLI_REGS_VECTOR);
    }
    ADD("vtype_rest", vtype, RAW, CANNOLI_REGS_OTHER);
    ADD("vill", vill, RAW, CANNOLI_REGS_OTHER);
    ADD("vxrm", vxrm, SPECIAL, CANNOLI_REGS_FLOAT);
    ADD("vxsat", vxsat, SPECIAL, CANNOLI_REGS_FLOAT);
    ADD("frm", frm, SPECIAL, CANNOLI_REGS_FLOAT);
    ADD_STATUS("fpst", fp_status);
}

#elif defined(TARGET_MIPS)

void cannoli_regs_target(CPUState *cpu)
{
    ADD("userlocal", active_tc.CP0_UserLocal, SPECIAL, CANNOLI_REGS_OTHER);
    /* The names of these globals are not terminated, or are freed. */
    cannoli_regs_add("w%d.d1", 0, 32, ENV(active_fpu.fpr[0].wr.d[1]),
                     STRIDE(active_fpu.fpr), 8, RAW, CANNOLI_REGS_GLOBAL);
#ifdef TARGET_MIPS64
    cannoli_regs_add("gpr_hi%d", 1, 31, ENV(active_tc.gpr_hi[1]), 8, 8, RAW,
                     CANNOLI_REGS_GLOBAL);
#else
    cannoli_regs_add("xr%d", 1, 15, ENV(active_tc.mxu_gpr[0]), 4, 4, RAW,
                     CANNOLI_REGS_GLOBAL);
    ADD("mxu_cr", active_tc.mxu_cr, RAW, CANNOLI_REGS_GLOBAL);
#endif
}

#elif defined(TARGET_PPC)

void cannoli_regs_target(CPUState *cpu)
{
    intptr_t stride = STRIDE(vsr);

    cannoli_regs_object(ENV(vsr), stride, 64, 16, false);
    for (int i = 0; i < 64; i++) {
        g_autofree char *name = g_strdup_printf("vs%d", i);

        cannoli_regs_add(name, 0, 1, ENV(vsr[0].VsrD(1)) + i * stride, 0, 8,
                         VECTOR | CTR_REG_PIECE, CANNOLI_REGS_VECTOR);
        cannoli_regs_add(name, 0, 1, ENV(vsr[0].VsrD(0)) + i * stride, 0, 8,
                         VECTOR, CANNOLI_REGS_VECTOR);
    }
    ADD("vscr_rest", vscr, RAW, CANNOLI_REGS_FLOAT);
    ADD("vscr_sat", vscr_sat, RAW, CANNOLI_REGS_FLOAT);
    cannoli_regs_object(ENV(vscr_sat), 16, 1, 16, false);
}

#elif defined(TARGET_S390X)

void cannoli_regs_target(CPUState *cpu)
{
    intptr_t stride = STRIDE(vregs);

    cannoli_regs_object(ENV(vregs), stride, 32, 16, false);
    for (int i = 0; i < 32; i++) {
        g_autofree char *name = g_strdup_printf("v%d", i);

        cannoli_regs_add(name, 0, 1, ENV(vregs[0][1]) + i * stride, 0, 8,
                         VECTOR | CTR_REG_PIECE, CANNOLI_REGS_VECTOR);
        cannoli_regs_add(name, 0, 1, ENV(vregs[0][0]) + i * stride, 0, 8,
                         VECTOR, CANNOLI_REGS_VECTOR);
    }
    cannoli_regs_add("acr%d", 0, 16, ENV(aregs), 4, 4, SPECIAL,
                     CANNOLI_REGS_OTHER);
    ADD("fpc", fpc, SPECIAL, CANNOLI_REGS_FLOAT);
    ADD("cc_op", cc_op, RAW, CANNOLI_REGS_OTHER);
    cannoli_regs_lazy(CC_OP_DYNAMIC, CC_OP_STATIC);
}

#elif defined(TARGET_M68K)

void cannoli_regs_target(CPUState *cpu)
{
    ADD("cc_op", cc_op, RAW, CANNOLI_REGS_OTHER);
    cannoli_regs_lazy((target_ulong)CC_OP_DYNAMIC, (target_ulong)CC_OP_DYNAMIC);
}

#else

void cannoli_regs_target(CPUState *cpu)
{
}

#endif

/* ---- names of globals ---- */

typedef struct Name {
    const char *tcg; /* ending in *: a prefix */
    const char *gdb; /* NULL: no register; "": the same */
    uint8_t flags;
} Name;

static const Name names[] = {
#if defined(TARGET_AARCH64)
    { "r*", NULL },        { "lr", "x30" },         { "NF", "", RAW },
    { "ZF", "", RAW },     { "CF", "", RAW },       { "VF", "", RAW },
#elif defined(TARGET_ARM)
    { "r13", "sp" },       { "r14", "lr" },         { "NF", "", RAW },
    { "ZF", "", RAW },     { "CF", "", RAW },       { "VF", "", RAW },
#elif defined(TARGET_I386)
    { "eip", NULL },       { "rip", NULL },         { "cc_*", "", RAW },
    { "bnd*", "", RAW },
#elif defined(TARGET_RISCV)
    { "x8/s0", "fp" },       { "load_*", NULL },
    { "vl", "", SPECIAL },   { "vstart", "", SPECIAL },
#elif defined(TARGET_MIPS)
    { "HI0", "hi" }, { "LO0", "lo" }, { "HI1", "hi1" }, { "LO1", "lo1" },
    { "HI2", "hi2" }, { "LO2", "lo2" }, { "HI3", "hi3" }, { "LO3", "lo3" },
    { "DSPControl", "dspctl", SPECIAL }, { "fcr31", "fcsr", SPECIAL },
    { "fcr0", "fir", SPECIAL },
    { "bcond", NULL }, { "btarget", NULL }, { "hflags", NULL },
#elif defined(TARGET_PPC)
    { "xer", "xer_rest", RAW }, { "SO", "", RAW }, { "OV", "", RAW },
    { "CA", "", RAW }, { "OV32", "", RAW }, { "CA32", "", RAW },
    { "crf*", "", RAW }, { "nip", NULL }, { "cfar", NULL },
    { "fpscr", "", SPECIAL }, { "msr", "", SPECIAL }, { "access_type", NULL },
#elif defined(TARGET_S390X)
    { "psw_addr", NULL },  { "psw_mask", "", RAW }, { "cc_*", "", RAW },
    { "gbea", "", RAW },
#elif defined(TARGET_HPPA)
    { "iaoq*", NULL },     { "iasq*", NULL },       { "psw_*", "", RAW },
#elif defined(TARGET_HEXAGON)
    { "store_*", NULL },    { "vstore*", NULL },     { "slot_cancelled", NULL },
    { "new_value*", NULL }, { "llsc*", NULL },       { "pkt_*", NULL },
#elif defined(TARGET_M68K)
    { "NULL", NULL },      { "CC_*", "", RAW },
#elif defined(TARGET_SPARC)
    { "regwptr", NULL },   { "npc", NULL },         { "cond", NULL },
#elif defined(TARGET_OPENRISC)
    { "ppc", NULL },       { "jmp_pc", NULL },      { "dflag", NULL },
    { "sr_*", "", RAW },
#elif defined(TARGET_SH4)
    { "SR*", "", RAW },
#endif
    { "pc", NULL },        { "PC", NULL },          { "_*", NULL },
    { "cannoli_*", NULL }, { "exclusive_*", NULL }, { "reserve_*", NULL },
    { "lock_*", NULL },    { "ll*", NULL },         { "res_*", NULL },
};

const char *cannoli_regs_name(const char *name, uint8_t *flags)
{
    for (int i = 0; i < ARRAY_SIZE(names); i++) {
        size_t n = strlen(names[i].tcg);

        if (names[i].tcg[n - 1] == '*' ? !strncmp(names[i].tcg, name, n - 1)
                                       : !strcmp(names[i].tcg, name)) {
            *flags = names[i].flags;
            return names[i].gdb && !*names[i].gdb ? name : names[i].gdb;
        }
    }
#ifdef TARGET_RISCV
    /* "x1/ra", and "x1h/rah" for the upper halves of RV128 */
    if (strchr(name, '/')) {
        return strstr(name, "h/") ? NULL : strchr(name, '/') + 1;
    }
#endif
    return name;
}

/* ---- helpers ---- */

/*
 * Registers, and sets of them to compare ("=globals", "=x87"), that a helper
 * may write besides what it gets a pointer to; the first name that fits counts.
 * A * stands for any characters, a ? for one.  Registers that the target does
 * not have are skipped.
 */
typedef struct Rule {
    const char *helper;
    const char *writes;
} Rule;

static const Rule rules[] = {
    { "atomic_*", "" },
    { "nonatomic_*", "" },
    { "ld_i128", "" },
    { "st_i128", "" },
    { "lookup_tb_ptr", "" },
    { "cannoli_jump", "" },
    { "exit_atomic", "" },
    { "memset", "" },
#if defined(TARGET_AARCH64)
    { "guarded_page_check", "" },
    { "guarded_page_br", "btype" },
    { "dc_zva", "" },
    { "rebuild_hflags_*", "" },
    { "mte_*", "" },
    { "pac*", "" },
    { "aut*", "" },
    { "xpac*", "" },
#elif defined(TARGET_ARM)
    { "shl_cc", "CF" },
    { "shr_cc", "CF" },
    { "sar_cc", "CF" },
    { "ror_cc", "CF" },
    { "vfp_cmp*", "vfp_fpsr fpst_a32 fpst_a32_f16" },
    { "add_saturate", "QF" },
    { "sub_saturate", "QF" },
    { "add_usaturate", "QF" },
    { "sub_usaturate", "QF" },
    { "ssat*", "QF" },
    { "usat*", "QF" },
    { "rebuild_hflags_*", "" },
    { "vfp_get_fpscr", "" },
#elif defined(TARGET_I386)
    { "div?_*", "rax rdx eax edx" },
    { "idiv?_*", "rax rdx eax edx" },
    { "cpuid", "=globals" },
    { "read_eflags", "" },
    { "update_mxcsr", "mxcsr_rest" },
    { "f*comi_ST0_FT0", "=x87 cc_src cc_op" },
    { "f*_FT0", "=x87" },
    { "f*_ST0", "=x87" },
    { "f*_STN", "=x87" },
    { "fpush", "=x87" },
    { "fpop", "=x87" },
    { "f*stp", "=x87" },
    { "fnst?w", "" },
    { "enter_mmx", "=x87" },
    { "emms", "=x87" },
    { "fsqrt", "=x87" },
    { "frndint", "=x87" },
    { "fscale", "=x87" },
    { "fprem*", "=x87" },
    { "f2xm1", "=x87" },
    { "fyl2x*", "=x87" },
    { "fsin*", "=x87" },
    { "fcos", "=x87" },
    { "fp*tan", "=x87" },
    { "fxtract", "=x87" },
    { "fldcw", "=x87" },
    { "fninit", "=x87" },
    { "fclex", "=x87" },
    { "*comis?", "fpst_sse cc_src cc_op" },
    { "ptest_*", "cc_src cc_op" },
    { "vtestp?_*", "cc_src cc_op" },
    { "pcmp?str?_*", "cc_src cc_op rcx ecx xmm0 ymm0h" },
    { "*_mmx", "fpst_sse" },
    { "*_xmm", "fpst_sse" },
    { "*_ymm", "fpst_sse" },
    { "adds?", "fpst_sse" },
    { "subs?", "fpst_sse" },
    { "muls?", "fpst_sse" },
    { "divs?", "fpst_sse" },
    { "mins?", "fpst_sse" },
    { "maxs?", "fpst_sse" },
    { "sqrts?", "fpst_sse" },
    { "rsqrtss", "fpst_sse" },
    { "rcpss", "fpst_sse" },
    { "cvt*", "fpst_sse" },
    { "cmp*s?", "fpst_sse" },
    { "fma4s?", "fpst_sse" },
#elif defined(TARGET_RISCV)
    { "f*_s", "fpst" },
    { "f*_d", "fpst" },
    { "f*_h", "fpst" },
    { "fcvt*", "fpst" },
    { "set_rounding_mode*", "" },
#elif defined(TARGET_MIPS)
    { "float_*", "fcsr" },  { "r6_cmp_*", "fcsr" },  { "cmp_*", "fcsr" },
    { "cmpabs_*", "fcsr" },
#endif
};

const char *cannoli_regs_rule(const char *helper)
{
    for (int i = 0; i < ARRAY_SIZE(rules); i++) {
        if (g_pattern_match_simple(rules[i].helper, helper)) {
            return rules[i].writes;
        }
    }
    return NULL;
}

unsigned cannoli_regs_vector_bytes(const TranslationBlock *tb)
{
#ifdef TARGET_AARCH64
    CPUARMTBFlags flags = { tb->flags, tb->cs_base };
    unsigned vl = (EX_TBFLAG_A64(flags, VL) + 1) * 16;
    unsigned svl = (EX_TBFLAG_A64(flags, SVL) + 1) * 16;

    return MAX(vl, svl);
#else
    return 0;
#endif
}

/* ---- outside of cpu_exec ---- */

void cannoli_regs_outside_form(CPUState *cpu, uint8_t *state)
{
#ifdef TARGET_I386
    /* As x86_cpu_exec_enter will do. */
    const uint32_t flags = CC_O | CC_S | CC_Z | CC_A | CC_P | CC_C;
    CPUX86State *env = cpu_env(cpu);

    cannoli_regs_put(state, "cc_op", CC_OP_EFLAGS);
    cannoli_regs_put(state, "cc_src", env->eflags & flags);
    cannoli_regs_put(state, "df", env->eflags & DF_MASK ? -1 : 1);
    cannoli_regs_put(state, "eflags_rest", env->eflags & ~(DF_MASK | flags));
#endif
}
