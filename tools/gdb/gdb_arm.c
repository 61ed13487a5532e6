/* SPDX-License-Identifier: MIT */
/* The registers of arm and aarch64, with gdb's features org.gnu.gdb.arm.* and .aarch64.*. */
#include "gdb/gdb_tables.h"

/* The FPA registers, which gdb had between the pc and cpsr, leave a gap. */
static const struct gdb_run arm_core[] = {
    {"r0..12", 32, NULL, NULL, NULL},
    {"sp", 32, "data_ptr", NULL, NULL},
    {"lr", 32, NULL, NULL, NULL},
    {"pc", 32, "code_ptr", NULL, GDB_FROM_PC},
    {"cpsr", 32, NULL, NULL, NULL, .at = 25},
    {0},
};

/*
 * A q register is two d registers.  QEMU's packets have the halves of a little-endian
 * target in the wrong order (vfp_gdb_get_reg takes them for high and low); here they are
 * as its registers are, and as QEMU itself reads them when gdb writes one.
 */
static const struct gdb_run arm_neon[] = {
    {"d0..31", 64, "neon_d", NULL, NULL},
    {"q0..15", 128, "neon_q", NULL, "d0..31"},
    {"fpscr", 32, "int", "float", NULL},
    {0},
};

static const struct gdb_run arm_vfp_sysregs[] = {
    {"fpsid", 32, "int", "float", GDB_FROM_NOTHING},
    {"fpexc", 32, "int", "float", NULL},
    {0},
};

static const struct gdb_run arm_system[] = {
    {"TPIDRURO", 32, "int", "cp_regs", "tpidruro", .if_recorded = true},
    {0},
};

static const struct gdb_feature arm[] = {
    {"org.gnu.gdb.arm.core", "", arm_core},
    {"org.gnu.gdb.arm.vfp",
     "vector neon_uint8x8 uint8 8;vector neon_uint16x4 uint16 4;"
     "vector neon_uint32x2 uint32 2;vector neon_float32x2 ieee_single 2;"
     "union neon_d u8 neon_uint8x8 u16 neon_uint16x4 u32 neon_uint32x2 u64 uint64 "
     "f32 neon_float32x2 f64 ieee_double;"
     "vector neon_uint8x16 uint8 16;vector neon_uint16x8 uint16 8;"
     "vector neon_uint32x4 uint32 4;vector neon_uint64x2 uint64 2;"
     "vector neon_float32x4 ieee_single 4;vector neon_float64x2 ieee_double 2;"
     "union neon_q u8 neon_uint8x16 u16 neon_uint16x8 u32 neon_uint32x4 "
     "u64 neon_uint64x2 f32 neon_float32x4 f64 neon_float64x2;",
     arm_neon},
    {"org.qemu.gdb.arm.vfp-sysregs", "", arm_vfp_sysregs},
    {"org.qemu.gdb.arm.sys.regs", "", arm_system, .others = "cp_regs"},
    {0},
};

/* --------------------------------------------------------------- M-profile */

static const struct gdb_run arm_m_core[] = {
    {"r0..12", 32, NULL, NULL, NULL},
    {"sp", 32, "data_ptr", NULL, NULL},
    {"lr", 32, NULL, NULL, NULL},
    {"pc", 32, "code_ptr", NULL, GDB_FROM_PC},
    {"xpsr", 32, NULL, NULL, NULL, .at = 25},
    {0},
};

static const struct gdb_run arm_m_vfp[] = {
    {"d0..15", 64, "float", NULL, NULL},
    {"fpscr", 32, "int", "float", NULL},
    {0},
};

static const struct gdb_run arm_m_coprocessors[] = {
    {0}, /* there are none, but QEMU has the feature */
};

static const struct gdb_run arm_m_system[] = {
    {"msp psp primask control basepri faultmask", 32, "int", NULL, NULL},
    {0},
};

/* gdb finds the callers of handlers by msp and psp, which of processors with the Security
 * extension are not recorded, or else by sp. */
static const struct gdb_feature arm_m[] = {
    {"org.gnu.gdb.arm.m-profile", "", arm_m_core},
    {"org.gnu.gdb.arm.vfp", "", arm_m_vfp, .with = "fpccr"},
    {"org.qemu.gdb.arm.sys.regs", "", arm_m_coprocessors},
    {"org.gnu.gdb.arm.m-system", "", arm_m_system, .with = "msp"},
    {0},
};

/* ----------------------------------------------------------------- aarch64 */

