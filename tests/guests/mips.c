/* SPDX-License-Identifier: MIT */
/*
 * mips: branch-likely with and without its delay slot, accesses in delay
 * slots, faults in them (repeated, skipped, left), conditional traps,
 * overflow, unaligned pairs, ll/sc.
 */
#include "guest.h"

#include <setjmp.h>

static uint32_t a[512] __attribute__((aligned(8))), b[512] __attribute__((aligned(8)));

static NOINLINE uint32_t likely(uint32_t x, uint32_t *p, uint32_t *q)
{
    uint32_t r;

    __asm__ volatile(
        ".set push\n\t.set noreorder\n\t.set mips32r2\n\t"
        "move %0, %1\n\tbeql %1, $0, 1f\n\tlw $8, 0(%2)\n\tlw $8, 4(%2)\n\t"
        "1:\taddu %0, %0, $8\n\tbnel %1, $0, 2f\n\tsw %0, 0(%3)\n\tsw $8, 4(%3)\n\t"
        "2:\tbgtzl %1, 3f\n\tlw $9, 8(%2)\n\tlw $9, 12(%2)\n3:\taddu %0, %0, $9\n\t"
        "andi $10, %1, 3\n\taddiu $10, $10, -2\n\tbltzl $10, 4f\n\tsh %0, 8(%3)\n\tsb %0, 11(%3)\n"
        "4:\tbgezl $10, 5f\n\tlbu $11, 5(%2)\n\tlh $11, 6(%2)\n5:\tblezl $10, 6f\n\taddu %0, %0, $11\n\tnop\n"
        "6:\tbltzall $10, 7f\n\tlw $11, 16(%2)\n\tb 8f\n\tlw $11, 20(%2)\n7:\tjr $31\n\tsw $11, 16(%3)\n"
        "8:\tbeq %1, $10, 9f\n\tlw $8, 24(%2)\n\tsw $8, 24(%3)\n9:\tmovz %0, $8, $10\n\tmovn %0, $9, %1"
        "\n\t.set pop"
        : "=&r"(r)
        : "r"(x), "r"(p), "r"(q)
        : "$8", "$9", "$10", "$11", "$31", "memory");
    return r;
}

static NOINLINE uint32_t unaligned(uint8_t *p, uint8_t *q)
{
    uint32_t r;

    __asm__ volatile(
        ".set push\n\t.set noreorder\n\t"
        "ulw $8, 1(%1)\n\tusw $8, 3(%2)\n\tlwl $9, 0(%1)\n\tlwr $9, 6(%1)\n\tswl $9, 8(%2)\n\tswr $9, 13(%2)\n\t"
        "lbu $10, 2(%1)\n\tsb $10, 17(%2)\n\taddu %0, $8, $9\n\tldc1 $f2, 0(%3)\n\tlwc1 $f4, 4(%3)\n\t"
        "sdc1 $f2, 8(%3)\n\tswc1 $f4, 16(%3)\n\t"
        "\n\t.set pop"
        : "=&r"(r)
        : "r"(p), "r"(q), "r"(b + 256)
        : "$8", "$9", "$10", "$f2", "$f3", "$f4", "memory");
    return r;
}

static NOINLINE uint32_t llsc(uint32_t *p)
{
    uint32_t r;

    __asm__ volatile(
        ".set push\n\t.set noreorder\n"
        "1:\tll $8, 0(%1)\n\taddiu $8, $8, 1\n\tmove $9, $8\n\tsc $9, 0(%1)\n\tbeqz $9, 1b\n\tnop\n\t"
        "sc $9, 4(%1)\n\tsync\n\taddu %0, $8, $9"
        "\n\t.set pop"
        : "=&r"(r)
        : "r"(p)
        : "$8", "$9", "memory");
    return r;
}

static uint8_t *pages;
static sigjmp_buf out;
static int mode;
static unsigned faults;

enum { LEAVE, REPEAT };

