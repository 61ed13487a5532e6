/* SPDX-License-Identifier: MIT */
/* The kernel in a bzImage (Documentation/arch/x86/boot.rst of Linux). */
#ifndef KERNEL_UNPACK_H
#define KERNEL_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether p is the begin of one; n: bytes of the file. */
bool kernel_is_packed(const uint8_t *p, size_t n);

/* What is packed in it: malloc'ed, *bytes long.  NULL: *why says why it cannot be unpacked, or
 * is NULL if there is no memory. */
uint8_t *kernel_unpack(const uint8_t *p, size_t n, size_t *bytes, const char **why);

#endif
