/* SPDX-License-Identifier: MIT */
/*
 * Threads contend for words with compare-and-swap.  Each word counts up, so that
 * every success writes a number that no other one writes.  Before that, in one
 * thread, comparisons and conditional stores fail on purpose.
 *
 * Prints for each word its address and what must have been stored there:
 *
 *   word WAY ADDR SIZE LAST FAILED   the numbers 1 to LAST, each once; so many
 *                                    attempts failed (-1: unknown for this way)
 *
 * A number is repeated in both halves of a word of 8 bytes.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4
#define FAIL 10

/* Stores `to' if the word holds `from'; returns whether it did. */
struct way {
    const char *name;
    int size;
    int counts; /* a failure is one failed instruction */
    int (*swap)(volatile void *word, uint64_t from, uint64_t to);
    uint64_t last;
};

#define BUILTIN(bits)                                                                    \
    static int swap##bits(volatile void *word, uint64_t from, uint64_t to)               \
    {                                                                                    \
        return __sync_bool_compare_and_swap((volatile uint##bits##_t *)word,             \
                                            (uint##bits##_t)from, (uint##bits##_t)to);   \
    }

BUILTIN(8)
BUILTIN(16)
BUILTIN(32)
#if defined(__LP64__) || defined(__i386__) || defined(__arm__) || defined(__hppa__)
#define HAVE64 1
BUILTIN(64)
#endif

/* The operation is one instruction, so failures can be counted. */
#if defined(__aarch64__)
#define CAS 1
static int cas32(volatile void *word, uint64_t from, uint64_t to)
{
    uint32_t was = (uint32_t)from;

    __asm__ volatile(".arch armv8.1-a\n\tcasal %w0, %w2, %1"
                     : "+r"(was), "+Q"(*(volatile uint32_t *)word)
                     : "r"((uint32_t)to)
                     : "memory");
    return was == (uint32_t)from;
}
static int cas64(volatile void *word, uint64_t from, uint64_t to)
{
    uint64_t was = from;

    __asm__ volatile(".arch armv8.1-a\n\tcasal %0, %2, %1"
                     : "+r"(was), "+Q"(*(volatile uint64_t *)word)
                     : "r"(to)
                     : "memory");
    return was == from;
}
#elif defined(__s390x__)
#define CAS 1
static int cas32(volatile void *word, uint64_t from, uint64_t to)
{
    uint32_t was = (uint32_t)from;

    __asm__ volatile("cs %0, %2, %1"
                     : "+d"(was), "+Q"(*(volatile uint32_t *)word)
                     : "d"((uint32_t)to)
                     : "memory", "cc");
    return was == (uint32_t)from;
}
static int cas64(volatile void *word, uint64_t from, uint64_t to)
{
    uint64_t was = from;

    __asm__ volatile("csg %0, %2, %1"
                     : "+d"(was), "+S"(*(volatile uint64_t *)word)
                     : "d"(to)
                     : "memory", "cc");
    return was == from;
}
#elif defined(__sparc__) && defined(__arch64__)
#define CAS 1
static int cas32(volatile void *word, uint64_t from, uint64_t to)
{
    uint32_t now = (uint32_t)to;

    __asm__ volatile("cas [%1], %2, %0"
                     : "+r"(now)
                     : "r"(word), "r"((uint32_t)from)
                     : "memory");
    return now == (uint32_t)from;
}
static int cas64(volatile void *word, uint64_t from, uint64_t to)
{
    uint64_t now = to;

    __asm__ volatile("casx [%1], %2, %0" : "+r"(now) : "r"(word), "r"(from) : "memory");
    return now == from;
}
#elif defined(__x86_64__) || defined(__i386__)
#define CAS 1
static int cas32(volatile void *word, uint64_t from, uint64_t to)
{
    uint32_t was = (uint32_t)from;

    __asm__ volatile("lock cmpxchgl %2, %1"
                     : "+a"(was), "+m"(*(volatile uint32_t *)word)
                     : "r"((uint32_t)to)
                     : "memory", "cc");
    return was == (uint32_t)from;
}
static int cas64(volatile void *word, uint64_t from, uint64_t to)
{
    uint32_t low = (uint32_t)from, high = (uint32_t)(from >> 32);

    __asm__ volatile("lock cmpxchg8b %2"
                     : "+a"(low), "+d"(high), "+m"(*(volatile uint64_t *)word)
                     : "b"((uint32_t)to), "c"((uint32_t)(to >> 32))
                     : "memory", "cc");
    return low == (uint32_t)from && high == (uint32_t)(from >> 32);
}
#elif defined(__arm__)
/* Linux provides this for all arm processors: see its kernel_user_helpers.rst. */
static int kernel32(volatile void *word, uint64_t from, uint64_t to)
{
    typedef int helper(uint32_t, uint32_t, volatile void *);

    return ((helper *)0xffff0fc0)((uint32_t)from, (uint32_t)to, word) == 0;
}
static int kernel64(volatile void *word, uint64_t from, uint64_t to)
{
    typedef int helper(const uint64_t *, const uint64_t *, volatile void *);

    return ((helper *)0xffff0f60)(&from, &to, word) == 0;
}
#endif

static const struct way ways[] = {
    {"builtin", 1, 0, swap8, 200},       {"builtin", 2, 0, swap16, 4000},
    {"builtin", 4, 0, swap32, 20000},
#ifdef HAVE64
    {"builtin", 8, 0, swap64, 20000},
#endif
#ifdef CAS
    {"instruction", 4, 1, cas32, 20000}, {"instruction", 8, 1, cas64, 20000},
#endif
#ifdef __arm__
    {"kernel", 4, 0, kernel32, 80000},   {"kernel", 8, 0, kernel64, 40000},
#endif
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static struct word {
    volatile uint64_t bytes[8];
} words[WAYS] __attribute__((aligned(64)));
static uint64_t failed[THREADS + 1][WAYS];
static pthread_barrier_t barrier;

static uint64_t value_of(uint64_t n, int size)
{
    return size == 8 ? n << 32 | n : n;
}

/* The number in a word, by an access of the word's size. */
static uint64_t number_in(const volatile void *word, int size)
{
    switch (size) {
    case 1:
        return *(const volatile uint8_t *)word;
    case 2:
        return *(const volatile uint16_t *)word;
    case 4:
        return *(const volatile uint32_t *)word;
    default:
        return (uint32_t)*(const volatile uint64_t *)word;
    }
}

static void *contend(void *arg)
{
    uint64_t *failures = arg;

    for (unsigned i = 0; i < WAYS; i++) {
        const struct way *w = &ways[i];
        uint64_t n;

        pthread_barrier_wait(&barrier);
        while ((n = number_in(&words[i], w->size)) < w->last) {
            failures[i] +=
                !w->swap(&words[i], value_of(n, w->size), value_of(n + 1, w->size));
        }
    }
    return NULL;
}

/*
 * A conditional store that must fail: the word was stored to after the load.
 * Returns 1 if it failed, -1 if the machine has none.
 */
static int conditional(volatile uint32_t *word, uint32_t plain, uint32_t not_stored)
{
    uint32_t made = 1, was;

#if defined(__aarch64__)
    __asm__ volatile("ldxr %w0, %2\n\tstr %w3, %2\n\tstxr %w1, %w4, %2"
                     : "=&r"(was), "=&r"(made), "+Q"(*word)
                     : "r"(plain), "r"(not_stored)
                     : "memory");
    return made == 1;
#elif defined(__arm__)
    __asm__ volatile("ldrex %0, [%2]\n\tstr %3, [%2]\n\tstrex %1, %4, [%2]"
                     : "=&r"(was), "=&r"(made)
                     : "r"(word), "r"(plain), "r"(not_stored)
                     : "memory");
    return made == 1;
#elif defined(__riscv)
    __asm__ volatile("lr.w %0, (%2)\n\tsw %3, 0(%2)\n\tsc.w %1, %4, (%2)"
                     : "=&r"(was), "=&r"(made)
                     : "r"(word), "r"(plain), "r"(not_stored)
                     : "memory");
    return made != 0;
#elif defined(__mips__)
    made = not_stored;
    __asm__ volatile(".set push\n\t.set noreorder\n\tll %0, 0(%2)\n\tsw %3, 0(%2)\n\t"
                     "sc %1, 0(%2)\n\t.set pop"
                     : "=&r"(was), "+r"(made)
                     : "r"(word), "r"(plain)
                     : "memory");
    return made == 0;
#elif defined(__powerpc64__)
    __asm__ volatile("lwarx %0, 0, %2\n\tstw %3, 0(%2)\n\tstwcx. %4, 0, %2\n\tmfcr %1"
                     : "=&r"(was), "=&r"(made)
                     : "b"(word), "r"(plain), "r"(not_stored)
                     : "memory", "cr0");
    return !(made >> 29 & 1);
#else
    (void)word, (void)plain, (void)not_stored, (void)made, (void)was;
    return -1;
#endif
}

int main(void)
{
    static volatile uint32_t reserved[16];
    pthread_t thread[THREADS];
    int any = -1;

    for (unsigned i = 0; i < WAYS; i++) {
        for (int k = 0; k < FAIL; k++) {
            if (ways[i].swap(&words[i], value_of(77, ways[i].size),
                             value_of(99, ways[i].size))) {
                return 1;
            }
            failed[THREADS][i]++;
        }
    }
    for (uint32_t k = 1; k <= FAIL; k++) {
        any = conditional(&reserved[0], k, 99);
        if (any == 0) {
            return 2;
        }
    }
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int t = 0; t < THREADS; t++) {
        if (pthread_create(&thread[t], NULL, contend, failed[t])) {
            return 3;
        }
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(thread[t], NULL);
    }
    /* From here on QEMU runs in the parallel context. */
    for (uint32_t k = FAIL + 1; any > 0 && k <= 2 * FAIL; k++) {
        if (conditional(&reserved[0], k, 99) == 0) {
            return 4;
        }
    }
    for (unsigned i = 0; i < WAYS; i++) {
        uint64_t all = 0;

        for (int t = 0; t <= THREADS; t++) {
            all += failed[t][i];
        }
        printf("word %s %#lx %d %lu %ld\n", ways[i].name, (unsigned long)&words[i],
               ways[i].size, (unsigned long)ways[i].last,
               ways[i].counts ? (long)all : -1l);
        if (number_in(&words[i], ways[i].size) != ways[i].last) {
            return 5;
        }
    }
    if (any > 0) {
        printf("word conditional %#lx 4 %d -1\n", (unsigned long)&reserved[0], 2 * FAIL);
    }
    return 0;
}
