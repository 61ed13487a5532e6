/* SPDX-License-Identifier: MIT */
/*
 * The registers of mips: gdb's features org.gnu.gdb.mips.cpu, .cp0 and .fpu.  QEMU sends no
 * description; gdb then expects these registers at these numbers, as QEMU's packets have
 * them.
 */
#include "gdb/gdb_tables.h"

#define GENERAL "at v0..1 a0..3 t0..7 s0..7 t8..9 k0..1 gp sp s8 ra"

#define CPU(bits)                                                                        \
    {"r0", bits, NULL, NULL, GDB_FROM_ZERO}, {"r1..31", bits, NULL, NULL, GENERAL},      \
        {"lo hi", bits, NULL, NULL, NULL, .at = 33},                                     \
        {"pc", bits, NULL, NULL, GDB_FROM_PC, .at = 37}, {0}
#define CP0(bits)                                                                        \
    {"status", bits, NULL, NULL, NULL, .is_signed = true},                               \
        {"badvaddr", bits, NULL, NULL, NULL, .at = 3},                                   \
        {"cause", bits, NULL, NULL, NULL, .is_signed = true}, {0}
#define FPU(bits, type)                                                                  \
    {"f0..31", bits, type, NULL, NULL},                                                  \
        {"fcsr fir", bits, NULL, "float", NULL, .is_signed = true}, {0}

static const struct gdb_run cpu32[] = {CPU(32)};
static const struct gdb_run cp0_32[] = {CP0(32)};
static const struct gdb_run fpu32[] = {FPU(32, "ieee_single")};
static const struct gdb_run cpu64[] = {CPU(64)};
static const struct gdb_run cp0_64[] = {CP0(64)};
static const struct gdb_run fpu64[] = {FPU(64, "ieee_double")};

static const struct gdb_feature mips32[] = {
    {"org.gnu.gdb.mips.cpu", "", cpu32},
    {"org.gnu.gdb.mips.cp0", "", cp0_32, .base = 32},
    {"org.gnu.gdb.mips.fpu", "", fpu32, .base = 38},
    {0},
};

static const struct gdb_feature mips64[] = {
    {"org.gnu.gdb.mips.cpu", "", cpu64},
    {"org.gnu.gdb.mips.cp0", "", cp0_64, .base = 32},
    {"org.gnu.gdb.mips.fpu", "", fpu64, .base = 38},
    {0},
};

const struct gdb_target gdb_targets_mips[] = {
    {"mips mipsel", "mips", "r29", mips32, .in_g = 3},
    {"mips64 mips64el mipsn32 mipsn32el", "mips", "r29", mips64, .in_g = 3},
    {0},
};
