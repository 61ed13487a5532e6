/* SPDX-License-Identifier: MIT */
/* Start and trap entry of the machines' program for riscv64 and riscv32, -M virt -bios none. */
#if __riscv_xlen == 64
#define MENVCFG 0x30a               /* the half with the timer */
#define LAST 63
#define WORD 8
#else
#define MENVCFG 0x31a
#define LAST 31
#define WORD 4
#endif
    .macro keep register, number
#if __riscv_xlen == 64
    sd \register, WORD * \number(sp)
#else
    sw \register, WORD * \number(sp)
#endif
    .endm
    .macro back register, number
#if __riscv_xlen == 64
    ld \register, WORD * \number(sp)
#else
    lw \register, WORD * \number(sp)
#endif
    .endm

    .section .text.start, "ax"
    .global _start
_start:
    csrr a0, mhartid
    bnez a0, other
    la sp, stack_top
    csrw medeleg, zero              /* a reset leaves it as it was */
    call control_registers
    li t0, -1                       /* everything is delegated, all memory is open */
    csrw medeleg, t0
    csrw mideleg, t0
    csrw pmpaddr0, t0
    li t0, 0x1f
    csrw pmpcfg0, t0
    li t0, -1
    csrw mcounteren, t0
    li t0, 1 << LAST                /* the supervisor has a timer */
    csrs MENVCFG, t0
    la t0, trap
    csrw stvec, t0
    li t0, 1 << 11                  /* go on in supervisor mode */
    csrw mstatus, t0
    la t0, supervisor
    csrw mepc, t0
    mret
supervisor:
    call machine_main
    .global machine_off
machine_off:
    li t0, 0x100000
    li t1, 0x5555
    .global machine_ends
machine_ends:
    sw t1, 0(t0)
1:  wfi
    j 1b

/* The other vCPUs, of a program that has some (riscv-vcpus.c), say that they are there, and wait
 * until they are wanted. That interrupt stays pending, so that wfi only lets another vCPU run. */
    .weak present, stacks, machine_secondary
other:
    la t0, present
    add t0, t0, a0
    li t1, 1
    sb t1, 0(t0)
    li t0, 8                        /* MSIE */
    csrw mie, t0
1:  wfi
    csrr t0, mip
    andi t0, t0, 8
    beqz t0, 1b
    .global secondary
secondary:
    la sp, stacks + 4096
    slli t0, a0, 12
    add sp, sp, t0
    call machine_secondary
    csrw mie, zero
1:  wfi
    j 1b

/* Runs guest code in a virtual machine, as its supervisor, up to its ecall. */
#if __riscv_xlen == 64
#define MPV_IN mstatus
#define MPV 39
#else
#define MPV_IN 0x310                /* mstatush */
#define MPV 7
#endif
    .global enter_guest
enter_guest:
    csrw mscratch, ra
    la t0, guest_left
    csrw mtvec, t0
    la t0, guest_code
    csrw mepc, t0
    li t0, 1 << 11
    csrs mstatus, t0
    slli t0, t0, 1
    csrc mstatus, t0
    li t0, 1 << MPV
    csrs MPV_IN, t0
    mret
    .balign 4
guest_left:
    li t0, 1 << MPV
    csrc MPV_IN, t0
    csrr ra, mscratch
    ret
guest_code:
    csrr t0, sie
    li t1, -1
    csrw sie, t1
    csrr t0, sie
    csrsi sip, 2
    csrr t0, sip
    csrci sip, 2
    csrr t0, sip
    csrw sscratch, t1
    csrw scause, t0
    csrwi sie, 0
    ecall

/* (code, end of its stack): runs the code in user mode until user_done is set. */
    .global enter_user
enter_user:
    addi sp, sp, -WORD * 16
    keep ra, 0
    keep s0, 1
    keep s1, 2
    keep s2, 3
    keep s3, 4
    keep s4, 5
    keep s5, 6
    keep s6, 7
    keep s7, 8
    keep s8, 9
    keep s9, 10
    keep s10, 11
    keep s11, 12
    csrw sscratch, sp
    csrw sepc, a0
    li t0, 0x100                    /* SPP */
    csrc sstatus, t0
    mv sp, a1
    sret
    .global user_left
user_left:
    csrr sp, sscratch
    back ra, 0
    back s0, 1
    back s1, 2
    back s2, 3
    back s3, 4
    back s4, 5
    back s5, 6
    back s6, 7
    back s7, 8
    back s8, 9
    back s9, 10
    back s10, 11
    back s11, 12
    addi sp, sp, WORD * 16
    ret

    .balign 4
trap:
    addi sp, sp, -WORD * 16
    keep ra, 0
    keep t0, 1
    keep t1, 2
    keep t2, 3
    keep t3, 4
    keep t4, 5
    keep t5, 6
    keep t6, 7
    keep a0, 8
    keep a1, 9
    keep a2, 10
    keep a3, 11
    keep a4, 12
    keep a5, 13
    keep a6, 14
    keep a7, 15
    csrr a0, scause
    csrr a1, stval
    csrr a2, sepc
    call on_trap                    /* returns the pc to go on at */
    csrw sepc, a0
    back ra, 0
    back t0, 1
    back t1, 2
    back t2, 3
    back t3, 4
    back t4, 5
    back t5, 6
    back t6, 7
    back a0, 8
    back a1, 9
    back a2, 10
    back a3, 11
    back a4, 12
    back a5, 13
    back a6, 14
    back a7, 15
    addi sp, sp, WORD * 16
    sret
