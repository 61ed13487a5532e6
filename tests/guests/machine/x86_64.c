/* SPDX-License-Identifier: MIT */
/*
 * A machine's program for x86_64, -M pc -bios: as that for aarch64, with what x86 has of
 * its own: string instructions, ports, ring 3 by INT and SYSCALL.
 */
#include "machine.h"
#include "x86.h"

#define TIMER_VECTOR 32

void machine_put(char c)
{
    while (!(in(0x3fd) & 0x20)) {
    }
    out(0x3f8, (uint8_t)c);
}

/* ---- exceptions ---- */

volatile uint64_t nr_syscalls;
static volatile uint64_t nr_irqs, nr_faults, nr_calls, nr_undefined, nr_user_calls;
uint64_t window_table[512] __attribute__((aligned(4096)));
uint8_t frames[NR_FRAMES][PAGE] __attribute__((aligned(PAGE)));
uint8_t tss[104] __attribute__((aligned(16)));
extern uint8_t entries[], entry_80[], entry_81[], gdt[];
void on_syscall(void);
void enter_user(void (*code)(void), void *stack);

void map(unsigned page, const void *frame)
{
    window_table[page] = (uint64_t)frame | 7;
    __asm__ volatile("invlpg (%0)" ::"r"(WINDOW + page * PAGE) : "memory");
}

void unmap(unsigned page)
{
    window_table[page] = 0;
    __asm__ volatile("invlpg (%0)" ::"r"(WINDOW + page * PAGE) : "memory");
}

uint64_t on_exception(uint64_t number, uint64_t error, uint64_t pc)
{
    uint64_t addr;

    (void)error;
    switch (number) {
    case 3:
        nr_calls++;
        return pc;
    case 6:
        nr_undefined++;
        return pc + 2;
    case 14:
        __asm__ volatile("movq %%cr2, %0" : "=r"(addr));
        if (addr - WINDOW < 512 * PAGE) {
            nr_faults++;
            map((unsigned)((addr - WINDOW) / PAGE),
                frames[(addr - WINDOW) / PAGE % NR_FRAMES]);
            return pc;
        }
        break;
    case TIMER_VECTOR:
        nr_irqs++;
        out(0x20, 0x20);
        return pc;
    case 0x80:
        nr_user_calls++;
        return pc;
    }
    put_number("stray exception", number);
    put_number("at", pc);
    __asm__ volatile("jmp machine_off");
    return 0;
}

/* ---- what is tried ---- */

struct gate {
    uint16_t low, selector, type, middle;
    uint32_t high, zero;
};

static struct gate idt[256];

static void set_gate(unsigned number, const uint8_t *code, uint16_t type)
{
    uint64_t at = (uint64_t)code;

    idt[number] = (struct gate){(uint16_t)at, 8, type, (uint16_t)(at >> 16), 0, 0};
}

static void load_tables(void)
{
    struct __attribute__((packed)) {
        uint16_t limit;
        uint64_t base;
    } p = {sizeof(idt) - 1, (uint64_t)idt};
    uint64_t at = (uint64_t)tss;
    uint64_t *d = (uint64_t *)(gdt + 0x38);

    for (unsigned i = 0; i < 34; i++) {
        set_gate(i, entries + 16 * i, 0x8e00);
    }
    set_gate(3, entries + 16 * 3, 0xee00);
    set_gate(0x80, entry_80, 0xee00);
    set_gate(0x81, entry_81, 0xee00);
    __asm__ volatile("lidt %0" ::"m"(p));
    d[0] = 0x0000890000000067ul | (at & 0xffffff) << 16;
    p.limit = 0x47;
    p.base = (uint64_t)gdt;
    __asm__ volatile("lgdt %0\n ltr %w1" ::"m"(p), "r"(0x38));
    __asm__ volatile("wrmsr" ::"c"(0xc0000081), "a"(0), "d"(0x00230008));
    __asm__ volatile("wrmsr" ::"c"(0xc0000082), "a"((uint32_t)(uint64_t)on_syscall),
                     "d"(0));
    __asm__ volatile("wrmsr" ::"c"(0xc0000084), "a"(0x200), "d"(0));
}

static void interrupts(void)
{
    uint64_t loops = 0;

    out(0x20, 0x11); /* the controllers: vectors from TIMER_VECTOR on, the timer only */
    out(0xa0, 0x11);
    out(0x21, TIMER_VECTOR);
    out(0xa1, TIMER_VECTOR + 8);
    out(0x21, 4);
    out(0xa1, 2);
    out(0x21, 1);
    out(0xa1, 1);
    out(0x21, 0xfe);
    out(0xa1, 0xff);
    out(0x43, 0x34); /* every 24 us */
    out(0x40, 29);
    out(0x40, 0);
    __asm__ volatile("sti");
    while (nr_irqs < 20) {
        sum_loop(37);
        loops++;
    }
    for (int i = 0; i < 5; i++) {
        __asm__ volatile("hlt");
    }
    __asm__ volatile("cli");
    out(0x21, 0xff);
    put(loops ? "interrupts\n" : "no loop\n");
}

