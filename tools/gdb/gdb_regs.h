/* SPDX-License-Identifier: MIT */
/*
 * The registers of a trace's target as gdb numbers them, and their description for gdb.
 *
 * Features, names, order, sizes and types are those that QEMU's gdbstub sends, so that gdb
 * shows a trace's registers as it shows those of the running program.  Where QEMU sends
 * no description (mips, sparc64, alpha ...), numbers and sizes are those of its packets.
 * QEMU's lists of system registers are shortened to the registers that the trace has.
 */
#ifndef TOOLS_GDB_REGS_H
#define TOOLS_GDB_REGS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

struct gdb_regs;

/* Bytes of the largest register. */
#define GDB_REG_MAX CTR_REG_STRIDE

/*
 * The registers of a trace, which must remain open as long as they are used.  A trace
 * without registers has a description, too: then only the pc has a value.
 * Returns 0, -CTR_E_NOMEM, or -CTR_E_UNSUPPORTED with a sentence in diag: there is no
 * description for this target.
 */
int gdb_regs_open(struct gdb_regs **out, const struct ctr_trace *tr,
                  struct ctr_diag *diag);
/* NULL is allowed. */
void gdb_regs_close(struct gdb_regs *g);

/*
 * target.xml: a whole document without xi:include, valid as long as g.  For targets whose
 * registers gdb takes from no description (sh4, hppa, alpha) it has the architecture only.
 */
const char *gdb_regs_xml(const struct gdb_regs *g);

/* gdb's numbers are 0 to count - 1.  Some of them may be no registers: their size is 0. */
unsigned gdb_regs_count(const struct gdb_regs *g);
/* Bytes of register i in packets, at most GDB_REG_MAX; 0: there is none. */
uint32_t gdb_regs_size(const struct gdb_regs *g, unsigned i);
/* Name of register i, valid as long as g and the trace; NULL: there is none. */
const char *gdb_regs_name(const struct gdb_regs *g, unsigned i);
/* How many of the numbers, from 0, a `g' packet has. */
unsigned gdb_regs_in_g(const struct gdb_regs *g);
/* Number of the pc; of the stack pointer, -1 if there is none. */
int gdb_regs_pc(const struct gdb_regs *g);
int gdb_regs_sp(const struct gdb_regs *g);
/* Of sparc's npc, which is not recorded: its caller may know it; -1: there is none. */
int gdb_regs_npc(const struct gdb_regs *g);

/*
 * The bytes of register i as packets have them, in the target's order.  values: as of
 * ctr_state_at, NULL if no registers were recorded.  pc: as of it; where instructions are
 * MIPS16 or microMIPS (CTR_ISA_MIPS16, CTR_ISA_MICROMIPS) gdb and QEMU set its bit 0, which
 * is the caller's task.  Of arm it has no bit for Thumb.
 * Returns false, and writes nothing, if the trace does not have the register.
 */
bool gdb_regs_get(const struct gdb_regs *g, const uint8_t *values, uint64_t pc,
                  unsigned i, uint8_t *out);

#endif
