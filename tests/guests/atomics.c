/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations of every size, in a serial context first and then (after
 * a shared mapping) in QEMU's parallel one: LL/SC loops, compare-and-swap that
 * succeeds and that fails, 128-bit ones where the target has them.
 */
#include "guest.h"

static struct {
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t q;
#if defined(__x86_64__) || defined(__aarch64__) || defined(__s390x__)
    unsigned __int128 x __attribute__((aligned(16)));
#endif
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
        mix(__atomic_add_fetch(q, (type)1, __ATOMIC_SEQ_CST));                           \
    } while (0)

static NOINLINE void wide(void)
{
#if defined(__x86_64__)
    for (int i = 0; i < 4; i++) {
        uint64_t lo = i & 1, hi = 0;
        uint8_t ok;

        v.x = (unsigned __int128)(i & 1) ^ (i >> 1);
        __asm__ volatile("lock cmpxchg16b %2\n\tsete %3"
                         : "+a"(lo), "+d"(hi), "+m"(v.x), "=q"(ok)
                         : "b"(7ull), "c"(8ull)
                         : "cc");
        mix(lo + hi * 3 + ok);
        lo = i & 1;
        hi = 0;
        __asm__ volatile("cmpxchg16b %2\n\tsete %3"
                         : "+a"(lo), "+d"(hi), "+m"(v.x), "=q"(ok)
                         : "b"(7ull), "c"(8ull)
                         : "cc");
        mix(lo + hi * 3 + ok);
    }
#elif defined(__aarch64__)
    for (int i = 0; i < 4; i++) {
        register uint64_t x0 __asm__("x0") = (uint64_t)(i & 1);
        register uint64_t x1 __asm__("x1") = 0;
        register uint64_t x2 __asm__("x2") = 7;
        register uint64_t x3 __asm__("x3") = 8;
        uint64_t lo, hi;
        uint32_t failed;

        v.x = (unsigned __int128)(i & 1) ^ (i >> 1);
        __asm__ volatile(".arch armv8.1-a\n\tcaspal x0, x1, x2, x3, %2"
                         : "+r"(x0), "+r"(x1), "+Q"(v.x)
                         : "r"(x2), "r"(x3));
        mix(x0 + x1 * 3);
        do {
            __asm__ volatile("ldaxp %0, %1, %3\n\tstlxp %w2, %1, %0, %3"
                             : "=&r"(lo), "=&r"(hi), "=&r"(failed), "+Q"(v.x));
        } while (failed);
        mix(lo + hi);
        register uint32_t w4 __asm__("w4") = (uint32_t)i;
        register uint32_t w5 __asm__("w5") = 2;
        __asm__ volatile(".arch armv8.1-a\n\tcasp w4, w5, w4, w5, %2"
                         : "+r"(w4), "+r"(w5), "+Q"(v.q));
        mix(w4 + w5);
        __asm__ volatile(
            ".arch armv8.1-a\n\tswp %0, %0, %2\n\tldadd %0, %1, %2\n\tldsmax %0, %1, %2\n\t"
            "ldclr %1, %0, %2\n\tstumin %0, %2"
            : "+r"(lo), "+r"(hi), "+Q"(v.q));
        mix(lo + hi);
    }
#elif defined(__s390x__)
    for (int i = 0; i < 4; i++) {
        register uint64_t r2 __asm__("2") = 0;
        register uint64_t r3 __asm__("3") = (uint64_t)(i & 1);
        register uint64_t r4 __asm__("4") = 7;
        register uint64_t r5 __asm__("5") = 8;

        v.x = (unsigned __int128)(i & 1) ^ (i >> 1);
        __asm__ volatile("cdsg %0, %3, %2"
                         : "+r"(r2), "+r"(r3), "+Q"(v.x)
                         : "r"(r4), "r"(r5)
                         : "cc");
        mix(r2 + r3 * 3);
        __asm__ volatile("lpq %0, %2\n\tstpq %0, %2" : "+r"(r2), "+r"(r3), "+T"(v.x));
        mix(r2 + r3 * 3);
    }
#endif
}

static NOINLINE void round_of_all(void)
{
    for (int i = 0; i < 10; i++) {
        ALL(uint8_t, &v.b);
        ALL(uint16_t, &v.h);
        ALL(uint32_t, &v.w);
#if __SIZEOF_POINTER__ == 8 || defined(__i386__) || defined(__arm__)
        ALL(uint64_t, &v.q);
#endif
        wide();
    }
}

int main(void)
{
    void *p;

    round_of_all();
    p = mmap((void *)0x21000000, 65536, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mix(p == (void *)0x21000000);
    round_of_all();
    return finish("atomics");
}
