/* SPDX-License-Identifier: MIT */
/*
 * The registers of arm and aarch64 that QEMU keeps in parts. The formulas are those with which QEMU answers an instruction or gdb, see
 * FORMAT.md, section 4.8.
 */
#include "model/derive_priv.h"

static uint64_t nzcv(uint64_t nf, uint64_t zf, uint64_t cf, uint64_t vf)
{
    return (nf & 0x80000000u) | (uint64_t)(zf == 0) << 30 | cf << 29 |
           (vf & 0x80000000u) >> 3;
}

struct regval arm_cpsr(const struct derive_args *a)
{
    return whole(nzcv(IN(0), IN(1), IN(2), IN(3)) | IN(4) << 27 | IN(5) << 16 |
                 (IN(6) & 3) << 25 | (IN(6) & 0xfc) << 8 | IN(7) | IN(8) << 5 |
                 (IN(9) & 0x1c0));
}

static uint64_t arm_exceptions(uint64_t f)
{
    return (f & F_INVALID ? 1u : 0) | (f & F_DIVBYZERO ? 2u : 0) |
           (f & F_OVERFLOW ? 4u : 0) | (f & (F_UNDERFLOW | F_OUT_FLUSHED) ? 8u : 0) |
           (f & F_INEXACT ? 0x10u : 0) | (f & F_IN_FLUSHED ? 0x80u : 0);
}

static uint64_t arm_qc(struct regval qc)
{
    return (uint64_t)((qc.lo | qc.hi) != 0) << 27;
}

struct regval arm_fpscr(const struct derive_args *a)
{
    uint64_t f = IN(5) | IN(6) | ((IN(7) | IN(8)) & ~(uint64_t)F_IN_FLUSHED);
    uint64_t fpcr = IN(1) | IN(3) << 16 | IN(4) << 20;
    uint64_t fpsr = IN(0) | arm_exceptions(f) | arm_qc(a->in[2]);
    return whole((fpcr & 0x07ff9f00u) | (fpsr & 0xf800009fu));
}

struct regval a64_cpsr(const struct derive_args *a)
{
    return whole(nzcv(IN(0), IN(1), IN(2), IN(3)) | IN(4) | IN(5) << 10 | IN(6));
}

struct regval a64_fpsr(const struct derive_args *a)
{
    uint64_t fpcr = IN(1);
    uint64_t f = IN(3) | (IN(4) & ~(uint64_t)(F_IN_FLUSHED | F_IN_DENORMAL));
    if ((fpcr & 0x01000002u) != 0x01000000u) {
        f &= ~(uint64_t)F_IN_FLUSHED;
    }
    uint64_t exc = arm_exceptions(f);
    if (fpcr & 2) {
        exc |= (f & F_IN_DENORMAL ? 0x80u : 0) | (f & F_OUT_FLUSHED ? 0x10u : 0);
    }
    return whole(IN(0) | exc | arm_qc(a->in[2]));
}
