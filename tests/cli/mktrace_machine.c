/* SPDX-License-Identifier: MIT */
/*
 * `mktrace machine NAME FILE': a small trace of a machine: two vCPUs, code of each
 * privilege that its name knows, exceptions and interrupts with each form of name, returns,
 * address spaces.  `mktrace spaces FILE': values in two address spaces.  `mktrace kernel BASE
 * SLIDE LAYOUT IMAGE FILE': the image of a kernel (mkkernel.h) that is linked for BASE, and a
 * trace in which it runs SLIDE above it: each function once, fn_001 twice.  `mktrace
 * kernel-twice ...': the same, and some functions at another address, too.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "maker.h"
#include "mkkernel.h"

#define LOAD8 3u

static const struct machine {
    const char *name;
    const char *target;
    unsigned machine, addr_bits, len;
    const char *code;
    uint32_t privileges; /* bits */
    struct interrupt {
        uint32_t flags, number;
        uint64_t syndrome;
    } interrupt[12];
} machines[] = {
    {"aarch64",
     "aarch64-softmmu",
     EM_AARCH64,
     64,
     4,
     "\x1f\x20\x03\xd5", /* nop */
     0x1e,
     {{0, 0x24, 0x92000045},
      {CTR_INT_ADDR, 0x25, 0x96000045},
      {CTR_INT_ADDR | CTR_INT_FETCH, 0x20, 0x82000005},
      {CTR_INT_TRAP, 0x15, 0x56000000},
      {CTR_INT_TRAP | CTR_INT_EMULATED, 0x16, 0x5a000000},
      {CTR_INT_ASYNC, 27, 0},
      {CTR_INT_ASYNC, 33, 0},
      {CTR_INT_ASYNC | CTR_INT_FAST, CTR_INT_UNKNOWN, 0},
      {CTR_INT_ASYNC | CTR_INT_VIRTUAL, CTR_INT_UNKNOWN, 0},
      {0, 0x3f, 0xfe000000}}},
    {"m",
     "arm-softmmu",
     EM_ARM,
     32,
     2,
     "\x00\xbf", /* nop */
     0x600,
     {{CTR_INT_VECTOR, 3, 0},
      {CTR_INT_VECTOR | CTR_INT_TRAP, 11, 0},
      {CTR_INT_VECTOR | CTR_INT_ASYNC, 15, 0},
      {CTR_INT_VECTOR | CTR_INT_ASYNC, 16, 0},
      {CTR_INT_VECTOR | CTR_INT_TRAP | CTR_INT_EMULATED, 0, 0}}},
    {"riscv64",
     "riscv64-softmmu",
     EM_RISCV,
     64,
     4,
     "\x13\x00\x00\x00", /* nop */
     0x76,
     {{CTR_INT_ADDR, 13, 0},
      {CTR_INT_TRAP, 8, 0},
      {CTR_INT_ASYNC, 5, 0},
      {CTR_INT_ASYNC, 20, 0},
      {0, 24, 0}}},
    {"x86_64",
     "x86_64-softmmu",
     EM_X86_64,
     64,
     1,
     "\x90", /* nop */
     0x196,
     {{CTR_INT_ADDR, 14, 6},
      {0, 13, 0x18},
      {CTR_INT_TRAP, 0x80, 0},
      {CTR_INT_TRAP, 3, 0},
      {CTR_INT_ASYNC, 2, 0},
      {CTR_INT_ASYNC, 0xec, 0},
      {CTR_INT_TRAP, CTR_INT_SYSCALL, 0},
      {CTR_INT_TRAP, CTR_INT_SYSENTER, 0},
      {CTR_INT_ASYNC, CTR_INT_SMI, 0}}},
    {"mips",
     "mips-softmmu",
     EM_MIPS,
     32,
     4,
     "\x00\x00\x00\x00", /* nop */
     0x6,
     {{CTR_INT_ADDR, 2, 0},
      {CTR_INT_TRAP, 8, 0},
      {CTR_INT_ASYNC, 7, 0},
      {CTR_INT_ASYNC, CTR_INT_UNKNOWN, 0},
      {0, 30, 0}}},
    {"ppc64",
     "ppc64-softmmu",
     EM_PPC64,
     64,
     4,
     "\x00\x00\x00\x60", /* nop */
     0x6,
     {{CTR_INT_ADDR, 0x300, 0x42000000},
      {CTR_INT_ASYNC, 0x900, 0},
      {CTR_INT_TRAP, 0xc00, 0},
      {CTR_INT_TRAP | CTR_INT_EMULATED, 0xc00, 0},
      {0, 0x123, 0}}},
    {"s390x",
     "s390x-softmmu",
     EM_S390,
     64,
     2,
     "\x07\x00", /* nopr */
     0x6,
     {{0, 0x11, 0},
      {0, 0x91, 0},
      {CTR_INT_TRAP, 4, 0},
      {CTR_INT_ASYNC, CTR_INT_UNKNOWN, 0},
      {0, 0x7f, 0}}},
    {"sparc",
     "sparc-softmmu",
     EM_SPARC,
     32,
     4,
     "\x01\x00\x00\x00", /* nop */
     0x6,
     {{0, 9, 0}, {CTR_INT_ASYNC, CTR_INT_UNKNOWN, 0}}},
};

