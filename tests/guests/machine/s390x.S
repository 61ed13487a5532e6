/* SPDX-License-Identifier: MIT */
/* Start and entries of the machine's program for s390x, -M s390-ccw-virtio. */
    .section .text.start, "ax"
    .global _start
_start:
    larl %r1, new_psws
    lmg %r2, %r13, 0(%r1)
    stmg %r2, %r13, 0x1a0(%r0)      /* the lowcore is at 0 */
    larl %r15, stack_top
    aghi %r15, -160
    brasl %r14, machine_main
    .global machine_off
machine_off:
    larl %r1, off_psw
    .global machine_ends
machine_ends:
    lpswe 0(%r1)                    /* waits with interrupts disabled */

/* The other vCPUs are restarted here. */
    .global secondary
secondary:
    stap 0x2f8(%r0)
    llgh %r13, 0x2f8(%r0)           /* its number */
    larl %r15, stacks
    lgr %r1, %r13
    aghi %r1, 1
    sllg %r1, %r1, 12
    agr %r15, %r1
    aghi %r15, -160
    lgr %r2, %r13
    brasl %r14, own_lowcore
    lgr %r2, %r13
    brasl %r14, machine_secondary
1:  sigp %r0, %r13, 5               /* stop */
    j 1b

/* (code, end of its stack): runs the code in the problem state until it calls SVC 0. */
    .global enter_user
enter_user:
    stmg %r6, %r15, 48(%r15)
    larl %r1, kernel_stack
    stg %r15, 0(%r1)
    larl %r1, user_psw
    stg %r2, 8(%r1)
    lgr %r15, %r3
    aghi %r15, -160
    lpswe 0(%r1)
    .global user_left
user_left:
    larl %r1, kernel_stack
    lg %r15, 0(%r1)
    lmg %r6, %r15, 48(%r15)
    br %r14

/* Waits for an external interrupt, and disables them; DAT as the first argument says. */
    .global wait_for_interrupt
wait_for_interrupt:
    la %r1, 48(%r15)                /* a place for registers */
    larl %r3, 1f
    stg %r3, 8(%r1)
    llihf %r3, 0x01020001           /* external interrupts, waits, 64 bits */
    iilf %r3, 0x80000000
    ogr %r3, %r2
    stg %r3, 0(%r1)
    lpswe 0(%r1)
1:  stnsm 48(%r15), 0xfe           /* they are disabled */
    br %r14

/* Registers and stack of handlers are in the lowcore, which each vCPU has for itself. */
    .macro entry name, old, function
\name:
    stmg %r0, %r15, 0x300(%r0)
    lghi %r15, 0x2000 - 160
    lg %r2, \old(%r0)
    lg %r3, \old + 8(%r0)
    brasl %r14, \function           /* returns the pc to go on at */
    stg %r2, \old + 8(%r0)
    lmg %r0, %r15, 0x300(%r0)
    lpswe \old(%r0)
    .endm
    entry external, 0x130, on_external
    entry call, 0x140, on_call
    entry program, 0x150, on_program

    .data
    .balign 8
/* restart, external, call, program, machine check, I/O */
new_psws:
    .quad 0x0000000180000000, secondary
    .quad 0x0000000180000000, external
    .quad 0x0000000180000000, call
    .quad 0x0000000180000000, program
    .quad 0x0002000180000000, 0x100
    .quad 0x0002000180000000, 0x101
off_psw:
    .quad 0x0002000180000000, 0xfff
user_psw:
    .quad 0x0001000180000000, 0
kernel_stack:
    .quad 0
