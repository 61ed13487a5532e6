/* SPDX-License-Identifier: MIT */
/*
 * mips: branch-likely, which skips its delay slot when it is not taken, and branches at
 * the end of a page, which QEMU translates separately from their slots.  The label of each
 * gives its directions: NAME_TAKEN_NOTTAKEN.
 */
    .set noreorder
    .set nomacro
    .globl main
    .text
    .balign 4096
main:
    li $t0, 1000
    li $t1, 0
again:
    andi $t2, $t0, 3
likely_250_750:
    beql $t2, $zero, over
    addiu $t1, $t1, 1
    addiu $t1, $t1, 2
over:
    addiu $t0, $t0, -1
loop_999_1:
    bnel $t0, $zero, again
    nop
    b page_end
    nop
    .balign 4096
    .space 4088
page_end:
    li $t0, 1000
plain_1000_1:
    bne $t0, $zero, plain_1000_1
    addiu $t0, $t0, -1
    b page_end_likely
    nop
    .balign 4096
    .space 4088
page_end_likely:
    li $t0, 1000
cut_1000_1:
    bnel $t0, $zero, cut_1000_1
    addiu $t0, $t0, -1
    jr $ra
    li $v0, 0