/* The lowest privilege; an exception is taken to the next one. */
static unsigned lowest(const struct machine *t)
{
    return (unsigned)__builtin_ctz(t->privileges);
}

static void interrupt(struct maker *m, const struct machine *t, const struct interrupt *i,
                      uint64_t pc)
{
    struct payload o = {.n = 0};

    add(&o, i->flags, 4);
    add(&o, i->number, 4);
    add(&o, i->syndrome, 8);
    add(&o, i->flags & CTR_INT_ADDR ? 0x40110008 : 0, 8);
    add(&o, pc, 8);
    add(&o, i->flags & CTR_INT_EMULATED ? pc : 0x40100a00, 8);
    add(&o, lowest(t), 4);
    add(&o, lowest(t) + !(i->flags & CTR_INT_EMULATED), 4);
    put_event(m, CTR_EVENT_INTERRUPT, tick(m), o.p, o.n);
}

static void context(struct maker *m, uint64_t table, uint64_t asid, uint64_t id)
{
    struct payload o = {.n = 0};

    add(&o, table, 8);
    add(&o, asid, 8);
    add(&o, id, 8);
    put_event(m, CTR_EVENT_CONTEXT, tick(m), o.p, o.n);
}

/* A block for each privilege; returns their number. */
static unsigned make_blocks(struct maker *m, const struct machine *t)
{
    unsigned n = 0;

    for (unsigned p = 0; p < CTR_PRIVILEGES; p++) {
        struct block b = {.id = n + 1, .pc = 0x40100000u + 0x100u * n};
        if (!(t->privileges & 1u << p)) {
            continue;
        }
        b.mode = (t->len == 2 ? CTR_MODE_THUMB : 0) | p << 4;
        block_insn(&b, t->code, t->len);
        block_slot(&b, 0, LOAD8);
        add_block(m, &b);
        n++;
    }
    return n;
}

void make_machine(const char *name, const char *path)
{
    const struct machine *t = machines;
    struct maker m = {0};
    uint32_t process, thread[2], blocks;

    while (strcmp(t->name, name) != 0) {
        if (++t == machines + sizeof(machines) / sizeof(machines[0])) {
            fprintf(stderr, "mktrace: no machine %s\n", name);
            exit(2);
        }
    }
    maker_open(&m, path, t->target, t->machine, false, t->addr_bits,
               CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_THR | CTR_EVENTS_INT |
                   CTR_EVENTS_CTX | CTR_EVENTS_PWR);
    blocks = make_blocks(&m, t);
    process = add_process(&m, 7, 1);
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        thread[cpu] = add_thread(&m, process, 7 + (int)cpu, cpu ? 7 : 0);
        thread_event(&m, CTR_THREAD_START, 7, 7 + (int)cpu, 1, 0, 0, 0,
                     cpu ? "cpu1" : "cpu0");
        for (unsigned i = 0; i < blocks; i++) {
            put_word(&m, i + 1);
            put_addr(&m, 0x21000 + 8 * i);
            if (i == 0) {
                context(&m, 0x43186000, cpu + 5, cpu ? 0 : 126);
            }
        }
        for (const struct interrupt *i = t->interrupt; !cpu && (i->flags || i->number);
             i++) {
            interrupt(&m, t, i, 0x40100104);
            return_event(&m, 0x40100104, lowest(t) + 1, lowest(t));
        }
        for (uint32_t op = CTR_POWER_HALT; cpu && op <= CTR_POWER_SAVED; op++) {
            power_event(&m, op);
        }
        put_word(&m, 1);
        put_addr(&m, 0x21800);
        context(&m, 0, 0, 0);
        flush_chunk(&m, thread[cpu], 0);
    }
    maker_close(&m, true);
}

