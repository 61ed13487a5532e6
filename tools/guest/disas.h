/* SPDX-License-Identifier: MIT */
/*
 * Disassembles the instructions of a trace's blocks with Capstone.
 *
 * An instruction that Capstone cannot decode (architecture or instruction unknown, or
 * a length other than QEMU's) becomes ".byte 0x..", so that every instruction has a
 * text and no text is wrong.
 */
#ifndef TOOLS_DISAS_H
#define TOOLS_DISAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disas;

/* Limit of what disas_insn writes, in bytes. */
#define DISAS_TEXT_MAX 256

/*
 * Makes a disassembler for a trace's target: e_machine and endianness of its ELF
 * files, and QEMU's name of the target.  For one thread at a time.
 * Returns NULL only when there is no memory.
 */
struct disas *disas_new(unsigned e_machine, bool big_endian, const char *target);
void disas_free(struct disas *d);

/*
 * Begins a block of the given mode (CTR_MODE_*).  Its instructions must follow
 * in order: a Thumb IT instruction changes the meaning of those after it.
 */
void disas_block(struct disas *d, unsigned mode);

/*
 * Writes the text of one instruction, "mnemonic operands", without a final
 * zero.  Returns its length, at most DISAS_TEXT_MAX.
 */
size_t disas_insn(struct disas *d, uint64_t pc, const uint8_t *bytes, size_t len,
                  char *text);

/* The mnemonic of one instruction with its prefixes ("rep movsb"), valid until the next
 * call; NULL if it cannot be decoded. */
const char *disas_mnemonic(struct disas *d, uint64_t pc, const uint8_t *bytes,
                           size_t len);

/* The name of the disassembler ("Capstone 4.0.2"), or NULL if this target's
 * instructions are shown as bytes only. */
const char *disas_engine(struct disas *d);

#endif
