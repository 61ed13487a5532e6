/* SPDX-License-Identifier: MIT */
/*
 * Functions that are made at run time, the smallest that can be distinguished.
 */
#ifndef EMIT_H
#define EMIT_H

#include "guest.h"

typedef uint32_t fn(void);

/* Writes a function that returns `value' (0..255). */
static NOINLINE void emit(uint8_t *p, unsigned value)
{
#if defined(__thumb__)
    uint16_t w[] = {(uint16_t)(0x2000 | value), 0x4770};
#elif defined(__arm__)
    uint32_t w[] = {0xe3a00000 | value, 0xe12fff1e};
#elif defined(__aarch64__)
    uint32_t w[] = {0x52800000 | value << 5, 0xd65f03c0};
#elif defined(__mips__)
    uint32_t w[] = {0x24020000 | value, 0x03e00008, 0};
#elif defined(__riscv)
    uint32_t w[] = {0x00000513 | value << 20, 0x00008067};
#elif defined(__i386__) || defined(__x86_64__)
    uint8_t w[] = {0xb8, (uint8_t)value, 0, 0, 0, 0xc3};
#elif defined(__s390x__)
    uint16_t w[] = {0xa729, (uint16_t)value, 0x07fe};
#elif defined(__powerpc__)
    uint32_t w[] = {0x38600000 | value, 0x4e800020};
#elif defined(__m68k__)
    uint16_t w[] = {(uint16_t)(0x7000 | value), 0x4e75};
#elif defined(__hppa__)
    uint32_t w[] = {0x341c0000 | value << 1, 0xe840c000, 0x08000240};
#elif defined(__sparc__)
    uint32_t w[] = {0x90102000 | value, 0x81c3e008, 0x01000000};
#elif defined(__alpha__)
    uint32_t w[] = {0x201f0000 | value, 0x6bfa8001};
#elif defined(__sh__)
    uint16_t w[] = {(uint16_t)(0xe000 | value), 0x000b, 0x0009};
#endif
    for (unsigned i = 0; i < sizeof(w) / sizeof(w[0]); i++) {
        ((volatile __typeof__(w[0]) *)p)[i] = w[i];
    }
    __builtin___clear_cache((char *)p, (char *)p + sizeof(w));
}

static NOINLINE uint32_t call(uint8_t *p)
{
#if defined(__thumb__)
    p++;
#elif defined(__powerpc64__) && _CALL_ELF != 2
    void *descriptor[3] = {p};

    __asm__ volatile("" : : : "memory");
    return ((fn *)(void *)descriptor)();
#endif
    return ((fn *)p)();
}

#endif
