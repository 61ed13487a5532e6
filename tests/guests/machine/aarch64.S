/* SPDX-License-Identifier: MIT */
/* Start and vectors of the machine's program for aarch64, -M virt. */
    .section .text.start, "ax"
    .global _start
_start:
    ldr x0, =stack_top
    mov sp, x0
    ldr x0, =vectors
    msr vbar_el1, x0
    isb
    bl machine_main
    .global machine_off
machine_off:                        /* PSCI SYSTEM_OFF */
    ldr x0, =0x84000008
    .weak machine_ends              /* a program may end elsewhere */
machine_ends:
    hvc #0
1:  wfi
    b 1b

/* The other vCPUs begin here, with their number. */
    .global secondary
secondary:
    ldr x1, =stacks
    add x2, x0, #1
    add x1, x1, x2, lsl #12
    mov sp, x1
    bl machine_secondary
    ldr x0, =0x84000002             /* PSCI CPU_OFF */
    hvc #0
1:  wfi
    b 1b

/* (code, end of its stack): runs the code at EL0 until it calls SVC with number 0. */
    .global enter_user
enter_user:
    stp x29, x30, [sp, #-96]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    msr sp_el0, x1
    msr elr_el1, x0
    mov x2, #0x3c0
    msr spsr_el1, x2
    eret
    .global user_left
user_left:
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #96
    ret

    .macro vector function
    .balign 0x80
    sub sp, sp, #256
    stp x0, x1, [sp]
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp x8, x9, [sp, #64]
    stp x10, x11, [sp, #80]
    stp x12, x13, [sp, #96]
    stp x14, x15, [sp, #112]
    adr x0, \function
    b enter
    .endm
    .macro stray
    .balign 0x80
    b machine_off
    .endm

enter:
    stp x16, x17, [sp, #128]
    stp x18, x29, [sp, #144]
    str x30, [sp, #160]
    mov x16, x0
    mrs x0, esr_el1
    mrs x1, far_el1
    mrs x2, elr_el1
    blr x16                         /* returns the pc to go on at */
    msr elr_el1, x0
    ldr x30, [sp, #160]
    ldp x18, x29, [sp, #144]
    ldp x16, x17, [sp, #128]
    ldp x14, x15, [sp, #112]
    ldp x12, x13, [sp, #96]
    ldp x10, x11, [sp, #80]
    ldp x8, x9, [sp, #64]
    ldp x6, x7, [sp, #48]
    ldp x4, x5, [sp, #32]
    ldp x2, x3, [sp, #16]
    ldp x0, x1, [sp]
    add sp, sp, #256
    eret

    .balign 0x800
vectors:
    stray
    stray
    stray
    stray
    vector on_sync
    vector on_irq
    stray
    stray
    vector on_sync                  /* from EL0 */
    vector on_irq
    .rept 6
    stray
    .endr
