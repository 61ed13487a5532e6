/* SPDX-License-Identifier: MIT */
/*
 * The registers of m68k, loongarch64, sparc64, alpha, hppa and sh4.  Of the last three gdb
 * reads no description: it has numbers and sizes of its own, which QEMU's packets follow.
 */
#include "gdb/gdb_tables.h"

/* -------------------------------------------------------------------- m68k */

static const struct gdb_run m68k_core[] = {
    {"d0..7", 32, NULL, NULL, "D0..7"},
    {"a0..5 fp sp", 32, "data_ptr", NULL, "A0..7"},
    {"ps", 32, NULL, NULL, GDB_FROM_NOTHING},
    {"pc", 32, "code_ptr", NULL, GDB_FROM_PC},
    {0},
};

static const struct gdb_run m68k_fp[] = {
    {"fp0..7", 96, "float", "float", GDB_FROM_NOTHING},
    {"fpcontrol fpstatus", 32, NULL, "float", GDB_FROM_NOTHING},
    {"fpiaddr", 32, "code_ptr", "float", GDB_FROM_NOTHING},
    {0},
};

static const struct gdb_feature m68k[] = {
    {"org.gnu.gdb.m68k.core", "", m68k_core},
    {"org.gnu.gdb.coldfire.fp", "", m68k_fp},
    {0},
};

/* --------------------------------------------------------------- loongarch */

static const struct gdb_run loongarch_base[] = {
    {"r0", 64, "uint64", "general", GDB_FROM_ZERO},
    {"r1", 64, "code_ptr", "general", NULL},
    {"r2..3", 64, "data_ptr", "general", NULL},
    {"r4..21", 64, "uint64", "general", NULL},
    {"r22", 64, "data_ptr", "general", NULL},
    {"r23..31", 64, "uint64", "general", NULL},
    {"orig_a0", 64, "uint64", "general", GDB_FROM_NOTHING},
    {"pc", 64, "code_ptr", "general", GDB_FROM_PC},
    {"badv", 64, "code_ptr", "general", GDB_FROM_NOTHING},
    {0},
};

static const struct gdb_run loongarch_fpu[] = {
    {"f0..31", 64, "fputype", "float", NULL},
    {"fcc0..7", 8, "uint8", "float", NULL},
    {"fcsr", 32, "uint32", "float", NULL},
    {0},
};

static const struct gdb_run loongarch_lsx[] = {
    {"vr0..31", 128, "lsxv", "lsx", NULL},
    {0},
};

static const struct gdb_run loongarch_lasx[] = {
    {"xr0..31", 256, "lasxv", "lasx", NULL},
    {0},
};

static const struct gdb_feature loongarch64[] = {
    {"org.gnu.gdb.loongarch.base", "", loongarch_base},
    {"org.gnu.gdb.loongarch.fpu", "union fputype f ieee_single d ieee_double;",
     loongarch_fpu},
    {"org.gnu.gdb.loongarch.lsx",
     "vector v4f32 ieee_single 4;vector v2f64 ieee_double 2;vector v16i8 int8 16;"
     "vector v8i16 int16 8;vector v4i32 int32 4;vector v2i64 int64 2;"
     "union lsxv v4_float v4f32 v2_double v2f64 v16_int8 v16i8 v8_int16 v8i16 "
     "v4_int32 v4i32 v2_int64 v2i64 uint128 uint128;",
     loongarch_lsx},
    {"org.gnu.gdb.loongarch.lasx",
     "vector v8f32 ieee_single 8;vector v4f64 ieee_double 4;vector v32i8 int8 32;"
     "vector v16i16 int16 16;vector v8i32 int32 8;vector v4i64 int64 4;"
     "vector v2ui128 uint128 2;"
     "union lasxv v8_float v8f32 v4_double v4f64 v32_int8 v32i8 v16_int16 v16i16 "
     "v8_int32 v8i32 v4_int64 v4i64 v2_uint128 v2ui128;",
     loongarch_lasx},
    {0},
};

/* ------------------------------------------------------------------- sparc */

static const struct gdb_run sparc_cpu[] = {
    {"g0", 64, "uint64", NULL, GDB_FROM_ZERO},
    {"g1..7 o0..5", 64, "uint64", NULL, NULL},
    {"sp", 64, "data_ptr", NULL, "o6"},
    {"o7 l0..7 i0..5", 64, "uint64", NULL, NULL},
    {"fp", 64, "data_ptr", NULL, "i6"},
    {"i7", 64, "uint64", NULL, NULL},
    {0},
};

static const struct gdb_run sparc_fpu[] = {
    {"f0..31", 32, "ieee_single", NULL, GDB_FROM_NOTHING},
    {"f32 f34 f36 f38 f40 f42 f44 f46 f48 f50 f52 f54 f56 f58 f60 f62", 64, "ieee_double",
     NULL, GDB_FROM_NOTHING},
    {0},
};

