/* SPDX-License-Identifier: MIT */
/* The registers of riscv32 and riscv64: gdb's features org.gnu.gdb.riscv.*. */
#include "gdb/gdb_tables.h"

#define CORE(bits)                                                                       \
    {"zero", bits, "int", NULL, GDB_FROM_ZERO}, {"ra", bits, "code_ptr", NULL, NULL},    \
        {"sp gp tp", bits, "data_ptr", NULL, NULL}, {"t0..2", bits, "int", NULL, NULL},  \
        {"fp", bits, "data_ptr", NULL, NULL},                                            \
        {"s1 a0..7 s2..11 t3..6", bits, "int", NULL, NULL},                              \
        {"pc", bits, "code_ptr", NULL, GDB_FROM_PC}, {0}

static const struct gdb_run core64[] = {CORE(64)};
static const struct gdb_run core32[] = {CORE(32)};

/* QEMU's default processors have double precision, also with registers of 32 bits. */
static const struct gdb_run fpu[] = {
    {"ft0..7 fs0..1 fa0..7 fs2..11 ft8..11", 64, "riscv_double", NULL, NULL},
    {0},
};

static const struct gdb_run vector[] = {
    {"v0..31", 0, "riscv_vector", "vector", NULL, .unit = 8},
    {0},
};

/* The privilege, which is that of users in a program. */
#define PRIVILEGE(bits, from) {{"priv", bits, NULL, NULL, from}, {0}}
static const struct gdb_run program64[] = PRIVILEGE(64, GDB_FROM_ZERO);
static const struct gdb_run program32[] = PRIVILEGE(32, GDB_FROM_ZERO);
static const struct gdb_run machine64[] = PRIVILEGE(64, NULL);
static const struct gdb_run machine32[] = PRIVILEGE(32, NULL);

/* A register's number in the feature is that of the CSR. */
#define CSR(names, number, bits)                                                         \
    {names, bits, "int", NULL, NULL, .at = number, .if_recorded = true}
/* The trace has these also of a processor without vectors. */
#define CSR_V(names, number, bits)                                                       \
    {names, bits, "int", NULL, NULL, .at = number, .with = "v0", .if_recorded = true}
#define CSRS(bits)                                                                       \
    CSR("fflags frm fcsr", 1, bits), CSR_V("vstart vxsat vxrm", 8, bits),                \
        CSR_V("vcsr", 0xf, bits), CSR("sstatus", 0x100, bits),                           \
        CSR("sie stvec scounteren", 0x104, bits), CSR("senvcfg", 0x10a, bits),           \
        CSR("sscratch sepc scause stval sip", 0x140, bits), CSR("satp", 0x180, bits),    \
        CSR("vsstatus", 0x200, bits), CSR("vsie vstvec", 0x204, bits),                   \
        CSR("vsscratch vsepc vscause vstval vsip", 0x240, bits),                         \
        CSR("vsatp", 0x280, bits), CSR("mstatus misa", 0x300, bits),                     \
        CSR("medeleg mideleg mie mtvec mcounteren", 0x302, bits),                        \
        CSR("menvcfg", 0x30a, bits), CSR("mstatush", 0x310, bits),                       \
        CSR("menvcfgh", 0x31a, bits), CSR("mcountinhibit", 0x320, bits),                 \
        CSR("mhpmevent3..31", 0x323, bits),                                              \
        CSR("mscratch mepc mcause mtval mip", 0x340, bits),                              \
        CSR("mtinst mtval2", 0x34a, bits), CSR("pmpcfg0..3", 0x3a0, bits),               \
        CSR("pmpaddr0..15", 0x3b0, bits), CSR("hstatus", 0x600, bits),                   \
        CSR("hedeleg hideleg hie htimedelta hcounteren hgeie", 0x602, bits),             \
        CSR("henvcfg", 0x60a, bits), CSR("htimedeltah", 0x615, bits),                    \
        CSR("henvcfgh", 0x61a, bits), CSR("htval hip hvip", 0x643, bits),                \
        CSR("htinst", 0x64a, bits), CSR("hgatp", 0x680, bits),                           \
        CSR("mcontext", 0x7a8, bits), CSR_V("vl vtype", 0xc20, bits),                    \
        CSR("hgeip", 0xe12, bits), {0}

static const struct gdb_run csr64[] = {CSRS(64)};
static const struct gdb_run csr32[] = {CSRS(32)};

#define FEATURES(core, program, machine, csr)                                            \
    {"org.gnu.gdb.riscv.cpu", "", core},                                                 \
        {"org.gnu.gdb.riscv.fpu",                                                        \
         "union riscv_double float ieee_single double ieee_double;", fpu},               \
        {"org.gnu.gdb.riscv.vector",                                                     \
         "vector quads uint128 /128;vector longs uint64 /64;vector words uint32 /32;"    \
         "vector shorts uint16 /16;vector bytes uint8 /8;"                               \
         "union riscv_vector q quads l longs w words s shorts b bytes;",                 \
         vector, .with = "v0", .width = "v0"},                                           \
        {"org.gnu.gdb.riscv.virtual", "", program, .when = GDB_PROGRAM},                 \
        {"org.gnu.gdb.riscv.virtual", "", machine, .when = GDB_MACHINE},                 \
        {"org.gnu.gdb.riscv.csr", "", csr}, {0}

static const struct gdb_feature riscv64[] = {
    FEATURES(core64, program64, machine64, csr64)};
static const struct gdb_feature riscv32[] = {
    FEATURES(core32, program32, machine32, csr32)};

const struct gdb_target gdb_targets_riscv[] = {
    {"riscv64", "riscv:rv64", "sp", riscv64},
    {"riscv32", "riscv:rv32", "sp", riscv32},
    {0},
};
