/* SPDX-License-Identifier: MIT */
/*
 * The machine's program for s390x, -M s390-ccw-virtio: as that for aarch64. What QEMU does by
 * copies in its own memory (MVC and its kind) is in s390x-branches.c: such accesses have no
 * physical addresses in a trace.
 */
#include "atomics.h"
#include "s390x.h"

/* ---- console: one event of ASCII data ---- */

static struct {
    uint16_t bytes;
    uint8_t function, control[3];
    uint16_t response;
    uint16_t event_bytes;
    uint8_t type, flags;
    uint16_t reserved;
    char text;
} sccb __attribute__((aligned(32))) = {.bytes = 15, .event_bytes = 7, .type = 0x1a};

void machine_put(char c)
{
    sccb.text = c;
    __asm__ volatile(".insn rre, 0xb2200000, %0, %1" ::"d"(0x760005), "a"(&sccb)
                     : "cc", "memory");
}

/* ---- exceptions ---- */

volatile uint64_t nr_calls, nr_undefined, nr_others, nr_events;
static volatile uint64_t nr_irqs, nr_faults;
static uint64_t period;
uint64_t after_odd;
uint64_t window_table[512] __attribute__((aligned(4096)));
uint8_t frames[NR_FRAMES][PAGE] __attribute__((aligned(PAGE)));

void map(unsigned page, const void *frame)
{
    window_table[page] = (uint64_t)frame;
}

void unmap(unsigned page)
{
    uint64_t *table = window_table + (page & 256);

    __asm__ volatile("ipte %0, %1" ::"a"(table), "a"(WINDOW + page * PAGE) : "memory");
}

void enter_user(void (*code)(void), void *stack);
void user_left(void);
void wait_for_interrupt(uint64_t dat);

static uint64_t now(void)
{
    uint64_t t;

    __asm__ volatile("stck %0" : "=Q"(t)::"cc", "memory");
    return t;
}

static void set_comparator(uint64_t at)
{
    __asm__ volatile("sckc %0" ::"Q"(at) : "memory");
}

static void set_timer(uint64_t left)
{
    __asm__ volatile("spt %0" ::"Q"(left) : "memory");
}

uint64_t on_external(uint64_t mask, uint64_t pc)
{
    switch (lowcore_half(0x86)) {
    case 0x1004: /* the clock is beyond the comparator */
        nr_irqs++;
        set_comparator(period ? now() + period : ~0ul);
        break;
    case 0x1005: /* the CPU timer is negative */
        nr_irqs++;
        set_timer(period);
        break;
    case 0x2401: /* the console is done */
        break;
    default:
        nr_others++;
    }
    set_lowcore_word(0x130, mask & ~(1ul << 49)); /* it waits no longer */
    return pc;
}

uint64_t on_call(uint64_t mask, uint64_t pc)
{
    if (lowcore_half(0x8a) == 0) {
        set_lowcore_word(0x140, mask & ~PSW_USER);
        return (uint64_t)user_left;
    }
    nr_calls++;
    return pc;
}

uint64_t on_program(uint64_t mask, uint64_t pc)
{
    uint64_t code = lowcore_half(0x8e), page;

    (void)mask;
    if (code & 0x80) { /* of PER, maybe with another one */
        nr_events++;
        code &= ~0x80ul;
    }
    switch (code) {
    case 0:
        return pc;
    case 1: /* operation */
        nr_undefined++;
        return pc;
    case 0x10: /* segment, page */
    case 0x11:
        page = (lowcore_word(0xa8) - WINDOW) / PAGE % 512;
        nr_faults++;
        map((unsigned)page, frames[page % NR_FRAMES]);
        return pc;
    case 2: /* privileged operation */
    case 3: /* execute */
    case 4: /* protection */
    case 6: /* specification */
    case 7: /* data */
    case 9: /* division */
        nr_others++;
        return pc & 1 ? after_odd : pc;
    }
    put_number("stray exception", code);
    __asm__ volatile("jg machine_off");
    return 0;
}

/* ---- what is tried ---- */

#define SEGMENTS 2048
static uint64_t segments[SEGMENTS] __attribute__((aligned(4096)));
static uint64_t memory_table[16 * 256] __attribute__((aligned(4096)));

/* The first 16 MiB are where they are. */
void mmu_on(void)
{
    uint64_t space = (uint64_t)segments | 3; /* a segment table of all its length */

    for (unsigned i = 0; i < SEGMENTS; i++) {
        segments[i] = 0x20;
    }
    for (unsigned i = 0; i < 16 * 256; i++) {
        memory_table[i] = i * (uint64_t)PAGE;
    }
    for (unsigned i = 0; i < 512; i++) {
        window_table[i] = 0x400;
    }
    for (unsigned i = 0; i < 16; i++) {
        segments[i] = (uint64_t)&memory_table[i * 256];
    }
    segments[WINDOW >> 20] = (uint64_t)window_table;
    segments[(WINDOW >> 20) + 1] = (uint64_t)(window_table + 256);
    __asm__ volatile(
        "lctlg 1, 1, %0\n lctlg 7, 7, %0\n lctlg 13, 13, %0\n ptlb" ::"Q"(space)
        : "memory");
    set_lowcore_word(0x1d0, PSW_DAT | PSW_64); /* handlers, too */
    set_lowcore_word(0x1c0, PSW_DAT | PSW_64);
    set_lowcore_word(0x1b0, PSW_DAT | PSW_64);
    __asm__ volatile("stosm %0, 4" : "=Q"(*(uint8_t *)frames[0])::"memory");
}

