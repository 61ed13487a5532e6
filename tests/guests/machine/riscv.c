/* SPDX-License-Identifier: MIT */
/*
 * The machines' program for riscv64 and riscv32, -M virt -bios none: as that for aarch64.
 */
#include "machine.h"

#define WINDOW 0xc0000000ul /* 512 pages that the program maps as it likes */
#define INTERRUPT ((uintptr_t)1 << (__riscv_xlen - 1))

/* Instructions that load and store a register, and where the last one in a page begins. */
#if __riscv_xlen == 64
__asm__(".macro load reg, at\n ld \\reg, \\at\n .endm\n"
        ".macro store reg, at\n sd \\reg, \\at\n .endm");
#define LAST "-8"
#define WIDTH ".d"
#else
__asm__(".macro load reg, at\n lw \\reg, \\at\n .endm\n"
        ".macro store reg, at\n sw \\reg, \\at\n .endm");
#define LAST "-4"
#define WIDTH ".w"
#endif

void machine_put(char c)
{
    while (!(*(volatile uint8_t *)0x10000005 & 0x20)) {
    }
    *(volatile uint8_t *)0x10000000 = (uint8_t)c;
}

/* ---- exceptions ---- */

static volatile uintptr_t nr_irqs, nr_faults, nr_calls, nr_illegal;
static uintptr_t period;
static uintptr_t window_table[PAGE / sizeof(uintptr_t)] __attribute__((aligned(4096)));
uint8_t frames[NR_FRAMES][PAGE] __attribute__((aligned(PAGE)));

void map(unsigned page, const void *frame)
{
    window_table[page] = ((uintptr_t)frame >> 12 << 10) | 0xcf;
    __asm__ volatile("sfence.vma" ::: "memory");
}

void unmap(unsigned page)
{
    window_table[page] = 0;
    __asm__ volatile("sfence.vma %0, zero" ::"r"(WINDOW + page * PAGE) : "memory");
}

#if __riscv_xlen == 64
static void set_timer(void)
{
    uint64_t now;

    __asm__ volatile("rdtime %0\n add %0, %0, %1\n csrw 0x14d, %0"
                     : "=&r"(now)
                     : "r"(period));
}
#else
/* In halves; the time is below 2^31. */
static void set_timer(void)
{
    uint32_t now;

    __asm__ volatile("rdtime %0\n add %0, %0, %1\n csrw 0x14d, %0\n csrw 0x15d, zero"
                     : "=&r"(now)
                     : "r"(period));
}
#endif

void enter_user(void (*code)(void), void *stack);
void user_left(void);
static volatile uintptr_t user_calls, user_done, user_sum;

uintptr_t on_trap(uintptr_t cause, uintptr_t addr, uintptr_t pc)
{
    switch (cause) {
    case INTERRUPT | 5:
        nr_irqs++;
        set_timer();
        return pc;
    case 2:
        nr_illegal++;
        return pc + 4;
    case 3:
        nr_calls++;
        return pc + 4;
    case 8:
        user_calls++;
        if (user_done) {
            __asm__ volatile("csrs sstatus, %0" ::"r"(0x100ul)); /* SPP */
            return (uintptr_t)user_left;
        }
        return pc + 4;
    case 12:
    case 13:
    case 15:
        nr_faults++;
        map((addr - WINDOW) / PAGE % 512, frames[(addr - WINDOW) / PAGE % NR_FRAMES]);
        return pc;
    }
    put_number("stray trap", cause);
    __asm__ volatile("j machine_off");
    return 0;
}

/* ---- what is tried ---- */

static uintptr_t table[PAGE / sizeof(uintptr_t)] __attribute__((aligned(4096)));

#if __riscv_xlen == 64
/* Sv39: pages of 1 GiB, and small ones for the window. */
static void mmu_on(void)
{
    static uint64_t level2[512] __attribute__((aligned(4096)));

    for (uint64_t i = 0; i < 3; i++) {
        table[i] = i << 28 | 0xcf;
    }
    table[3] = ((uint64_t)level2 >> 12 << 10) | 1;
    level2[0] = ((uint64_t)window_table >> 12 << 10) | 1;
    __asm__ volatile("csrw satp, %0\n sfence.vma" ::"r"(8ul << 60 | (uint64_t)table >> 12)
                     : "memory");
}
#else
/* Sv32: pages of 4 MiB, and small ones for the window. */
static void mmu_on(void)
{
    for (uint32_t i = 0; i < WINDOW >> 22; i++) {
        table[i] = i << 20 | 0xcf;
    }
    table[WINDOW >> 22] = ((uint32_t)window_table >> 12 << 10) | 1;
    __asm__ volatile("csrw satp, %0\n sfence.vma" ::"r"(1ul << 31 | (uint32_t)table >> 12)
                     : "memory");
}
#endif

