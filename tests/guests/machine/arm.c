/* SPDX-License-Identifier: MIT */
/*
 * A machine's program for 32-bit arm, -M virt: the subjects of aarch64.c, in ARM and in
 * Thumb, with both kinds of page tables, the MMU on and off again, and fast interrupts.
 */
#include "atomics.h"
#include "machine.h"
#include "virt.h"

#define WINDOW 0x80000000u /* 256 pages that the program maps as it likes */

/* ---- exceptions ---- */

struct frame {
    uint32_t r[4], r12, lr, pc, mode;
};

static volatile uint32_t nr_irqs, nr_faults, nr_fetches, nr_calls, nr_undefined;
static uint32_t period;
static uint32_t window_table[256] __attribute__((aligned(1024)));
static uint64_t long_window_table[512] __attribute__((aligned(4096)));
uint8_t frames[NR_FRAMES][PAGE] __attribute__((aligned(PAGE)));

/* In both kinds of page tables. */
void map(unsigned page, const void *frame)
{
    window_table[page] = (uint32_t)frame | 0x7e; /* normal, read, write, execute */
    long_window_table[page] = (uint32_t)frame | 0x743;
    __asm__ volatile("dsb" ::: "memory");
}

void unmap(unsigned page)
{
    window_table[page] = 0;
    long_window_table[page] = 0;
    __asm__ volatile(
        "dsb\n mcr p15, 0, %0, c8, c7, 1\n dsb\n isb" ::"r"(WINDOW + page * PAGE)
        : "memory"); /* TLBIMVA */
}

static void map_fault(uint32_t at)
{
    map((at - WINDOW) / PAGE % 256, frames[(at - WINDOW) / PAGE % NR_FRAMES]);
}

void enter_user(void (*code)(void), void *stack);
void user_left(void);

void on_undefined(struct frame *f)
{
    (void)f;
    nr_undefined++;
}

void on_supervisor_call(struct frame *f)
{
    uint32_t thumb = f->mode & 0x20;
    uint8_t number = thumb ? ((uint8_t *)f->pc)[-2] : ((uint8_t *)f->pc)[-4];

    if (number == 0) {
        f->mode = 0x1d3;
        f->pc = (uint32_t)user_left;
    } else {
        nr_calls++;
    }
}

void on_prefetch_abort(struct frame *f)
{
    uint32_t at;

    (void)f;
    __asm__ volatile("mrc p15, 0, %0, c6, c0, 2" : "=r"(at)); /* IFAR */
    nr_fetches++;
    map_fault(at);
}

void on_data_abort(struct frame *f)
{
    uint32_t at;

    (void)f;
    __asm__ volatile("mrc p15, 0, %0, c6, c0, 0" : "=r"(at)); /* DFAR */
    nr_faults++;
    map_fault(at);
}

static void arm_timer(void)
{
    __asm__ volatile("mcr p15, 0, %0, c14, c3, 0\n isb" ::"r"(period)); /* CNTV_TVAL */
}

void on_interrupt(struct frame *f)
{
    uint32_t nr = gic_begin();

    (void)f;
    if ((nr & 0x3ff) == TIMER_IRQ) {
        nr_irqs++;
        arm_timer();
    }
    gic_end(nr);
}

/* ---- what is tried ---- */

uint32_t thumb_loop(uint32_t *cells, uint32_t n);

static uint32_t cells[16];

static void mmu(uint32_t on)
{
    uint32_t control;

    __asm__ volatile("mcr p15, 0, r0, c8, c7, 0\n dsb\n isb\n"
                     "mrc p15, 0, %0, c1, c0, 0"
                     : "=r"(control)::"memory");
    control = (control & ~0x1005u) | (on ? 0x1005 : 0x1000);
    __asm__ volatile("dsb\n mcr p15, 0, %0, c1, c0, 0\n isb" ::"r"(control) : "memory");
}

static void set_tables(uint32_t table, uint32_t control)
{
    __asm__ volatile("mcr p15, 0, %0, c2, c0, 2\n"            /* TTBCR */
                     "mcr p15, 0, %1, c2, c0, 0\n"            /* TTBR0 */
                     "mcr p15, 0, %2, c3, c0, 0\n"            /* DACR */
                     "mcr p15, 0, %3, c10, c2, 0\n isb" ::"r"(/* MAIR0 */
                                                              control),
                     "r"(table), "r"(1), "r"(0xff)
                     : "memory");
}

/* Sections of 1 MiB: devices, RAM; small pages for the window. */
static void short_tables(void)
{
    static uint32_t table[4096] __attribute__((aligned(16384)));

    for (uint32_t i = 0; i < 0x500; i++) {
        table[i] = i << 20 | (i < 0x400 ? 0xc16 : 0x1c0e);
    }
    table[WINDOW >> 20] = (uint32_t)window_table | 1;
    set_tables((uint32_t)table, 0);
}

