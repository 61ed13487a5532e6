/* SPDX-License-Identifier: MIT */
/* The registers of s390x: gdb's features org.gnu.gdb.s390.*. */
#include "gdb/gdb_tables.h"

static const struct gdb_run core[] = {
    {"pswm", 64, "uint64", "psw", NULL},
    {"pswa", 64, "uint64", "psw", GDB_FROM_PC},
    {"r0..15", 64, "uint64", "general", NULL},
    {0},
};

static const struct gdb_run access[] = {
    {"acr0..15", 32, "uint32", "access", NULL},
    {0},
};

/* The upper halves of vectors; the trace has vectors alone. */
static const struct gdb_run fpr[] = {
    {"fpc", 32, "uint32", "float", NULL},
    {"f0..15", 64, "ieee_double", "float", "v0..15", .skip = 8},
    {0},
};

/* Of the vectors with a register of fpr only the lower halves */
static const struct gdb_run vx[] = {
    {"v0..15l", 64, "uint64", NULL, "v0..15"},
    {"v16..31", 128, "vec128", NULL, NULL},
    {0},
};

static const struct gdb_run gs[] = {
    {"gs_reserved gsd gssm", 64, "uint64", "system", GDB_FROM_NOTHING},
    {"gsepla", 64, "data_ptr", "system", GDB_FROM_NOTHING},
    {0},
};

static const struct gdb_run control[] = {
    {"cr0..15", 64, "uint64", "control", NULL},
    {0},
};

static const struct gdb_run virt[] = {
    {"ckc cputm", 64, "uint64", "system", NULL},
    {"last_break", 64, "code_ptr", "system", "bea"},
    {"prefix", 64, "data_ptr", "system", NULL},
    {0},
};

static const struct gdb_feature s390x[] = {
    {"org.gnu.gdb.s390.core", "", core},
    {"org.gnu.gdb.s390.acr", "", access},
    {"org.gnu.gdb.s390.fpr", "", fpr},
    {"org.gnu.gdb.s390.vx", GDB_VEC128, vx},
    {"org.gnu.gdb.s390.gs", "", gs},
    {"org.gnu.gdb.s390.cr", "", control, .when = GDB_MACHINE},
    {"org.gnu.gdb.s390.virt", "", virt, .when = GDB_MACHINE},
    {0},
};

const struct gdb_target gdb_targets_s390x[] = {
    {"s390x", "s390:64-bit", "r15", s390x},
    {0},
};
