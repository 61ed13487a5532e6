/* SPDX-License-Identifier: MIT */
/*
 * A machine's program for Cortex-M, -M mps2-an385, which has two addresses for each word of
 * its memory. Interrupts that come into loops and into each other, faults in the middle of
 * blocks, code without privileges, memory protection, device registers in blocks, single
 * bits of memory, accesses that cross pages, code that changes itself, waiting.
 */
#include "machine.h"

#define UART 0x40004000u
#define TIMER 0x40000000u
#define SYSTICK 0xe000e010u
#define NVIC 0xe000e100u
#define SCB 0xe000ed00u
#define MPU 0xe000ed90u
#define MIRROR 0x400000u    /* from an address to the other one */
#define DATA 0x20000000u    /* 4 MiB, and their mirror */
#define BITS 0x22000000u    /* a word for each bit of DATA */
#define NOTHING 0x60000000u /* no device, no memory */
#define WINDOW 0x20100000u  /* pages that the program protects as it likes */
#define TIMER_IRQ 8
#define REQUEST_IRQ 31

void machine_put(char c)
{
    while (*reg(UART + 4) & 1) {
    }
    *reg(UART) = (uint8_t)c;
}

/* ---- exceptions: a frame is r0 to r3, r12, lr, pc, xPSR ---- */

static volatile uint32_t nr_ticks, nr_timer, nr_pending, nr_requests, nr_faults,
    nr_errors, nr_usage, nr_escalated, nr_calls, nr_undefined;

/* After the instruction that faulted, which is in no IT block. */
static void step_over(uint32_t *frame)
{
    uint16_t first = *(volatile uint16_t *)frame[6];

    frame[6] += first >> 11 >= 0x1d ? 4 : 2;
}

static uint32_t take_status(void)
{
    uint32_t status = *reg(SCB + 0x28);

    *reg(SCB + 0x28) = status;
    return status;
}

/* Of a region of the MPU: its pages are like all others. */
static void unprotect(unsigned region)
{
    *reg(MPU + 8) = region;
    *reg(MPU + 16) = 0;
    __asm__ volatile("dsb\n isb" ::: "memory");
}

/* access: 0 none, 3 all */
static void protect(unsigned region, uintptr_t start, unsigned log_size, uint32_t access)
{
    unprotect(region);
    *reg(MPU + 12) = start;
    *reg(MPU + 16) = access << 24 | (log_size - 1) << 1 | 1;
    __asm__ volatile("dsb\n isb" ::: "memory");
}

void on_memory_fault(uint32_t *frame)
{
    (void)frame, (void)take_status();
    nr_faults++;
    unprotect(7);
}

void on_bus_fault(uint32_t *frame)
{
    take_status();
    nr_errors++;
    step_over(frame);
}

void on_hard_fault(uint32_t *frame)
{
    *reg(SCB + 0x2c) = *reg(SCB + 0x2c);
    take_status();
    nr_escalated++;
    step_over(frame);
}

void on_usage_fault(uint32_t *frame)
{
    uint32_t status = take_status();

    if (status & 1u << 16) {
        nr_undefined++;
    } else {
        nr_usage++;
    }
    step_over(frame);
}

void on_supervisor_call(uint32_t *frame)
{
    if (((volatile uint8_t *)frame[6])[-2] == 0) {
        __asm__ volatile("msr control, %0\n isb" ::"r"(2) : "memory");
    } else {
        nr_calls++;
    }
}

void on_pending(void)
{
    nr_pending++;
}

void on_request(void)
{
    nr_requests++;
}

/* Each third one pends another exception, which follows without a return. */
void on_tick(void)
{
    nr_ticks++;
    if (nr_ticks % 3 == 0) {
        *reg(SCB + 4) = 1u << 28;
    }
    sum_loop(20); /* the timer comes into it */
}

void on_timer(void)
{
    *reg(TIMER + 12) = 1;
    nr_timer++;
}