/* The same with entries of 64 bits (LPAE). */
static void long_tables(void)
{
    static uint64_t table[4] __attribute__((aligned(32)));
    static uint64_t level2[512] __attribute__((aligned(4096)));

    table[0] = 0x60000000000405ull;
    table[1] = 0x40000741ull;
    table[2] = (uint32_t)level2 | 3;
    level2[0] = (uint32_t)long_window_table | 3;
    set_tables((uint32_t)table, 1u << 31);
}

static uint32_t interrupts(uint32_t fast)
{
    uint32_t loops = 0, sum = 0;

    gic_start(fast ? 9 : 1);
    period = 300; /* of 16 ns */
    nr_irqs = 0;
    arm_timer();
    __asm__ volatile("mcr p15, 0, %0, c14, c3, 1" ::"r"(1)); /* CNTV_CTL */
    if (fast) {
        __asm__ volatile("cpsie f");
    } else {
        __asm__ volatile("cpsie i");
    }
    while (nr_irqs < 20) {
        sum += (uint32_t)sum_loop(37) + thumb_loop(cells, 21);
        loops++;
    }
    for (int i = 0; i < 5; i++) {
        __asm__ volatile("wfi");
    }
    __asm__ volatile("cpsid if\n mcr p15, 0, %0, c14, c3, 1" ::"r"(0));
    return loops ? sum : 0;
}

/* Accesses of which the second half faults, and others in the same block. */
static uint32_t faults(void)
{
    uint32_t sum = 1, a;

    for (unsigned page = 16; page < 80; page++) {
        char *end = (char *)WINDOW + (page + 1) * PAGE;

        __asm__ volatile("str %1, [%2, #-64]\n"
                         "sub r12, %2, #4\n"
                         "stm r12, {r1, r2, r3}\n"
                         "strd r2, r3, [%2, #-4]\n"
                         "ldrd r2, r3, [%2, #-4]\n"
                         "str r3, [%2, #16]\n"
                         "ldr %0, [%2, #-2]\n"
                         "str r2, [%2, #-1]\n"
                         "add %0, %0, r3\n"
                         "ldr r3, [%2, #-64]\n"
                         "add %0, %0, r3"
                         : "=&r"(a)
                         : "r"(sum), "r"(end)
                         : "r1", "r2", "r3", "r12", "memory");
        sum += a + thumb_loop((uint32_t *)(end - 4), 5);
        unmap_some(page);
    }
    for (unsigned page = 16; page < 82; page++) {
        unmap(page);
    }
    return sum;
}

/* The same code at two addresses, in Thumb and in ARM, changed between calls. */
static uint32_t modified(void)
{
    uint32_t *one = (void *)(WINDOW + 110 * PAGE), *two = (void *)(WINDOW + 111 * PAGE);
    uint32_t (*f)(uint32_t, void *) = (void *)one, (*g)(uint32_t, void *) = (void *)two;
    uint32_t (*h)(uint32_t, void *) = (void *)((uintptr_t)one + 65);
    uint32_t (*f_there)(uint32_t, void *) = (void *)(WINDOW + 118 * PAGE);
    uint32_t sum = 0;

    map(110, frames[6]);
    map(111, frames[6]);
    for (unsigned i = 0; i < 40; i++) {
        one[0] = 0xe2800001 + i; /* add r0, r0, #(1 + i) */
        one[1] = 0xe581000c;     /* str r0, [r1, #12] */
        one[2] = 0xe2800002;     /* add r0, r0, #2 */
        one[3] = 0xe320f000;
        one[4] = 0xe12fff1e;                    /* bx lr */
        one[16] = (0x3001 + i) | 0x60c8u << 16; /* the same in Thumb */
        one[17] = 0x47703002;
        __asm__ volatile("dsb\n mcr p15, 0, r0, c7, c1, 0\n dsb\n isb" ::: "memory");
        sum += f(i * 3, frames[2]) + g(i, frames[2]) + h(i * 5, frames[3]);
        if (i % 4 == 0) {
            unmap(118); /* is mapped when code there runs: the same once more */
        }
        sum += f_there(i, frames[2]);
    }
    return sum;
}

/* A Thumb instruction in two pages; the second one is not always mapped. */
static uint32_t in_two_pages(void)
{
    uint16_t *code = (void *)(WINDOW + 119 * PAGE);
    uint32_t (*f)(uint32_t, void *) = (void *)((uintptr_t)code - 1);
    uint32_t sum = 0;

    map(118, frames[6]);
    map(119, frames[7]);
    code[-1] = 0xf8c1; /* str.w r0, [r1, #12] */
    code[0] = 0x000c;
    code[1] = 0x4770; /* bx lr */
    __asm__ volatile("dsb\n mcr p15, 0, r0, c7, c1, 0\n dsb\n isb" ::: "memory");
    for (unsigned i = 0; i < 12; i++) {
        if (i % 3 == 0) {
            unmap(119);
        }
        sum += f(i, frames[2]);
    }
    return sum + frames[2][12];
}

