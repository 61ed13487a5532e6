/* SPDX-License-Identifier: MIT */
/*
 * x86: string instructions with and without an early end, of 0 to 100,000
 * rounds, forward and backward; SSE and x87; compare-and-swap; flags and
 * conditional moves; pusha, enter and faults inside them.
 */
#include "guest.h"

#include <setjmp.h>

#define BIG 8192
static uint8_t a[BIG * 8 + 64] __attribute__((aligned(64)));
static uint8_t b[BIG * 8 + 64] __attribute__((aligned(64)));

#define STRING(insn)                                                                     \
    __asm__ volatile(insn : "+D"(d), "+S"(s), "+c"(c), "+a"(v) : : "memory", "cc")
#define BACKWARD(insn) STRING("std\n\t" insn "\n\tcld")

static NOINLINE void strings(unsigned long rounds)
{
    unsigned long c, v = 0x41;
    uint8_t *d, *s;

#define RUN(how, insn, to, from)                                                         \
    d = (to);                                                                            \
    s = (from);                                                                          \
    c = rounds;                                                                          \
    v = 0x41;                                                                            \
    how(insn);                                                                           \
    mix((uint64_t)(d - b) + (uint64_t)(s - a) * 3 + c)

    RUN(STRING, "rep movsb", b, a);
    RUN(STRING, "rep movsw", b + 1, a);
    RUN(STRING, "rep movsl", b, a + 3);
    RUN(STRING, "rep stosb", b, a);
    RUN(STRING, "rep stosw", b, a);
    RUN(STRING, "rep stosl", b + 2, a);
    RUN(STRING, "rep lodsb", b, a);
    RUN(STRING, "rep lodsl", b, a);
#ifdef __x86_64__
    RUN(STRING, "rep movsq", b, a);
    RUN(STRING, "rep stosq", b + 4, a);
#endif
    RUN(STRING, "rep movsb", b, a);
    RUN(STRING, "repe cmpsb", b, a); /* equal all the way */
    RUN(STRING, "repne cmpsb", b, a + 1);
    RUN(STRING, "repe cmpsl", b, a);
    RUN(STRING, "repe scasb", b, a);
    RUN(STRING, "repne scasb", b, a);
    RUN(STRING, "repne scasw", b, a);
    memset(b, 0x41, rounds < BIG ? rounds : BIG);
    RUN(STRING, "repe scasb", b, a);
    if (rounds > 20) {
        b[rounds - 7] = 1;
        RUN(STRING, "repe scasb", b, a); /* ends early */
        b[rounds / 2] = 2;
        v = 2;
        d = b;
        c = rounds;
        __asm__ volatile("repne scasb" : "+D"(d), "+c"(c) : "a"(v) : "memory", "cc");
        mix(c);
        memcpy(b, a, rounds);
        b[rounds / 3] ^= 1;
        RUN(STRING, "repe cmpsb", b, a);
    }
    if (rounds < 5000) {
        RUN(BACKWARD, "rep movsb", b + rounds, a + rounds);
        RUN(BACKWARD, "rep movsl", b + rounds * 4, a + rounds * 4);
        RUN(BACKWARD, "rep stosw", b + rounds * 2, a);
        RUN(BACKWARD, "repe cmpsb", b + rounds, a + rounds);
    }
    /* without a prefix */
    RUN(STRING, "movsb\n\tmovsw\n\tmovsl\n\tstosb\n\tlodsl\n\tcmpsb\n\tscasb", b, a);
    /* overlapping: a pattern is spread */
    RUN(STRING, "rep movsb", a + 1, a);
#ifdef __x86_64__
    d = b;
    s = a;
    c = rounds & 0xff;
    __asm__ volatile("addr32 rep movsb" : "+D"(d), "+S"(s), "+c"(c) : : "memory");
    mix(c);
#endif
    mix(b[rounds]);
}