static void interrupts(void)
{
    uintptr_t loops = 0;

    period = 60; /* of 100 ns */
    set_timer();
    __asm__ volatile("csrs sie, %0\n csrsi sstatus, 2" ::"r"(1ul << 5));
    while (nr_irqs < 20) {
        sum_loop(37);
        loops++;
    }
    for (int i = 0; i < 5; i++) {
        __asm__ volatile("wfi");
    }
    __asm__ volatile("csrci sstatus, 2\n csrw sie, zero");
    put(loops ? "interrupts\n" : "no loop\n");
}

/* Accesses that fault among others of the block, at the ends of pages and across. */
static uintptr_t faults(void)
{
    uintptr_t sum = 1, a, b;

    for (unsigned page = 16; page < 80; page++) {
        char *end = (char *)WINDOW + (page + 1) * PAGE;

        __asm__ volatile("store %2, -64(%3)\n"
                         "store %2, " LAST "(%3)\n"
                         "store %3, 0(%3)\n"
                         "load %0, " LAST "(%3)\n"
                         "load %1, -3(%3)\n"
                         "sw %1, -2(%3)\n"
                         "load %1, 16(%3)"
                         : "=&r"(a), "=&r"(b)
                         : "r"(sum), "r"(end)
                         : "memory");
        sum += a + b + page;
        unmap_some(page);
    }
    return sum;
}

static void code_ready(void *one, void *two)
{
    (void)one;
    (void)two;
    __asm__ volatile("fence.i" ::: "memory");
}

static uintptr_t modified(void)
{
    static const uint32_t code[] = {0x00150513,  /* addi a0, a0, 1 + i */
                                    0x00a5a623,  /* sw a0, 12(a1) */
                                    0x00250513,  /* addi a0, a0, 2 */
                                    0x00000013,  /* nop */
                                    0x00008067}; /* ret */

    return call_modified(WINDOW, code, 1u << 20, code_ready);
}

static uintptr_t atomics(void)
{
    static uintptr_t cell;
    uintptr_t old, sum = 0, failed;

    for (uintptr_t i = 0; i < 50; i++) {
        __asm__ volatile("1: lr" WIDTH " %0, (%2)\n add %0, %0, %3\n sc" WIDTH
                         " %1, %0, (%2)\n"
                         "bnez %1, 1b"
                         : "=&r"(old), "=&r"(failed)
                         : "r"(&cell), "r"(i)
                         : "memory");
        sum += old;
        __asm__ volatile("amoadd" WIDTH " %0, %2, (%1)\n amoswap.w zero, %0, (%1)\n"
                         "amomaxu" WIDTH " %0, %2, (%1)"
                         : "=&r"(old)
                         : "r"(&cell), "r"(i)
                         : "memory");
        sum += old;
    }
    return sum + cell;
}

static void user_main(void)
{
    for (uintptr_t i = 0; i < 10; i++) {
        user_sum += sum_loop(20);
        __asm__ volatile("ecall" ::: "memory");
    }
    user_done = 1;
    __asm__ volatile("ecall");
}

static uintptr_t user(void)
{
    static uint8_t stack[PAGE] __attribute__((aligned(16)));

    enter_user(user_main, stack + sizeof(stack));
    return user_sum + user_calls;
}

void machine_main(void)
{
    put_number("plain", sum_loop(300));
    put_number("user", user());
    mmu_on();
    put_number("mapped", sum_loop(300));
    interrupts();
    put_number("faults", faults());
    put_number("nr", nr_faults);
    put_number("aliases", aliases(WINDOW));
    put_number("modified", modified());
    put_number("atomics", atomics());
    for (int i = 0; i < 10; i++) {
        __asm__ volatile(
            ".option push\n .option norvc\n ebreak\n .word 0\n .option pop" ::
                : "memory");
    }
    put_number("calls", nr_calls * 100 + nr_illegal);
}
