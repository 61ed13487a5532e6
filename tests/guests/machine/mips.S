/* SPDX-License-Identifier: MIT */
/*
 * Start and trap entry of the machines' program for mips and mipsel, -M malta. It is linked
 * for user addresses, so that user code can call what other code calls; QEMU starts it at the
 * same place in kseg0.
 */
    .set noreorder
    .set noat
    .section .text.start, "ax"
    .global _start
_start:
    mfc0 $t0, $12
    ori $t0, $t0, 4                 /* ERL: user addresses are physical ones */
    mtc0 $t0, $12
    ehb
    la $t0, 1f
    jr $t0
    nop
1:  la $sp, stack_top
    jal machine_main
    addiu $sp, $sp, -16
    .global machine_off
machine_off:
    lui $t0, 0xbf00
    li $t1, 0x42
    .global machine_ends
machine_ends:
    sw $t1, 0x500($t0)
1:  wait
    b 1b
    nop

/* (code, end of its stack): runs the code in user mode until user_done is set. */
    .global enter_user
enter_user:
    addiu $sp, $sp, -40
    sw $ra, 0($sp)
    sw $s0, 4($sp)
    sw $s1, 8($sp)
    sw $s2, 12($sp)
    sw $s3, 16($sp)
    sw $s4, 20($sp)
    sw $s5, 24($sp)
    sw $s6, 28($sp)
    sw $s7, 32($sp)
    sw $fp, 36($sp)
    la $t0, kernel_stack
    sw $sp, 0($t0)
    mfc0 $t0, $12
    ori $t0, $t0, 0x12              /* UM, EXL */
    mtc0 $t0, $12
    mtc0 $a0, $14
    ehb
    addiu $sp, $a1, -16
    eret
    .global user_left
user_left:
    la $t0, kernel_stack
    lw $sp, 0($t0)
    lw $ra, 0($sp)
    lw $s0, 4($sp)
    lw $s1, 8($sp)
    lw $s2, 12($sp)
    lw $s3, 16($sp)
    lw $s4, 20($sp)
    lw $s5, 24($sp)
    lw $s6, 28($sp)
    lw $s7, 32($sp)
    lw $fp, 36($sp)
    jr $ra
    addiu $sp, $sp, 40

trap:
    addiu $sp, $sp, -96
    sw $at, 16($sp)
    sw $v0, 20($sp)
    sw $v1, 24($sp)
    sw $a0, 28($sp)
    sw $a1, 32($sp)
    sw $a2, 36($sp)
    sw $a3, 40($sp)
    sw $t0, 44($sp)
    sw $t1, 48($sp)
    sw $t2, 52($sp)
    sw $t3, 56($sp)
    sw $t4, 60($sp)
    sw $t5, 64($sp)
    sw $t6, 68($sp)
    sw $t7, 72($sp)
    sw $t8, 76($sp)
    sw $t9, 80($sp)
    sw $ra, 84($sp)
    mfhi $t0
    mflo $t1
    sw $t0, 88($sp)
    sw $t1, 92($sp)
    mfc0 $a0, $13
    mfc0 $a1, $8
    jal on_trap                     /* returns the pc to go on at */
    mfc0 $a2, $14
    mtc0 $v0, $14
    ehb
    lw $t0, 88($sp)
    lw $t1, 92($sp)
    mthi $t0
    mtlo $t1
    lw $at, 16($sp)
    lw $v0, 20($sp)
    lw $v1, 24($sp)
    lw $a0, 28($sp)
    lw $a1, 32($sp)
    lw $a2, 36($sp)
    lw $a3, 40($sp)
    lw $t0, 44($sp)
    lw $t1, 48($sp)
    lw $t2, 52($sp)
    lw $t3, 56($sp)
    lw $t4, 60($sp)
    lw $t5, 64($sp)
    lw $t6, 68($sp)
    lw $t7, 72($sp)
    lw $t8, 76($sp)
    lw $t9, 80($sp)
    lw $ra, 84($sp)
    addiu $sp, $sp, 96
    eret

/* A page without its entry in the TLB, other exceptions, interrupts. */
    .balign 4096
    .global vectors
vectors:
    la $k0, trap
    jr $k0
    nop
    .org vectors + 0x180
    la $k0, trap
    jr $k0
    nop
    .org vectors + 0x200
    la $k0, interrupt
    jr $k0
    nop

/* Only the registers that it changes: it is short. */
interrupt:
    la $k0, nr_irqs
    lw $k1, 0($k0)
    addiu $k1, $k1, 1
    sw $k1, 0($k0)
    la $k0, period
    lw $k0, 0($k0)
    mfc0 $k1, $9                    /* Count */
    addu $k1, $k1, $k0
    mtc0 $k1, $11                   /* Compare */
    eret

    .data
kernel_stack:
    .word 0
