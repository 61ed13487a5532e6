/* SPDX-License-Identifier: MIT */
/* What the programs for x86_64, -M pc, share: ports and places in memory. */
#ifndef X86_H
#define X86_H

#include <stdint.h>

#define WINDOW 0x20000000ul /* 512 pages that the program maps as it likes */
#define APIC 0xfee00000ul   /* the local one, physical */

static inline void out(uint16_t port, uint8_t v)
{
    __asm__ volatile("outb %0, %1" ::"a"(v), "Nd"(port));
}

static inline uint8_t in(uint16_t port)
{
    uint8_t v;

    __asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
    return v;
}

#endif
