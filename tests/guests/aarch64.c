/* SPDX-License-Identifier: MIT */
/*
 * aarch64: pairs, quads and structures, unaligned and across pages, with
 * faults in the middle; exclusives; conditional selects and branches; pointer
 * authentication and branch tables as ordinary code.
 */
#include "guest.h"

#include <setjmp.h>

static uint8_t a[4096] __attribute__((aligned(64)));
static uint8_t b[4096] __attribute__((aligned(64)));

static NOINLINE uint64_t pairs(uint8_t *p, uint8_t *q)
{
    uint64_t r;

    __asm__ volatile(
        "ldp x3, x4, [%1]\n\tstp x3, x4, [%2]\n\tldp w5, w6, [%1, #8]\n\tstp w5, w6, [%2, #24]\n\t"
        "ldpsw x7, x8, [%1, #4]\n\tldp q0, q1, [%1]\n\tstp q0, q1, [%2, #32]\n\tldp d2, d3, [%1, #16]\n\t"
        "stp s2, s3, [%2, #64]\n\tldr q4, [%1, #16]\n\tstr q4, [%2, #80]\n\tldur q5, [%1, #3]\n\t"
        "stur q5, [%2, #97]\n\tldr x9, [%1], #8\n\tldr x10, [%1, #-16]!\n\tstr x9, [%2, #8]!\n\t"
        "ldrsb x9, [%1, #3]\n\tldrsh w10, [%1, #6]\n\tldrsw x11, [%1, #4]\n\tsturh w10, [%2, #7]\n\t"
        "mov x12, #3\n\tldr x13, [%1, x12, lsl #3]\n\tldr w14, [%1, w12, sxtw #2]\n\tstrb w14, [%2, x12]\n\t"
        "ldnp x3, x4, [%1, #16]\n\tstnp x3, x4, [%2, #16]\n\tprfm pldl1keep, [%1]\n\tldar x5, [%3]\n\t"
        "stlr x5, [%3]\n\tldarb w5, [%3]\n\tstlrh w5, [%3]\n\t"
        "add %0, x7, x13\n\tadd %0, %0, x11"
        : "=&r"(r), "+r"(p), "+r"(q)
        : "r"(a + 2048)
        : "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14",
          "memory", "v0", "v1", "v2", "v3", "v4", "v5");
    return r;
}

static NOINLINE void structures(uint8_t *p, uint8_t *q)
{
    __asm__ volatile(
        "ld1 {v0.16b}, [%0]\n\tld1 {v0.4s-v3.4s}, [%0]\n\tst1 {v0.8h, v1.8h}, [%1]\n\t"
        "ld2 {v0.16b, v1.16b}, [%0], #32\n\tst2 {v0.8h, v1.8h}, [%1], #32\n\tld3 {v0.2d-v2.2d}, [%0]\n\t"
        "st3 {v0.4s-v2.4s}, [%1]\n\tld4 {v0.8b-v3.8b}, [%0]\n\tst4 {v0.16b-v3.16b}, [%1]\n\t"
        "ld1 {v4.s}[2], [%0]\n\tst1 {v4.b}[11], [%1]\n\tld1r {v5.8h}, [%0]\n\tld4r {v0.4s-v3.4s}, [%0]\n\t"
        "ld3 {v0.h-v2.h}[3], [%0]\n\tst3 {v0.h-v2.h}[3], [%1]\n\tfadd v0.4s, v1.4s, v2.4s\n\t"
        "st1 {v0.1d-v3.1d}, [%1]\n\tldr b1, [%0]\n\tldr h2, [%0, #2]\n\tstr b1, [%1, #1]\n\tstr h2, [%1, #4]"
        : "+r"(p), "+r"(q)
        :
        : "memory", "v0", "v1", "v2", "v3", "v4", "v5");
}

static NOINLINE uint64_t exclusives(uint64_t *p)
{
    uint64_t r;

    __asm__ volatile(
        "1:\tldxr x3, [%1]\n\tadd x3, x3, #1\n\tstxr w4, x3, [%1]\n\tcbnz w4, 1b\n"
        "2:\tldaxp x3, x4, [%1]\n\tstlxp w5, x4, x3, [%1]\n\tcbnz w5, 2b\n\t"
        "3:\tldxp w3, w4, [%1]\n\tstxp w5, w3, w4, [%1]\n\tcbnz w5, 3b\n\t"
        "ldxrb w3, [%1]\n\tclrex\n\tstxrb w4, w3, [%1]\n\tldxrh w3, [%1]\n\tstxrh w5, w3, [%1, #0]\n\t"
        "stxr w6, x3, [%1]\n\tadd x3, x3, x4\n\tadd %0, x3, x5"
        : "=&r"(r)
        : "r"(p)
        : "x3", "x4", "x5", "x6", "cc", "memory");
    return r;
}