/* ---- what is tried ---- */

void enter_user(void (*code)(void), void *stack);
uint32_t in_small_region(uint32_t *cells, uint32_t n);

void machine_start(void)
{
    *reg(UART + 16) = 16;
    *reg(UART + 8) = 1;
    *reg(SCB + 0x24) = 7u << 16;   /* memory, bus and usage faults */
    *reg(SCB + 0x20) = 0xc0e00000; /* priorities: SysTick, PendSV after it */
    *reg(NVIC + 0x300 + TIMER_IRQ) = 0x40;
    *reg(NVIC + 0x300 + REQUEST_IRQ - 3) = 0x80u << 24;
    *reg(NVIC) = 1u << TIMER_IRQ | 1u << REQUEST_IRQ;
}

static void interrupts(void)
{
    uint32_t loops = 0, masked;

    *reg(SYSTICK + 4) = 40; /* of 40 ns */
    *reg(SYSTICK + 8) = 0;
    *reg(SYSTICK) = 7;
    *reg(TIMER + 8) = 29;
    *reg(TIMER + 4) = 29;
    *reg(TIMER) = 9;
    while (nr_ticks < 30) {
        sum_loop(37);
        loops++;
        if (loops % 4 == 0) {
            *reg(NVIC + 0xe00) = REQUEST_IRQ;
        }
        if (loops % 5 == 0) { /* the timer alone */
            __asm__ volatile("msr basepri, %0\n isb" ::"r"(0x80) : "memory");
            sum_loop(40);
            __asm__ volatile("msr basepri, %0\n isb" ::"r"(0) : "memory");
        }
    }
    *reg(TIMER) = 0;
    for (int i = 0; i < 5; i++) {
        __asm__ volatile("wfi");
    }
    for (int i = 0; i < 3; i++) { /* wakes, and goes on first */
        __asm__ volatile("cpsid i\n wfi" ::: "memory");
        masked = nr_ticks;
        __asm__ volatile("cpsie i\n isb" ::: "memory");
        put(masked == nr_ticks ? "not taken\n" : "");
    }
    __asm__ volatile("sev\n wfe\n yield");
    *reg(SYSTICK) = 0;
    put(loops && nr_pending && nr_timer && nr_requests ? "interrupts\n"
                                                       : "missing ones\n");
}

/* Accesses that cross into a page that is protected, and others in the same block. */
static uint32_t faults(void)
{
    uint32_t sum = 1, a, b;

    for (unsigned page = 0; page < 40; page++) {
        uint8_t *end = (uint8_t *)WINDOW + (page + 1) * PAGE;

        protect(7, (uintptr_t)end, page % 2 ? 12 : 5, 0); /* 4 KiB or 32 bytes */
        __asm__ volatile("str %2, [%3, #-64]\n"
                         "strd %2, %3, [%3, #-4]\n"
                         "ldrd %0, %1, [%3, #-4]\n"
                         "str %1, [%3, #16]\n"
                         "str %0, [%3, #-2]\n"
                         "ldr %1, [%3, #-64]\n"
                         : "=&r"(a), "=&r"(b)
                         : "r"(sum), "r"(end)
                         : "memory");
        sum += a + b;
        protect(7, (uintptr_t)end, 10, 0);
        __asm__ volatile("sub r12, %1, #8\n"
                         "ldm r12, {r2, r3, r4, r5}\n"
                         "add %0, r2, r3\n"
                         "stm r12, {r2, r3, r4, r5}"
                         : "=&r"(a)
                         : "r"(end)
                         : "r2", "r3", "r4", "r5", "r12", "memory");
        sum += a;
        protect(7, (uintptr_t)end, 8, 0);
        __asm__ volatile("tst %1, #1\n"
                         "itte eq\n"
                         "ldreq %0, [%2, #-8]\n"
                         "ldreq %0, [%2]\n"
                         "strne %1, [%2, #4]\n"
                         "add %0, %0, #1"
                         : "+r"(a)
                         : "r"(sum), "r"(end)
                         : "cc", "memory");
        sum += a;
    }
    unprotect(7);
    return sum;
}

