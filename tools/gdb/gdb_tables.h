/* SPDX-License-Identifier: MIT */
/*
 * What gdb knows of each target's registers, as tables: a target has features, a feature
 * has types and runs of registers.  gdb_regs.c makes numbers of them, gdb_xml.c the text.
 *
 * Lists of names are words: "r0..12 v0..15l" are r0 to r12 and v0l to v15l.
 */
#ifndef TOOLS_GDB_TABLES_H
#define TOOLS_GDB_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is not in the trace's table; "=pc|N" has the bits of N, too; "=N" is a constant. */
#define GDB_FROM_PC "=pc"
#define GDB_FROM_ZERO "=0"
#define GDB_FROM_NOTHING "=" /* not recorded */

/* Registers with consecutive numbers. */
struct gdb_run {
    const char *names;
    uint16_t bits;     /* of one in packets; 0: as many as the trace has */
    const char *type;  /* of gdb, or of the feature; NULL: gdb's default */
    const char *group; /* NULL: none */
    /* The trace's names, in parallel; NULL: the same.  Twice as many as names: the
     * lower half, then the upper half.  One GDB_FROM_... is for all, and so is a constant. */
    const char *from;
    uint16_t at;      /* number of the first in the feature; 0: the next */
    uint8_t skip;     /* bytes of the trace's register that come before it */
    uint8_t unit;     /* bytes with an order of their own; 0: all */
    bool is_signed;   /* a narrower one of the trace is extended by its sign */
    const char *with; /* only if the trace has this register; NULL: also without */
    bool if_recorded; /* only those that the trace has; the others leave gaps */
};

enum gdb_when {
    GDB_ALWAYS,
    GDB_PROGRAM, /* QEMU's user-mode emulation */
    GDB_MACHINE,
};

struct gdb_feature {
    const char *name; /* "": numbers only, which gdb knows without a description */
    /*
     * Types, one after the other, each ending in ';':
     *   vector ID TYPE COUNT          COUNT "/N": the width of register `width' / N bits
     *   union ID NAME TYPE ...
     *   flags ID BYTES NAME BIT ...   BIT "4" or "4:7"
     */
    const char *types;
    const struct gdb_run *runs; /* up to one without names */
    uint16_t base;              /* number of its first register; 0: the next */
    enum gdb_when when;
    const char *with;    /* only if the trace has this register; NULL: also without */
    const char *without; /* only if it does not have this one */
    const char *width;   /* the trace's register of which types have the width */
    /* After the runs come, in this group, all special registers of the trace that no
     * run has; NULL: not. */
    const char *others;
    uint16_t others_bits; /* of each; 0: as many as the trace has */
};

struct gdb_target {
    const char *names;                  /* of QEMU, without -softmmu */
    const char *architecture;           /* for gdb */
    const char *sp;                     /* name of the stack pointer; NULL: none */
    const struct gdb_feature *features; /* up to one without runs */
    uint8_t in_g;                       /* how many features a `g' packet has; 0: one */
    const char *with; /* only if the trace has this register; NULL: also without */
};

/* Of each family, up to one without names. */
extern const struct gdb_target gdb_targets_arm[];
extern const struct gdb_target gdb_targets_x86[];
extern const struct gdb_target gdb_targets_mips[];
extern const struct gdb_target gdb_targets_riscv[];
extern const struct gdb_target gdb_targets_s390x[];
extern const struct gdb_target gdb_targets_ppc[];
extern const struct gdb_target gdb_targets_more[];

/* Six types of vectors with 128 bits, which several targets have. */
#define GDB_VECTORS_128                                                                  \
    "vector v4f ieee_single 4;vector v2d ieee_double 2;vector v16i8 int8 16;"            \
    "vector v8i16 int16 8;vector v4i32 int32 4;vector v2i64 int64 2;"
#define GDB_VEC128                                                                       \
    GDB_VECTORS_128                                                                      \
    "union vec128 v4_float v4f v2_double v2d v16_int8 v16i8 v8_int16 v8i16 "             \
    "v4_int32 v4i32 v2_int64 v2i64 uint128 uint128;"

#endif