static NOINLINE uint64_t conditions(uint64_t x, uint64_t y)
{
    uint64_t r;

    __asm__ volatile(
        "cmp %1, %2\n\tcsel %0, %1, %2, gt\n\tcsinc x3, %1, %2, ls\n\tccmp %1, #3, #4, ne\n\t"
        "b.eq 1f\n\tldr x4, [sp]\n\tadd %0, %0, x3\n1:\ttbz %1, #1, 2f\n\tadd %0, %0, #3\n"
        "2:\tadr x4, 3f\n\tand x5, %1, #1\n\tadd x4, x4, x5, lsl #2\n\tbr x4\n3:\tadd %0, %0, #5\n\tadd %0, %0, #7\n\t"
        "adr x4, 4f\n\tstp x29, x30, [sp, #-16]!\n\tblr x4\n\tldp x29, x30, [sp], #16\n\tb 5f\n"
        "4:\tpaciasp\n\tautiasp\n\tret\n5:"
        : "=&r"(r)
        : "r"(x), "r"(y)
        : "x3", "x4", "x5", "x30", "cc", "memory");
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
    (void)sig;
    (void)si;
    UC_PC((ucontext_t *)ctx) += 4;
}

#define FAULTING(insn)                                                                   \
    do {                                                                                 \
        uint8_t *end = pages + 4096 - 8;                                                 \
        mprotect(pages + 4096, 4096, PROT_NONE);                                         \
        if (sigsetjmp(out, 1) == 0) {                                                    \
            uint64_t r;                                                                  \
            __asm__ volatile("ldur x3, [%1, #-8]\n\tstur x3, [%1, #-16]\n\t" insn        \
                             "\n\tstur x3, [%1, #-24]\n\tldur %0, [%1, #-32]"            \
                             : "=&r"(r)                                                  \
                             : "r"(end)                                                  \
                             : "x3", "x4", "x5", "x6", "memory", "v0", "v1", "v2",       \
                               "v3");                                                    \
            mix(r);                                                                      \
        }                                                                                \
    } while (0)

static NOINLINE void faulting(void)
{
    FAULTING("ldp x3, x4, [%1]");
    FAULTING("stp x3, x4, [%1]");
    FAULTING("ldp q0, q1, [%1, #-16]");
    FAULTING("stp q0, q1, [%1, #-16]");
    FAULTING("ldur x3, [%1, #4]");
    FAULTING("stur x3, [%1, #4]");
    FAULTING("ldr q0, [%1]");
    FAULTING("stur q0, [%1, #1]");
    FAULTING("ld1 {v0.16b, v1.16b}, [%1]");
    FAULTING("st2 {v0.4s, v1.4s}, [%1]");
    FAULTING("ld4 {v0.16b-v3.16b}, [%1]");
    FAULTING("ldp w3, w4, [%1, #4]");
    FAULTING("stp w3, w4, [%1, #4]");
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(a); i++) {
        a[i] = (uint8_t)rnd();
    }
    for (unsigned i = 0; i < 40; i++) {
        mix(pairs(a + 64 + i * 7, b + i * 24));
        structures(a + i * 5, b + 1024 + i * 3);
        mix(b[1024 + i * 3]);
        mix(exclusives((uint64_t *)(b + 2048)));
        mix(conditions(i % 7, i % 5));
    }
    pages = map_pages(2 * 4096, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 4096; i++) {
        pages[i] = (uint8_t)i;
    }
    on_signal(SIGSEGV, fault);
    repeat = 0;
    faulting();
    repeat = 1;
    faulting();
    on_signal(SIGSEGV, skip);
    faulting();
    on_signal(SIGILL, skip);
    on_signal(SIGTRAP, skip);
    __asm__ volatile("udf #3\n\tmov x3, #3\n\tbrk #7\n\tmov x3, #4" : : : "x3");
    return finish("aarch64");
}
