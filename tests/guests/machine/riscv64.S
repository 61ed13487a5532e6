/* SPDX-License-Identifier: MIT */
/* Start and trap entry of the machine's program for riscv64, -M virt -bios none. */
    .section .text.start, "ax"
    .global _start
_start:
    la sp, stack_top
    li t0, -1                       /* everything is delegated, all memory is open */
    csrw medeleg, t0
    csrw mideleg, t0
    csrw pmpaddr0, t0
    li t0, 0x1f
    csrw pmpcfg0, t0
    li t0, -1
    csrw mcounteren, t0
    li t0, 1 << 63                  /* the supervisor has a timer */
    csrs 0x30a, t0
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

/* (code, end of its stack): runs the code in user mode until user_done is set. */
    .global enter_user
enter_user:
    addi sp, sp, -112
    sd ra, 0(sp)
    sd s0, 8(sp)
    sd s1, 16(sp)
    sd s2, 24(sp)
    sd s3, 32(sp)
    sd s4, 40(sp)
    sd s5, 48(sp)
    sd s6, 56(sp)
    sd s7, 64(sp)
    sd s8, 72(sp)
    sd s9, 80(sp)
    sd s10, 88(sp)
    sd s11, 96(sp)
    csrw sscratch, sp
    csrw sepc, a0
    li t0, 0x100                    /* SPP */
    csrc sstatus, t0
    mv sp, a1
    sret
    .global user_left
user_left:
    csrr sp, sscratch
    ld ra, 0(sp)
    ld s0, 8(sp)
    ld s1, 16(sp)
    ld s2, 24(sp)
    ld s3, 32(sp)
    ld s4, 40(sp)
    ld s5, 48(sp)
    ld s6, 56(sp)
    ld s7, 64(sp)
    ld s8, 72(sp)
    ld s9, 80(sp)
    ld s10, 88(sp)
    ld s11, 96(sp)
    addi sp, sp, 112
    ret

    .balign 4
trap:
    addi sp, sp, -128
    sd ra, 0(sp)
    sd t0, 8(sp)
    sd t1, 16(sp)
    sd t2, 24(sp)
    sd t3, 32(sp)
    sd t4, 40(sp)
    sd t5, 48(sp)
    sd t6, 56(sp)
    sd a0, 64(sp)
    sd a1, 72(sp)
    sd a2, 80(sp)
    sd a3, 88(sp)
    sd a4, 96(sp)
    sd a5, 104(sp)
    sd a6, 112(sp)
    sd a7, 120(sp)
    csrr a0, scause
    csrr a1, stval
    csrr a2, sepc
    call on_trap                    /* returns the pc to go on at */
    csrw sepc, a0
    ld ra, 0(sp)
    ld t0, 8(sp)
    ld t1, 16(sp)
    ld t2, 24(sp)
    ld t3, 32(sp)
    ld t4, 40(sp)
    ld t5, 48(sp)
    ld t6, 56(sp)
    ld a0, 64(sp)
    ld a1, 72(sp)
    ld a2, 80(sp)
    ld a3, 88(sp)
    ld a4, 96(sp)
    ld a5, 104(sp)
    ld a6, 112(sp)
    ld a7, 120(sp)
    addi sp, sp, 128
    sret
