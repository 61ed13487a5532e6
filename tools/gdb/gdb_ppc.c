/* SPDX-License-Identifier: MIT */
/* The registers of ppc, ppc64 and ppc64le: gdb's features org.gnu.gdb.power.*. */
#include "gdb/gdb_tables.h"

/* Floating-point registers, which gdb had between r31 and the pc, leave a gap. */
#define CORE(bits, type)                                                                 \
    {"r0..31", bits, type, NULL, NULL},                                                  \
        {"pc", bits, "code_ptr", NULL, GDB_FROM_PC, .at = 64},                           \
        {"msr", bits, type, NULL, NULL}, {"cr", 32, "uint32", NULL, NULL},               \
        {"lr", bits, "code_ptr", NULL, NULL}, {"ctr", bits, type, NULL, NULL},           \
        {"xer", 32, "uint32", NULL, NULL}, {0}

static const struct gdb_run core64[] = {CORE(64, "uint64")};
static const struct gdb_run core32[] = {CORE(32, "uint32")};

/* The trace has the registers of VSX alone: f0 to f31 are the upper halves of the first
 * 32 of them, vr0 to vr31 the others. */
static const struct gdb_run fpu[] = {
    {"f0..31", 64, "ieee_double", NULL, "vs0..31", .skip = 8},
    {"fpscr", 32, NULL, "float", NULL},
    {0},
};

static const struct gdb_run altivec[] = {
    {"vr0..31", 128, "vec128", NULL, "vs32..63"},
    {"vscr", 32, NULL, "vector", GDB_FROM_NOTHING},
    {"vrsave", 32, NULL, "vector", NULL},
    {0},
};

static const struct gdb_run vsx[] = {
    {"vs0..31h", 64, "uint64", NULL, "vs0..31"},
    {0},
};

/* No register at all of its own: only others */
static const struct gdb_run none[] = {{0}};

#define ALTIVEC                                                                          \
    "vector v4f ieee_single 4;vector v4i32 int32 4;vector v8i16 int16 8;"                \
    "vector v16i8 int8 16;union vec128 uint128 uint128 v4_float v4f v4_int32 v4i32 "     \
    "v8_int16 v8i16 v16_int8 v16i8;"

static const struct gdb_feature ppc64[] = {
    {"org.gnu.gdb.power.core", "", core64},
    {"org.gnu.gdb.power.fpu", "", fpu, .base = 71},
    {"org.gnu.gdb.power.altivec", ALTIVEC, altivec},
    {"org.gnu.gdb.power.vsx", "", vsx},
    {"org.qemu.power.spr", "", none, .when = GDB_MACHINE, .others = "spr",
     .others_bits = 64},
    {0},
};

/* The trace has a place for vectors, whether or not a processor has them.  Of machines a
 * special register shows it; QEMU's default processor for programs has none. */
static const struct gdb_feature ppc[] = {
    {"org.gnu.gdb.power.core", "", core32},
    {"org.gnu.gdb.power.fpu", "", fpu, .base = 71},
    {"org.gnu.gdb.power.altivec", ALTIVEC, altivec, .with = "vrsave"},
    {"org.qemu.power.spr", "", none, .when = GDB_MACHINE, .others = "spr",
     .others_bits = 32},
    {0},
};

const struct gdb_target gdb_targets_ppc[] = {
    {"ppc64 ppc64le", "powerpc:common64", "r1", ppc64},
    {"ppc", "powerpc:common", "r1", ppc},
    {0},
};
