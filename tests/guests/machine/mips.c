/* SPDX-License-Identifier: MIT */
/*
 * The machines' program for mips and mipsel, -M malta: as that for aarch64. Its TLB is all
 * that maps pages, so there is a difference between a page that is not mapped (a fault) and
 * one that is only not in the TLB.
 */
#include "machine.h"

#define WINDOW 0x40000000u /* 256 pages that the program maps as it likes */
#define PAGES 256
#define ENTRY_RAM 0x1f /* cached, dirty, valid, global */
#define ENTRY_DIRTY 4  /* without it stores fault */
#define ENTRY_GLOBAL 1

#define READ_CP0(number)                                                                 \
    ({                                                                                   \
        uintptr_t value_;                                                                \
        __asm__ volatile("mfc0 %0, " number : "=r"(value_));                             \
        value_;                                                                          \
    })
#define WRITE_CP0(number, value)                                                         \
    __asm__ volatile("mtc0 %0, " number "\n ehb" ::"r"(value) : "memory")
#define STATUS "$12"
#define CAUSE "$13"
#define STATUS_USER 0x10
#define STATUS_FLOAT (1u << 29)
#define STATUS_TIMER (1u << 15) /* its interrupt is not masked */

/* The serial port, a 16550 on the ISA bus. */
void machine_put(char c)
{
    volatile uint8_t *port = (void *)0xb80003f8;

    while (!(port[5] & 0x20)) {
    }
    *port = (uint8_t)c;
}

/* ---- pages ---- */

volatile uintptr_t nr_irqs, period;
static volatile uintptr_t nr_faults, nr_clean, nr_missing, nr_calls, nr_traps, nr_others;
static uintptr_t window_table[PAGES];
uint8_t frames[NR_FRAMES][PAGE] __attribute__((aligned(PAGE)));

/* Both pages of an entry of the TLB: over the one that it has, or somewhere. */
static void write_entry(unsigned page)
{
    page &= ~1u;
    WRITE_CP0("$10", WINDOW + page * PAGE);             /* EntryHi */
    WRITE_CP0("$2", window_table[page] | ENTRY_GLOBAL); /* EntryLo0 */
    WRITE_CP0("$3", window_table[page + 1] | ENTRY_GLOBAL);
    __asm__ volatile("tlbp\n ehb");
    if (READ_CP0("$0") >> 31) {
        __asm__ volatile("tlbwr\n ehb" ::: "memory");
    } else {
        __asm__ volatile("tlbwi\n ehb" ::: "memory");
    }
}

static void set_page(unsigned page, uintptr_t entry)
{
    window_table[page] = entry;
    write_entry(page);
}

void map(unsigned page, const void *frame)
{
    set_page(page, (uintptr_t)frame >> 6 | ENTRY_RAM);
}

void unmap(unsigned page)
{
    set_page(page, 0);
}

extern char vectors[];

/* The first 32 MiB stay mapped to themselves; up to here, user addresses were physical ones. */
static void mmu_on(void)
{
    WRITE_CP0("$6", 0);          /* Wired */
    WRITE_CP0("$5", 0x01ffe000); /* PageMask: two pages of 16 MiB */
    WRITE_CP0("$10", 0);
    WRITE_CP0("$2", ENTRY_RAM);
    WRITE_CP0("$3", 0x1000000 >> 6 | ENTRY_RAM);
    WRITE_CP0("$0", 0); /* Index */
    __asm__ volatile("tlbwi\n ehb" ::: "memory");
    WRITE_CP0("$5", 0);
    for (unsigned i = 1; i < 16; i++) { /* no other entry, each for a page of its own */
        WRITE_CP0("$0", i);
        WRITE_CP0("$10", 0x80000000u + i * 2 * PAGE);
        WRITE_CP0("$2", 0);
        WRITE_CP0("$3", 0);
        __asm__ volatile("tlbwi\n ehb" ::: "memory");
    }
    WRITE_CP0("$6", 1);
    WRITE_CP0("$15, 1", (uintptr_t)vectors | 0x80000000u); /* EBase, with BEV still set */
    WRITE_CP0(CAUSE, 1u << 23);                            /* interrupts have a vector */
    WRITE_CP0(STATUS, 0);                                  /* neither ERL nor BEV */
}