/* Accesses that fault among others of the block, at the ends of pages and across. */
static uint64_t faults(void)
{
    uint64_t sum = 1, a, b;

    for (unsigned page = 16; page < 80; page++) {
        char *end = (char *)WINDOW + (page + 1) * PAGE;

        __asm__ volatile("movq %2, -64(%3)\n"
                         "movq %3, -8(%3)\n"
                         "addq %2, -4(%3)\n"
                         "movq -8(%3), %0\n"
                         "xchgq %0, 16(%3)\n"
                         "movl %k0, -2(%3)\n"
                         "pushq -4(%3)\n"
                         "popq 24(%3)\n"
                         "movq -64(%3), %1"
                         : "=&r"(a), "=&r"(b)
                         : "r"(sum), "r"(end)
                         : "memory");
        sum += a + b;
        unmap_some(page);
    }
    return sum;
}

/* String instructions that fault on the way, forwards and backwards. */
static uint64_t strings(void)
{
    char *from = (char *)WINDOW + 200 * PAGE - 100,
         *to = (char *)WINDOW + 210 * PAGE - 50;
    uint64_t n = 3 * PAGE, sum = 0;
    void *d = to, *s = from;

    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
    d = to + 2 * PAGE, n = 700;
    __asm__ volatile("std\n rep stosq\n cld" : "+D"(d), "+c"(n) : "a"(0x1234) : "memory");
    s = to, n = 4 * PAGE;
    __asm__ volatile("repne scasb" : "+D"(s), "+c"(n) : "a"(0x12) : "memory", "cc");
    sum += n;
    d = to, s = from, n = 64;
    __asm__ volatile("repe cmpsw" : "+D"(d), "+S"(s), "+c"(n)::"memory", "cc");
    return sum + n;
}

/* The same code at two addresses, changed between calls. */
static uint64_t modified(void)
{
    uint8_t *one = (void *)(WINDOW + 110 * PAGE), *two = (void *)(WINDOW + 111 * PAGE);
    uint64_t (*f)(uint64_t, void *) = (void *)one, (*g)(uint64_t, void *) = (void *)two;
    uint64_t sum = 0;

    map(110, frames[1]);
    map(111, frames[1]);
    for (unsigned i = 0; i < 40; i++) {
        static const uint8_t code[] = {0x48, 0x8d, 0x47, 0, /* lea 0(%rdi), %rax */
                                       0x89, 0x46, 0x0c,    /* mov %eax, 12(%rsi) */
                                       0xc6, 0x05, 1,    0,   0,
                                       0,    7,                  /* movb $7, 1(%rip) */
                                       0xb9, 0,    0,    0,   0, /* mov $0, %ecx */
                                       0x48, 0x01, 0xc8, 0xc3};  /* add %rcx, %rax; ret */
        for (unsigned k = 0; k < sizeof(code); k++) {
            one[k] = code[k];
        }
        one[3] = (uint8_t)i;
        sum += f(i * 3, frames[2]);
        sum += g(i, frames[2]);
    }
    return sum;
}

static uint64_t atomics(void)
{
    static uint64_t cell;
    static uint64_t pair[2] __attribute__((aligned(16)));
    uint64_t sum = 0;

    for (uint64_t i = 0; i < 50; i++) {
        uint64_t old = i, low = pair[0], high = pair[1] + (i % 3 == 0);

        __asm__ volatile("lock xaddq %0, %1" : "+r"(old), "+m"(cell)::"memory");
        sum += old;
        __asm__ volatile("lock cmpxchg16b %0"
                         : "+m"(pair), "+a"(low), "+d"(high)
                         : "b"(i), "c"(i + 1)
                         : "memory", "cc");
        __asm__ volatile("lock btsq %1, %0" : "+m"(cell) : "r"(i) : "memory", "cc");
        __asm__ volatile("lock incw %0" : "+m"(pair)::"memory", "cc");
        sum += low;
    }
    return sum + cell + pair[1];
}

/* Registers of a device (HPET) in blocks with other accesses. */
static uint64_t device_registers(void)
{
    volatile uint32_t *timer = (void *)(WINDOW + 120 * PAGE);
    volatile uint32_t *cell = (void *)(WINDOW + 121 * PAGE);
    uint64_t sum = 0;

    map(120, (void *)0xfed00000);
    map(121, frames[3]);
    timer[0x10 / 4] = 1;
    for (unsigned i = 0; i < 40; i++) {
        cell[0] = timer[0xf0 / 4];
        timer[0x108 / 4] = cell[0] + i;
        cell[1] = timer[0x108 / 4];
        sum += cell[1] - cell[0];
    }
    timer[0x10 / 4] = 0;
    return sum;
}

/* ---- code without privileges ---- */

static volatile uint64_t user_sum;

static void user_main(void)
{
    for (uint64_t i = 0; i < 10; i++) {
        user_sum += sum_loop(20);
        __asm__ volatile("int $0x80" ::: "memory");
        __asm__ volatile("syscall" ::: "rcx", "r11", "memory");
    }
    __asm__ volatile("int $0x81");
}

static uint64_t user(void)
{
    static uint8_t stack[PAGE] __attribute__((aligned(16)));

    enter_user(user_main, stack + sizeof(stack) - 8);
    return user_sum + nr_user_calls + nr_syscalls;
}

void machine_main(void)
{
    put_number("plain", sum_loop(300));
    load_tables();
    put_number("user", user());
    interrupts();
    put_number("faults", faults());
    put_number("strings", strings());
    put_number("nr", nr_faults);
    put_number("aliases", aliases(WINDOW));
    put_number("modified", modified());
    put_number("atomics", atomics());
    put_number("registers", device_registers());
    for (int i = 0; i < 10; i++) {
        __asm__ volatile("int3\n ud2" ::: "memory");
    }
    put_number("calls", nr_calls * 100 + nr_undefined);
}
