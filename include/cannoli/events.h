/* SPDX-License-Identifier: MIT */
/*
 * The words in which an execution is told.
 *
 * One vocabulary serves the translated code that writes events, the recorder
 * that packs them and the library that reads them back; this header is its
 * only definition.  It needs nothing but <stdint.h>.
 *
 * What is known when a translation block is translated stands once, in a block
 * definition.  While it runs, a guest thread appends to two columns:
 *
 *   words      uint32_t, one per block entered, plus markers where the run
 *              of the block differs from "every instruction, and every
 *              unconditional access, once";
 *   addresses  the guest address of each access that translated code makes
 *              itself ("inline"), in the order in which they were made.
 *
 * Accesses that QEMU makes inside a helper are listed apart ("extra"
 * accesses), with their place in both columns.
 *
 * A block has access slots in program order.  A slot of group 0 is
 * unconditional: it is made once whenever control passes its place.  The slots
 * of group g >= 1 are made together, each time a GROUP word for g stands after
 * the block's id; a group may run no time, once, or many times (a loop inside
 * one instruction).  With P the next unconditional slot not yet made, a GROUP
 * word for g means: all unconditional slots that stand before g's first slot
 * have been made, then g's slots in order.  The rest of the unconditional
 * slots are made at the end of the block, or up to the place where a LEFT word
 * says that it was left.
 */
#ifndef CANNOLI_EVENTS_H
#define CANNOLI_EVENTS_H

#include <stdint.h>

/*
 * Words.  0 is no word: a column is zero beyond its end.
 *
 *   0x00000001..0x7fffffff  block id: this block was entered
 *   0x80000000 | group      GROUP
 *   0xc0000000 | n<<14 | s  LEFT_AT: the block was left by an exit inside it,
 *                           after n instructions (1..512) and s unconditional
 *                           slots (0..16383)
 *   0xd0000000 | f<<16 | n  LEFT: the block was left after n instructions
 *                           (0..512).  The next word is a number: in the pipe
 *                           the length of the address column of the chunk at
 *                           that time, in a file the number of inline accesses
 *                           that this run of the block made.  f: LEFT_* flags
 *   0xe0000000              FAULT (pipe only): the instruction at which the
 *                           block just before was left raised a signal
 *   0xf0000000 | i          RESUME: the next word is the id of a block whose
 *                           run began in the chunk before and was cut (LEFT
 *                           with CTR_LEFT_SUSPEND) inside instruction i.
 *                           Instructions 0..i were counted there; the run goes
 *                           on with the remaining accesses of instruction i.
 *                           Also a block that only goes on with what the
 *                           instruction before it, the last one of another
 *                           block, began (the target of s390x EXECUTE).
 *                           Unconditional slots up to the last one that stands
 *                           before a group slot of instruction i were made.
 */
#define CTR_WORD_IS_BLOCK(w)   ((uint32_t)(w) - 1u < 0x7fffffffu)
#define CTR_WORD_KIND(w)       ((uint32_t)(w) & 0xf0000000u)
#define CTR_WORD_GROUP         0x80000000u
#define CTR_WORD_LEFT_AT       0xc0000000u
#define CTR_WORD_LEFT          0xd0000000u
#define CTR_WORD_FAULT         0xe0000000u
#define CTR_WORD_RESUME        0xf0000000u

#define CTR_GROUP_OF(w)        ((uint32_t)(w) & 0x0000ffffu)
#define CTR_LEFT_AT_INSNS(w)   (((uint32_t)(w) >> 14) & 0x3ffu)
#define CTR_LEFT_AT_SLOTS(w)   ((uint32_t)(w) & 0x3fffu)
#define CTR_LEFT_INSNS(w)      ((uint32_t)(w) & 0xffffu)
#define CTR_LEFT_FLAGS(w)      (((uint32_t)(w) >> 16) & 0xfffu)
#define CTR_RESUME_INSN(w)     ((uint32_t)(w) & 0xffffu)

/* The last of the n instructions raised a signal (it may run again later). */
#define CTR_LEFT_FAULTED       0x001u
/* Pipe only: the last of the n has done nothing yet and will run again; forget it. */
#define CTR_LEFT_RESTART       0x002u
/* The run goes on in the next chunk of this thread, with a RESUME word. */
#define CTR_LEFT_SUSPEND       0x004u
/* The thread was ended inside this block: more of it may have run. */
#define CTR_LEFT_UNSURE        0x008u

#define CTR_MAX_BLOCK_INSNS    512u
#define CTR_MAX_BLOCK_SLOTS    8192u

/*
 * Block definition: little-endian, packed, CTR_BLOCKDEF_FIXED bytes and then
 *
 *   u8  len[ninsn]         bytes of each instruction
 *   u8  code[code_bytes]   the instructions' bytes, in order
 *   ...  slot[nslot]       CTR_BLOCKDEF_SLOT bytes each:
 *                            u16 insn, u16 group, u8 access, u8 zero;
 *                            in program order, so that insn never falls
 *   u64 pc[ninsn]          only with CTR_BLOCK_HAS_PCS; otherwise each
 *                          instruction stands behind the one before
 */
#define CTR_BLOCKDEF_PC         0   /* u64 guest virtual address */
#define CTR_BLOCKDEF_CS_BASE    8   /* u64 QEMU's cs_base */
#define CTR_BLOCKDEF_TB_FLAGS  16   /* u64 QEMU's translation flags */
#define CTR_BLOCKDEF_CFLAGS    24   /* u32 QEMU's compile flags */
#define CTR_BLOCKDEF_NINSN     28   /* u16 1..CTR_MAX_BLOCK_INSNS */
#define CTR_BLOCKDEF_NSLOT     30   /* u16 0..CTR_MAX_BLOCK_SLOTS */
#define CTR_BLOCKDEF_NGROUP    32   /* u16 groups are 1..ngroup */
#define CTR_BLOCKDEF_MODE      34   /* u8  CTR_MODE_* of the guest machine */
#define CTR_BLOCKDEF_FLAGS     35   /* u8  CTR_BLOCK_* */
#define CTR_BLOCKDEF_CODELEN   36   /* u32 code_bytes, the sum of len[] */
#define CTR_BLOCKDEF_FIXED     40
#define CTR_BLOCKDEF_SLOT       6

#define CTR_BLOCK_HAS_PCS      0x01u

/* access byte of a slot */
#define CTR_ACCESS_SIZE(a)     (1u << ((a) & 0x07u))   /* 1..128 bytes */
#define CTR_ACCESS_SIZE_LOG2   0x07u
#define CTR_ACCESS_STORE       0x10u
#define CTR_ACCESS_BE          0x20u   /* value is big-endian in memory */

/* How a block's bytes are to be read, where the machine leaves it open. */
#define CTR_MODE_DEFAULT       0u
#define CTR_MODE_THUMB         1u   /* arm: T32 */
#define CTR_MODE_X86_16        2u
#define CTR_MODE_X86_32        3u
#define CTR_MODE_X86_64        4u
#define CTR_MODE_MIPS16        5u
#define CTR_MODE_MICROMIPS     6u

/* What is recorded (bit mask; blocks are always part of a trace) */
#define CTR_EVENTS_EXEC        0x1u
#define CTR_EVENTS_MEM         0x2u

#endif
