/* SPDX-License-Identifier: MIT */
/*
 * Disassembly by Capstone of what a trace's blocks hold.
 *
 * Whatever Capstone cannot do (an architecture it lacks, an instruction that
 * it does not know, a length other than the one QEMU found) is shown as
 * ".byte 0x..", so that every instruction has a text and none is wrong.
 */
#ifndef TOOLS_DISAS_H
#define TOOLS_DISAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disas;

/* Bytes that disas_insn may write. */
#define DISAS_TEXT_MAX 256

/*
 * Makes a disassembler for the target that a trace names: e_machine and
 * endianness of its ELF files, QEMU's name for it.  For one thread at a time.
 * Returns NULL only when there is no memory.
 */
struct disas *disas_new(unsigned e_machine, bool big_endian, const char *target);
void disas_free(struct disas *d);

/*
 * Begins a block of the given mode (CTR_MODE_*).  Its instructions must follow
 * in order: a Thumb IT instruction says what those after it mean.
 */
void disas_block(struct disas *d, unsigned mode);

/*
 * Writes the text of one instruction, "mnemonic operands", without a final
 * zero.  Returns its length, at most DISAS_TEXT_MAX.
 */
size_t disas_insn(struct disas *d, uint64_t pc, const uint8_t *bytes, size_t len,
                  char *text);

/* The name of what does the disassembly ("Capstone 4.0.2"), or NULL if this
 * target's instructions are shown as bytes only. */
const char *disas_engine(struct disas *d);

#endif
