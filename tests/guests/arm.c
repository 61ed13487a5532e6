/* SPDX-License-Identifier: MIT */
/*
 * arm (A32 and Thumb): predicated loads, stores and branches whose condition holds or
 * not, IT blocks, block transfers, exclusives, NEON structures, table
 * branches, and faults in the middle of ldm, stm, ldrd and vldm.
 */
#include "guest.h"

#include <setjmp.h>

static uint8_t a[4096] __attribute__((aligned(64)));
static uint8_t b[4096] __attribute__((aligned(64)));

static NOINLINE uint32_t predicated(uint32_t x, uint32_t *p, uint32_t *q)
{
    uint32_t r = x;

    __asm__ volatile(
        ".syntax unified\n\t"
        "cmp %0, #5\n\t"
        "ite gt\n\tldrgt r3, [%1]\n\tldrle r3, [%1, #4]\n\t"
        "itt eq\n\tstreq r3, [%2]\n\taddeq %0, r3, #1\n\t"
        "ittee ne\n\tldrhne r4, [%1, #6]\n\tstrbne r4, [%2, #9]\n\tldrbeq r4, [%1, #1]\n\tstrheq r4, [%2, #2]\n\t"
        "it cs\n\tldmcs %1, {r3, r4, r5, r6}\n\t"
        "it cc\n\tstmcc %2, {r3, r4}\n\t"
        "it mi\n\tldrdmi r4, r5, [%1, #8]\n\t"
        "add %0, %0, r3\n\t"
        "tst %0, #1\n\t"
        "it ne\n\tbne 1f\n\t"
        "ldr r3, [%1, #16]\n\tstr r3, [%2, #16]\n"
        "1:\tit eq\n\tldreq r4, [%1, #20]\n\t"
        "it vs\n\tldrvs r4, [%1, #24]\n\t"
        "adds %0, %0, r4\n\t"
        "it pl\n\tstrpl r4, [%2, #28]\n\t"
        "add %0, r4"
        : "+r"(r)
        : "r"(p), "r"(q)
        : "r3", "r4", "r5", "r6", "cc", "memory");
    return r;
}

static NOINLINE uint32_t blocks(uint8_t *p, uint8_t *q)
{
    uint32_t r;

    __asm__ volatile(
        ".syntax unified\n\t"
        "ldmia %1, {r3-r8}\n\tstmdb %2, {r3-r8}\n\tldmdb %1!, {r3, r5}\n\tstmia %2!, {r3, r5, r8}\n\t"
        "push {r3-r8, lr}\n\tpop {r3-r8, lr}\n\tldrd r4, r5, [%1]\n\tstrd r4, r5, [%2, #8]\n\t"
        "ldr r3, [%1], #4\n\tldr r4, [%1, #-8]!\n\tldrsb r5, [%1, #3]\n\tldrsh r6, [%1, #2]\n\t"
        "strh r5, [%2, #3]\n\tstr r6, [%2, #5]\n\tldr r8, [%1, #1]\n\tmov r3, #12\n\tldr r7, [%1, r3, lsl #0]\n\t"
        "add %0, r4, r7"
        : "=&r"(r), "+r"(p), "+r"(q)
        :
        : "r3", "r4", "r5", "r6", "r7", "r8", "memory");
    return r;
}

static NOINLINE uint32_t exclusives(uint32_t *p)
{
    uint32_t r;

    __asm__ volatile(
        ".syntax unified\n"
        "1:\tldrex r3, [%1]\n\tadd r3, #1\n\tstrex r4, r3, [%1]\n\tcmp r4, #0\n\tbne 1b\n\t"
        "2:\tldrexd r4, r5, [%1]\n\tadd r4, r5\n\tstrexd r3, r4, r5, [%1]\n\tcmp r3, #0\n\tbne 2b\n\t"
        "ldrexb r3, [%1]\n\tclrex\n\tstrexb r4, r3, [%1]\n\t" /* fails */
        "add r5, r4\n\tldrexh r3, [%1]\n\tstrexh r4, r3, [%1]\n\tadd r5, r4\n\tdmb\n\t"
        "strex r4, r3, [%1]\n\tadd %0, r5, r4"
        : "=&r"(r)
        : "r"(p)
        : "r3", "r4", "r5", "cc", "memory");
    return r;
}

