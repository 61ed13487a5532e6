/* SPDX-License-Identifier: MIT */
/* DWARF's numbers of registers, by the processors' ABI supplements. */
#ifndef TOOLS_DWARF_REGS_H
#define TOOLS_DWARF_REGS_H

#include <stdbool.h>
#include <stdint.h>

/* The name of the register in the trace's table with this number; NULL: none is known.  *skip:
 * bytes of its value below the one meant, little-endian.  name has room for the text. */
#define DWARF_REG_NAME 16
const char *dwarf_reg_name(uint32_t machine, unsigned addr_bits, uint32_t number,
                           char name[DWARF_REG_NAME], unsigned *skip);

/* What to add to the stack pointer at a function's entry to get the canonical frame
 * address. */
int64_t dwarf_cfa_offset(uint32_t machine, unsigned addr_bits);

#endif