/* Instructions that are stepped over, in the middle of blocks and at their ends. */
static uint32_t errors(void)
{
    static volatile uint32_t cells[4];
    uint32_t a, b = 5;

    for (unsigned i = 0; i < 20; i++) {
        __asm__ volatile("str %1, [%2]\n"
                         "ldr %0, [%3]\n"     /* bus fault */
                         "str %1, [%3, #4]\n" /* bus fault */
                         "ldr %0, [%2]\n"
                         "str %0, [%2, #4]\n"
                         "add r12, %2, #1\n"
                         "ldm r12, {r3, r4}\n" /* usage fault: not aligned */
                         "ldr %0, [%2, #4]\n"
                         "add %1, %1, %0"
                         : "=&r"(a), "+r"(b)
                         : "r"(cells), "r"(NOTHING)
                         : "r3", "r4", "r12", "memory");
        __asm__ volatile("cpsid i\n" /* hard fault */
                         "str %0, [%1, #8]\n"
                         "ldr r12, [%2, #8]\n"
                         "cpsie i" ::"r"(b),
                         "r"(cells), "r"(NOTHING)
                         : "r12", "memory");
    }
    return b + cells[2] + nr_errors * 100 + nr_usage * 10 + nr_escalated;
}

static uint32_t two_addresses(void)
{
    volatile uint32_t *one = (void *)(DATA + 0x8000),
                      *two = (void *)(DATA + 0x8000 + MIRROR);
    volatile uint32_t *top = (void *)(DATA + MIRROR - 2);
    uint32_t sum = 0;

    for (unsigned i = 0; i < 300; i++) {
        one[i] = i * 3;
        sum += two[i];
        two[i] = i;
        sum += one[i];
    }
    for (unsigned i = 0; i < 8; i++) { /* the end of memory, and its begin */
        *top = i * 0x10001;
        sum += *(volatile uint16_t *)DATA;
    }
    return sum;
}

/* The same code at two addresses, changed between calls. */
static uint32_t modified(void)
{
    static uint16_t code[16] __attribute__((aligned(32)));
    static uint32_t cells[8];
    uint32_t (*f)(uint32_t, void *) = (void *)((uintptr_t)code | 1);
    uint32_t (*g)(uint32_t, void *) = (void *)((uintptr_t)f + MIRROR);
    uint32_t sum = 0;

    for (unsigned i = 0; i < 40; i++) {
        code[0] = (uint16_t)(0x3001 + i); /* adds r0, #(1 + i) */
        code[1] = 0x60c8;                 /* str r0, [r1, #12] */
        code[2] = 0x3002;                 /* adds r0, #2 */
        code[3] = 0xbf00;
        code[4] = 0x4770; /* bx lr */
        __asm__ volatile("dsb\n isb" ::: "memory");
        sum += f(i * 3, cells);
        sum += g(i, cells);
    }
    return sum + cells[3];
}

static uint32_t exclusives(void)
{
    static uint32_t cell;
    uint32_t old, failed, tries = 0;

    for (uint32_t i = 0; i < 50; i++) {
        __asm__ volatile("1: ldrex %0, [%2]\n add %0, %0, %3\n strex %1, %0, [%2]\n"
                         "cmp %1, #0\n bne 1b"
                         : "=&r"(old), "=&r"(failed)
                         : "r"(&cell), "r"(i)
                         : "cc", "memory");
        __asm__ volatile("ldrexb %0, [%2]\n clrex\n strexb %1, %0, [%2]\n" /* fails */
                         : "=&r"(old), "=&r"(failed)
                         : "r"(&cell)
                         : "memory");
        tries += failed;
        __asm__ volatile("ldrexh %0, [%2]\n add %0, %0, #1\n strexh %1, %0, [%2]\n"
                         : "=&r"(old), "=&r"(failed)
                         : "r"(&cell)
                         : "memory");
        tries += failed * 100;
    }
    return cell + tries;
}

