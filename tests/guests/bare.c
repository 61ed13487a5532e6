/* SPDX-License-Identifier: MIT */
/*
 * For targets without a C library here: accesses of every size, also unaligned,
 * atomic operations in a serial context and in a parallel one, floating point, faults
 * that a handler repairs, and functions made at run time.
 */
#include "bare.h"

static uint8_t bytes[4096] __attribute__((aligned(16)));
static uint32_t seed = 12345;

static inline uint32_t rnd(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

static NOINLINE void sizes(volatile uint8_t *p)
{
    *(volatile uint64_t *)(p + 8) = *(volatile uint64_t *)p * 3 + 1;
    *(volatile uint32_t *)(p + 16) += *(volatile uint32_t *)(p + 4);
    *(volatile uint16_t *)(p + 20) = (uint16_t)(*(volatile int16_t *)(p + 2) - 7);
    *(volatile int8_t *)(p + 22) = (int8_t)(*(volatile int8_t *)(p + 9) >> 1);
    mix(*(volatile uint64_t *)(p + 16));
}

static NOINLINE void crooked(unsigned at)
{
    uint64_t q;
    uint32_t w;

    __builtin_memcpy(&q, bytes + at, 8);
    __builtin_memcpy(&w, bytes + at + 3, 4);
    q ^= w;
    __builtin_memcpy(bytes + at + 1, &q, 8);
    mix(q);
}

static NOINLINE unsigned sorts(unsigned n)
{
    uint16_t v[64];

    for (unsigned i = 0; i < n; i++) {
        v[i] = (uint16_t)rnd();
    }
    for (unsigned i = 1; i < n; i++) {
        for (unsigned j = i; j && v[j - 1] > v[j]; j--) {
            uint16_t t = v[j];

            v[j] = v[j - 1];
            v[j - 1] = t;
        }
    }
    return v[n / 2];
}

static NOINLINE unsigned calls(unsigned n)
{
    volatile unsigned here = n;

    return n < 2 ? here : calls(n - 1) + calls(n - 2) + here % 3;
}

static volatile double numbers[16];

static NOINLINE void floats(void)
{
    for (int i = 0; i < 40; i++) {
        volatile float f = (float)i / 3;
        double d = numbers[i % 16] * 1.5 + f;

        numbers[(i + 5) % 16] = d / (i + 1) - numbers[(i + 3) % 16];
        mix((uint32_t)(int32_t)(d * 100));
    }
}

/* ---- atomic operations ---- */

static struct {
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t q;
} v;

#define ALL(type, p)                                                                     \
    do {                                                                                 \
        type want = (type)3, *q = (p);                                                   \
        mix(__atomic_fetch_add(q, (type)5, __ATOMIC_SEQ_CST));                           \
        mix(__atomic_fetch_sub(q, (type)2, __ATOMIC_RELAXED));                           \
        mix(__atomic_fetch_or(q, (type)0x10, __ATOMIC_ACQUIRE));                         \
        mix(__atomic_fetch_and(q, (type)0x7f, __ATOMIC_RELEASE));                        \
        mix(__atomic_fetch_xor(q, (type)0x21, __ATOMIC_SEQ_CST));                        \
        mix(__atomic_exchange_n(q, (type)3, __ATOMIC_SEQ_CST));                          \
        mix(__atomic_compare_exchange_n(q, &want, (type)9, 0, __ATOMIC_SEQ_CST,          \
                                        __ATOMIC_SEQ_CST));                              \
        mix(__atomic_compare_exchange_n(q, &want, (type)8, 0, __ATOMIC_SEQ_CST,          \
                                        __ATOMIC_RELAXED));                              \
        mix(__atomic_load_n(q, __ATOMIC_SEQ_CST));                                       \
        __atomic_store_n(q, (type)4, __ATOMIC_SEQ_CST);                                  \
    } while (0)

static NOINLINE void atomics(void)
{
    for (int i = 0; i < 10; i++) {
        ALL(uint32_t, &v.w);
#ifndef __riscv /* those of less than a word need a library */
        ALL(uint8_t, &v.b);
        ALL(uint16_t, &v.h);
#endif
#if !defined(__riscv) && !defined(__sh__)
        ALL(uint64_t, &v.q);
#endif
    }
}

/* ---- faults ---- */

static uint8_t *pages; /* four, the odd ones inaccessible */
static volatile unsigned faults;

static void mend(int number, long *si, void *context)
{
    unsigned long at = SI_ADDR(si) & ~4095ul;

    (void)number;
    (void)context;
    faults++;
    if (at < (unsigned long)pages || at >= (unsigned long)pages + 4 * 4096) {
        call3(NR_exit_group, 9, 0, 0);
    }
    call3(NR_mprotect, at, 4096, 3);
}

static NOINLINE uint32_t middle(volatile uint32_t *ok, volatile uint32_t *bad)
{
    uint32_t r = ok[0];

    ok[1] = r + 1;
    r += ok[2];
    bad[0] = r;
    ok[3] = r;
    r ^= bad[1];
    ok[4] = r;
    return r;
}

static NOINLINE void faulting(void)
{
    pages = map_at(0x20000000, 4 * 4096, 3);
    on_signal(11, mend);
    for (int i = 0; i < 6; i++) {
        call3(NR_mprotect, pages + 4096, 4096, 0);
        call3(NR_mprotect, pages + 3 * 4096, 4096, 0);
        mix(middle((uint32_t *)pages + i, (uint32_t *)(pages + 4096 * (1 + i % 3)) + i));
        memcpy(pages + 4096 - 9, pages + 3 * 4096 - 7, 20);
    }
    mix(faults);
}

/* ---- code made at run time ---- */

typedef unsigned fn(void);

static NOINLINE void emit(volatile uint8_t *p, unsigned value)
{
#if defined(__arm__)
    uint32_t w[] = {0xe3a00000 | value, 0xe12fff1e};
#elif defined(__aarch64__)
    uint32_t w[] = {0x52800000 | value << 5, 0xd65f03c0};
#elif defined(__riscv)
    uint32_t w[] = {0x00000513 | value << 20, 0x00008067};
#elif defined(__sh__)
    uint16_t w[] = {(uint16_t)(0xe000 | value), 0x000b, 0x0009};
#elif defined(__loongarch__)
    uint32_t w[] = {0x02800004 | value << 10, 0x4c000020};
#endif
    for (unsigned i = 0; i < sizeof(w); i++) {
        p[i] = (uint8_t)(w[i / sizeof(w[0])] >>
                         i % sizeof(w[0]) * 8); /* code is little-endian on all of them */
    }
#if defined(__arm__)
    call3(NR_cacheflush, p, p + sizeof(w), 0);
#elif defined(__aarch64__)
    __asm__ volatile("dc cvau, %0\n\tdsb ish\n\tic ivau, %0\n\tdsb ish\n\tisb"
                     :
                     : "r"(p)
                     : "memory");
#elif defined(__riscv)
    __asm__ volatile("fence.i" : : : "memory");
#elif defined(__loongarch__)
    __asm__ volatile("ibar 0" : : : "memory");
#endif
}

static NOINLINE void made(void)
{
    uint8_t *code = map_at(0x30000000, 65536, 7);

    for (unsigned i = 0; i < 20; i++) {
        emit(code + i % 4 * 32, i);
        mix(((fn *)(code + i % 4 * 32))());
        emit(code + i % 4 * 32, i ^ 0x55);
        mix(((fn *)(code + i % 4 * 32))());
    }
    call3(NR_munmap, code, 65536, 0);
    code = map_at(0x30000000, 65536, 7);
    emit(code, 77);
    mix(((fn *)code)());
}

__attribute__((used)) void bare_main(void)
{
    for (unsigned i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)rnd();
    }
    for (unsigned i = 0; i < 30; i++) {
        sizes(bytes + i * 24);
        crooked(i * 13);
        mix(sorts(3 + i * 2));
    }
    mix(calls(9));
    floats();
    atomics();
    /* after a shared mapping QEMU assumes that other programs see the memory */
    call6(NR_mmap, 0x21000000, 65536, 3, 0x31, -1, 0);
    atomics();
    faulting();
    made();
    put("bare ");
    put_number(sum, 16);
    end_line();
    call3(NR_exit_group, 0, 0, 0);
    __builtin_unreachable();
}
