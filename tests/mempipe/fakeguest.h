/* SPDX-License-Identifier: MIT */
/*
 * What the program that stands in for QEMU "executes" (fakeqemu.c): blocks whose
 * every instruction, access, value and register is known beforehand, and events
 * of the system.  Which of these are told, the recorder's list of events says.
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

/* Makes this thread the owner of a claimed pipe; a process's first one also tells
 * its blocks, registers and mappings.  program: that execve started, or NULL. */
void fake_attach(struct fake *f, uint32_t pipe, const struct producer_identity *id,
                 const char *program);
/* The thread ends; nothing is told of it any more. */
void fake_end(struct fake *f, uint32_t reason, int status);

void fake_blocks(struct fake *f, uint64_t n);
/* n times block A, whose load is from anywhere: about 4 bytes of trace each. */
void fake_noise(struct fake *f, uint64_t n);
/* n blocks of one instruction that loads 4 bytes, from 0x100000 on, all of them and then
 * again. */
void fake_many(struct fake *f, uint64_t n, uint64_t times);
/* The first half of block A: entered, r0 written, its load made. */
void fake_half_a_block(struct fake *f);
/* n blocks of one instruction that loads 32 bytes by way of a helper, which also
 * changes r1. */
void fake_helper(struct fake *f, uint64_t n);
/* n calls of read(2), each by a block of one instruction, that get `size' bytes. */
void fake_calls(struct fake *f, uint64_t n, uint64_t size);
/* ... of which the last has not returned. */
void fake_call_begins(struct fake *f);
/* n signals, each handled by a block B. */
void fake_signals(struct fake *f, uint64_t n);
/* n mappings of a file. */
void fake_maps(struct fake *f, uint64_t n);

/* As if in a system call; with a recorder that is watched, events are shown. */
void fake_enter_syscall(struct fake *f);
void fake_leave_syscall(struct fake *f);

/* What has to do with the control area; false if there is no such command. */
/* Overwrites memory as a hostile guest would; false: there is no lie of that kind. */
bool fake_lie(struct fake *f, const char *what);

bool fake_control(struct fake *f, const char *cmd, const char *rest);

/* Puts nonsense of that kind into the ring; returns false if there is no such. */
bool fake_scribble(struct fake *f, const char *kind);

#endif