/* Device registers between accesses to memory, several by one instruction. */
static uint32_t devices(void)
{
    uint32_t sum = 0, a, b;

    *reg(TIMER + 8) = 1000;
    *reg(TIMER + 4) = 1000;
    *reg(TIMER) = 1;
    for (unsigned i = 0; i < 40; i++) {
        volatile uint32_t *cell = (void *)(DATA + 0x9000 + i * 4);

        __asm__ volatile("str %5, [%2]\n"
                         "ldm %4, {r0, r1, r2, r3}\n"
                         "add %0, r1, r2\n"
                         "ldr r3, [%3, #8]\n"
                         "add %0, %0, r3\n"
                         "ldr %1, [%2]\n"
                         "ldrb r3, [%3, #4]"
                         : "=&r"(a), "=&r"(b)
                         : "r"(cell), "r"(SYSTICK), "r"(TIMER), "r"(i)
                         : "r0", "r1", "r2", "r3", "memory");
        sum += a + b;
        *reg(BITS + ((uintptr_t)cell - DATA) * 32 + (i % 32) * 4) = 1;
        sum += *cell + *reg(BITS + ((uintptr_t)cell - DATA) * 32 + 4);
    }
    *reg(TIMER) = 0;
    return sum;
}

static uint32_t table_branches(void)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < 60; i++) {
        uint32_t n;

        __asm__ volatile(
            "tbb [pc, %1]\n"
            "1: .byte (2f - 1b) / 2, (3f - 1b) / 2, (4f - 1b) / 2, (5f - 1b) / 2\n"
            "2: mov %0, #1\n b 6f\n"
            "3: mov %0, #20\n b 6f\n"
            "4: cmp %2, #30\n ite hi\n movhi %0, #3\n movls %0, #4\n b 6f\n"
            "5: mov %0, #500\n"
            "6:"
            : "=r"(n)
            : "r"(i % 4), "r"(i)
            : "cc");
        sum += n;
    }
    return sum;
}

/* Semihosting: what the debugger writes to memory. */
static uint32_t debugger(void)
{
    static uint32_t words[8];
    static uint32_t *block = words;
    register uint32_t r0 __asm__("r0") = 0x16; /* SYS_HEAPINFO */
    register void *r1 __asm__("r1") = &block;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return words[0] != 0 && words[4] == 0;
}

/* ---- code without privileges ---- */

static volatile uint32_t user_sum;

static void user_main(void)
{
    for (uint32_t i = 0; i < 10; i++) {
        user_sum += (uint32_t)sum_loop(20);
        __asm__ volatile("svc #7" ::: "memory");
    }
    __asm__ volatile("svc #0" ::: "memory");
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

static void mpu_on(void)
{
    protect(0, 0, 32, 3);
    protect(5, (uintptr_t)in_small_region & ~63u, 6, 3);
    *reg(MPU + 4) = 5;
    __asm__ volatile("dsb\n isb" ::: "memory");
}

void machine_main(void)
{
    put_number("plain", (uint32_t)sum_loop(300));
    put_number("user", user());
    interrupts();
    put_number("aliases", two_addresses());
    mpu_on();
    put_number("small", in_small_region((void *)(DATA + 0x8000), 50));
    put_number("faults", faults());
    put_number("nr", nr_faults);
    put_number("errors", errors());
    put_number("user", user());
    *reg(MPU + 4) = 0;
    put_number("modified", modified());
    put_number("exclusives", exclusives());
    put_number("devices", devices());
    put_number("table", table_branches());
    put_number("debugger", debugger());
    for (int i = 0; i < 10; i++) {
        __asm__ volatile("svc #3\n udf #0" ::: "memory");
    }
    put_number("calls", nr_calls * 100 + nr_undefined);
}
