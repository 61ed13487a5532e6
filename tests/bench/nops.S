/* SPDX-License-Identifier: MIT */
/*
 * A loop of 100 nops for mipsel, ROUNDS times: QEMU generates no code for a nop, so only
 * the recorder's work for each block remains.
 */
#ifndef ROUNDS
#define ROUNDS 134217728
#endif
        .set    noreorder
        .globl  __start
__start:
        li      $t0, ROUNDS
1:
        .rept   100
        nop
        .endr
        addiu   $t0, $t0, -1
        bnez    $t0, 1b
        nop
        li      $v0, 4001               /* exit */
        li      $a0, 0
        syscall
