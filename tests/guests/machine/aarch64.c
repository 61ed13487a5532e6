/* SPDX-License-Identifier: MIT */
/*
 * A machine's program for aarch64, -M virt: what only system emulation does.
 * Interrupts in loops, faults in the middle of blocks, pages that are mapped
 * twice, accesses that cross pages, code that changes itself, device registers
 * in blocks, waiting for interrupts, atomics, the MMU on, off and on again.
 */
#include "machine.h"
#include "virt.h"

#define WINDOW 0x80000000ul /* 512 pages that the program maps as it likes */

/* ---- exceptions ---- */

static volatile uint64_t nr_irqs, nr_faults, nr_calls, nr_undefined;
static uint64_t period;
static uint64_t window_table[512] __attribute__((aligned(4096)));
uint8_t frames[NR_FRAMES][PAGE] __attribute__((aligned(PAGE)));

void map(unsigned page, const void *frame)
{
    window_table[page] = (uint64_t)frame | 0x703; /* normal, read, write, execute */
    __asm__ volatile("dsb ishst" ::: "memory");
}

void unmap(unsigned page)
{
    window_table[page] = 0;
    __asm__ volatile(
        "dsb ishst\n tlbi vaae1is, %0\n dsb ish\n isb" ::"r"((WINDOW + page * PAGE) >> 12)
        : "memory");
}

void enter_user(void (*code)(void), void *stack);
void user_left(void);

uint64_t on_sync(uint64_t esr, uint64_t far, uint64_t pc)
{
    switch (esr >> 26) {
    case 0x15: /* SVC */
        if ((esr & 0xffff) == 0) {
            __asm__ volatile("msr spsr_el1, %0" ::"r"(0x3c5ul)); /* go on at EL1 */
            return (uint64_t)user_left;
        }
        nr_calls++;
        return pc;
    case 0: /* undefined */
        nr_undefined++;
        return pc + 4;
    case 0x21: /* fetch */
    case 0x25: /* load, store */
        nr_faults++;
        map((far - WINDOW) / PAGE % 512, frames[(far - WINDOW) / PAGE % NR_FRAMES]);
        return pc;
    }
    put_number("stray exception", esr >> 26);
    __asm__ volatile("b machine_off");
    return 0;
}

static void arm_timer(void)
{
    __asm__ volatile("msr cntv_tval_el0, %0\n isb" ::"r"(period));
}

uint64_t on_irq(uint64_t esr, uint64_t far, uint64_t pc)
{
    uint32_t nr = gic_begin();

    (void)esr, (void)far;
    if ((nr & 0x3ff) == TIMER_IRQ) {
        nr_irqs++;
        arm_timer();
    }
    gic_end(nr);
    return pc;
}

/* ---- what is tried ---- */

static uint64_t table[512] __attribute__((aligned(4096)));

/* With the caches. */
static void mmu(uint64_t on)
{
    uint64_t control;

    __asm__ volatile("tlbi vmalle1\n dsb sy\n isb\n mrs %0, sctlr_el1"
                     : "=r"(control)::"memory");
    control = (control & ~0x1005ul) | (on ? 0x1005 : 0x1000);
    __asm__ volatile("msr sctlr_el1, %0\n isb" ::"r"(control) : "memory");
}

static void mmu_on(void)
{
    for (uint64_t i = 0; i < 4; i++) { /* 1 GiB each: devices, RAM, window */
        table[i] = i * 0x40000000ul | (i ? 0x701 : 0x60000000000401ul | 0x4);
    }
    static uint64_t level2[512] __attribute__((aligned(4096)));
    level2[0] = (uint64_t)window_table | 3;
    table[2] = (uint64_t)level2 | 3;
    map(511, frames[0]);
    __asm__ volatile("msr mair_el1, %0\n msr tcr_el1, %1\n msr ttbr0_el1, %2\n"
                     "dsb sy\n isb" ::"r"(0x00fful),
                     "r"(0x803519ul), "r"(table)
                     : "memory");
    mmu(1);
    (void)*(volatile uint64_t *)(WINDOW +
                                 511 * PAGE); /* the first use of two of the tables */
}

