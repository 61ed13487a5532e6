/* SPDX-License-Identifier: MIT */
/*
 * riscv64: compressed code, LR/SC, AMOs, misaligned accesses, floating point,
 * vector loads and stores that go through helpers element by element, faults
 * in the middle.
 */
#include "guest.h"

#include <setjmp.h>

static uint64_t a[512], b[512];

static NOINLINE uint64_t scalar(uint8_t *p, uint8_t *q)
{
    uint64_t r;

    __asm__ volatile(
        "ld t0, 0(%1)\n\tlw t1, 5(%1)\n\tlhu t2, 3(%1)\n\tlb t3, 1(%1)\n\tlwu t4, 9(%1)\n\tsd t0, 1(%2)\n\t"
        "sw t1, 11(%2)\n\tsh t2, 17(%2)\n\tsb t3, 20(%2)\n\tfld ft0, 8(%1)\n\tflw ft1, 4(%1)\n\t"
        "fadd.d ft2, ft0, ft0\n\tfsd ft2, 24(%2)\n\tfsw ft1, 32(%2)\n\taddi sp, sp, -32\n\tsd t0, 8(sp)\n\t"
        "ld t5, 8(sp)\n\taddi sp, sp, 32\n\tadd %0, t0, t1\n\tadd %0, %0, t5\n\tbeqz t3, 1f\n\tc.nop\n\tadd %0, %0, t2\n1:"
        : "=&r"(r)
        : "r"(p), "r"(q)
        : "t0", "t1", "t2", "t3", "t4", "t5", "ft0", "ft1", "ft2", "memory");
    return r;
}

static NOINLINE uint64_t atomics(uint64_t *p)
{
    uint64_t r;

    __asm__ volatile(
        "1:\tlr.d t0, (%1)\n\taddi t0, t0, 1\n\tsc.d t1, t0, (%1)\n\tbnez t1, 1b\n"
        "2:\tlr.w.aq t0, (%1)\n\taddi t0, t0, 1\n\tsc.w.rl t1, t0, (%1)\n\tbnez t1, 2b\n\t"
        "sc.d t1, t0, (%1)\n\tamoadd.d t2, t0, (%1)\n\tamoswap.w t3, t1, (%1)\n\tamoxor.d t4, t0, (%1)\n\t"
        "amoand.w t5, t0, (%1)\n\tamoor.d.aqrl t6, t0, (%1)\n\tamomin.w t0, t3, (%1)\n\tamomaxu.d t1, t2, (%1)\n\t"
        "fence\n\tadd %0, t0, t1"
        : "=&r"(r)
        : "r"(p)
        : "t0", "t1", "t2", "t3", "t4", "t5", "t6", "memory");
    return r;
}

static uint8_t *pages;
static sigjmp_buf out;
static int repeat;

static void fault(int sig, siginfo_t *si, void *ctx)
{
    (void)sig;
    (void)ctx;
    if (!repeat) {
        siglongjmp(out, 1);
    }
    mprotect((void *)((uintptr_t)si->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

static void skip(int sig, siginfo_t *si, void *ctx)
{
    ucontext_t *uc = ctx;

    (void)sig;
    (void)si;
    UC_PC(uc) += (*(uint16_t *)UC_PC(uc) & 3) == 3 ? 4 : 2;
}

#define FAULTING(insn)                                                                   \
    do {                                                                                 \
        uint8_t *end = pages + 4096 - 8;                                                 \
        mprotect(pages + 4096, 4096, PROT_NONE);                                         \
        if (sigsetjmp(out, 1) == 0) {                                                    \
            uint64_t r;                                                                  \
            __asm__ volatile("ld t0, -8(%1)\n\tsd t0, -16(%1)\n\t" insn                  \
                             "\n\tsd t0, -24(%1)\n\tld %0, -32(%1)"                      \
                             : "=&r"(r)                                                  \
                             : "r"(end)                                                  \
                             : "t0", "t1", "ft0", "memory");                             \
            mix(r);                                                                      \
        }                                                                                \
    } while (0)

static NOINLINE void faulting(void)
{
    FAULTING("ld t0, 8(%1)");
    FAULTING("sd t0, 8(%1)");
    FAULTING("ld t0, 4(%1)");
    FAULTING("sd t0, 3(%1)");
    FAULTING("fld ft0, 6(%1)");
    FAULTING("sh t0, 7(%1)");
    FAULTING("addi t1, %1, 8\n\tamoadd.d t0, t0, (t1)");
    FAULTING("addi t1, %1, 8\n\tlr.d t0, (t1)");
    FAULTING("addi t1, %1, 8\n\tsc.d t0, t0, (t1)");
}

int main(void)
{
    for (unsigned i = 0; i < 512; i++) {
        a[i] = (uint64_t)rnd() << 40 ^ rnd();
    }
    for (unsigned i = 0; i < 60; i++) {
        mix(scalar((uint8_t *)a + i * 3, (uint8_t *)b + i * 9));
        mix(atomics(b + 300));
    }
    pages = map_pages(2 * 4096, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 4096; i++) {
        pages[i] = (uint8_t)i;
    }
    on_signal(SIGSEGV, fault);
    on_signal(SIGBUS, fault);
    repeat = 0;
    faulting();
    repeat = 1;
    faulting();
    on_signal(SIGSEGV, skip);
    on_signal(SIGBUS, skip);
    faulting();
    on_signal(SIGILL, skip);
    on_signal(SIGTRAP, skip);
    __asm__ volatile(
        ".word 0xffffffff\n\tli t0, 3\n\tebreak\n\tc.ebreak\n\tli t0, 4\n\t.half 0\n\tnop"
        :
        :
        : "t0");
    return finish("riscv");
}
