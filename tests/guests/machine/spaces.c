/* SPDX-License-Identifier: MIT */
/*
 * A machine's program that counts for ever, in turns with one of two page tables: a page of
 * both, `seen', is somewhere else in memory in each of them.  Its start, vectors and console are
 * those of the machine's other program.
 */
#include "machine.h"

#define GIB (UINT64_C(1) << 30)

typedef uint64_t table[512] __attribute__((aligned(PAGE)));

volatile uintptr_t rounds;
static table top[2], middle[2];

#if defined(__aarch64__)
#define SEEN 0xc0000000ul
#define MEMORY 0x42000000ul

static void fill(unsigned k, uint64_t at)
{
    for (uint64_t i = 0; i < 3; i++) { /* 1 GiB each: devices, RAM */
        top[k][i] = i * GIB | (i ? 0x701 : 0x60000000000405ul);
    }
    top[k][3] = (uint64_t)middle[k] | 3;
    middle[k][0] = at | 0x701;
}

static void use(unsigned k)
{
    __asm__ volatile("msr ttbr0_el1, %0\n isb\n tlbi vmalle1\n dsb sy\n isb" ::"r"(top[k])
                     : "memory");
}

static void start(void)
{
    use(0);
    __asm__ volatile("msr mair_el1, %0\n msr tcr_el1, %1\n dsb sy\n isb\n"
                     "mrs x9, sctlr_el1\n orr x9, x9, #1\n orr x9, x9, #4\n"
                     "orr x9, x9, #0x1000\n msr sctlr_el1, x9\n isb" ::"r"(0x00fful),
                     "r"(0x803519ul)
                     : "x9", "memory");
}
#elif defined(__riscv)
#define SEEN 0xc0000000ul
#define MEMORY 0x82000000ul

static void fill(unsigned k, uint64_t at)
{
    for (uint64_t i = 0; i < 3; i++) {
        top[k][i] = i << 28 | 0xcf;
    }
    top[k][3] = (uint64_t)middle[k] >> 12 << 10 | 1;
    middle[k][0] = at >> 12 << 10 | 0xcf;
}

static void use(unsigned k)
{
    __asm__ volatile(
        "csrw satp, %0\n sfence.vma" ::"r"(8ul << 60 | (uint64_t)top[k] >> 12)
        : "memory");
}

static void start(void)
{
}
#else /* x86_64, which maps the first GiB already */
#define SEEN 0x30000000ul
#define MEMORY 0x2000000ul

static table above[2];

static void fill(unsigned k, uint64_t at)
{
    for (uint64_t i = 0; i < GIB >> 21; i++) {
        middle[k][i] = i << 21 | 0x87;
    }
    middle[k][SEEN >> 21] = at | 0x87;
    above[k][0] = (uint64_t)middle[k] | 7;
    top[k][0] = (uint64_t)above[k] | 7;
}

static void use(unsigned k)
{
    __asm__ volatile("mov %0, %%cr3" ::"r"(top[k]) : "memory");
}

static void start(void)
{
}
#endif

static __attribute__((noinline)) void one_round(uintptr_t n)
{
    volatile uintptr_t *seen = (void *)SEEN;

    use(n & 1);
    sum_loop(20);
    *seen += n;
    sum_loop(20);
    rounds = n;
}

void machine_main(void)
{
    for (unsigned k = 0; k < 2; k++) {
        fill(k, MEMORY + k * (GIB >> 9));
    }
    start();
    for (uintptr_t n = 1;; n++) {
        one_round(n);
    }
}
