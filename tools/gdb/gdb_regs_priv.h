/* SPDX-License-Identifier: MIT */
/* Between gdb_regs.c, which lays the registers out, and gdb_xml.c, which describes them. */
#ifndef TOOLS_GDB_REGS_PRIV_H
#define TOOLS_GDB_REGS_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "common/textbuf.h"
#include "gdb/gdb_tables.h"

#define GDB_NAME_MAX 24 /* with the NUL; of names in the tables */
#define GDB_FROM_MAX 2  /* registers of the trace that one of gdb's is made of */

enum gdb_source {
    GDB_SOURCE_NONE,
    GDB_SOURCE_PC,
    GDB_SOURCE_VALUE, /* a constant */
    GDB_SOURCE_TRACE,
};

/* A part of a register of the trace */
struct gdb_part {
    uint32_t offset; /* in the values of ctr_state_at */
    uint32_t bytes;
};

struct gdb_reg {
    const char *name; /* own, or the trace's; NULL: no register has this number */
    const char *type; /* NULL: gdb's default */
    const char *group;
    char own[GDB_NAME_MAX];
    uint16_t feature; /* index in the target's table */
    uint16_t size;    /* bytes in packets */
    uint16_t unit;    /* bytes with an order of their own; 0: all */
    bool is_signed;
    uint8_t nparts;
    enum gdb_source source;
    uint64_t value;                     /* the constant; of PC, bits that it has, too */
    struct gdb_part part[GDB_FROM_MAX]; /* the lower one first */
};

/*
 * Appends the document.  wanted[i]: the target has feature i; width[i]: bits that the types
 * of feature i have.  False: no memory.
 */
bool gdb_xml_write(struct textbuf *b, const struct gdb_target *target, const bool *wanted,
                   const unsigned *width, const struct gdb_reg *reg, unsigned count);

#endif
