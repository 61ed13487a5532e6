/* SPDX-License-Identifier: MIT */
/*
 * A block overwrites one of its own instructions without synchronizing the
 * machine.  The machine decides whether the old or the new instruction runs; the
 * return value shows which, and the trace must show the executed bytes
 * ("C pc bytes", in order).
 */
#include "guest.h"

#if defined(__i386__)
typedef uint32_t __attribute__((regparm(2))) fn(void *at, uint32_t word);
#else
typedef uint32_t fn(void *at, uint32_t word);
#endif

#if defined(__thumb__)
typedef uint16_t unit;
#define CODE(v) {0x6001, 0xbf00, 0x2000 | (v), 0x4770}
#define LENGTH 2
#define WORD(v) (0x47702000u | (v))
#elif defined(__arm__)
typedef uint32_t unit;
#define CODE(v) {0xe5801000, 0xe1a00000, 0xe3a00000 | (v), 0xe12fff1e}
#elif defined(__aarch64__)
typedef uint32_t unit;
#define CODE(v) {0xb9000001, 0xd503201f, 0x52800000 | (v) << 5, 0xd65f03c0}
#elif defined(__mips__)
typedef uint32_t unit;
#define CODE(v) {0xac850000, 0, 0x24020000 | (v), 0x03e00008, 0}
#elif defined(__riscv)
typedef uint32_t unit;
#define CODE(v) {0x00b52023, 0x00000013, 0x00000513 | (v) << 20, 0x00008067}
#elif defined(__powerpc64__)
typedef uint32_t unit;
#define CODE(v) {0x90830000, 0x60000000, 0x38600000 | (v), 0x4e800020}
#elif defined(__x86_64__)
typedef uint8_t unit;
#define CODE(v) {0x89, 0x37, 0x90, 0xb8, (v), 0, 0, 0, 0xc3}
#define AT 3
#define LENGTH 5
#define WORD(v) (v)
#define STORE_AT 4
#elif defined(__i386__)
typedef uint8_t unit;
#define CODE(v) {0x89, 0x10, 0x90, 0xb8, (v), 0, 0, 0, 0xc3}
#define AT 3
#define LENGTH 5
#define WORD(v) (v)
#define STORE_AT 4
#elif defined(__s390x__)
typedef uint16_t unit;
#define CODE(v) {0x5030, 0x2000, 0x0700, 0x0700, 0xa729, (v), 0x07fe}
#define AT 8
#define WORD(v) (0xa7290000u | (v))
#endif

#ifndef AT
#define AT (2 * sizeof(unit))
#endif
#ifndef LENGTH
#define LENGTH 4
#endif
#ifndef STORE_AT
#define STORE_AT AT
#endif

int main(void)
{
    uint8_t *code = mmap((void *)0x30000000, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    for (unsigned i = 0; i < 12; i++) {
        const unit before[] = CODE(1), after[] = CODE(2);
        uint32_t word, got;
        uint8_t *entry = code + 256 * (i % 3);

        memcpy(entry, before, sizeof(before));
        __builtin___clear_cache((char *)entry, (char *)entry + 64);
#ifdef WORD
        word = WORD(2);
#else
        word = after[2];
#endif
#ifdef __thumb__
        got = ((fn *)(entry + 1))(entry + STORE_AT, word);
#else
        got = ((fn *)entry)(entry + STORE_AT, word);
#endif
        printf("C 0x%lx ", (unsigned long)(entry + AT));
        for (unsigned k = 0; k < LENGTH; k++) {
            printf("%02x", ((const uint8_t *)(got == 1 ? before : after))[AT + k]);
        }
        printf("\n");
    }
    return 0;
}
