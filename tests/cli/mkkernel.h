/* SPDX-License-Identifier: MIT */
/*
 * A small kernel image (arm64's Image) with the tables of kallsyms: _text at its begin, then
 * functions fn_000, fn_001 ... of 64 bytes each, with 8 instructions of which no two
 * functions have the same.
 */
#ifndef MKKERNEL_H
#define MKKERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define KERNEL_FUNCTIONS 300u
#define KERNEL_CODE 0x1000u /* of fn_000, in the image */
#define KERNEL_MAX (64u << 10)

static inline uint32_t kernel_insn(unsigned function, unsigned i)
{
    return function * 2654435761u + i * 40503u + 0x9e3779b9u;
}

struct kernel_image {
    uint8_t p[KERNEL_MAX];
    size_t n;
};

static inline void kernel_le(struct kernel_image *k, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        k->p[k->n++] = (uint8_t)(v >> 8 * i);
    }
}

static inline void kernel_align(struct kernel_image *k)
{
    k->n = (k->n + 7) & ~(size_t)7;
}

/* percpu: as kernels with absolute symbols have the offsets. */
static inline void kernel_offsets(struct kernel_image *k, uint64_t base, bool percpu)
{
    for (unsigned i = 0; i < KERNEL_FUNCTIONS + 2; i++) {
        uint32_t off = i ? KERNEL_CODE + 64 * (i - 1) : 0;
        kernel_le(k, percpu ? ~off : off, 4);
    }
    kernel_align(k);
    kernel_le(k, base, 8);
}

/* first: offsets before the names, as before Linux 6.4. */
static inline void kernel_make(struct kernel_image *k, uint64_t base, bool first,
                               bool percpu)
{
    uint32_t marker[KERNEL_FUNCTIONS / 256 + 1] = {0};
    uint16_t index[256];
    size_t names, tokens;

    memset(k, 0, sizeof(*k));
    memcpy(k->p + 56, "ARM\x64", 4);
    k->n = KERNEL_CODE;
    for (unsigned f = 0; f < KERNEL_FUNCTIONS; f++) {
        for (unsigned i = 0; i < 8; i++) {
            kernel_le(k, kernel_insn(f, i), 4);
        }
        k->n += 32;
    }
    if (first) {
        kernel_offsets(k, base, percpu);
    }
    kernel_le(k, KERNEL_FUNCTIONS + 2, 8);
    names = k->n;
    for (unsigned i = 0; i < KERNEL_FUNCTIONS + 2; i++) {
        char name[16];
        if (i % 256 == 0) {
            marker[i / 256] = (uint32_t)(k->n - names);
        }
        /* Token 1 is "fn_". */
        snprintf(name, sizeof(name), "t\1%03u", i - 1);
        strcpy(name, i == 0 ? "T_text" : i > KERNEL_FUNCTIONS ? "Dend" : name);
        k->p[k->n++] = (uint8_t)strlen(name);
        memcpy(k->p + k->n, name, strlen(name));
        k->n += strlen(name);
    }
    kernel_align(k);
    for (unsigned i = 0; i < sizeof(marker) / sizeof(marker[0]); i++) {
        kernel_le(k, marker[i], 4);
    }
    kernel_align(k);
    tokens = k->n;
    for (unsigned i = 0; i < 256; i++) {
        char *at = (char *)k->p + k->n;
        index[i] = (uint16_t)(k->n - tokens);
        k->n += 1 + (size_t)(i == 1              ? sprintf(at, "fn_")
                             : i > 32 && i < 127 ? sprintf(at, "%c", (int)i)
                                                 : sprintf(at, "?%u", i));
    }
    kernel_align(k);
    for (unsigned i = 0; i < 256; i++) {
        kernel_le(k, index[i], 2);
    }
    kernel_align(k);
    if (!first) {
        kernel_offsets(k, base, percpu);
    }
    kernel_le(k, 0, 8);
}

#endif
