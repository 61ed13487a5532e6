/* SPDX-License-Identifier: MIT */
/* What the programs for s390x share: page tables, the lowcore, counts of exceptions. */
#ifndef S390X_H
#define S390X_H

#include "machine.h"

#define WINDOW 0x40000000ul /* 512 pages that the program maps as it likes */
#define PSW_DAT (1ul << 58)
#define PSW_USER (1ul << 48)
#define PSW_64 0x180000000ul

extern volatile uint64_t nr_calls, nr_undefined, nr_others, nr_events;
extern uint64_t window_table[512];
extern uint64_t after_odd; /* where code goes on that has gone to an odd address */
void mmu_on(void);

/* Of the lowcore. The compiler takes small addresses for those of no object. */
static inline uint64_t lowcore_half(unsigned at)
{
    uint64_t v;

    __asm__ volatile("llgh %0, 0(%1)" : "=d"(v) : "a"((uint64_t)at));
    return v;
}

static inline uint64_t lowcore_word(unsigned at)
{
    uint64_t v;

    __asm__ volatile("lg %0, 0(%1)" : "=d"(v) : "a"((uint64_t)at));
    return v;
}

static inline void set_lowcore_word(unsigned at, uint64_t v)
{
    __asm__ volatile("stg %0, 0(%1)" ::"d"(v), "a"((uint64_t)at) : "memory");
}

#endif
