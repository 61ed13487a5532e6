/* SPDX-License-Identifier: MIT */
/* The length of operands of x86 instructions. */
#ifndef TOOLS_X86_LENGTH_H
#define TOOLS_X86_LENGTH_H

#include <stddef.h>
#include <stdint.h>

/* Length of a ModRM byte with SIB and displacement; 0: more than n. */
static inline size_t x86_modrm(const uint8_t *b, size_t n)
{
    size_t len = 1;

    if (n == 0) {
        return 0;
    }
    if (b[0] >> 6 != 3) {
        len += (b[0] & 7) == 4;
        if (b[0] >> 6) {
            len += b[0] >> 6 == 1 ? 1 : 4;
        } else if ((b[0] & 7) == 5 || ((b[0] & 7) == 4 && n > 1 && (b[1] & 7) == 5)) {
            len += 4;
        }
    }
    return len <= n ? len : 0;
}

#endif
