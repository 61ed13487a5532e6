/* SPDX-License-Identifier: MIT */
/*
 * Replaces the C library for guest programs that have none: system calls, exit, and
 * numbers on stdout.  The entry is bare_main().
 */
#ifndef BARE_H
#define BARE_H

#include <stdint.h>

#define NOINLINE __attribute__((noinline))

#if defined(__arm__) || defined(__sh__)
enum {
    NR_exit = 1,
    NR_write = 4,
    NR_getpid = 20,
    NR_kill = 37,
    NR_munmap = 91,
    NR_clone = 120,
    NR_mprotect = 125,
    NR_sigaction = 174,
    NR_mmap = 192,
    NR_futex = 240
};
#if defined(__arm__)
enum { NR_exit_group = 248, NR_waitid = 280, NR_cacheflush = 0xf0002 };
#else
enum { NR_exit_group = 252, NR_waitid = 284 };
#endif
#else
enum {
    NR_exit = 93,
    NR_exit_group = 94,
    NR_waitid = 95,
    NR_kill = 129,
    NR_sigaction = 134,
    NR_getpid = 172,
    NR_munmap = 215,
    NR_clone = 220,
    NR_mmap = 222,
    NR_mprotect = 226,
    NR_write = 64
};
#if defined(__riscv) && __riscv_xlen == 32
enum { NR_futex = 422 }; /* with 64-bit times, the only variant that it has */
#else
enum { NR_futex = 98 };
#endif
#endif

/* A system call, and the program's entry. */
#if defined(__arm__)
#define CALL_WITH(n, a, b, c, d, e, f)                                                   \
    register long r7 __asm__("r7") = n;                                                  \
    register long r0 __asm__("r0") = a;                                                  \
    register long r1 __asm__("r1") = b;                                                  \
    register long r2 __asm__("r2") = c;                                                  \
    register long r3 __asm__("r3") = d;                                                  \
    register long r4 __asm__("r4") = e;                                                  \
    register long r5 __asm__("r5") = f;                                                  \
    __asm__ volatile("svc 0"                                                             \
                     : "+r"(r0)                                                          \
                     : "r"(r7), "r"(r1), "r"(r2), "r"(r3), "r"(r4), "r"(r5)              \
                     : "memory");                                                        \
    return r0
__asm__(".globl _start\n_start:\n\tbl bare_main\n");
#elif defined(__aarch64__)
#define CALL_WITH(n, a, b, c, d, e, f)                                                   \
    register long x8 __asm__("x8") = n;                                                  \
    register long x0 __asm__("x0") = a;                                                  \
    register long x1 __asm__("x1") = b;                                                  \
    register long x2 __asm__("x2") = c;                                                  \
    register long x3 __asm__("x3") = d;                                                  \
    register long x4 __asm__("x4") = e;                                                  \
    register long x5 __asm__("x5") = f;                                                  \
    __asm__ volatile("svc 0"                                                             \
                     : "+r"(x0)                                                          \
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)              \
                     : "memory");                                                        \
    return x0
__asm__(".globl _start\n_start:\n\tbl bare_main\n");
#elif defined(__sh__)
#define CALL_WITH(n, a, b, c, d, e, f)                                                   \
    register long r3 __asm__("r3") = n;                                                  \
    register long r4 __asm__("r4") = a;                                                  \
    register long r5 __asm__("r5") = b;                                                  \
    register long r6 __asm__("r6") = c;                                                  \
    register long r7 __asm__("r7") = d;                                                  \
    register long r0 __asm__("r0") = e;                                                  \
    register long r1 __asm__("r1") = f;                                                  \
    __asm__ volatile("trapa #0x16"                                                       \
                     : "+r"(r0)                                                          \
                     : "r"(r3), "r"(r4), "r"(r5), "r"(r6), "r"(r7), "r"(r1)              \
                     : "memory");                                                        \
    return r0
__asm__(
    ".globl _start\n_start:\n\tmov.l 1f, r1\n\tjsr @r1\n\tnop\n\t.align 2\n1:\t.long bare_main\n");