static void interrupts(void)
{
    uint64_t loops = 0;

    gic_start(1);
    period = 300; /* of 16 ns */
    arm_timer();
    __asm__ volatile("msr cntv_ctl_el0, %0\n msr daifclr, #2" ::"r"(1ul));
    while (nr_irqs < 20) {
        sum_loop(37);
        loops++;
    }
    for (int i = 0; i < 5; i++) {
        __asm__ volatile("wfi");
    }
    __asm__ volatile("msr daifset, #2\n msr cntv_ctl_el0, xzr");
    put(loops ? "interrupts\n" : "no loop\n");
}

/* Registers that QEMU reads by functions of its own.  The timer's interrupt is masked. */
static void system_registers(void)
{
    uint64_t control, now;

    for (uint64_t i = 0; i < 4; i++) {
        __asm__ volatile(
            "msr cpacr_el1, %0\n isb\n msr pmcr_el0, %1\n isb" ::"r"(i << 20),
            "r"(i | 8));
    }
    __asm__ volatile("isb\n mrs %0, cntpct_el0" : "=r"(now));
    __asm__ volatile(
        "msr cntp_cval_el0, %0\n msr cntp_ctl_el0, %1\n isb" ::"r"(now + 400), "r"(3ul));
    do {
        sum_loop(5);
        __asm__ volatile("mrs %0, cntp_ctl_el0" : "=r"(control));
    } while (!(control & 4));
    __asm__ volatile(
        "msr cntp_ctl_el0, xzr\n msr pmcr_el0, xzr\n msr cpacr_el1, xzr\n isb");
}

/* Pairs of which the second half faults, and others in the same block. */
static uint64_t faults(void)
{
    uint64_t sum = 1, a, b;

    for (unsigned page = 16; page < 80; page++) {
        char *end = (char *)WINDOW + (page + 1) * PAGE;

        __asm__ volatile("str %2, [%3, #-64]\n"
                         "stp %2, %3, [%3, #-8]\n"
                         "ldp %0, %1, [%3, #-8]\n"
                         "str %1, [%3, #16]\n"
                         "ldr %0, [%3, #-4]\n"
                         "str w0, [%3, #-2]\n"
                         "ldr %1, [%3, #-64]"
                         : "=&r"(a), "=&r"(b)
                         : "r"(sum), "r"(end)
                         : "memory");
        sum += a + b;
        unmap_some(page);
    }
    return sum;
}

static void code_ready(void *one, void *two)
{
    (void)one;
    (void)two;
    __asm__ volatile("dsb ish\n ic ialluis\n dsb ish\n isb" ::: "memory");
}

static uint64_t modified(void)
{
    static const uint32_t code[] = {0x91000400,  /* add x0, x0, #(1 + i) */
                                    0xb9000c20,  /* str w0, [x1, #12] */
                                    0x91000800,  /* add x0, x0, #2 */
                                    0xd503201f,  /* nop */
                                    0xd65f03c0}; /* ret */

    return call_modified(WINDOW, code, 1u << 10, code_ready);
}

/* Code that runs mapped at two addresses runs at its own, without MMU, and mapped again. */
static uint64_t on_and_off(void)
{
    uint64_t (*mapped)(uint64_t, void *) = (void *)(WINDOW + 110 * PAGE);
    uint64_t (*here)(uint64_t, void *) = (void *)frames[1];
    volatile uint64_t *cell = (void *)(WINDOW + 112 * PAGE + 64);
    uint64_t sum = 0;

    map(112, frames[4]);
    for (uint64_t i = 0; i < 6; i++) {
        sum += mapped(i, frames[2]);
        *cell = sum;
        mmu(0);
        sum += here(i, frames[2]) + *(volatile uint64_t *)(frames[4] + 64);
        *(volatile uint64_t *)(frames[4] + 64) = i;
        sum += sum_loop(20);
        mmu(1);
        sum += *cell + here(i, frames[2]) + sum_loop(20);
    }
    return sum;
}

