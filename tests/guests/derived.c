/* SPDX-License-Identifier: MIT */
/*
 * Accesses whose addresses are derived from one another, with a fault at each of them
 * in turn: fields of a structure and block transfers that extend from open (accessible) pages
 * into closed ones, from writable into read-only ones, down to address zero, to
 * addresses that no page can have, and to unaligned ones.  The
 * handler opens the page and the instruction runs again, or leaves with siglongjmp.
 */
#include "guest.h"

#include <setjmp.h>

static uint8_t *pages; /* four: open, closed, open, read-only */
static long page;
static sigjmp_buf out;
static volatile unsigned faults;
static volatile int opens;

static void open_or_leave(int sig, siginfo_t *si, void *ctx)
{
    uint8_t *at = (uint8_t *)((uintptr_t)si->si_addr & ~(uintptr_t)(page - 1));

    (void)ctx;
    faults++;
    if (!opens || sig != SIGSEGV || at < pages || at >= pages + 4 * page) {
        siglongjmp(out, sig);
    }
    mprotect(at, (size_t)page, PROT_READ | PROT_WRITE);
}

static void close_pages(void)
{
    mprotect(pages + page, (size_t)page, PROT_NONE);
    mprotect(pages + 3 * page, (size_t)page, PROT_READ);
}

typedef void work_fn(volatile uint8_t *p);

/* Addresses of eight words: p - 16 to p + 12. */
static void each(work_fn *work, volatile uint8_t *p)
{
    for (volatile int i = 0; i < 2; i++) {
        close_pages();
        opens = i;
        if (sigsetjmp(out, 1) == 0) {
            work(p);
        }
    }
}

/* All ways across both borders, in steps of at most a word. */
static void across(work_fn *work, int step)
{
    for (volatile int at = -36; at <= 36; at += step) {
        each(work, pages + page + at);
        each(work, pages + 2 * page + at);
        each(work, pages + 3 * page + at);
    }
}

/* ---- in C, for any machine ---- */

static NOINLINE void loads(volatile uint8_t *b)
{
    volatile uint32_t *p = (volatile uint32_t *)b;

    mix(p[0] + p[1] + p[-1] + p[3] + p[-4] + p[2] + p[-2] + p[-3]);
}

static NOINLINE void stores(volatile uint8_t *b)
{
    volatile uint32_t *p = (volatile uint32_t *)b;

    p[0] = 1;
    p[1] = 2;
    p[-1] = 3;
    p[3] = 4;
    p[-4] = 5;
    p[2] = 6;
}

static NOINLINE void both(volatile uint8_t *b)
{
    volatile uint32_t *p = (volatile uint32_t *)b;
    uint32_t r = p[0];

    p[0] = r + 1;
    p[1] += r;
    r = p[2];
    p[-1] = r;
    p[-2]++;
    p[3] = p[-4];
}

static NOINLINE void mixed(volatile uint8_t *b)
{
    uint32_t r = *(volatile uint16_t *)(b + 2);

    b[1] = (uint8_t)r;
    r += *(volatile uint64_t *)(b + 8);
    *(volatile uint16_t *)(b - 4) = (uint16_t)r;
    *(volatile uint64_t *)(b - 16) = r;
    r += b[-9];
    mix(r);
}

/* A group of accesses between one and those that are derived from it. */
static NOINLINE void condition(volatile uint8_t *b)
{
    volatile uint32_t *p = (volatile uint32_t *)b;
    uint32_t r = p[0];

    if (r & 1) {
        r += p[1];
    }
    r += p[-1];
    p[2] = r;
    p[-2] = r;
    mix(r);
}

/* ---- instructions with more than one access ---- */