#elif defined(__riscv)
#define CALL_WITH(n, a, b, c, d, e, f)                                                   \
    register long a7 __asm__("a7") = n;                                                  \
    register long a0 __asm__("a0") = a;                                                  \
    register long a1 __asm__("a1") = b;                                                  \
    register long a2 __asm__("a2") = c;                                                  \
    register long a3 __asm__("a3") = d;                                                  \
    register long a4 __asm__("a4") = e;                                                  \
    register long a5 __asm__("a5") = f;                                                  \
    __asm__ volatile("ecall"                                                             \
                     : "+r"(a0)                                                          \
                     : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)              \
                     : "memory");                                                        \
    return a0
__asm__(
    ".globl _start\n_start:\n\t.option push\n\t.option norelax\n\tla gp, __global_pointer$\n\t"
    ".option pop\n\tjal bare_main\n");
#elif defined(__loongarch__)
#define CALL_WITH(n, a, b, c, d, e, f)                                                   \
    register long a7 __asm__("$a7") = n;                                                 \
    register long a0 __asm__("$a0") = a;                                                 \
    register long a1 __asm__("$a1") = b;                                                 \
    register long a2 __asm__("$a2") = c;                                                 \
    register long a3 __asm__("$a3") = d;                                                 \
    register long a4 __asm__("$a4") = e;                                                 \
    register long a5 __asm__("$a5") = f;                                                 \
    __asm__ volatile("syscall 0"                                                         \
                     : "+r"(a0)                                                          \
                     : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)              \
                     : "memory", "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7", \
                       "$t8");                                                           \
    return a0
__asm__(".globl _start\n_start:\n\tbl bare_main\n");
#endif

static NOINLINE long call6(long n, long a, long b, long c, long d, long e, long f)
{
    CALL_WITH(n, a, b, c, d, e, f);
}

#define call3(n, a, b, c) call6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)

/* ---- functions that compilers require ---- */

void *memcpy(void *to, const void *from, unsigned long n)
{
    volatile uint8_t *t = to;
    const uint8_t *f = from;

    while (n--) {
        *t++ = *f++;
    }
    return to;
}

void *memset(void *to, int c, unsigned long n)
{
    volatile uint8_t *t = to;

    while (n--) {
        *t++ = (uint8_t)c;
    }
    return to;
}

/* ---- output ---- */

static char line[128];
static unsigned line_end;

static NOINLINE void put(const char *s)
{
    while (*s) {
        line[line_end++] = *s++;
    }
}

static NOINLINE void put_number(unsigned long v, unsigned base)
{
    char digits[24];
    unsigned n = 0;

    do { /* a division would need the compiler's library */
        unsigned long quotient = 0, rest = 0;

        for (int i = (int)sizeof(v) * 8 - 1; i >= 0; i--) {
            rest = rest << 1 | (v >> i & 1);
            quotient <<= 1;
            if (rest >= base) {
                rest -= base;
                quotient |= 1;
            }
        }
        digits[n++] = "0123456789abcdef"[rest];
        v = quotient;
    } while (v);
    while (n) {
        line[line_end++] = digits[--n];
    }
}

static NOINLINE void end_line(void)
{
    line[line_end++] = '\n';
    call3(NR_write, 1, line, line_end);
    line_end = 0;
}

static uint32_t sum = 1;

static inline void mix(uint64_t v)
{
    sum = (sum ^ (uint32_t)v ^ (uint32_t)(v >> 32)) * 16777619u + 7;
}

/* ---- memory, signals ---- */

static NOINLINE uint8_t *map_at(unsigned long at, unsigned long bytes, long prot)
{
    return (uint8_t *)call6(NR_mmap, (long)at, (long)bytes, prot,
                            0x32 /* fixed, private, anonymous */, -1, 0);
}

/* The kernel's own struct sigaction. */
struct action {
    void (*handler)(int, long *, void *);
    unsigned long flags;
#if defined(__arm__) || defined(__aarch64__) || defined(__sh__)
    void *restorer;
#endif
    uint64_t mask;
};

static NOINLINE void on_signal(long number, void (*f)(int, long *, void *))
{
    struct action a = {f, 0x40000004, /* nodefer, siginfo */
#if defined(__arm__) || defined(__aarch64__) || defined(__sh__)
                       0,
#endif
                       0};

    call6(NR_sigaction, number, (long)&a, 0, 8, 0, 0);
}

/* Where si_addr is in a siginfo_t. */
#define SI_ADDR(si) ((unsigned long)(si)[sizeof(long) == 8 ? 2 : 3])

#endif
