/* SPDX-License-Identifier: MIT */
/*
 * Something for every way of selecting what is recorded: functions that call each other
 * and themselves, conditional and indirect branches, accesses of all kinds, atomic
 * ones, copies, faults in the middle of a block, calls that longjmp leaves.  Short,
 * because it is recorded many times.
 */
#include "guest.h"

#include <setjmp.h>

#define NEVER_STATIC __attribute__((noinline, noclone, used))

static volatile uint32_t cell[64];
static uint32_t shared;
static uint8_t from[600], to[600];
static uint8_t *pages;
static jmp_buf back;
static volatile unsigned faults;

NEVER_STATIC unsigned leaf(unsigned a)
{
    cell[a & 63] += a;
    if (a & 4) {
        cell[(a + 1) & 63] ^= a << 3;
    }
    return cell[(a * 7) & 63] + a;
}

NEVER_STATIC unsigned other(unsigned a)
{
    return cell[a & 31] * 3 + 1;
}

NEVER_STATIC unsigned again(unsigned n);

/* Calls, by name and by pointer, and itself through another function. */
NEVER_STATIC unsigned outer(unsigned n)
{
    static unsigned (*const volatile ways[2])(unsigned) = {leaf, other};
    unsigned r = leaf(n);

    for (unsigned i = 0; i < 2 + n % 3; i++) {
        r += ways[(n + i) & 1](r + i);
    }
    cell[n & 63] = r;
    return n ? r + again(n - 1) : r;
}

NEVER_STATIC unsigned again(unsigned n)
{
    unsigned r = outer(n / 2) + 1;

    return r ^ leaf(r);
}

NEVER_STATIC unsigned copies(unsigned n)
{
    memcpy(to + n % 9, from + n % 7, 30 + n % 400);
    memset(from + n % 33, (int)n, 16 + n % 70);
    to[n % 600] ^= (uint8_t)n;
    return (unsigned)memcmp(to, from, sizeof(to)) + to[n % 500];
}

NEVER_STATIC unsigned adds(unsigned n)
{
    uint32_t was = __atomic_fetch_add(&shared, n, __ATOMIC_SEQ_CST);

    __atomic_compare_exchange_n(&shared, &was, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return was + __atomic_exchange_n(&shared, was + 1, __ATOMIC_ACQ_REL);
}

/* The second store sometimes faults, and is repeated. */
NEVER_STATIC unsigned touch(volatile uint32_t *p, unsigned n)
{
    cell[1] = n;
    p[n] = cell[2] + 1;
    cell[3] = n + 1;
    return p[n] + cell[4];
}

NEVER_STATIC void open_page(int sig, siginfo_t *si, void *ctx)
{
    (void)sig;
    (void)ctx;
    faults++;
    if ((uint8_t *)si->si_addr < pages || (uint8_t *)si->si_addr >= pages + 65536) {
        _exit(9);
    }
    mprotect(pages, 65536, PROT_READ | PROT_WRITE);
}

NEVER_STATIC unsigned leave(unsigned n)
{
    cell[5] = n;
    if (n == 0) {
        longjmp(back, 7);
    }
    return leave(n - 1) + 1;
}

/* longjmp leaves it, too. */
NEVER_STATIC unsigned dive(unsigned n)
{
    volatile uint32_t here[4];

    here[n & 3] = n;
    return leave(n) + here[n & 3];
}

/* Never called. */
NEVER_STATIC unsigned cold(unsigned a)
{
    return leaf(a) - other(a);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

NEVER_STATIC unsigned sorts(unsigned n)
{
    uint32_t v[24];

    for (unsigned i = 0; i < 24; i++) {
        v[i] = rnd() % (n + 50);
    }
    qsort(v, 24, sizeof(v[0]), by_value);
    return v[3] + v[20] * 5;
}

int main(int argc, char **argv)
{
    pages = map_pages(65536, PROT_NONE);
    on_signal(SIGSEGV, open_page);
    on_signal(SIGBUS, open_page);
    (void)argv;
    if (argc > 100) {
        mix(cold(3));
    }
    for (unsigned i = 0; i < 12; i++) {
        mix(outer(i));
        mix(copies(i * 37));
        mix(adds(i));
        if (i % 5 == 0) {
            mprotect(pages, 65536, PROT_NONE);
        }
        mix(touch((volatile uint32_t *)(pages + 8192), i * 50));
        if (i % 4 == 1) {
            mix(sorts(i));
        }
        if (i % 6 == 2) {
            int r = setjmp(back);

            mix((unsigned)r);
            if (r == 0) {
                mix(dive(i / 2));
            }
        }
    }
    mix(faults);
    return finish("choose");
}