static NOINLINE void sse(void)
{
    for (unsigned off = 0; off < 20; off++) {
        __asm__ volatile(
            "movdqu (%0), %%xmm0\n\tmovups 16(%0), %%xmm1\n\t"
            "paddd %%xmm1, %%xmm0\n\tmovdqu %%xmm0, (%1)\n\t"
            "movq (%0), %%xmm2\n\tmovhps 8(%0), %%xmm2\n\tmovlps %%xmm2, 20(%1)\n\t"
            "movss (%0), %%xmm3\n\tmovsd 4(%0), %%xmm4\n\tmovss %%xmm3, 32(%1)\n\t"
            "movsd %%xmm4, 36(%1)\n\tpshufd $0x1b, %%xmm0, %%xmm5\n\t"
            "movhpd %%xmm5, 44(%1)\n\tlddqu 1(%0), %%xmm6\n\tmovd %%xmm6, 52(%1)"
            :
            : "r"(a + off), "r"(b + off * 2)
            : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6");
        mix(b[off * 2 + 20]);
    }
    __asm__ volatile(
        "movaps (%0), %%xmm0\n\tmovdqa 16(%0), %%xmm1\n\tmovntdq %%xmm0, (%1)\n\t"
        "pcmpeqb 32(%0), %%xmm1\n\tmovdqa %%xmm1, 16(%1)\n\taesenc (%0), %%xmm1\n\t"
        "pextrb $3, %%xmm1, 40(%1)\n\tpinsrw $2, 6(%0), %%xmm1\n\t"
        "movups %%xmm1, 48(%1)"
        :
        : "r"(a), "r"(b)
        : "memory", "xmm0", "xmm1");
    mix(b[17] + b[49]);
    {
        uint8_t *d = b + 64;
        __asm__ volatile(
            "movdqu (%1), %%xmm0\n\tmovdqu 16(%1), %%xmm1\n\tmaskmovdqu %%xmm1, %%xmm0"
            : "+D"(d)
            : "r"(a)
            : "memory", "xmm0", "xmm1");
    }
    mix(b[65]);
    if (__builtin_cpu_supports("avx2")) {
        __asm__ volatile(
            "vmovdqu (%0), %%ymm0\n\tvpaddd 32(%0), %%ymm0, %%ymm1\n\t"
            "vmovdqu %%ymm1, 3(%1)\n\tvbroadcastss (%0), %%ymm2\n\t"
            "vpmaskmovd (%0), %%ymm0, %%ymm3\n\tvpmaskmovd %%ymm3, %%ymm0, 64(%1)\n\t"
            "vpxor %%ymm4, %%ymm4, %%ymm4\n\tvpcmpeqd %%ymm5, %%ymm5, %%ymm5\n\t"
            "vpgatherdd %%ymm5, (%0,%%ymm4,1), %%ymm6\n\tvmovups %%ymm6, 96(%1)\n\t"
            "vzeroupper"
            :
            : "r"(a), "r"(b)
            : "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6");
        mix(b[97]);
    }
}

static NOINLINE void x87(void)
{
    static long double t;
    static double d = 1.25;
    static float f = 2.5f;
    static int16_t h = -7;
    static int32_t w = 12345;
    static int64_t q = 1234567890123ll;
    static uint8_t bcd[16];
    static uint16_t cw;

    __asm__ volatile(
        "fldl %0\n\tfadds %1\n\tfiadds %2\n\tfiaddl %3\n\tfildll %4\n\tfaddp\n\t"
        "fld %%st(0)\n\tfstpt %5\n\tfld %%st(0)\n\tfstps %1\n\tfistl %3\n\t"
        "fld %%st(0)\n\tfistpll %4\n\tfbstp %6\n\tfldt %5\n\tfstpl %0\n\t"
        "fnstcw %7\n\tfldcw %7"
        : "+m"(d), "+m"(f), "+m"(h), "+m"(w), "+m"(q), "+m"(t), "+m"(bcd), "+m"(cw));
    mix((uint64_t)q + bcd[0] + (uint64_t)w);
}

#ifdef __x86_64__
#define BP "rbp"
#define SP "rsp"
#else
#define BP "ebp"
#define SP "esp"
#endif

static NOINLINE void scalar(void)
{
    uint32_t *p = (uint32_t *)a;
    unsigned long r = 5, t = 6;

    for (int i = 0; i < 8; i++) {
        __asm__ volatile(
            "lock xaddl %k0, (%2)\n\tlock incl 4(%2)\n\tlock orl %k1, 8(%2)\n\t"
            "xchgl %k0, 12(%2)\n\tlock cmpxchgl %k1, 16(%2)\n\tcmpxchgb %b1, 20(%2)\n\t"
            "lock btsl $3, 24(%2)\n\tbtl %k1, (%2)\n\tbtcl %k1, 28(%2)\n\t"
            "lock negl 32(%2)\n\tlock notl 36(%2)\n\tadcl $3, 40(%2)\n\t"
            "sbbl %k1, 44(%2)\n\tshll $2, 48(%2)\n\tshrdl $5, %k1, 52(%2)\n\t"
            "rcll %%cl, 56(%2)\n\tincw 61(%2)\n\tsete 63(%2)\n\tcmovnel 64(%2), %k1\n\t"
            "mull 68(%2)\n\tbswap %k1\n\tbsfl 72(%2), %k1\n\tmovbel 76(%2), %k1"
            : "+a"(r), "+r"(t)
            : "r"(p), "c"(3)
            : "memory", "cc", "rdx");
        mix(r + t);
    }
    for (int i = 0; i < 4; i++) {
        uint32_t lo = (uint32_t)i & 1, hi = 0;

        p[0] = (uint32_t)i >> 1;
        p[1] = 0;
        __asm__ volatile("lock cmpxchg8b (%2)\n\tcmpxchg8b (%2)"
                         : "+a"(lo), "+d"(hi)
                         : "D"(p), "b"(i), "c"(2)
                         : "memory", "cc");
        mix(lo + hi);
    }
    __asm__ volatile("push $7\n\tpush (%1)\n\tpop 8(%1)\n\tpop %0\n\tpushf\n\tpopf\n\t"
#ifdef __i386__
                     "pusha\n\tpopa\n\tpushw $3\n\tpopw 4(%1)\n\t"
#endif
                     "enter $32, $0\n\tleave\n\tpush %%" BP "\n\tmov %%" SP ", %%" BP
                     "\n\t"
                     "enter $16, $3\n\tleave\n\tpop %%" BP
                     : "=&r"(r)
                     : "r"(a)
                     : "memory", "cc");
    mix(r);
    /* far returns: one helper pops flags, segment and pc from the stack */
#ifdef __x86_64__
    __asm__ volatile(
        "mov %%cs, %%eax\n\tpush %%rax\n\tlea 1f(%%rip), %%rdx\n\tpush %%rdx\n\tlretq\n"
        "1:\tmov %%rsp, %%rcx\n\tmov %%ss, %%edx\n\tpush %%rdx\n\tpush %%rcx\n\tpushf\n\tpush %%rax\n\t"
        "lea 2f(%%rip), %%rdx\n\tpush %%rdx\n\tiretq\n2:"
        :
        :
        : "rax", "rcx", "rdx", "cc", "memory");
#else
    __asm__ volatile(
        "push %%cs\n\tpush $1f\n\tlret\n1:\tpushf\n\tpush %%cs\n\tpush $2f\n\tiret\n2:\t"
        "push %%ds\n\tpop %%ds\n\tpush %%es\n\tpop %%es"
        :
        :
        : "cc", "memory");
#endif
    __asm__ volatile("xlat" : "+a"(r) : "b"(a) : "memory");
    mix(r & 0xff);
    __asm__ volatile(
        "call 1f\n\tjmp 2f\n1:\tret $0\n2:\tmov $20, %0\n3:\tdec %0\n\tjnz 3b\n\t"
        "mov $9, %0\n4:\tloop 4b\n\tjecxz 5f\n\tud2\n5:"
        : "+c"(r)
        :
        : "cc");
}

/* ---- faults inside string instructions and pusha ---- */

static uint8_t *pages;
static sigjmp_buf out;
static int opened;

static void fix(int sig, siginfo_t *si, void *ctx)
{
    uintptr_t at = (uintptr_t)si->si_addr & ~4095ul;

    (void)sig;
    (void)ctx;
    if (opened >= 2) {
        siglongjmp(out, 1);
    }
    opened++;
    mprotect((void *)at, 4096, PROT_READ | PROT_WRITE);
}

static NOINLINE void string_faults(void)
{
    on_signal(SIGSEGV, fix);
    for (volatile int allowed = 0; allowed < 3; allowed++) {
        uint8_t *d = pages + 4096 - 10, *s = pages + 3 * 4096 - 21;
        unsigned long c = 40;

        mprotect(pages + 4096, 4096, PROT_NONE);
        mprotect(pages + 3 * 4096, 4096, PROT_NONE);
        opened = 2 - allowed;
        if (sigsetjmp(out, 1) == 0) {
            __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(c) : : "memory");
            mix(c);
        }
        mprotect(pages + 4096, 4096, PROT_NONE);
        opened = 2 - allowed;
        if (sigsetjmp(out, 1) == 0) {
            c = 30;
            d = pages + 4096 - 21;
            __asm__ volatile("rep stosl" : "+D"(d), "+c"(c) : "a"(77) : "memory");
            mix(c);
        }
        mprotect(pages + 4096, 4096, PROT_NONE);
        opened = 2 - allowed;
        if (sigsetjmp(out, 1) == 0) {
            __asm__ volatile(
                "movl (%0), %%eax\n\tincl 8(%0)\n\tmovdqu 4088(%0), %%xmm0\n\t"
                "movdqu %%xmm0, 4087(%0)\n\taddl %%eax, 4(%0)"
                :
                : "r"(pages)
                : "memory", "eax", "xmm0");
        }
#ifdef __i386__
        mprotect(pages + 4096, 4096, PROT_NONE);
        opened = 2 - allowed;
        if (sigsetjmp(out, 1) == 0) {
            uint8_t *sp = pages + 2 * 4096 + 12;
            static stack_t st;
            static struct sigaction sa;
            static uint32_t keep;

            st.ss_sp = a;
            st.ss_size = 65536;
            sigaltstack(&st, NULL);
            sa.sa_sigaction = fix;
            sa.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
            sigaction(SIGSEGV, &sa, NULL);
            __asm__ volatile(
                "movl %%esp, %1\n\tmovl %0, %%esp\n\tpusha\n\tpopa\n\tmovl %1, %%esp"
                :
                : "r"(sp), "m"(keep)
                : "memory");
        }
        on_signal(SIGSEGV, fix);
#endif
    }
    mix(pages[5000]);
}

int main(void)
{
    static const unsigned long rounds[] = {0, 1, 2, 3, 7, 16, 100, 1000};

    for (unsigned i = 0; i < sizeof(a); i++) {
        a[i] = (uint8_t)(i * 7 + (i >> 8));
    }
    for (unsigned i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        strings(rounds[i]);
    }
    sse();
    x87();
    scalar();
    pages = map_pages(4 * 4096, PROT_READ | PROT_WRITE);
    string_faults();
    return finish("x86");
}
