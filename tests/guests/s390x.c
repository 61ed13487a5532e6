/* SPDX-License-Identifier: MIT */
/*
 * s390x: EXECUTE of string and other instructions, load/store multiple,
 * 128-bit accesses, compare and swap, access lists across pages, condition
 * masks, and faults in the middle of lmg, stmg and friends.
 */
#include "guest.h"

#include <setjmp.h>

static uint8_t a[8192] __attribute__((aligned(64)));
static uint8_t b[8192] __attribute__((aligned(64)));

static NOINLINE uint64_t execute(uint8_t *p, uint8_t *q, unsigned long len)
{
    register uint8_t *r8 __asm__("r8") = p;
    register uint8_t *r9 __asm__("r9") = q;
    register unsigned long r7 __asm__("r7") = len;
    uint64_t r;

    __asm__ volatile(
        "lg %%r2, 0(%%r8)\n\texrl %%r7, 1f\n\tlarl %%r4, 5f\n\tex %%r7, 0(%%r4)\n\texrl %%r7, 2f\n\t"
        "exrl %%r7, 3f\n\texrl %%r0, 4f\n\texrl %%r0, 6f\n\texrl %%r0, 7f\n\tj 9f\n"
        "1:\tmvc 0(1,%%r9), 0(%%r8)\n2:\toc 0(1,%%r9), 3(%%r8)\n3:\tclc 0(1,%%r9), 0(%%r8)\n"
        "4:\tla %%r3, 0(%%r8)\n5:\txc 3(1,%%r9), 1(%%r8)\n6:\tlg %%r3, 16(%%r8)\n7:\tbrc 15, 8f\n"
        "8:\tagr %%r2, %%r3\n9:\tlg %%r3, 8(%%r8)\n\tstg %%r3, 256(%%r9)\n\tlgr %0, %%r2"
        : "=&d"(r)
        : "a"(r8), "a"(r9), "a"(r7)
        : "r2", "r3", "r4", "cc", "memory");
    return r;
}

static NOINLINE uint64_t multiples(uint8_t *p, uint8_t *q)
{
    uint64_t r;

    __asm__ volatile(
        "lmg %%r6, %%r10, 0(%1)\n\tstmg %%r6, %%r9, 3(%2)\n\tlm %%r6, %%r8, 4(%1)\n\tstm %%r6, %%r7, 48(%2)\n\t"
        "lmh %%r6, %%r7, 8(%1)\n\tstmh %%r6, %%r8, 64(%2)\n\tlam %%a4, %%a6, 0(%3)\n\tstam %%a4, %%a6, 80(%3)\n\t"
        "icm %%r6, 5, 2(%1)\n\tstcm %%r6, 11, 96(%2)\n\ticmh %%r6, 3, 1(%1)\n\tstcmh %%r6, 0, 100(%2)\n\ttm 1(%1), 7\n\t"
        "lrvg %%r6, 1(%1)\n\tstrv %%r6, 104(%2)\n\tmvi 110(%2), 5\n\tni 110(%2), 4\n\toi 111(%2), 2\n\tasi 112(%3), 3\n\t"
        "agsi 120(%3), 5\n\tmvghi 128(%2), 7\n\tcghsi 0(%1), 3\n\tlgh %%r7, 1(%1)\n\tllgc %%r8, 3(%1)\n\t"
        "ahy %%r7, 2(%1)\n\tmlg %%r6, 0(%1)\n\tlocg %%r6, 0(%1), 8\n\tstocg %%r6, 136(%2), 6\n\t"
        "loc %%r6, 0(%1), 7\n\tstoc %%r6, 136(%2), 9\n\t"
        "ld %%f0, 0(%1)\n\tle %%f2, 1(%1)\n\tstd %%f0, 144(%2)\n\tste %%f2, 153(%2)\n\tadb %%f0, 0(%3)\n\t"
        "agr %%r6, %%r7\n\tlgr %0, %%r6"
        : "=&r"(r)
        : "a"(p), "a"(q), "a"(b + 4096)
        : "r6", "r7", "r8", "r9", "r10", "f0", "f2", "cc", "memory");
    return r;
}

static NOINLINE void vectors(uint8_t *p, uint8_t *q)
{
    __asm__ volatile(
        "vl %%v0, 0(%0)\n\tvst %%v0, 1(%1)\n\tvlm %%v1, %%v4, 3(%0)\n\tvstm %%v1, %%v3, 17(%1)\n\t"
        "vlrepf %%v5, 4(%0)\n\tvleb %%v5, 3(%0), 4\n\tvstef %%v5, 80(%1), 1\n\tvaf %%v6, %%v1, %%v2\n\t"
        "vllezg %%v7, 8(%0)\n\tvsteg %%v7, 88(%1), 0\n\tvst %%v6, 96(%1)"
        :
        : "a"(p), "a"(q)
        : "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7");
}

