/* SPDX-License-Identifier: MIT */
/* Start and vectors of the machine's program for 32-bit arm, -M virt. */
    .syntax unified
    .arch armv7ve
    .arm
    .section .text.start, "ax"
    .global _start
_start:
    ldr sp, =stack_top
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0      /* VBAR */
    isb
    bl machine_main
    .global machine_off
machine_off:                        /* PSCI SYSTEM_OFF */
    ldr r0, =0x84000008
    .weak machine_ends              /* a program may end elsewhere */
machine_ends:
    hvc #0
1:  wfi
    b 1b

/* The other vCPUs begin here, with their number. */
    .global secondary
secondary:
    ldr r1, =stacks + 4096
    add sp, r1, r0, lsl #12
    bl machine_secondary
    ldr r0, =0x84000002             /* PSCI CPU_OFF */
    hvc #0
1:  wfi
    b 1b

/* (code, end of its stack): runs the code in user mode until it calls SVC with number 0. */
    .global enter_user
enter_user:
    push {r4-r11, lr}
    cps #0x1f                       /* system mode has the registers of user mode */
    mov sp, r1
    cps #0x13
    mov r2, #0x10
    push {r0, r2}
    rfeia sp!
    .global user_left
user_left:
    pop {r4-r11, pc}

/* All handlers run in supervisor mode; they get the frame, which is r0 to r3, r12, lr, pc
 * and the mode, and may change it. */
    .macro vector name, adjust, function
\name:
    .if \adjust
    sub lr, lr, #\adjust
    .endif
    srsdb sp!, #0x13
    cps #0x13
    push {r0-r3, r12, lr}
    mov r0, sp
    bl \function
    pop {r0-r3, r12, lr}
    rfeia sp!
    .endm

    vector undefined, 0, on_undefined
    vector supervisor_call, 0, on_supervisor_call
    vector prefetch_abort, 4, on_prefetch_abort
    vector data_abort, 8, on_data_abort
    vector interrupt, 4, on_interrupt

    .balign 32
vectors:
    b machine_off
    b undefined
    b supervisor_call
    b prefetch_abort
    b data_abort
    b machine_off
    b interrupt
    b interrupt                     /* FIQ */

/* (cells, n): loads, stores and conditions in Thumb. */
    .thumb
    .global thumb_loop
    .type thumb_loop, %function
    .thumb_func
thumb_loop:
    push {r4, r5, lr}
    mov r2, #0
1:  ldrd r3, r4, [r0]
    adds r2, r3
    ands r5, r1, #3
    ite eq
    ldrheq r5, [r0, #2]
    strne r2, [r0, #12]
    itt cs
    addcs r2, #1
    strbcs r2, [r0, #5]
    add r2, r5
    eor r2, r4
    str r2, [r0, #8]
    subs r1, #1
    bne 1b
    mov r0, r2
    pop {r4, r5, pc}
