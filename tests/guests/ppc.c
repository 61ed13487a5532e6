/* SPDX-License-Identifier: MIT */
/*
 * ppc64le: update forms, lq/stq, reservations of every size, VMX and VSX
 * loads and stores (aligned down, unaligned, element and length-controlled),
 * counted branches and jump tables, traps, and faults in the middle.
 * (lmw, lswi and kin do not exist in little-endian mode: QEMU aborts on their
 * alignment interrupt.)
 */
#include "guest.h"

#include <setjmp.h>

static uint8_t a[4096] __attribute__((aligned(128)));
static uint8_t b[4096] __attribute__((aligned(128)));

static NOINLINE uint64_t scalar(uint8_t *p, uint8_t *q)
{
    uint64_t r;

    __asm__ volatile(
        "ld 6, 0(%1)\n\tlwz 7, 5(%1)\n\tlha 8, 3(%1)\n\tlbz 9, 1(%1)\n\tlwa 10, 8(%1)\n\tstd 6, 0(%2)\n\tstw 7, 9(%2)\n\t"
        "sth 8, 15(%2)\n\tstb 9, 19(%2)\n\tldu 6, 8(%1)\n\tstdu 6, 8(%2)\n\tlwzux 7, %1, %3\n\tstwux 7, %2, %3\n\t"
        "ldbrx 8, 0, %1\n\tstwbrx 8, 0, %2\n\tlhbrx 9, 0, %1\n\tsthbrx 9, %2, %3\n\tlfd 0, 4(%1)\n\tlfs 1, 4(%1)\n\t"
        "fadd 2, 0, 0\n\tstfd 2, 16(%2)\n\tstfs 1, 24(%2)\n\tlfiwax 3, 0, %1\n\tstfiwx 3, %2, %3\n\tlwax 11, %1, %3\n\t"
        "add %0, 6, 7\n\tadd %0, %0, 11\n\t"
        : "=&r"(r), "+b"(p), "+b"(q)
        : "b"(4l)
        : "6", "7", "8", "9", "10", "11", "fr0", "fr1", "fr2", "fr3", "memory");
    return r;
}

static NOINLINE void vectors(uint8_t *p, uint8_t *q, unsigned long len)
{
    __asm__ volatile(
        ".machine power9\n\t"
        "lvx 0, 0, %0\n\tstvx 0, 0, %1\n\tlvebx 1, 0, %0\n\tlvehx 1, 0, %0\n\tlvewx 1, 0, %0\n\tstvebx 1, 0, %1\n\t"
        "stvehx 1, 0, %1\n\tstvewx 1, 0, %1\n\tlxvd2x 32, 0, %0\n\tstxvd2x 32, 0, %1\n\tlxvw4x 33, 0, %0\n\t"
        "stxvw4x 33, 0, %1\n\tlxv 34, 0(%0)\n\tstxv 34, 16(%1)\n\tlxvx 35, 0, %0\n\tstxvx 35, 0, %1\n\tlxsdx 36, 0, %0\n\t"
        "stxsdx 36, 0, %1\n\tlxsiwzx 37, 0, %0\n\tstxsiwx 37, 0, %1\n\tlxvdsx 38, 0, %0\n\tlxvb16x 39, 0, %0\n\t"
        "stxvh8x 39, 0, %1\n\tsldi 6, %2, 56\n\tlxvl 40, %0, 6\n\tstxvl 40, %1, 6\n\tlxvll 40, %0, 6\n\tstxvll 40, %1, 6\n\t"
        "vadduwm 2, 0, 1\n\tstxv 34, 48(%1)\n\tlxsd 2, 0(%0)\n\tstxssp 2, 64(%1)\n\tlxvwsx 41, 0, %0"
        :
        : "b"(p), "b"(q), "r"(len)
        : "6", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "memory");
}

static NOINLINE uint64_t reservations(uint64_t *p)
{
    uint64_t r;

    __asm__ volatile(
        ".machine power9\n"
        "1:\tldarx 6, 0, %1\n\taddi 6, 6, 1\n\tstdcx. 6, 0, %1\n\tbne- 1b\n"
        "2:\tlwarx 6, 0, %1\n\tstwcx. 6, 0, %1\n\tbne- 2b\n\tstwcx. 6, 0, %1\n\tmfcr 7\n\tlbarx 8, 0, %1\n\tstbcx. 8, 0, %1\n\t"
        "lharx 8, 0, %1\n\tsthcx. 8, 0, %1\nlqarx 8, 0, %1\n\t"
        "lq 8, 0(%1)\n\tstq 8, 16(%1)\n\tldat 10, %1, 0\n\tstdat 10, %1, 0\n\tsync\n\tlwsync\n\tadd %0, 6, 9"
        : "=&r"(r)
        : "b"(p)
        : "6", "7", "8", "9", "10", "11", "cc", "memory");
    return r;
}