#if defined(__x86_64__)
#define X(s, c...)                                                                       \
    __asm__ volatile(s                                                                   \
                     :                                                                   \
                     : "r"(p)                                                            \
                     : "memory", "cc", "rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8",   \
                       "r9", ##c)
#define SP "rsp"
static NOINLINE void rmw(volatile uint8_t *p)
{
    X("addl $1, (%0)\n\tincl 4(%0)\n\tmovl 8(%0), %%eax\n\torl %%eax, 8(%0)\n\tnegl -4(%0)\n\tmovl -8(%0), %%ecx\n\t"
      "sbbl %%ecx, -8(%0)\n\tshll $3, 12(%0)\n\tbtsl $1, -12(%0)\n\trcll $1, -16(%0)\n\tsetc -11(%0)");
}
static NOINLINE void stack(volatile uint8_t *p)
{
    X("movq %%rsp, %%r8\n\tmovq %0, %%rbx\n\tmovq %0, %%rsp\n\tpushq %%rax\n\tpushq %%rcx\n\tpushq 8(%%rsp)\n\t"
      "popq 16(%%rsp)\n\tpopq %%rax\n\tpopq %%rcx\n\tpushq (%%rbx)\n\tpopq (%%rbx)\n\tpopq %%rax\n\tpopq %%rax\n\t"
      "movq %%r8, %%rsp");
}
static NOINLINE void call(volatile uint8_t *p)
{
    X("movq %%rsp, %%r8\n\tmovq %0, %%rsp\n\tmovq %%rax, -16(%%rsp)\n\tmovq (%%rsp), %%rcx\n\tcall 1f\n\tjmp 2f\n"
      "1:\tpushq %%rax\n\tmovq 8(%%rsp), %%rdx\n\tpopq %%rax\n\tret\n"
      "2:\tleaq 3f(%%rip), %%rax\n\tmovq %%rax, 8(%%rsp)\n\tmovq (%%rsp), %%rcx\n\tcall *8(%%rsp)\n\tjmp 4f\n"
      "3:\tret\n4:\tleaq 5f(%%rip), %%rax\n\tmovq %%rax, -8(%%rsp)\n\tjmp *-8(%%rsp)\n5:\t"
      "leaq 8(%%rsp), %%rsp\n\tpushq %%rbp\n\tmovq %%rsp, %%rbp\n\tleaq -24(%%rsp), %%rsp\n\tmovq $1, (%%rsp)\n\tleave\n\t"
      "movq %%r8, %%rsp",
      "rbp");
}
static NOINLINE void vectors(volatile uint8_t *p)
{
    X("movups (%0), %%xmm0\n\tmovups %%xmm0, -16(%0)\n\tmovlps 8(%0), %%xmm1\n\tmovhps %%xmm1, -8(%0)\n\tmovups -8(%0), %%xmm2\n\t"
      "addps -16(%0), %%xmm0",
      "xmm0", "xmm1", "xmm2");
}
static NOINLINE void string(volatile uint8_t *p)
{
    X("movq %0, %%rsi\n\tleaq 8(%0), %%rdi\n\tmovl (%0), %%eax\n\tmovsl\n\tmovsl\n\tlodsl\n\tstosl\n\tcmpsl\n\tscasl\n\tpushq -4(%0)\n\tpopq %%rax\n\t"
      "movl %%eax, (%%rsi)\n\txchgl %%eax, 4(%%rsi)\n\tmovl 4(%%rsi), %%ecx\n\tcmpxchgl %%ecx, (%%rsi)\n\txaddl %%eax, (%%rsi)");
}
static NOINLINE void nowhere(volatile uint8_t *p)
{
    X("movq (%0), %%rax\n\tmovabs 0x123456789abcdef0, %%eax\n\tmovq 8(%0), %%rax");
}
static NOINLINE void nowhere_too(volatile uint8_t *p)
{
    X("movq (%0), %%rax\n\tpushq %%rax\n\tmovq $0x7ffffffffffc, %%rbx\n\tshlq $4, %%rbx\n\tpopq (%%rbx)\n\tpopq %%rax");
}
static work_fn *const works[] = {rmw, stack, call, vectors, string, nowhere, nowhere_too};
static void *const strange[] = {(void *)0x7ffffffff010,
                                (void *)0x7ffffffffffc,
                                (void *)0x800000000004,
                                (void *)0xff80000000000000,
                                (void *)-8,
                                (void *)-4096};
#elif defined(__i386__)
#define X(s, c...)                                                                       \
    __asm__ volatile(s : : "r"(p) : "memory", "cc", "eax", "ecx", "edx", ##c)
static NOINLINE void rmw(volatile uint8_t *p)
{
    X("addl $1, (%0)\n\tincl 4(%0)\n\tmovl 8(%0), %%eax\n\torl %%eax, 8(%0)\n\tnegl -4(%0)\n\tmovl -8(%0), %%ecx\n\t"
      "sbbl %%ecx, -8(%0)\n\tshll $3, 12(%0)");
}
static NOINLINE void stack(volatile uint8_t *p)
{
    X("movl %%esp, %%edx\n\tmovl %0, %%esp\n\tpushl %%eax\n\tpushl 4(%%esp)\n\tpopl 8(%%esp)\n\tpopl %%eax\n\tcall 1f\n\tjmp 2f\n"
      "1:\tret\n2:\tpushal\n\tpopal\n\tmovl %%edx, %%esp");
}
static work_fn *const works[] = {rmw, stack};
static void *const strange[] = {(void *)-8, (void *)-4096};
#elif defined(__arm__)
#define X(s)                                                                             \
    __asm__ volatile(".syntax unified\n\t" s                                             \
                     :                                                                   \
                     : "r"(p)                                                            \
                     : "memory", "cc", "r3", "r4", "r5", "r6", "r8", "r9", "r10", "lr")
static NOINLINE void several(volatile uint8_t *p)
{
    X("ldmia %0, {r3, r4, r5, r6}\n\tstmia %0, {r3, r4, r5, r6}\n\tldmdb %0, {r3, r4, r5, r6}\n\tstmdb %0, {r3, r4, r5}\n\t"
      "ldrd r4, r5, [%0, #-8]\n\tstrd r4, r5, [%0]\n\tldr r3, [%0, #4]\n\tstr r3, [%0, #8]");
}
static NOINLINE void stack(volatile uint8_t *p)
{
    X("mov r8, sp\n\tmov sp, %0\n\tpush {r4, r5, r6, lr}\n\tldr r4, [sp, #8]\n\tstr r4, [sp, #16]\n\tpop {r4, r5, r6, lr}\n\t"
      "mov r9, %0\n\tbl 1f\n\tb 2f\n1:\tpush {r4, r5, lr}\n\tstr r4, [sp, #4]\n\tpop {r4, r5, pc}\n2:\tmov sp, r8");
}
static NOINLINE void several_neon(volatile uint8_t *p)
{
    X(".fpu neon\n\tmov r9, %0\n\tvldmia r9, {d0-d1}\n\tvstmdb r9!, {d0-d1}\n\tvldr d1, [%0, #-8]\n\tvld1.32 {d0}, [%0]\n\tvst1.8 {d0}, [%0]");
}
static NOINLINE void predicated(volatile uint8_t *p)
{
    X("ldr r3, [%0]\n\tcmp r3, #0\n\tit ne\n\tldrne r4, [%0, #4]\n\tit eq\n\tldmeq %0, {r4, r5}\n\tldr r5, [%0, #8]\n\tstr r5, [%0, #-8]\n\t"
      "mov r6, %0\n\tit ne\n\taddne r6, #4\n\tstr r5, [r6, #-4]\n\tldr r4, [r6]\n\tit eq\n\tmoveq r6, %0\n\tldr r4, [r6, #4]");
}
static work_fn *const works[] = {several, stack, several_neon, predicated};
static void *const strange[] = {(void *)-8, (void *)-4096};
#elif defined(__aarch64__)
#define X(s)                                                                             \
    __asm__ volatile(s                                                                   \
                     :                                                                   \
                     : "r"(p)                                                            \
                     : "memory", "cc", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "v0",   \
                       "v1", "v2", "v3")
static NOINLINE void several(volatile uint8_t *p)
{
    X("mov x7, %0\n\tldp w1, w2, [x7]\n\tstp w1, w2, [x7, #8]\n\tldp x1, x2, [x7, #-16]\n\tstp x1, x2, [x7]\n\tldp x1, x2, [x7], #16\n\t"
      "stp w1, w2, [x7, #-24]!\n\tldr x1, [x7, #8]\n\tstr w1, [x7], #4\n\tldrb w1, [x7, #1]!\n\tldrsh x2, [x7, #3]\n\tldpsw x1, x2, [x7, #4]");
}
static NOINLINE void vectors(volatile uint8_t *p)
{
    X("mov x7, %0\n\tldp d0, d1, [x7]\n\tstp s0, s1, [x7, #-8]\n\tldr q0, [x7, #-16]\n\tstr q0, [x7]\n\tld1 {v0.8b, v1.8b}, [x7]\n\t"
      "st1 {v0.8b, v1.8b}, [x7], #16\n\tld2 {v0.8b, v1.8b}, [x7]\n\tldp q0, q1, [x7, #-32]\n\tstp q0, q1, [x7]\n\tld1r {v2.4s}, [x7]\n\tst1 {v2.s}[1], [x7]");
}
static NOINLINE void tagged(volatile uint8_t *p)
{
    X("mov x7, #0x5a00000000000000\n\torr x7, x7, %0\n\tldp w1, w2, [x7]\n\tstp w1, w2, [x7, #-8]\n\tldr x1, [x7, #8]\n\tstr x1, [x7]\n\t"
      "ldr w1, [%0]\n\tldr w1, [%0, #4]\n\tmov x6, #0xff00000000000000\n\torr x6, x6, %0\n\tldr w1, [x6, #-4]\n\tstr w1, [x6, #-8]");
}
static NOINLINE void tag_bit(volatile uint8_t *p)
{
    X("mov x7, #0x80000000000000\n\torr x7, x7, %0\n\tldr w1, [%0]\n\tldr w1, [%0, #4]\n\tldp x1, x2, [x7]\n\tldp x1, x2, [%0]");
}
static work_fn *const works[] = {several, vectors, tagged, tag_bit};
static void *const strange[] = {(void *)0x7ffffffff010,
                                (void *)0x800000000004,
                                (void *)0xff80000000000004,
                                (void *)0x007fffffffffffe8,
                                (void *)0xffffffffffffe8,
                                (void *)-8,
                                (void *)-4096};
#elif defined(__mips__)
#define X(s)                                                                             \
    __asm__ volatile(".set push\n\t.set noreorder\n\t.set noat\n\t" s "\n\t.set pop"     \
                     :                                                                   \
                     : "r"(p)                                                            \
                     : "memory", "$8", "$9", "$10")
static NOINLINE void slots(volatile uint8_t *p)
{
    X("lw $8, 0(%0)\n\tlw $9, 4(%0)\n\tb 1f\n\tsw $8, -4(%0)\n1:\tlwl $9, 3(%0)\n\tlwr $9, 0(%0)\n\tswl $9, -1(%0)\n\tswr $9, -4(%0)\n\tlh $8, 2(%0)\n\tsb $8, -5(%0)");
}
static NOINLINE void crooked(volatile uint8_t *p)
{
    X("lw $8, 0(%0)\n\tlw $9, 4(%0)\n\tlw $10, 6(%0)\n\tsw $10, 8(%0)");
}
static NOINLINE void crooked_store(volatile uint8_t *p)
{
    X("sw $8, 0(%0)\n\tlh $9, 4(%0)\n\tsh $10, 5(%0)\n\tsw $10, 8(%0)");
}
static work_fn *const works[] = {slots, crooked, crooked_store};
static void *const strange[] = {(void *)-8, (void *)-4096, (void *)0x80000000,
                                (void *)0x7ffffff8};
#elif defined(__s390x__)
#define X(s) __asm__ volatile(s : : "a"(p) : "memory", "cc", "0", "1", "2", "3", "4", "5")
static NOINLINE void several(volatile uint8_t *p)
{
    X("lmg 2,5,0(%0)\n\tstmg 2,3,0(%0)\n\tlay 1,-16(%0)\n\tlm 2,5,0(1)\n\tstm 2,4,4(1)\n\tlg 2,8(1)\n\tstg 2,16(1)\n\tlpq 2,0(1)\n\tasi 0(1),3\n\tagsi 8(1),3\n\t"
      "oi 3(1),1\n\tmvc 0(4,1),4(1)\n\tl 2,0(1)\n\tlarl 4,1f\n\tl 2,0(4)\n\tj 2f\n\t.align 8\n1:\t.quad 1\n2:");
}
static work_fn *const works[] = {several};
static void *const strange[] = {(void *)0x7ffffffff010, (void *)0x800000000004,
                                (void *)-8, (void *)-4096};
#elif defined(__powerpc64__)
#define X(s) __asm__ volatile(s : : "b"(p) : "memory", "cc", "4", "5", "6", "7", "8")
static NOINLINE void several(volatile uint8_t *p)
{
    X("mr 4,%0\n\tld 5,0(4)\n\tlwz 6,4(4)\n\tstw 6,-4(4)\n\tldu 5,-8(4)\n\tstdu 5,8(4)\n\tlwzu 5,4(4)\n\tstwu 5,-8(4)\n\tlbz 6,1(4)\n\tlha 7,2(4)\n\tstb 6,9(4)");
}
static work_fn *const works[] = {several};
static void *const strange[] = {(void *)0x7ffffffff010, (void *)0x800000000004,
                                (void *)-8, (void *)-4096};
#elif defined(__riscv)
#define X(s) __asm__ volatile(s : : "r"(p) : "memory", "t0", "t1", "t2")
static NOINLINE void several(volatile uint8_t *p)
{
    X("mv t2,%0\n\tld t0,0(t2)\n\tlw t1,4(t2)\n\tsw t1,-4(t2)\n\taddi t2,t2,-8\n\tld t0,0(t2)\n\tsd t0,8(t2)\n\taddi t2,t2,4\n\tlbu t0,1(t2)\n\tsb t0,9(t2)");
}
static work_fn *const works[] = {several};
static void *const strange[] = {(void *)0x7ffffffff010, (void *)0x800000000004,
                                (void *)-8, (void *)-4096};
#else
static work_fn *const works[] = {stores};
static void *const strange[] = {(void *)-8, (void *)-4096};
#endif

static work_fn *const everywhere[] = {loads, stores, both, mixed, condition};
#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

int main(void)
{
    static uint8_t handler_bytes[32768];
    stack_t stack_of_handler = {.ss_sp = handler_bytes, .ss_size = sizeof(handler_bytes)};
    struct sigaction action = {0};
    void *zero;

    page = sysconf(_SC_PAGESIZE);
    pages = map_pages((unsigned long)page * 4, PROT_READ | PROT_WRITE);
    for (long i = 0; i < 4 * page; i++) {
        pages[i] = (uint8_t)rnd();
    }
    /* The stack pointer may point anywhere. */
    sigaltstack(&stack_of_handler, NULL);
    action.sa_sigaction = open_or_leave;
    action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGILL, &action, NULL);

    for (int i = 0; i < COUNT(everywhere); i++) {
        across(everywhere[i], 4);
    }
    for (int i = 0; i < COUNT(works); i++) {
        across(works[i], 4);
    }
    across(mixed, 3);
    for (int i = 0; i < COUNT(strange); i++) {
        for (int j = 0; j < COUNT(everywhere); j++) {
            each(everywhere[j], strange[i]);
        }
        for (int j = 0; j < COUNT(works); j++) {
            each(works[j], strange[i]);
        }
    }
    /* Around zero, the value that a missing address would have. */
    for (int at = -20; at <= 20; at += 4) {
        for (int j = 0; j < COUNT(everywhere); j++) {
            each(everywhere[j], (uint8_t *)(intptr_t)at);
        }
    }
#ifdef __hppa__ /* its system calls are gates in this page */
    page = 0;
#endif
    zero = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zero == NULL) {
        for (int at = -20; at <= 20; at += 4) {
            for (int j = 0; j < COUNT(everywhere); j++) {
                each(everywhere[j], (uint8_t *)(intptr_t)at);
                each(everywhere[j], (uint8_t *)(intptr_t)(page + at));
            }
            mprotect(NULL, (size_t)page, PROT_READ);
            each(both, (uint8_t *)(intptr_t)at);
            mprotect(NULL, (size_t)page, PROT_READ | PROT_WRITE);
        }
    }
    if (zero != MAP_FAILED) {
        munmap(zero, (size_t)page);
    }
    mix(zero == NULL);
    mix(faults);
    return finish("derived");
}
