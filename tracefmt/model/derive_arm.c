/* SPDX-License-Identifier: MIT */
/*
 * The registers of arm and aarch64 that QEMU keeps in parts, or of which others decide what
 * is read. The formulas are those with which QEMU answers an instruction or gdb, see
 * FORMAT.md, section 4.8.
 */
#include "model/derive_priv.h"

#include <stdbool.h>

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

struct regval arm_xpsr(const struct derive_args *a)
{
    return whole(nzcv(IN(0), IN(1), IN(2), IN(3)) | IN(4) << 27 | IN(5) << 16 |
                 (IN(6) & 3) << 25 | (IN(6) & 0xfc) << 8 | IN(7) << 24 | IN(8));
}

/* One of the two stack pointers is sp: in handlers, and unless SPSEL is set, the main one. */
static bool is_psp(const struct derive_args *a)
{
    return !IN(2) && IN(3) & 2;
}

struct regval arm_msp(const struct derive_args *a)
{
    return a->in[is_psp(a)];
}

struct regval arm_psp(const struct derive_args *a)
{
    return a->in[!is_psp(a)];
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

/* ------------------------------------------------------ the system's registers */

#define MODE_USER 0x10u
#define MODE_MONITOR 0x16u
#define MODE_HYP 0x1au

#define SCR_NS 1u
#define SCR_EA 8u
#define SCR_RW 0x400u
#define SCR_EEL2 0x40000u

#define HCR_AMO 0x20u
#define HCR_TGE 0x8000000u
#define HCR_E2H 0x400000000ull

static unsigned level_of_mode(uint64_t cpsr)
{
    switch (cpsr & 0x1f) {
    case MODE_USER:
        return 0;
    case MODE_HYP:
        return 2;
    case MODE_MONITOR:
        return 3;
    default:
        return 1;
    }
}

/* DISR_EL1 is VDISR_EL2 for a guest of EL2, and 0 where EL3 gets external aborts. */
static uint64_t disr(const struct derive_args *a, unsigned level, int el3)
{
    const uint64_t scr = el3 ? IN(3) : SCR_NS | SCR_RW;
    uint64_t hcr = scr & (SCR_NS | SCR_EEL2) ? IN(2) : 0;
    if (!(scr & SCR_RW)) {
        hcr &= ~HCR_E2H;
    }
    if (hcr & HCR_TGE) {
        hcr = hcr & HCR_E2H ? 0 : HCR_AMO;
    }
    if (level < 2 && hcr & HCR_AMO) {
        return IN(1);
    }
    return level < 3 && el3 && scr & SCR_EA ? 0 : IN(0);
}

/* disr_rest, VDISR_EL2, HCR, SCR, uncached_cpsr */
struct regval arm_disr(const struct derive_args *a)
{
    const unsigned level = level_of_mode(IN(4));
    /* All modes of the secure world but that of programs are EL3's. */
    return whole(disr(a, level == 1 && !(IN(3) & SCR_NS) ? 3 : level, 1));
}

struct regval arm_disr_ns(const struct derive_args *a)
{
    return whole(disr(a, level_of_mode(IN(4)), 0));
}

/* disr_rest, VDISR_EL2, HCR_EL2, SCR_EL3, aarch64, uncached_cpsr, pstate */
static unsigned a64_level(const struct derive_args *a)
{
    return IN(4) ? IN(6) >> 2 & 3 : level_of_mode(IN(5));
}

struct regval a64_disr(const struct derive_args *a)
{
    return whole(disr(a, a64_level(a), 1));
}

struct regval a64_disr_ns(const struct derive_args *a)
{
    return whole(disr(a, a64_level(a), 0));
}

/* Parts: the register, NSACR, SCR, uncached_cpsr. */
static int nsacr_denies(const struct derive_args *a)
{
    const int secure = !(IN(2) & SCR_NS) || (IN(3) & 0x1f) == MODE_MONITOR;
    return !secure && !(IN(1) & 0x400);
}

struct regval arm_cpacr(const struct derive_args *a)
{
    return whole(nsacr_denies(a) ? 0xff0fffffu : IN(0)); /* QEMU's, not the manual's */
}

struct regval arm_hcptr(const struct derive_args *a)
{
    return whole(nsacr_denies(a) ? IN(0) | 0xc00 : IN(0));
}

/* In place of registers of EL1: a part that only processors with the name have, and it. */
struct regval a64_el12(const struct derive_args *a)
{
    return whole(IN(1));
}