/* From instruction 0 of the run on that comes last so far, a page is at phys. */
static void fill(struct maker *m, uint64_t page, uint64_t phys, uint8_t flags)
{
    struct mempipe_side_page *x = put_side(m, MEMPIPE_SIDE_PAGE, 0, sizeof(*x));

    x->flags = flags;
    x->bits = 12;
    x->page = page;
    x->phys = phys;
}

/*
 * Loads of a machine whose pages are known, unknown, a device's, or two at once; in the
 * second chunk of one from the first, before and after it is somewhere else.
 */
void make_physical(const char *path)
{
    struct block b = {.id = 1, .pc = 0x40100000, .mode = CTR_PRIVILEGE_KERNEL << 4};
    struct maker m = {0};
    uint32_t thread;

    maker_open(&m, path, "aarch64-softmmu", EM_AARCH64, false, 64,
               CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_PHYS);
    block_insn(&b, "\x1f\x20\x03\xd5", 4);
    block_slot(&b, 0, LOAD8);
    add_block(&m, &b);
    thread = add_thread(&m, add_process(&m, 7, 1), 7, 0);
    put_word(&m, 1);
    fill(&m, 0x21000, 0x40005000, 0);
    put_addr(&m, 0x21008);
    put_word(&m, 1);
    fill(&m, 0x22000, 0x40009000, 0);
    put_addr(&m, 0x21ffc);
    put_word(&m, 1);
    fill(&m, 0x30000, 0x9000000, CTR_PAGE_DEVICE);
    put_addr(&m, 0x30018);
    put_word(&m, 1);
    put_addr(&m, 0x50000);
    flush_chunk(&m, thread, 0);
    put_word(&m, 1);
    put_addr(&m, 0x21010);
    put_word(&m, 1);
    fill(&m, 0x21000, 0x40007000, 0);
    put_addr(&m, 0x21010);
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
}

/* Loads in two address spaces, in one chunk: table, address, value. */
void make_spaces(const char *path)
{
    static const struct {
        uint64_t table, addr, value;
    } loads[] = {{1, 0x21000, 1}, {2, 0x21000, 2}, {2, 0x21008, 3}, {1, 0x21010, 4}};
    struct block b = {.id = 1, .pc = 0x40100000};
    struct maker m = {0};
    uint32_t thread;

    maker_open(&m, path, "aarch64-softmmu", EM_AARCH64, false, 64,
               CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL | CTR_EVENTS_CTX);
    block_insn(&b, "\x1f\x20\x03\xd5", 4);
    block_slot(&b, 0, LOAD8);
    add_block(&m, &b);
    thread = add_thread(&m, add_process(&m, 7, 1), 7, 0);
    for (unsigned i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        context(&m, loads[i].table << 12, 0, 0);
        put_word(&m, 1);
        put_addr(&m, loads[i].addr);
        put_value(&m, loads[i].value, 8);
    }
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
}

/* Which vCPU ran, and for how many instructions, one after the other. */
static const struct {
    unsigned cpu, insns;
} turns[] = {{0, 3}, {1, 2}, {0, 1}, {1, 1}, {0, 2}, {1, 3}};

