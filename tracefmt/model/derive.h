/* SPDX-License-Identifier: MIT */
/* Registers that QEMU keeps in parts: the formulas of FORMAT.md, section 4.8. */
#ifndef CTR_DERIVE_H
#define CTR_DERIVE_H

#include <stdint.h>

#define DERIVE_MAX_IN 17u

/* A register's value, or a part's, at most 16 bytes. */
struct regval {
    uint64_t lo, hi;
};

/* The arguments of a formula. */
struct derive_args {
    const struct regval *in;
    unsigned number; /* index among several alike */
    unsigned bits;   /* width of the result */
};

struct derive {
    uint16_t machine[2]; /* e_machine, 0: none */
    uint8_t count;       /* number of registers alike, numbered from 0; 0: just one */
    uint8_t size;        /* bytes; 0: as the last part */
    uint8_t flags;       /* CTR_REG_* */
    const char *name;    /* in this and the parts, % is a placeholder for the number */
    struct regval (*fn)(const struct derive_args *a);
    const char *in[DERIVE_MAX_IN]; /* parts, all of which must exist */
};

/* derive_arm.c; parts as in the table. */
struct regval arm_cpsr(const struct derive_args *a);
struct regval arm_xpsr(const struct derive_args *a);
struct regval arm_msp(const struct derive_args *a);
struct regval arm_psp(const struct derive_args *a);
struct regval arm_fpscr(const struct derive_args *a);
struct regval a64_cpsr(const struct derive_args *a);
struct regval a64_fpsr(const struct derive_args *a);
struct regval arm_disr(const struct derive_args *a);
struct regval arm_disr_ns(const struct derive_args *a);
struct regval a64_disr(const struct derive_args *a);
struct regval a64_disr_ns(const struct derive_args *a);
struct regval arm_cpacr(const struct derive_args *a);
struct regval arm_hcptr(const struct derive_args *a);
struct regval a64_el12(const struct derive_args *a);

/* derive_s390x.c; parts: psw_mask, cc_op, cc_src, cc_dst, cc_vr. */
struct regval s390x_pswm(const struct derive_args *a);

/* derive_riscv.c; parts as in the table. */
struct regval riscv_fflags(const struct derive_args *a);
struct regval riscv_fcsr(const struct derive_args *a);
struct regval riscv_vcsr(const struct derive_args *a);
struct regval riscv_vtype(const struct derive_args *a);
struct regval riscv_mstatus(const struct derive_args *a);
struct regval riscv_sstatus(const struct derive_args *a);
struct regval riscv_mip(const struct derive_args *a);
struct regval riscv_sip(const struct derive_args *a);
struct regval riscv_sie(const struct derive_args *a);
struct regval riscv_hip(const struct derive_args *a);
struct regval riscv_hie(const struct derive_args *a);
struct regval riscv_hvip(const struct derive_args *a);
struct regval riscv_vsip(const struct derive_args *a);
struct regval riscv_vsie(const struct derive_args *a);
struct regval riscv_misa(const struct derive_args *a);
struct regval riscv_priv(const struct derive_args *a);
struct regval riscv_hstatus(const struct derive_args *a);
struct regval riscv_henvcfg(const struct derive_args *a);
struct regval riscv_henvcfgh(const struct derive_args *a);
struct regval riscv_pmpcfg(const struct derive_args *a);

/* All of them; the last one has no name. */
extern const struct derive derive_all[];

#endif
