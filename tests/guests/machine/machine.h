/* SPDX-License-Identifier: MIT */
/* What the programs of all machines share.  There is no library. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdint.h>

#define PAGE 4096ul

/* Of the machine: one character for the console. */
void machine_put(char c);

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

static inline void put_number(const char *name, uint64_t n)
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

#endif