static const struct gdb_run a64_core[] = {
    {"x0..30", 64, NULL, NULL, NULL},
    {"sp", 64, "data_ptr", NULL, NULL},
    {"pc", 64, "code_ptr", NULL, GDB_FROM_PC},
    {"cpsr", 32, NULL, NULL, NULL},
    {0},
};

static const struct gdb_run a64_fpu[] = {
    {"v0..31", 128, "aarch64v", NULL, NULL},
    {"fpsr fpcr", 32, NULL, NULL, NULL},
    {0},
};

static const struct gdb_run a64_sve[] = {
    {"z0..31", 0, "svev", NULL, NULL, .unit = 16},
    {"fpsr fpcr", 32, "int", "float", NULL},
    {"p0..15", 0, "svep", NULL, NULL, .unit = 8},
    {"ffr", 0, "svep", "vector", NULL, .unit = 8},
    {"vg", 64, "int", NULL, GDB_FROM_NOTHING},
    {0},
};

/* The bits of a pointer that its signature takes, in QEMU's user-mode emulation: addresses
 * have 48 bits, and in the lower half the highest byte is free for tags. */
static const struct gdb_run a64_pauth[] = {
    {"pauth_dmask pauth_cmask", 64, NULL, NULL, "=0x00ff000000000000"},
    {"pauth_dmask_high pauth_cmask_high", 64, NULL, NULL, "=0xffff000000000000"},
    {0},
};

static const struct gdb_run a64_mte[] = {
    {"tag_ctl", 64, "uint64", "system", GDB_FROM_NOTHING},
    {0},
};

static const struct gdb_run a64_system[] = {
    {"TPIDR_EL0", 64, "int", "cp_regs", "tpidr_el0", .if_recorded = true},
    {"SVCR TPIDR2_EL0", 64, "int", "cp_regs", "svcr tpidr2_el0", .with = "z0",
     .if_recorded = true},
    {0},
};

/*
 * Pointer authentication, memory tagging and SME have no register in the trace that shows
 * them: they are described on a processor with SVE, as QEMU's default one for programs is.  Without
 * the masks, gdb would not find the callers of functions that sign their return address.
 */
static const struct gdb_feature aarch64[] = {
    {"org.gnu.gdb.aarch64.core", "", a64_core},
    {"org.gnu.gdb.aarch64.fpu",
     "vector v2d ieee_double 2;vector v2u uint64 2;vector v2i int64 2;"
     "vector v4f ieee_single 4;vector v4u uint32 4;vector v4i int32 4;"
     "vector v8u uint16 8;vector v8i int16 8;vector v16u uint8 16;vector v16i int8 16;"
     "vector v1u uint128 1;vector v1i int128 1;"
     "union vnd f v2d u v2u s v2i;union vns f v4f u v4u s v4i;union vnh u v8u s v8i;"
     "union vnb u v16u s v16i;union vnq u v1u s v1i;"
     "union aarch64v d vnd s vns h vnh b vnb q vnq;",
     a64_fpu, .without = "z0"},
    {"org.gnu.gdb.aarch64.sve",
     "vector svevqu uint128 /128;vector svevqs int128 /128;"
     "vector svevdf ieee_double /64;vector svevdu uint64 /64;vector svevds int64 /64;"
     "vector svevsf ieee_single /32;vector svevsu uint32 /32;vector svevss int32 /32;"
     "vector svevhf ieee_half /16;vector svevhu uint16 /16;vector svevhs int16 /16;"
     "vector svevbu uint8 /8;vector svevbs int8 /8;"
     "union svevnb u svevbu s svevbs;union svevnh f svevhf u svevhu s svevhs;"
     "union svevns f svevsf u svevsu s svevss;union svevnd f svevdf u svevdu s svevds;"
     "union svevnq u svevqu s svevqs;"
     "union svev q svevnq d svevnd s svevns h svevnh b svevnb;"
     "vector svep uint8 /64;",
     a64_sve, .with = "z0", .width = "z0"},
    {"org.gnu.gdb.aarch64.pauth_v2", "", a64_pauth, .when = GDB_PROGRAM, .with = "z0"},
    {"org.gnu.gdb.aarch64.mte", "", a64_mte, .when = GDB_PROGRAM, .with = "z0"},
    {"org.qemu.gdb.arm.sys.regs", "", a64_system, .others = "cp_regs", .others_bits = 64},
    {0},
};

const struct gdb_target gdb_targets_arm[] = {
    {"arm armeb", "arm", "sp", arm_m, .with = "primask"},
    {"arm armeb", "arm", "sp", arm},
    {"aarch64 aarch64_be", "aarch64", "sp", aarch64},
    {0},
};