/* ---- exceptions ---- */

void enter_user(void (*code)(void), void *stack);
void user_left(void);
static volatile uintptr_t user_calls, user_done, user_sum;

static void page_fault(uintptr_t addr, uintptr_t cause)
{
    unsigned page = (addr - WINDOW) / PAGE % PAGES;

    if (window_table[page]) { /* its entry is not in the TLB */
        nr_missing++;
        write_entry(page);
        return;
    }
    nr_faults++;
    map(page, frames[page % NR_FRAMES]);
    if (cause == 2 && page % 4 == 1) { /* a load; the next store faults, too */
        set_page(page, window_table[page] & ~(uintptr_t)ENTRY_DIRTY);
    }
}

uintptr_t on_trap(uintptr_t cause, uintptr_t addr, uintptr_t pc)
{
    cause = cause >> 2 & 31;
    switch (cause) {
    case 1: /* a store to a page that is clean */
        nr_clean++;
        set_page((addr - WINDOW) / PAGE % PAGES,
                 window_table[(addr - WINDOW) / PAGE % PAGES] | ENTRY_DIRTY);
        return pc;
    case 2:
    case 3:
        page_fault(addr, cause);
        return pc;
    case 8: /* syscall */
        if (!(READ_CP0(STATUS) & STATUS_USER)) {
            nr_calls++;
            return pc + 4;
        }
        user_calls++;
        if (user_done) {
            WRITE_CP0(STATUS, READ_CP0(STATUS) & ~(uintptr_t)STATUS_USER);
            return (uintptr_t)user_left;
        }
        return pc + 4;
    case 11: /* the floating-point unit is off */
        nr_others++;
        WRITE_CP0(STATUS, READ_CP0(STATUS) | STATUS_FLOAT);
        return pc;
    case 4:  /* a load of a wrong address */
    case 9:  /* break */
    case 10: /* a reserved instruction */
    case 12: /* overflow */
    case 13: /* teq */
        nr_traps += cause;
        return pc + 4;
    }
    put_number("stray trap", cause);
    __asm__ volatile("j machine_off\n nop");
    return 0;
}

/* ---- what is tried ---- */

static void interrupts(void)
{
    uintptr_t loops = 0;

    period = 300;                              /* of 6.25 ns */
    WRITE_CP0("$11", READ_CP0("$9") + period); /* Compare, Count */
    WRITE_CP0(STATUS, STATUS_TIMER | 1);
    while (nr_irqs < 20) {
        sum_loop(37);
        loops++;
    }
    for (int i = 0; i < 5; i++) {
        __asm__ volatile("wait");
    }
    WRITE_CP0(STATUS, 0);
    put(loops ? "interrupts\n" : "no loop\n");
}

/* Accesses that fault among others of the block, at the ends of pages, across and in the
 * delay slot of a branch. */
static uintptr_t faults(void)
{
    uintptr_t sum = 1, a, b;

    for (unsigned page = 16; page < 80; page++) {
        char *end = (char *)WINDOW + (page + 1) * PAGE;

        __asm__ volatile(".set noreorder\n"
                         "bne %2, $0, 1f\n"
                         "sw %2, -64(%3)\n"
                         "sb %2, 16(%3)\n"
                         ".set reorder\n"
                         "1: sh %2, -4(%3)\n"
                         "ulw %0, -3(%3)\n" /* lwl and lwr */
                         "usw %2, -1(%3)\n"
                         "lbu %1, -4(%3)\n"
                         "addu %0, %0, %1\n"
                         "lw %1, -64(%3)"
                         : "=&r"(a), "=&r"(b)
                         : "r"(sum), "r"(end)
                         : "memory");
        sum += a + b + page;
        unmap_some(page);
    }
    return sum;
}