static NOINLINE uint64_t swaps(uint64_t *p, uint64_t want)
{
    uint64_t r = want, x = 7;

    __asm__ volatile(
        "csg %0, %2, 0(%3)\n\tcs %0, %2, 8(%3)\n\tlang %1, %2, 0(%3)\n\tlaag %1, %2, 8(%3)\n\tlax %1, %2, 0(%3)\n\t"
        "lao %1, %2, 16(%3)\n\tts 24(%3)\n\tts 24(%3)"
        : "+d"(r), "+d"(x)
        : "d"(want + 1), "a"(p)
        : "cc", "memory");
    return r + x;
}

static NOINLINE uint64_t branches(uint64_t n)
{
    uint64_t r = 0;

    __asm__ volatile(
        "lgr %%r2, %1\n1:\tagr %0, %%r2\n\tbrctg %%r2, 1b\n\tlghi %%r2, 0\n\tlghi %%r4, 2\n\tlghi %%r5, 9\n"
        "2:\taghi %0, 3\n\tbrxlg %%r2, %%r4, 2b\n\tcgrje %0, %1, 3f\n\tclgijl %0, 100, 3f\n\taghi %0, 1\n"
        "3:\tltgr %0, %0\n\tjnz 4f\n\tj 4f\n4:\tlarl %%r3, 5f\n\tbasr %%r2, %%r3\n\tj 6f\n5:\tbr %%r2\n6:\tbrasl %%r2, 5b\n\t"
        "bras %%r2, 7f\n7:\tbcr 15, 0\n\tipm %%r3\n\tagr %0, %%r3"
        : "+d"(r)
        : "d"(n)
        : "r2", "r3", "r4", "r5", "cc", "memory");
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

/* The faulting instruction begins at the label before, or is illegal. */
static void skip(int sig, siginfo_t *si, void *ctx)
{
    static const int length[] = {2, 4, 4, 6};
    ucontext_t *uc = ctx;

    (void)si;
    if (sig == SIGSEGV) {
        UC_PC(uc) += (unsigned long)length[*(uint8_t *)UC_PC(uc) >> 6];
    }
}

#define FAULTING(insn)                                                                   \
    do {                                                                                 \
        uint8_t *end = pages + 4096 - 8;                                                 \
        mprotect(pages + 4096, 4096, PROT_NONE);                                         \
        if (sigsetjmp(out, 1) == 0) {                                                    \
            uint64_t r;                                                                  \
            __asm__ volatile("lgr %%r11, %1\n\taghi %%r11, -64\n\tlg %%r6, 0(%%r11)\n\t" \
                             "stg %%r6, 8(%%r11)\n\t" insn                               \
                             "\n\tstg %%r6, 16(%%r11)\n\tlg %0, 24(%%r11)"               \
                             : "=&d"(r)                                                  \
                             : "a"(end)                                                  \
                             : "r6", "r7", "r8", "r9", "r10", "r11", "cc", "memory",     \
                               "v0");                                                    \
            mix(r);                                                                      \
        }                                                                                \
    } while (0)

static NOINLINE void faulting(void)
{
    FAULTING("lmg %%r6, %%r9, 0(%1)");
    FAULTING("stmg %%r6, %%r9, 0(%1)");
    FAULTING("lm %%r6, %%r9, 0(%1)");
    FAULTING("stm %%r6, %%r9, 2(%1)");
    FAULTING("lg %%r6, 4(%1)");
    FAULTING("stg %%r6, 4(%1)");
    FAULTING("vl %%v0, 0(%1)");
    FAULTING("vst %%v0, 0(%1)");
    FAULTING("mvc 0(20,%1), 0(%%r11)");
    FAULTING("mvc 0(20,%%r11), 0(%1)");
    FAULTING("oc 0(20,%1), 0(%%r11)");
    FAULTING("mvi 8(%1), 3");
    FAULTING("ni 8(%1), 3");
    FAULTING("cs %%r6, %%r7, 8(%1)");
    FAULTING("lghi %%r7, 18\n\texrl %%r7, 1f\n\tj 2f\n1:\tmvc 0(1,%1), 0(%%r11)\n2:");
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(a); i++) {
        a[i] = (uint8_t)rnd();
    }
    for (unsigned i = 0; i < 40; i++) {
        mix(execute(a + i, b + i * 3, i * 6));
        mix(multiples(a + i * 5, b + 2048 + i * 7));
        vectors(a + i * 3, b + 1024 + i);
        mix(b[1024 + i * 5]);
        mix(swaps((uint64_t *)(b + 6144), i & 3 ? i : *(uint64_t *)(b + 6144)));
        mix(branches(i + 1));
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
    __asm__ volatile(".long 0x00000003\n\tlghi %%r6, 3\n\t.insn e,0x0001" : : : "r6");
    return finish("s390x");
}