static const struct gdb_run sparc_cp0[] = {
    {"pc", 64, "code_ptr", NULL, GDB_FROM_PC},
    {"npc", 64, "code_ptr", NULL, GDB_FROM_NOTHING},
    {"state fsr", 64, "uint64", NULL, GDB_FROM_NOTHING},
    {"fprs y", 64, "uint64", NULL, NULL},
    {0},
};

static const struct gdb_feature sparc64[] = {
    {"org.gnu.gdb.sparc.cpu", "", sparc_cpu},
    {"org.gnu.gdb.sparc.fpu", "", sparc_fpu},
    {"org.gnu.gdb.sparc.cp0", "", sparc_cp0},
    {0},
};

/* --------------------------------------------------- those of gdb's own numbers */

static const struct gdb_run alpha_runs[] = {
    {"v0 t0..7 s0..5 fp a0..5 t8..11 ra t12 at gp sp", 64, NULL, NULL, NULL},
    {"zero", 64, NULL, NULL, GDB_FROM_ZERO},
    {"f0..30", 64, NULL, NULL, NULL},
    {"fpcr", 64, NULL, NULL, GDB_FROM_NOTHING},
    {"pc", 64, NULL, NULL, GDB_FROM_PC},
    {"unassigned", 64, NULL, NULL, GDB_FROM_ZERO},
    {"unique", 64, NULL, NULL, GDB_FROM_NOTHING},
    {0},
};

static const struct gdb_feature alpha[] = {
    {"", "", alpha_runs},
    {0},
};

/* The upper halves of space registers are their values; the next instruction's address is
 * not recorded.  Of 128 numbers the last 64 are halves of floating-point registers. */
#define HPPA(pc, ipsw)                                                                   \
    {"flags", 32, NULL, NULL, GDB_FROM_NOTHING}, {"r1..31 sar", 32, NULL, NULL, NULL},   \
        {"pcoqh", 32, NULL, NULL, pc},                                                   \
        {"pcsqh pcoqt pcsqt eiem iir isr ior", 32, NULL, NULL, GDB_FROM_NOTHING},        \
        {"ipsw", 32, NULL, NULL, ipsw}, {"goto", 32, NULL, NULL, GDB_FROM_NOTHING},      \
        {"sr4", 32, NULL, NULL, "srH", .skip = 4},                                       \
        {"sr0..3", 32, NULL, NULL, NULL, .skip = 4},                                     \
        {"sr5..7", 32, NULL, NULL, GDB_FROM_NOTHING},                                    \
        {"cr0 cr8 cr9 ccr cr12 cr13 cr24..30", 32, NULL, NULL, GDB_FROM_NOTHING},        \
        {"fr0..63", 32, NULL, NULL, GDB_FROM_NOTHING}, {0}

/* The lowest bits of an address are its privilege: in a program always that of users.  gdb
 * knows no pc without ipsw, which interrupts write: to QEMU's programs there are none. */
static const struct gdb_run hppa_program[] = {HPPA("=pc|3", GDB_FROM_ZERO)};
static const struct gdb_run hppa_machine[] = {HPPA(GDB_FROM_PC, GDB_FROM_NOTHING)};

static const struct gdb_feature hppa[] = {
    {"", "", hppa_program, .when = GDB_PROGRAM},
    {"", "", hppa_machine, .when = GDB_MACHINE},
    {0},
};

/* As programs see them: the first bank of general registers.  Which bank of floating-point
 * registers is fr0 to fr15 depends on the state. */
static const struct gdb_run sh4_runs[] = {
    {"r0..7", 32, NULL, NULL, "R0..7_BANK0"},
    {"r8..15", 32, NULL, NULL, "R8..15"},
    {"pc", 32, NULL, NULL, GDB_FROM_PC},
    {"pr gbr vbr mach macl", 32, NULL, NULL, "PR GBR VBR MACH MACL"},
    {"sr", 32, NULL, NULL, GDB_FROM_NOTHING},
    {"fpul fpscr", 32, NULL, NULL, "FPUL FPSCR"},
    {"fr0..15", 32, NULL, NULL, GDB_FROM_NOTHING},
    {"ssr spc", 32, NULL, NULL, "SSR SPC"},
    {"r0..7b0", 32, NULL, NULL, "R0..7_BANK0"},
    {"r0..7b1", 32, NULL, NULL, "R0..7_BANK1"},
    {0},
};

static const struct gdb_feature sh4[] = {
    {"", "", sh4_runs},
    {0},
};

const struct gdb_target gdb_targets_more[] = {
    {"m68k", "m68k", "sp", m68k, .in_g = 2},
    {"loongarch64", "loongarch64", "r3", loongarch64},
    {"sparc64", "sparc:v9", "sp", sparc64, .in_g = 3},
    {"alpha", "alpha", "sp", alpha},
    {"hppa", "hppa1.0", "r30", hppa},
    {"sh4 sh4eb", "sh4", "r15", sh4},
    {0},
};