/* More pages than the TLB has room for. */
static uintptr_t many_pages(void)
{
    uintptr_t sum = 0;

    for (unsigned i = 0; i < 200; i++) {
        volatile uint32_t *cell = (void *)(WINDOW + (20 + i * 7 % 40) * PAGE + i * 4);

        *cell += i;
        sum += cell[-1];
    }
    return sum;
}

static void code_ready(void *one, void *two)
{
    __asm__ volatile("synci 0(%0)\n synci 0(%1)\n sync" ::"r"(one), "r"(two) : "memory");
}

static uintptr_t modified(void)
{
    static const uint32_t code[] = {0x24840001,  /* addiu $a0, $a0, 1 + i */
                                    0xaca4000c,  /* sw $a0, 12($a1) */
                                    0,           /* nop */
                                    0x03e00008,  /* jr $ra */
                                    0x24820002}; /* addiu $v0, $a0, 2 */

    return call_modified(WINDOW, code, 1, code_ready);
}

static uintptr_t atomics(void)
{
    static uintptr_t cell;
    uintptr_t old, sum = 0, done;

    for (uintptr_t i = 0; i < 50; i++) {
        __asm__ volatile("1: ll %0, 0(%2)\n addu %1, %0, %3\n sc %1, 0(%2)\n"
                         "beqz %1, 1b"
                         : "=&r"(old), "=&r"(done)
                         : "r"(&cell), "r"(i)
                         : "memory");
        sum += old;
        __asm__ volatile("ll %0, 0(%2)\n syscall\n move %1, %0\n sc %1, 0(%2)" /* fails */
                         : "=&r"(old), "=&r"(done)
                         : "r"(&cell)
                         : "memory");
        sum += old + done;
    }
    return sum + cell;
}

/* Accesses of 8 bytes. */
static uintptr_t floats(void)
{
    static volatile uint64_t cells[8];
    uintptr_t sum = 0;

    for (unsigned i = 0; i < 20; i++) {
        cells[i % 4] = (uint64_t)i << 32 | 77;
        __asm__ volatile(".set hardfloat\n"
                         "ldc1 $f2, %1\n mov.d $f4, $f2\n sdc1 $f4, %0\n swc1 $f4, %2"
                         : "=m"(cells[4]), "+m"(cells[i % 4]), "=m"(cells[5]));
        sum += (uintptr_t)cells[4] + (uintptr_t)(cells[4] >> 32);
    }
    return sum;
}

static void user_main(void)
{
    for (uintptr_t i = 0; i < 10; i++) {
        user_sum += (uintptr_t)sum_loop(20);
        __asm__ volatile("syscall" ::: "memory");
    }
    user_done = 1;
    __asm__ volatile("syscall");
}

static uintptr_t user(void)
{
    static uint8_t stack[PAGE] __attribute__((aligned(16)));

    enter_user(user_main, stack + sizeof(stack));
    return user_sum + user_calls;
}

void machine_main(void)
{
    put_number("plain", (uintptr_t)sum_loop(300));
    mmu_on();
    put_number("mapped", (uintptr_t)sum_loop(300));
    put_number("user", user());
    interrupts();
    put_number("faults", faults());
    put_number("many pages", many_pages());
    put_number("nr", nr_faults * 1000000 + nr_clean * 1000 + nr_missing);
    put_number("aliases", (uintptr_t)aliases(WINDOW));
    put_number("modified", modified());
    put_number("floats", floats());
    put_number("nr", nr_others);
    nr_calls = 0;
    put_number("atomics", atomics());
    put_number("nr", nr_calls);
    nr_calls = 0;
    for (int i = 0; i < 10; i++) {
        uintptr_t x;

        __asm__ volatile(
            "syscall\n break\n .word 0xfc000000\n teq $0, $0\n lw %0, 1(%1)\n"
            "lui %0, 0x7fff\n add %0, %0, %0"
            : "=&r"(x)
            : "r"(&frames)
            : "memory");
    }
    put_number("calls", nr_calls * 100 + nr_traps / (4 + 9 + 10 + 12 + 13));
}