static NOINLINE void neon(uint8_t *p, uint8_t *q)
{
    __asm__ volatile(
        ".fpu neon\n\t"
        "vld1.8 {d0}, [%0]\n\tvld1.32 {d1-d4}, [%0]\n\tvst1.16 {d1, d2}, [%1]\n\t"
        "vld2.8 {d0, d1}, [%0]!\n\tvst2.8 {d0, d1}, [%1]!\n\tvld3.16 {d0, d1, d2}, [%0]\n\t"
        "vst3.16 {d0, d1, d2}, [%1]\n\tvld4.32 {d0, d2, d4, d6}, [%0]\n\tvst4.32 {d0, d2, d4, d6}, [%1]\n\t"
        "vld1.16 {d3[2]}, [%0]\n\tvst1.8 {d3[5]}, [%1]\n\tvld2.32 {d3[], d4[]}, [%0]\n\t"
        "vld4.8 {d0[1], d1[1], d2[1], d3[1]}, [%0]\n\tvst4.8 {d0[1], d1[1], d2[1], d3[1]}, [%1]\n\t"
        "vldm %0, {d8-d15}\n\tvstm %1, {d8-d15}\n\tvpush {d8-d11}\n\tvpop {d8-d11}\n\t"
        "vldr d1, [%0, #8]\n\tvldr s5, [%0, #4]\n\tvadd.f32 q2, q0, q1\n\tvstr d5, [%1, #16]\n\tvstr s1, [%1, #4]\n\t"
        "vldmia %0!, {s4-s9}\n\tvstmdb %1!, {s4-s9}"
        : "+r"(p), "+r"(q)
        :
        : "memory", "d0", "d1", "d2", "d3", "d4", "d5", "d6", "d8", "d9", "d10", "d11",
          "d12", "d13", "d14", "d15");
}

static NOINLINE uint32_t table(uint32_t i)
{
    uint32_t r = i;

#ifdef __thumb__
    __asm__ volatile(
        ".syntax unified\n\ttbb [pc, %0]\n1:\t.byte (2f-1b)/2, (3f-1b)/2, (4f-1b)/2, (5f-1b)/2\n"
        "2:\tadd %0, #10\n3:\tadd %0, #20\n4:\tadd %0, #30\n5:\tcbz %0, 6f\n\tadd %0, #1\n"
        "6:\ttbh [pc, %1, lsl #1]\n7:\t.hword (8f-7b)/2, (8f-7b)/2, (9f-7b)/2, (9f-7b)/2\n"
        "8:\tadd %0, #5\n9:"
        : "+&r"(r)
        : "r"(i)
        : "cc");
#else
    __asm__ volatile(
        "add pc, pc, %0, lsl #2\n\tnop\n\tadd %0, %0, #10\n\tadd %0, %0, #20\n\t"
        "add %0, %0, #30\n\tadd %0, %0, #40\n\tldr r3, [pc, #-8]\n\teor %0, r3, %0"
        : "+r"(r)
        :
        : "r3", "cc");
#endif
    return r;
}

/* ---- faults in block transfers ---- */

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
    uc->uc_mcontext.arm_r3 = 99;
    uc->uc_mcontext.arm_pc += 4; /* all the instructions below have 4 bytes */
}

#ifdef __thumb__
#define W(insn) insn ".w "
#else
#define W(insn) insn " "
#endif

#define FAULTING(insn)                                                                   \
    do {                                                                                 \
        uint8_t *end = pages + 4096 - 8;                                                 \
        mprotect(pages + 4096, 4096, PROT_NONE);                                         \
        if (sigsetjmp(out, 1) == 0) {                                                    \
            uint32_t r;                                                                  \
            __asm__ volatile(                                                            \
                ".syntax unified\n\tldr r3, [%1, #-4]\n\tstr r3, [%1, #-8]\n\t" insn     \
                "\n\tstr r3, [%1, #-12]\n\tldr %0, [%1, #-16]"                           \
                : "=&r"(r)                                                               \
                : "r"(end)                                                               \
                : "r3", "r4", "r5", "r6", "memory", "d0", "d1", "d2", "d3");             \
            mix(r);                                                                      \
        }                                                                                \
    } while (0)

static NOINLINE void faulting(void)
{
    FAULTING(W("ldm") "%1, {r3-r6}");
    FAULTING(W("stm") "%1, {r3-r6}");
    FAULTING("ldrd r4, r5, [%1, #4]");
    FAULTING("strd r4, r5, [%1, #4]");
    FAULTING(W("ldr") "r3, [%1, #8]");
    FAULTING(W("str") "r3, [%1, #6]");
    FAULTING("vldm %1, {d0-d3}");
    FAULTING("vstm %1, {d0-d3}");
    FAULTING("vld1.8 {d0, d1}, [%1]");
    FAULTING("vst1.8 {d0, d1}, [%1]");
}

int main(void)
{
    for (unsigned i = 0; i < sizeof(a); i++) {
        a[i] = (uint8_t)rnd();
    }
    for (uint32_t i = 0; i < 40; i++) {
        mix(predicated(i % 12, (uint32_t *)(a + i * 8), (uint32_t *)(b + i * 8)));
        memset(a + 996, 0, 16);
        mix(blocks(a + 512 + i * 8, b + 512 + i * 8));
        mix(exclusives((uint32_t *)(b + 2048)));
        neon(a + i * 8, b + i * 16);
        mix(b[i * 16]);
        mix(table(i & 3));
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
    __asm__ volatile(".syntax unified\n\t" W("udf") "#3\n\tmov r3, #3\n\t" W("udf") "#7"
                     :
                     :
                     : "r3");
    return finish("arm");
}