static uint32_t atomics(void)
{
    static uint32_t cell;
    static uint64_t pair;
    uint32_t old, failed, tries = 0;

    for (uint32_t i = 0; i < 50; i++) {
        __asm__ volatile("1: ldrex %0, [%2]\n add %0, %0, %3\n strex %1, %0, [%2]\n"
                         "cmp %1, #0\n bne 1b"
                         : "=&r"(old), "=&r"(failed)
                         : "r"(&cell), "r"(i)
                         : "cc", "memory");
        __asm__ volatile("1: ldrexd r2, r3, [%1]\n adds r2, r2, %2\n adc r3, r3, #1\n"
                         "strexd %0, r2, r3, [%1]\n cmp %0, #0\n bne 1b"
                         : "=&r"(failed)
                         : "r"(&pair), "r"(i)
                         : "r2", "r3", "cc", "memory");
        __asm__ volatile("ldrexh %0, [%2]\n clrex\n strexh %1, %0, [%2]" /* fails */
                         : "=&r"(old), "=&r"(failed)
                         : "r"(&cell)
                         : "memory");
        tries += failed;
    }
    return cell + tries + (uint32_t)(pair >> 32);
}

/* ---- code without privileges ---- */

static volatile uint32_t user_sum;

static void user_main(void)
{
    for (uint32_t i = 0; i < 10; i++) {
        user_sum += (uint32_t)sum_loop(20) + thumb_loop(cells, 9);
        __asm__ volatile("svc #7" ::: "memory");
    }
    __asm__ volatile("svc #0");
}

static uint32_t user(void)
{
    static uint8_t stack[PAGE] __attribute__((aligned(16)));
    uint32_t calls;

    enter_user(user_main, stack + sizeof(stack));
    calls = nr_calls;
    nr_calls = 0;
    return user_sum + calls;
}

/* ---- other vCPUs ---- */

static void add(uint64_t *cell, uint64_t value)
{
    __atomic_fetch_add(cell, value, __ATOMIC_RELAXED);
}

static void relax(void)
{
    __asm__ volatile("yield");
}

static int start_vcpu(uintptr_t number, void (*code)(void))
{
    register uint32_t r0 __asm__("r0") = 0x84000003; /* PSCI CPU_ON */
    register uint32_t r1 __asm__("r1") = number;
    register uint32_t r2 __asm__("r2") = (uint32_t)code;
    register uint32_t r3 __asm__("r3") = number;

    __asm__ volatile(".arch_extension virt\n hvc #0"
                     : "+r"(r0)
                     : "r"(r1), "r"(r2), "r"(r3)
                     : "memory");
    return (int)r0;
}

#include "vcpus.h"

static void with_pages(const char *name)
{
    mmu(1);
    put_number(name, (uint32_t)sum_loop(300) + thumb_loop(cells, 100));
    put_number("faults", faults());
    put_number("aliases", (uint32_t)aliases(WINDOW));
    put_number("modified", modified());
    put_number("two pages", in_two_pages());
    put_number("nr", nr_faults * 1000 + nr_fetches);
    put_number("user", user());
    mmu(0);
}

/* Registers that QEMU reads by functions of its own.  The timer's interrupt is masked. */
static void system_registers(void)
{
    uint32_t control;
    uint64_t now;

    for (uint32_t i = 0; i < 4; i++) {
        __asm__ volatile("mcr p15, 0, %0, c1, c0, 2\n"      /* CPACR */
                         "mcr p15, 0, %1, c9, c12, 0\n isb" /* PMCR */
                         ::"r"(i << 20),
                         "r"(i | 8));
    }
    __asm__ volatile("isb\n mrrc p15, 0, %Q0, %R0, c14" : "=r"(now)); /* CNTPCT */
    __asm__ volatile("mcrr p15, 2, %Q0, %R0, c14\n"                   /* CNTP_CVAL */
                     "mcr p15, 0, %1, c14, c2, 1\n isb"               /* CNTP_CTL */
                     ::"r"(now + 400),
                     "r"(3));
    do {
        sum_loop(5);
        __asm__ volatile("mrc p15, 0, %0, c14, c2, 1" : "=r"(control));
    } while (!(control & 4));
    __asm__ volatile("mcr p15, 0, %0, c14, c2, 1\n mcr p15, 0, %0, c9, c12, 0\n"
                     "mcr p15, 0, %0, c1, c0, 2\n isb" ::"r"(0));
}

void machine_main(void)
{
    put_number("plain", (uint32_t)sum_loop(300) + thumb_loop(cells, 100));
    put_number("user", user());
    short_tables();
    with_pages("short");
    put_number("irq", interrupts(0));
    long_tables();
    with_pages("long");
    put_number("fiq", interrupts(1));
    system_registers();
    put_number("atomics", atomics());
    for (int i = 0; i < 10; i++) {
        __asm__ volatile("svc #3\n udf #0" ::: "lr", "memory");
    }
    put_number("vcpus", vcpus());
    put_number("calls", nr_calls * 100 + nr_undefined);
}
