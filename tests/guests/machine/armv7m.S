/* SPDX-License-Identifier: MIT */
/* Start and vectors of the machine's program for Cortex-M, -M mps2-an385. */
    .syntax unified
    .thumb
    .section .text.start, "ax"
    .macro function name
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endm

vectors:
    .word stack_top
    .word _start
    .word machine_off               /* NMI */
    .word hard_fault
    .word memory_fault
    .word bus_fault
    .word usage_fault
    .word 0, 0, 0, 0
    .word supervisor_call
    .word machine_off, 0
    .word on_pending
    .word on_tick
    .rept 8
    .word machine_off
    .endr
    .word on_timer                  /* IRQ 8 */
    .rept 22
    .word machine_off
    .endr
    .word on_request                /* IRQ 31 */

function _start
    bl machine_start
    bl machine_main
function machine_off                /* semihosting: SYS_EXIT, ADP_Stopped_ApplicationExit */
    mov r0, #0x18
    ldr r1, =0x20026
    .global machine_ends
machine_ends:
    bkpt 0xab
1:  wfi
    b 1b

/* (code, end of its stack): runs the code without privileges until it calls SVC 0. */
function enter_user
    push {r4-r11, lr}
    msr psp, r1
    mov r2, #3
    msr control, r2
    isb
    blx r0
    mov r2, #0
    msr control, r2
    isb
    pop {r4-r11, pc}

/* The handlers get the frame that the processor has pushed. */
    .macro handler name, function
function \name
    tst lr, #4
    ite eq
    mrseq r0, msp
    mrsne r0, psp
    push {r4, lr}
    bl \function
    pop {r4, pc}
    .endm

    handler hard_fault, on_hard_fault
    handler memory_fault, on_memory_fault
    handler bus_fault, on_bus_fault
    handler usage_fault, on_usage_fault
    handler supervisor_call, on_supervisor_call

/* A function in an MPU region smaller than QEMU's pages of 1 KiB: its instructions run one
 * by one, and nothing else is in the page, because plugins do not know addresses of it. */
    .balign 1024
function in_small_region            /* (cells, n) */
    mov r2, #0
1:  ldr r3, [r0], #4
    add r2, r2, r3
    str r2, [r0, #16]
    subs r1, #1
    bne 1b
    mov r0, r2
    bx lr
    .balign 1024
