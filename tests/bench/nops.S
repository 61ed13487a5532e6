/* SPDX-License-Identifier: MIT */
/* A loop of 100 nops for mipsel: what the plain block rate of a recorder is. */
        .set    noreorder
        .globl  __start
__start:
        lui     $t0, 0x0800             /* 134,217,728 rounds */
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