static uint64_t atomics(void)
{
    static uint64_t cell;
    static uint64_t pair[2] __attribute__((aligned(16)));
    uint64_t old, sum = 0;
    uint32_t failed;

    for (uint64_t i = 0; i < 50; i++) {
        __asm__ volatile("1: ldxr %0, [%2]\n add %0, %0, %3\n stxr %w1, %0, [%2]\n"
                         "cbnz %w1, 1b"
                         : "=&r"(old), "=&r"(failed)
                         : "r"(&cell), "r"(i)
                         : "memory");
        __asm__ volatile("1: ldxp %0, x9, [%2]\n add x9, x9, %3\n"
                         "stxp %w1, %0, x9, [%2]\n cbnz %w1, 1b"
                         : "=&r"(old), "=&r"(failed)
                         : "r"(pair), "r"(i)
                         : "x9", "memory");
        __asm__ volatile(".arch_extension lse\n ldadd %2, %0, [%1]\n"
                         "cas %0, %2, [%1]\n swp %2, %0, [%1]"
                         : "=&r"(old)
                         : "r"(&cell), "r"(i)
                         : "memory");
        sum += old;
    }
    return sum + cell + pair[1];
}

static uintptr_t semihosting(uintptr_t number, void *block)
{
    register uintptr_t x0 __asm__("x0") = number;
    register void *x1 __asm__("x1") = block;

    __asm__ volatile("hlt #0xf000" : "+r"(x0) : "r"(x1) : "memory");
    return x0;
}

#include "semihosting.h"

/* ---- code without privileges ---- */

static volatile uint64_t user_sum;

static void user_main(void)
{
    for (uint64_t i = 0; i < 10; i++) {
        user_sum += sum_loop(20);
        __asm__ volatile("svc #7" ::: "memory");
    }
    __asm__ volatile("svc #0");
}

static uint64_t user(void)
{
    static uint8_t stack[PAGE] __attribute__((aligned(16)));
    uint64_t calls;

    enter_user(user_main, stack + sizeof(stack));
    calls = nr_calls;
    nr_calls = 0;
    return user_sum + calls;
}

/* User code runs only without it: the tables open no page to user code. */
static uint64_t without_mmu(void)
{
    uint64_t sum;

    mmu(0);
    sum = user() + sum_loop(300);
    mmu(1);
    return sum;
}

/* ---- other vCPUs: as many as there are ---- */

/* Without exclusive monitors: their MMU is off. */
static uint32_t swap(uint32_t *cell, uint32_t value)
{
    uint32_t old;

    __asm__ volatile(".arch_extension lse\n swpa %w0, %w0, [%1]"
                     : "=r"(old)
                     : "r"(cell), "0"(value)
                     : "memory");
    return old;
}

static void release(uint32_t *cell)
{
    __asm__ volatile("stlr wzr, [%0]" ::"r"(cell) : "memory");
}

static void add(uint64_t *cell, uint64_t value)
{
    __asm__ volatile(".arch_extension lse\n ldadd %0, xzr, [%1]" ::"r"(value), "r"(cell)
                     : "memory");
}

static void relax(void)
{
    __asm__ volatile("yield");
}

static int start_vcpu(uintptr_t number, void (*code)(void))
{
    register uint64_t x0 __asm__("x0") = 0xc4000003; /* PSCI CPU_ON */
    register uint64_t x1 __asm__("x1") = number;
    register uint64_t x2 __asm__("x2") = (uint64_t)code;
    register uint64_t x3 __asm__("x3") = number;

    __asm__ volatile("hvc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3) : "memory");
    return (int)x0;
}

#include "vcpus.h"

void machine_main(void)
{
    put_number("plain", sum_loop(300));
    put_number("user", user());
    mmu_on();
    put_number("mapped", sum_loop(300));
    interrupts();
    system_registers();
    put_number("faults", faults());
    put_number("nr", nr_faults);
    put_number("aliases", aliases(WINDOW));
    put_number("modified", modified());
    put_number("on and off", on_and_off());
    put_number("off", without_mmu());
    put_number("debugger", debugger(WINDOW));
    put_number("atomics", atomics());
    for (int i = 0; i < 10; i++) {
        __asm__ volatile("svc #3\n .word 0" ::: "memory");
    }
    put_number("vcpus", vcpus());
    put_number("calls", nr_calls * 100 + nr_undefined);
}
