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

/* Where the tables are, and how addresses are in them */
enum kernel_layout {
    KERNEL_NEW,       /* since Linux 6.4 */
    KERNEL_OLD,       /* offsets before the names, as in 6.1 */
    KERNEL_SEQS,      /* the same, and the order of names before the tokens, as in 6.2 */
    KERNEL_RELOCATED, /* the same; the base is in a relocation, and _text has no name */
    KERNEL_PERCPU,    /* new, and offsets of kernels with absolute symbols */
    KERNEL_LAYOUTS,
};
static const char *const kernel_layouts[] = {"new", "old", "seqs", "relocated", "percpu"};

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

/* Returns the place of the base. */
static inline size_t kernel_offsets(struct kernel_image *k, uint64_t base,
                                    enum kernel_layout layout)
{
    for (unsigned i = 0; i < KERNEL_FUNCTIONS + 2; i++) {
        uint32_t off = i ? KERNEL_CODE + 64 * (i - 1) : 0;
        kernel_le(k, layout == KERNEL_PERCPU ? ~off : off, 4);
    }
    kernel_align(k);
    kernel_le(k, layout == KERNEL_RELOCATED ? 0 : base, 8);
    return k->n - 8;
}

static inline void kernel_make(struct kernel_image *k, uint64_t base,
                               enum kernel_layout layout)
{
    const bool first =
        layout == KERNEL_OLD || layout == KERNEL_SEQS || layout == KERNEL_RELOCATED;
    const uint64_t start = layout == KERNEL_RELOCATED ? base & ~UINT64_C(0x1fffff) : base;
    size_t place = 0; /* of the base */
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
        place = kernel_offsets(k, base, layout);
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
        strcpy(name, i == 0 ? layout == KERNEL_RELOCATED ? "T_stext" : "T_text"
                     : i > KERNEL_FUNCTIONS ? "Dend"
                                            : name);
        k->p[k->n++] = (uint8_t)strlen(name);
        memcpy(k->p + k->n, name, strlen(name));
        k->n += strlen(name);
    }
    kernel_align(k);
    for (unsigned i = 0; i < sizeof(marker) / sizeof(marker[0]); i++) {
        kernel_le(k, marker[i], 4);
    }
    kernel_align(k);
    for (unsigned i = 0; i < KERNEL_FUNCTIONS + 2 && first && layout != KERNEL_OLD; i++) {
        const uint32_t seq = (i * 7) % (KERNEL_FUNCTIONS + 2);
        kernel_le(k, seq >> 16 | (seq & 0xff00) | (seq & 0xff) << 16, 3);
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
        kernel_offsets(k, base, layout);
    }
    kernel_le(k, 0, 8);
    if (layout == KERNEL_RELOCATED) {
        for (unsigned i = 0; i < 9; i++) { /* R_AARCH64_RELATIVE; one of them is it */
            kernel_le(k, i == 5 ? start + place : start + 8 * i, 8);
            kernel_le(k, 1027, 8);
            kernel_le(k, i == 5 ? base : base + 0x2000 + 16 * i, 8);
        }
    }
}

#endif