static void fault(int sig, siginfo_t *si, void *ctx)
{
    (void)ctx;
    faults++;
    if (mode == LEAVE || sig != SIGSEGV) {
        siglongjmp(out, sig);
    }
    mprotect((void *)((uintptr_t)si->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
}

static void skip(int sig, siginfo_t *si, void *ctx)
{
    (void)sig;
    (void)si;
    faults++;
    UC_PC((ucontext_t *)ctx) += 4;
}

#define FAULTING(before, insn)                                                           \
    do {                                                                                 \
        uint8_t *end = pages + 4096 - 8;                                                 \
        mprotect(pages + 4096, 4096, PROT_NONE);                                         \
        if (sigsetjmp(out, 1) == 0) {                                                    \
            uint32_t r;                                                                  \
            __asm__ volatile(".set push\n\t.set noreorder\n\t.set mips32r2\n\t"          \
                             "lw $8, -4(%1)\n\tsw $8, -8(%1)\n\t" before "\n\t" insn     \
                             "\n\tsw $8, -12(%1)\n9:\tlw %0, -16(%1)\n\t.set pop"        \
                             : "=&r"(r)                                                  \
                             : "r"(end)                                                  \
                             : "$8", "$9", "memory");                                    \
            mix(r);                                                                      \
        }                                                                                \
    } while (0)

static NOINLINE void faulting(int skipping)
{
    FAULTING("nop", "lw $9, 8(%1)");
    FAULTING("nop", "sw $8, 8(%1)");
    FAULTING("nop", "swl $8, 9(%1)");
    if (!skipping) {
        FAULTING("b 9f", "lw $9, 8(%1)");
        FAULTING("bnel $29, $0, 9f", "sw $8, 8(%1)");
        FAULTING("beql $29, $0, 9f", "sw $8, 8(%1)");
        FAULTING("bne $29, $0, 9f", "lb $8, 8(%1)");
    }
}

static NOINLINE void traps(uint32_t x)
{
    if (sigsetjmp(out, 1) == 0) {
        __asm__ volatile(
            ".set push\n\t.set noreorder\n\tlw $8, 0($29)\n\tteq %0, $0, 3\n\tsw $8, 0(%1)\n\t"
            "tge $0, %0\n\tlw $8, 4(%1)\n\ttltu %0, $8\n\tsw $8, 4(%1)\n\ttnei %0, 5\n\tlw $8, 8(%1)"
            "\n\t.set pop"
            :
            : "r"(x), "r"(b)
            : "$8", "memory");
    }
    if (sigsetjmp(out, 1) == 0) {
        __asm__ volatile(
            ".set push\n\t.set noreorder\n\tlw $8, 0($29)\n\tlui $9, 0x7fff\n\tadd $8, %0, $9\n\t"
            "sw $8, 0(%1)\n\tb 1f\n\taddi $9, $8, 0x7fff\n1:\tsw $9, 4(%1)\n\t.set pop"
            :
            : "r"(x << 16), "r"(b)
            : "$8", "$9", "memory");
    }
    if (sigsetjmp(out, 1) == 0) {
        __asm__ volatile(
            ".set push\n\t.set noreorder\n\tsw %0, 0(%1)\n\tb 1f\n\tteq %0, $0\n1:\tsw %0, 4(%1)\n\tbreak 7\n\t.set pop"
            :
            : "r"(x), "r"(b)
            : "memory");
    }
    if (sigsetjmp(out, 1) == 0) {
        __asm__ volatile(".word 0x0000003f\n\tnop");
    }
}

int main(void)
{
    for (unsigned i = 0; i < 512; i++) {
        a[i] = rnd() << 8 ^ rnd();
    }
    for (uint32_t i = 0; i < 60; i++) {
        mix(likely(i % 7 - 2, a + i, b + i));
        mix(unaligned((uint8_t *)a + i, (uint8_t *)b + i * 3));
        mix(llsc(b + 300));
    }
    pages = map_pages(2 * 4096, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 4096; i++) {
        pages[i] = (uint8_t)i;
    }
    on_signal(SIGSEGV, fault);
    mode = LEAVE;
    faulting(0);
    mode = REPEAT;
    faulting(0);
    on_signal(SIGSEGV, skip);
    faulting(1);
    on_signal(SIGSEGV, fault);
    on_signal(SIGTRAP, fault);
    on_signal(SIGFPE, fault);
    on_signal(SIGILL, fault);
    for (uint32_t i = 0; i < 8; i++) {
        traps(i);
        mix(b[0] + b[1]);
    }
    mix(faults);
    return finish("mips");
}
