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

/* ---- before all else, with all privileges ---- */

#define PUT(number, value)                                                               \
    __asm__ volatile("csrw " #number ", %0" ::"r"((uintptr_t)(value)))
#define SET(number, value)                                                               \
    __asm__ volatile("csrs " #number ", %0" ::"r"((uintptr_t)(value)))
#define CLEAR(number, value)                                                             \
    __asm__ volatile("csrc " #number ", %0" ::"r"((uintptr_t)(value)))

static uintptr_t pending(void)
{
    uintptr_t v;

    __asm__ volatile("csrr %0, mip" : "=r"(v));
    return v;
}

#define CLINT_SOFTWARE (*(volatile uint32_t *)0x2000000)
#define CLINT_COMPARE ((volatile uint32_t *)0x2004000) /* low, high */
#define PLIC(at) (*(volatile uint32_t *)(0xc000000ul + (at)))
#define UART_IER (*(volatile uint8_t *)0x10000001)
#define UART_IRQ 10u

static void protection(void)
{
    PUT(pmpaddr0, 0x20000000u);
    PUT(pmpaddr1, 0x20001fffu);
    PUT(pmpaddr15, -1);
    PUT(pmpcfg0, 0x00001f08u); /* up to the first address; a power of two */
    PUT(pmpcfg2, 0x18u);
#if __riscv_xlen == 64
    PUT(pmpcfg2, 0x1f00000000000000ul);
#else
    PUT(pmpcfg1, 0x0808u);
    PUT(pmpcfg3, 0x1f000000u);
    PUT(pmpcfg1, 0);
#endif
    PUT(pmpcfg0, 0x80000000u); /* area 3 is off, for good */
    PUT(pmpaddr3, 5);          /* ignored */
    PUT(pmpcfg0, 0);
    PUT(pmpaddr1, 0);
}

/* By instructions, and by devices: they are pending, and not taken. */
static void raise_interrupts(void)
{
    PUT(mie, -1);
    PUT(mideleg, 0);
    SET(mip, 0x22);
    PUT(mideleg, -1);
    CLEAR(mip, 2);
    SET(sip, 2);
    PUT(mideleg, 2);
    SET(mip, 0x200);
    PUT(sie, 0);
    SET(sie, 2);
    PUT(mideleg, -1);
    CLEAR(sip, 2);
#if __riscv_xlen == 64
    SET(0x30a, 1ul << 63); /* menvcfg: the supervisor's timer is its own */
    CLEAR(0x30a, 1ul << 63);
#else
    SET(0x31a, 1ul << 31); /* menvcfgh */
    CLEAR(0x31a, 1ul << 31);
#endif
    CLEAR(mip, -1);

    CLINT_SOFTWARE = 1;
    sum_loop(3);
    pending();
    CLINT_SOFTWARE = 0;
    sum_loop(3);
    CLINT_COMPARE[1] = 0;
    CLINT_COMPARE[0] = 0;
    sum_loop(3);
    CLINT_COMPARE[0] = 0xffffffffu;
    CLINT_COMPARE[1] = 0xffffffffu;
    sum_loop(3);
    CLINT_COMPARE[0] = *(volatile uint32_t *)0x200bff8 + 100;
    CLINT_COMPARE[1] = 0;
    while (!(pending() & 0x80)) {
        sum_loop(5);
    }
    CLINT_COMPARE[1] = 0xffffffffu;

    PLIC(4 * UART_IRQ) = 1;
    PLIC(0x2000) = 1u << UART_IRQ; /* of the machine's mode */
    UART_IER = 2;                  /* it can take what is written */
    sum_loop(3);
    PLIC(0x200004) = PLIC(0x200004); /* claimed, and completed */
    UART_IER = 0;
    sum_loop(3);
    PLIC(0x200004) = PLIC(0x200004);
    PLIC(0x2000) = 0;
    PLIC(0x2080) = 1u << UART_IRQ; /* of the supervisor */
    UART_IER = 2;
    sum_loop(3);
    UART_IER = 0;
    PLIC(0x201004) = PLIC(0x201004);
    PLIC(0x2080) = 0;
    PUT(mie, 0);
}

void enter_guest(void);

static void hypervisor(void)
{
    PUT(0x602, -1);    /* hedeleg */
    PUT(0x603, 0);     /* hideleg */
    PUT(0x604, -1);    /* hie */
    SET(0x645, 0x444); /* hvip */
    PUT(0x603, -1);
    PUT(0x204, 0x222);  /* vsie */
    SET(0x244, 2);      /* vsip */
    CLEAR(0x645, 0x40); /* hvip */
    PUT(0x600, -1);     /* hstatus */
    PUT(0x600, 0);
    PUT(0x605, 12345); /* htimedelta */
    PUT(0x605, 0);
    PUT(0x606, -1); /* hcounteren */
    PUT(0x607, -1); /* hgeie */
    PUT(0x60a, -1); /* henvcfg */
    PUT(0x60a, 0);
    PUT(0x643, 77); /* htval */
    PUT(0x34b, 78); /* mtval2 */
    PUT(0x34a, 79); /* mtinst */
    PUT(0x200, -1); /* vsstatus, vstvec, vsscratch, vsepc, vscause, vstval */
    PUT(0x200, 0);
    PUT(0x205, 4096);
    PUT(0x240, 1);
    PUT(0x241, 2);
    PUT(0x242, 3);
    PUT(0x243, 4);
    PUT(0x604, 0);
    PUT(pmpaddr0, -1);
    PUT(pmpcfg0, 0x1f);
    enter_guest();
    CLEAR(0x645, -1);
    PUT(0x602, 0);
    PUT(0x603, 0);
    PUT(0x606, 0);
}

/* Of what a processor computes when such registers are read, and of what devices write. */
void control_registers(void)
{
    uintptr_t misa;

    protection();
    raise_interrupts();
    PUT(0x320, -1); /* mcountinhibit */
    PUT(0x323, 1);  /* mhpmevent3 */
    PUT(0x323, 0);
    PUT(0x320, 0);
    PUT(0x7a8, 21); /* mcontext */
    __asm__ volatile("csrr %0, misa" : "=r"(misa));
    if (misa >> ('H' - 'A') & 1) {
        hypervisor();
    }
    PUT(mideleg, 0);
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

/* All three instructions are in one page. */
static uintptr_t semihosting(uintptr_t number, void *block)
{
    register uintptr_t a0 __asm__("a0") = number;
    register void *a1 __asm__("a1") = block;

    __asm__ volatile(".balign 16\n slli zero, zero, 0x1f\n ebreak\n srai zero, zero, 7"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

#include "semihosting.h"

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
    put_number("debugger", debugger(WINDOW));
    put_number("atomics", atomics());
    for (int i = 0; i < 10; i++) {
        __asm__ volatile(
            ".option push\n .option norvc\n ebreak\n .word 0\n .option pop" ::
                : "memory");
    }
    put_number("calls", nr_calls * 100 + nr_illegal);
}
