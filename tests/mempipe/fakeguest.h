/* SPDX-License-Identifier: MIT */
/*
 * The program that the fake QEMU (fakeqemu.c) "executes": blocks whose every
 * instruction, access, value and register is known in advance, and events of the
 * system.  The recorder's event mask says which of these are emitted.
 *
 * The pattern, block number i: i % 3 = 0 is A (4 instructions; the first writes r0,
 * the second loads 4 bytes, the third stores 4, the last writes q0), 1 is B (1
 * instruction, which writes r1), 2 is C (3 instructions; its second loads 8 bytes
 * i % 5 times).  15 blocks are 40 instructions, 15 loads and 5 stores; the first
 * 15 * m blocks of a thread change registers 11 * m - 3 times.
 */
#ifndef TESTS_MEMPIPE_FAKEGUEST_H
#define TESTS_MEMPIPE_FAKEGUEST_H

#include "producer.h"

enum { BLOCK_A, BLOCK_B, BLOCK_C, BLOCK_D, BLOCKS };

struct fake_regs {
    uint32_t r0, r1, q0[4];
};

struct fake {
    struct producer q;
    bool attached;
    uint32_t ids[BLOCKS];
    struct fake_regs regs;
};

/* Makes this thread the owner of a claimed pipe; the first thread of a process also
 * emits its blocks, registers, mappings and arguments ("fake" and "of it").  program: what
 * execve started, or NULL. */
void fake_attach(struct fake *f, uint32_t pipe, const struct producer_identity *id,
                 const char *program);
/* Ends the thread; it emits nothing afterwards. */
void fake_end(struct fake *f, uint32_t reason, int status);

void fake_blocks(struct fake *f, uint64_t n);
/* n times block A, with random load addresses: about 4 bytes of trace each. */
void fake_noise(struct fake *f, uint64_t n);
/* n blocks of one instruction that loads 4 bytes, from 0x100000 on, the whole sequence
 * `times' times. */
void fake_many(struct fake *f, uint64_t n, uint64_t times);
/* The first half of block A: the entry, the change of r0, the load. */
void fake_half_a_block(struct fake *f);
/* n blocks of one instruction that loads 32 bytes through a helper, which also
 * changes r1. */
void fake_helper(struct fake *f, uint64_t n);
/* n calls of read(2) that return `size' bytes, each by a block of one instruction. */
void fake_calls(struct fake *f, uint64_t n, uint64_t size);
/* A call of read(2) that has not returned. */
void fake_call_begins(struct fake *f);
/* n signals, each handled by a block B. */
void fake_signals(struct fake *f, uint64_t n);
/* n mappings of a file. */
void fake_maps(struct fake *f, uint64_t n);

/* As if in a system call; with a watched recorder, events are shown. */
void fake_enter_syscall(struct fake *f);
void fake_leave_syscall(struct fake *f);

/* Overwrites memory as a hostile guest would; false if there is no such lie. */
bool fake_lie(struct fake *f, const char *what);

/* A command for the control area; false if there is no such command. */
bool fake_control(struct fake *f, const char *cmd, const char *rest);

/* Puts this kind of nonsense into the side queue; returns false if there is no such. */
bool fake_scribble(struct fake *f, const char *kind);

#endif
