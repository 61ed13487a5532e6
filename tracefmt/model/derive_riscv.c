/* SPDX-License-Identifier: MIT */
/*
 * The registers of riscv that QEMU computes when they are read: of floating point and
 * vectors, of interrupts, and of what a hypervisor or a mode without privileges has.
 * The formulas are those with which QEMU answers an instruction or gdb, see FORMAT.md,
 * section 4.8.
 */
#include "model/derive_priv.h"

static uint64_t riscv_flags(uint64_t f)
{
    return (f & F_INVALID ? 0x10u : 0) | (f & F_DIVBYZERO ? 8u : 0) |
           (f & F_OVERFLOW ? 4u : 0) | (f & F_UNDERFLOW ? 2u : 0) |
           (f & F_INEXACT ? 1u : 0);
}

struct regval riscv_fflags(const struct derive_args *a)
{
    return whole(riscv_flags(IN(0)));
}

struct regval riscv_fcsr(const struct derive_args *a)
{
    return whole(riscv_flags(IN(0)) | IN(1) << 5);
}

struct regval riscv_vcsr(const struct derive_args *a)
{
    return whole(IN(0) << 1 | IN(1));
}

struct regval riscv_vtype(const struct derive_args *a)
{
    return whole(IN(1) | (IN(0) & 1) << (a->bits - 1));
}

/* Its highest bit says that the state of an extension is dirty. */
static uint64_t riscv_status(const struct derive_args *a, uint64_t mask)
{
    const uint64_t s = IN(0) & mask;
    const int dirty =
        (s & 0x6000) == 0x6000 || (s & 0x600) == 0x600 || (s & 0x18000) == 0x18000;
    return (a->bits == 32 ? (uint32_t)s : s) | (uint64_t)dirty << (a->bits - 1);
}

struct regval riscv_mstatus(const struct derive_args *a)
{
    return whole(riscv_status(a, UINT64_MAX));
}

struct regval riscv_sstatus(const struct derive_args *a)
{
    return whole(riscv_status(a, 0x3000de733));
}

/* -------------------------------------------------------------- interrupts */

/* By the mode that they interrupt; from 16 on those of the processor itself. */
#define S_MODE 0x222ull
#define VS_MODE 0x444ull
#define HS_MODE 0x1444ull
#define LOCAL (~0xffffull)
#define STIP 0x20ull
#define VSTIP 0x40ull
#define VSEIP 0x400ull

#define MACHINE_MODE 3u

/* Parts 0 to 3: mip_rest, hgeip, hstatus_rest, vstime_irq. */
static uint64_t pending(const struct derive_args *a)
{
    const unsigned guest = IN(2) >> 12 & 0x3f;
    return IN(0) | (IN(1) >> guest & 1 ? VSEIP : 0) | (IN(3) ? VSTIP : 0);
}

/* A supervisor of a guest sees its interrupts where those of a supervisor are. */
static uint64_t as_supervisor(uint64_t bits)
{
    return (bits & ~VS_MODE) | (bits & VS_MODE) >> 1;
}

static uint64_t guest_pending(uint64_t mip, uint64_t hideleg, uint64_t hvien,
                              uint64_t hvip)
{
    const uint64_t mask = (hideleg & VS_MODE) | (hvien & ~hideleg);
    const uint64_t from_mip = (hideleg | (~hvien & ~VS_MODE)) & (hideleg | hvien);
    return as_supervisor(((mip & from_mip) | (hvip & ~hideleg & hvien)) & mask);
}

static uint64_t guest_enabled(uint64_t mie, uint64_t hideleg, uint64_t hvien,
                              uint64_t vsie)
{
    return as_supervisor(mie & (LOCAL | VS_MODE) & hideleg) |
           (vsie & LOCAL & ~hideleg & hvien);
}

struct regval riscv_mip(const struct derive_args *a)
{
    return whole(pending(a));
}

/*
 * After the parts of pending(): mideleg, mvien, mvip, priv_mode, menvcfg_stce,
 * virt_enabled, hideleg, hvien, hvip_rest.
 */
struct regval riscv_sip(const struct derive_args *a)
{
    const uint64_t mideleg = IN(4), mvien = IN(5);
    const uint64_t delegated = (mideleg | mvien) & (S_MODE | LOCAL);
    uint64_t from_mip = (mideleg | ~mvien | STIP) & delegated;
    if (IN(9)) {
        return whole(guest_pending(pending(a), IN(10), IN(11), IN(12)) & delegated);
    }
    if (IN(7) == MACHINE_MODE && IN(8) & 0x80) {
        from_mip &= ~STIP;
    }
    return whole(((pending(a) & from_mip) | (IN(6) & ~mideleg & mvien)) & delegated);
}

/* mie, mideleg, mvien, sie_rest, virt_enabled, hideleg, hvien, vsie_rest */
struct regval riscv_sie(const struct derive_args *a)
{
    const uint64_t shared = (S_MODE | LOCAL) & IN(1);
    if (IN(4)) {
        return whole(guest_enabled(IN(0), IN(5), IN(6), IN(7)) & shared);
    }
    return whole((IN(0) & shared) | (IN(3) & (S_MODE | LOCAL) & ~IN(1) & IN(2)));
}

struct regval riscv_hip(const struct derive_args *a)
{
    return whole(pending(a) & HS_MODE);
}

struct regval riscv_hie(const struct derive_args *a)
{
    return whole(IN(0) & HS_MODE);
}

/* mip_rest, hideleg, hvien, hvip_rest */
struct regval riscv_hvip(const struct derive_args *a)
{
    return whole((IN(0) & (IN(1) | ~IN(2) | VS_MODE)) | (IN(3) & ~IN(1) & IN(2)));
}

/* After the parts of pending(): hideleg, hvien, hvip_rest. */
struct regval riscv_vsip(const struct derive_args *a)
{
    return whole(guest_pending(pending(a), IN(4), IN(5), IN(6)));
}

struct regval riscv_vsie(const struct derive_args *a)
{
    return whole(guest_enabled(IN(0), IN(1), IN(2), IN(3)));
}

/* ------------------------------------------------------------------- others */

struct regval riscv_misa(const struct derive_args *a)
{
    return whole(IN(0) | (a->bits == 32 ? 1ull : 2ull) << (a->bits - 2));
}

struct regval riscv_priv(const struct derive_args *a)
{
    return whole(IN(1) | IN(0) << 2);
}

/* Guests are little-endian and, of 64 bits, have 64 bits. */
struct regval riscv_hstatus(const struct derive_args *a)
{
    const uint64_t v = IN(0) & ~0x20ull;
    return whole(a->bits == 32 ? v : (v & ~(3ull << 32)) | 2ull << 32);
}

/* A hypervisor has these if menvcfg lets it: STCE, PBMTE, ADUE, DTE. */
#define HENVCFG_LENT 0xe800000000000000ull

struct regval riscv_henvcfg(const struct derive_args *a)
{
    return whole(IN(0) & (~HENVCFG_LENT | IN(1)));
}

struct regval riscv_henvcfgh(const struct derive_args *a)
{
    return whole(IN(0) & (~(HENVCFG_LENT >> 32) | IN(1)));
}

/* One byte for each area; the last part has the register's width. */
struct regval riscv_pmpcfg(const struct derive_args *a)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < a->bits / 8; i++) {
        v |= IN(i) << i * 8;
    }
    return whole(v);
}