static void enable_external(uint64_t subclasses)
{
    uint8_t old;

    __asm__ volatile("lctlg 0, 0, %1\n stosm %0, 1"
                     : "=Q"(old)
                     : "Q"(subclasses)
                     : "memory");
}

/* It interrupts only those that wait. */
static void enable_comparator(void)
{
    uint64_t subclass = 0x800;

    period = 0; /* it comes once */
    __asm__ volatile("lctlg 0, 0, %0" ::"Q"(subclass) : "memory");
}

static void disable_external(void)
{
    uint8_t old;

    __asm__ volatile("stnsm %0, 0xfe" : "=Q"(old)::"memory");
}

static void interrupts(void)
{
    uint64_t loops = 0, left;

    period = 20000; /* of 1/4096 us */
    set_comparator(now() + period);
    enable_external(0xa00); /* the comparator, and the console */
    while (nr_irqs < 20) {
        sum_loop(37);
        loops++;
    }
    for (int i = 0; i < 5; i++) {
        wait_for_interrupt(PSW_DAT);
    }
    disable_external();
    set_comparator(~0ul);
    set_timer(period);
    enable_external(0x400);
    while (nr_irqs < 45) {
        sum_loop(37);
    }
    disable_external();
    set_timer(~0ul >> 1);
    __asm__ volatile("stpt %0" : "=Q"(left)::"memory");
    __asm__ volatile("stckc %0" : "=Q"(left)::"memory");
    put(loops ? "interrupts\n" : "no loop\n");
}

static uint64_t faults(void)
{
    uint64_t sum = 1, a, b;

    for (unsigned page = 16; page < 80; page++) {
        char *end = (char *)WINDOW + (page + 1) * PAGE;

        __asm__ volatile("stg %2, -64(%3)\n"
                         "stg %2, -8(%3)\n"
                         "stg %3, 0(%3)\n"
                         "lg %0, -8(%3)\n"
                         "lg %1, -3(%3)\n"
                         "sthy %1, -1(%3)\n"
                         "sty %1, -2(%3)\n"
                         "stg %1, 77(%3)\n"
                         "lgb %1, 16(%3)"
                         : "=&d"(a), "=&d"(b)
                         : "d"(sum), "a"(end)
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
    __asm__ volatile("bcr 15, 0" ::: "memory");
}

static uint64_t modified(void)
{
    static const uint32_t code[] = {0xa72b0001,  /* aghi %r2, 1 + i */
                                    0x5020300c,  /* st %r2, 12(%r3) */
                                    0xa72b0002,  /* aghi %r2, 2 */
                                    0x47000000,  /* bc 0, 0 */
                                    0x07fe0700}; /* br %r14; bcr 0, %r0 */

    return call_modified(WINDOW, code, 1, code_ready);
}

static uint64_t atomics(void)
{
    static uint64_t cell, pair[2] __attribute__((aligned(16)));
    uint64_t old, sum = 0;

    for (uint64_t i = 0; i < 50; i++) {
        __asm__ volatile(
            "lg %0, 0(%2)\n 1: agrk %%r5, %0, %3\n csg %0, %%r5, 0(%2)\n jl 1b\n"
            "laag %0, %3, 0(%2)\n"
            "lghi %%r0, 0\n lgr %%r1, %3\n lpq %%r4, 0(%1)\n"
            "2: lgr %%r0, %%r4\n agrk %%r1, %%r5, %3\n cdsg %%r4, %%r0, 0(%1)\n"
            "jl 2b\n"
            : "=&d"(old)
            : "a"(pair), "a"(&cell), "d"(i)
            : "r0", "r1", "r4", "r5", "cc", "memory");
        sum += old;
    }
    return sum + cell + pair[1];
}

/* ---- code without privileges ---- */

static volatile uint64_t user_sum;

static void user_main(void)
{
    for (uint64_t i = 0; i < 10; i++) {
        user_sum += sum_loop(20);
        __asm__ volatile("svc 7\n ptlb" ::: "memory");
    }
    __asm__ volatile("svc 0");
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

/* ---- other vCPUs: as many as there are ---- */

static void add(uint64_t *cell, uint64_t value)
{
    __atomic_fetch_add(cell, value, __ATOMIC_RELAXED);
}

/* It waits for an interrupt that is pending: another vCPU runs, if there is one. */
static void relax(void)
{
    uint64_t mask;

    __asm__ volatile("epsw %0, 0\n sllg %0, %0, 32" : "=d"(mask));
    set_comparator(0);
    wait_for_interrupt(mask & PSW_DAT);
}

/* Of another vCPU, before all else. */
void own_lowcore(uint64_t number)
{
    static uint8_t lowcores[4][8192] __attribute__((aligned(8192)));
    uint32_t prefix = (uint32_t)(uint64_t)lowcores[number];

    for (unsigned k = 0x1a0; k < 0x200; k += 8) {
        *(uint64_t *)(void *)(lowcores[number] + k) = lowcore_word(k) & ~PSW_DAT;
    }
    __asm__ volatile("spx %0" ::"Q"(prefix) : "memory");
    enable_comparator();
}

static int start_vcpu(uintptr_t number, void (*code)(void))
{
    int cc;

    (void)code; /* the PSW for a restart has it */
    __asm__ volatile("sigp %%r0, %1, 6\n ipm %0\n srl %0, 28"
                     : "=d"(cc)
                     : "a"(number)
                     : "r0", "cc", "memory");
    return cc;
}

#include "vcpus.h"

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
        __asm__ volatile("svc 3\n .word 0" ::: "memory");
    }
    enable_comparator();
    put_number("vcpus", vcpus());
    put_number("calls", nr_calls * 100 + nr_undefined);
}