/* Turns of two vCPUs; each turn stores its number at the same address. */
void make_slices(const char *path)
{
    const unsigned nr = sizeof(turns) / sizeof(turns[0]);
    struct block b = {.id = 1, .pc = 0x40100000, .mode = CTR_PRIVILEGE_KERNEL << 4};
    struct maker m = {0};
    uint32_t process, thread[2];
    uint64_t start;

    maker_open(&m, path, "aarch64-softmmu", EM_AARCH64, false, 64,
               CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL | CTR_EVENTS_ORDER);
    block_insn(&b, "\x1f\x20\x03\xd5", 4);
    block_slot(&b, 0, 3 | CTR_ACCESS_STORE);
    add_block(&m, &b);
    process = add_process(&m, 7, 1);
    start = m.clock_ns;
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        thread[cpu] = add_thread(&m, process, 7 + (int)cpu, cpu ? 7 : 0);
    }
    for (unsigned cpu = 0; cpu < 2; cpu++) {
        for (unsigned i = 0; i < nr; i++) {
            struct payload o = {.n = 0};
            if (turns[i].cpu != cpu) {
                continue;
            }
            add(&o, i, 8);
            if (i) {
                put_event(&m, CTR_EVENT_SLICE, start + i * 1000, o.p, o.n);
            }
            for (unsigned k = 0; k < turns[i].insns; k++) {
                put_word(&m, 1);
                put_addr(&m, 0x21000);
                put_value(&m, i, 8);
            }
        }
        m.clock_ns = start + cpu;
        m.span_ns = nr * 1000;
        flush_chunk(&m, thread[cpu], cpu ? 0 : CTR_SEGMENT_FIRST);
    }
    maker_close(&m, true);
}

static void write_image(const char *path, const struct kernel_image *k)
{
    FILE *f = fopen(path, "wb");

    if (!f || fwrite(k->p, 1, k->n, f) != k->n || fclose(f)) {
        perror(path);
        exit(1);
    }
}

static void kernel_block(struct maker *m, uint32_t id, uint64_t pc, const uint8_t *code)
{
    struct block b = {.id = id, .pc = pc, .mode = CTR_PRIVILEGE_KERNEL << 4};

    for (unsigned i = 0; i < 8; i++) {
        block_insn(&b, code + 4 * i, 4);
    }
    add_block(m, &b);
}

/*
 * Functions from the 4th page on run at another address, too: ten of that page, one of them as
 * the kernel has changed it, and two of the next one, where a third one has other code.
 */
static unsigned run_twice(struct maker *m, const struct kernel_image *image, uint32_t id)
{
    const uint64_t page = UINT64_C(0xfffffbfffdbf6000);
    const uint32_t page_at = 0x4000;
    unsigned n = 0;

    for (unsigned i = 0; i < 13; i++) {
        const uint32_t at = i < 10 ? 64 * i : 0x1000 + 64 * (i - 10);
        uint8_t code[32];

        memcpy(code, image->p + (i == 12 ? KERNEL_CODE : page_at + at), sizeof(code));
        code[5] ^= i == 3;
        kernel_block(m, id + n++, page + at, code);
    }
    return n;
}

/* argv: BASE SLIDE LAYOUT IMAGE FILE; LAYOUT: of kernel_layouts.  twice: run_twice. */
void make_kernel(char **argv, bool twice)
{
    static struct kernel_image image;
    const uint64_t base = strtoull(argv[0], NULL, 0), slide = strtoull(argv[1], NULL, 0);
    enum kernel_layout layout = KERNEL_NEW;
    unsigned blocks = KERNEL_FUNCTIONS;
    struct maker m = {0};
    uint32_t thread;

    while (layout < KERNEL_PERCPU && strcmp(argv[2], kernel_layouts[layout]) != 0) {
        layout++;
    }
    kernel_make(&image, base, layout);
    write_image(argv[3], &image);
    maker_open(&m, argv[4], "aarch64-softmmu", EM_AARCH64, false, 64, CTR_EVENTS_EXEC);
    for (unsigned f = 0; f < KERNEL_FUNCTIONS; f++) {
        const uint32_t at = KERNEL_CODE + 64 * f;

        kernel_block(&m, f + 1, base + slide + at, image.p + at);
    }
    blocks += twice ? run_twice(&m, &image, blocks + 1) : 0;
    thread = add_thread(&m, add_process(&m, 7, 1), 7, 0);
    for (unsigned f = 0; f < blocks; f++) {
        put_word(&m, f + 1);
    }
    put_word(&m, 2);
    flush_chunk(&m, thread, 0);
    maker_close(&m, true);
}
