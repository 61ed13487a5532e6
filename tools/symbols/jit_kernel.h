/* SPDX-License-Identifier: MIT */
/* Functions of a Linux kernel, by its image. */
#ifndef TOOLS_JIT_KERNEL_H
#define TOOLS_JIT_KERNEL_H

#include "symbols/jit.h"
#include "symbols/places_slide.h"

struct jit_kernel {
    const uint8_t *p; /* the image, unpacked */
    size_t n;
    uint8_t *own; /* p, if it was packed */
    struct slide_code code;
};

/* Whether these are the first bytes of a kernel's image. */
bool jit_is_kernel(const uint8_t *p, size_t n);

/*
 * Parses an image, which must stay as long as k is used.  Functions have the addresses
 * that the image is linked for.  What is wrong is noted in c.  False: no memory.
 * jit_kernel_fini in any case.
 */
bool jit_parse_kernel(struct jit_code *c, struct jit_kernel *k, const uint8_t *p,
                      size_t n);
void jit_kernel_fini(struct jit_kernel *k);

#endif