static NOINLINE uint64_t branches(uint64_t n)
{
    uint64_t r = 0;

    __asm__ volatile(
        "mtctr %1\n1:\taddi %0, %0, 3\n\tbdnz 1b\n\tcmpdi %1, 5\n\tisel 6, %0, %1, 0\n\tbgt 2f\n\taddi %0, %0, 7\n"
        "2:\tmflr 8\n\tbl 3f\n\tb 4f\n3:\tblr\n4:\tbcl 20, 31, 5f\n5:\tmflr 7\n\taddi 7, 7, 6f-5b\n\trldicl 6, %1, 0, 63\n\tsldi 6, 6, 2\n\t"
        "add 7, 7, 6\n\tmtctr 7\n\tbctr\n6:\taddi %0, %0, 1\n\taddi %0, %0, 2\n\tcmpldi 1, %1, 9\n\tbeqlr 6\n\tblt 1, 7f\n\tnop\n"
        "7:\tmtlr 8"
        : "+r"(r)
        : "r"(n)
        : "6", "7", "8", "ctr", "lr", "cc", "memory");
    return r;
}

static uint8_t *pages;
static sigjmp_buf out;
static int repeat;
static unsigned faults;

static void fault(int sig, siginfo_t *si, void *ctx)
{
    (void)sig;
    (void)ctx;
    faults++;
    if (!repeat) {
        siglongjmp(out, 1);
    }
    mprotect((void *)((uintptr_t)si->si_addr & ~65535ul), 65536, PROT_READ | PROT_WRITE);
}

static void skip(int sig, siginfo_t *si, void *ctx)
{
    (void)sig;
    (void)si;
    faults++;
    UC_PC((ucontext_t *)ctx) += 4;
}

#define PAGE 65536
#define FAULTING(insn)                                                                   \
    do {                                                                                 \
        uint8_t *end = pages + PAGE - 8;                                                 \
        mprotect(pages + PAGE, PAGE, PROT_NONE);                                         \
        if (sigsetjmp(out, 1) == 0) {                                                    \
            uint64_t r;                                                                  \
            __asm__ volatile(                                                            \
                ".machine power9\n\tld 6, -8(%1)\n\tstd 6, -16(%1)\n\t" insn             \
                "\n\tstd 6, -24(%1)\n\tld %0, -32(%1)"                                   \
                : "=&r"(r)                                                               \
                : "b"(end)                                                               \
                : "6", "7", "8", "9", "memory", "v0", "fr0");                            \
            mix(r);                                                                      \
        }                                                                                \
    } while (0)

static NOINLINE void faulting(void)
{
    FAULTING("ld 6, 8(%1)");
    FAULTING("std 6, 4(%1)");
    FAULTING("lwz 6, 6(%1)");
    FAULTING("sth 6, 7(%1)");
    FAULTING("lfd 0, 4(%1)");
    FAULTING("lxvx 32, 0, %1");
    FAULTING("stxvx 32, 0, %1");
    FAULTING("stxvd2x 32, 0, %1");
    FAULTING("lxvw4x 32, 0, %1");
    FAULTING("addi 7, %1, 8\n\tlq 8, 0(7)");
    FAULTING("addi 7, %1, 8\n\tstq 8, 0(7)");
    FAULTING("addi 7, %1, 8\n\tlwarx 6, 0, 7");
    FAULTING("addi 7, %1, 8\n\tstwcx. 6, 0, 7");
    FAULTING("addi 7, %1, 8\n\tdcbz 0, 7");
    FAULTING("li 7, 8\n\tstdux 6, 9, 7\n\tli 9, 0");
}

static void nothing(int sig, siginfo_t *si, void *ctx)
{
    skip(sig, si, ctx);
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(a); i++) {
        a[i] = (uint8_t)rnd();
    }
    for (unsigned i = 0; i < 40; i++) {
        mix(scalar(a + i * 3, b + i * 7));
        vectors(a + i, b + 1024 + i * 5, i % 20);
        mix(b[1024 + i * 5 + 9]);
        mix(reservations((uint64_t *)(b + 2048)));
        mix(branches(i + 1));
    }
    pages = map_pages(2 * PAGE, PROT_READ | PROT_WRITE);
    for (int i = 0; i < PAGE; i++) {
        pages[i] = (uint8_t)i;
    }
    on_signal(SIGSEGV, fault);
    on_signal(SIGBUS, fault);
    repeat = 0;
    faulting();
    on_signal(SIGSEGV, skip);
    on_signal(SIGBUS, skip);
    faulting();
    on_signal(SIGILL, nothing);
    on_signal(SIGTRAP, nothing);
    __asm__ volatile(
        "ld 6, 0(1)\n\ttweqi 6, 3\n\ttdne 6, 1\n\tld 6, 8(1)\n\ttrap\n\tld 6, 0(1)\n\t.long 0\n\tld 6, 0(1)"
        :
        :
        : "6", "29", "30", "31", "memory");
    mix(faults);
    return finish("ppc");
}
