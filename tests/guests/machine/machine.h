/* SPDX-License-Identifier: MIT */
/* What the programs of all machines share.  There is no library. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#define PAGE 4096

/* Of the machine: one character for the console. */
void machine_put(char c);

/* Of the machine: pages that it maps as a test likes, and what it maps there. */
#define NR_FRAMES 8
extern uint8_t frames[NR_FRAMES][PAGE];
void map(unsigned page, const void *frame);
void unmap(unsigned page);

static inline volatile uint32_t *reg(uintptr_t at)
{
    return (volatile uint32_t *)at;
}

static inline void put(const char *s)
{
    for (; *s; s++) {
        machine_put(*s);
    }
}

static inline void put_number(const char *name, uintptr_t n)
{
    char text[24], *p = text + sizeof(text);

    *--p = 0;
    *--p = '\n';
    do {
        *--p = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    put(name);
    put(" ");
    put(p);
}

/* Loads and stores in a loop, for interrupts to come into. */
static inline uint64_t sum_loop(uint64_t n)
{
    static volatile uint64_t cells[64];
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n; i++) {
        cells[i % 64] += i;
        sum += cells[(i * 7) % 64];
    }
    return sum;
}

/* One page of memory at two addresses. */
static inline uint64_t aliases(uintptr_t window)
{
    volatile uint64_t *one = (void *)(window + 100 * PAGE);
    volatile uint64_t *two = (void *)(window + 101 * PAGE);
    uint64_t sum = 0;

    map(100, frames[0]);
    map(101, frames[0]);
    for (unsigned i = 0; i < 300; i++) {
        one[i] = i * 3;
        sum += two[i];
    }
    return sum;
}

/* Of pages that accesses fault in: some fault again. */
static inline void unmap_some(unsigned page)
{
    if (page % 3 == 0) {
        unmap(page);
    }
    if (page % 5 == 0) {
        unmap(page + 1);
    }
}

/*
 * The same code at two addresses, changed between calls: its first word counts up by `step'.
 * ready: makes the processor see what was written to these addresses.
 */
static inline uintptr_t call_modified(uintptr_t window, const uint32_t code[5],
                                      uint32_t step, void (*ready)(void *one, void *two))
{
    volatile uint32_t *one = (void *)(window + 110 * PAGE);
    void *two = (void *)(window + 111 * PAGE);
    uintptr_t (*f)(uintptr_t, void *) = (void *)one, (*g)(uintptr_t, void *) = two;
    uintptr_t sum = 0;

    map(110, frames[1]);
    map(111, frames[1]);
    for (unsigned i = 0; i < 40; i++) {
        one[0] = code[0] + i * step;
        for (unsigned k = 1; k < 5; k++) {
            one[k] = code[k];
        }
        ready((void *)one, two);
        sum += f(i * 3, frames[2]);
        sum += g(i, frames[2]);
    }
    return sum;
}

#endif
