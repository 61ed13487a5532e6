/* SPDX-License-Identifier: MIT */
/* Little-endian numbers in the images of kernels. */
#ifndef SYMBOLS_LE_H
#define SYMBOLS_LE_H

#include <stdint.h>

static inline uint32_t le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline uint64_t le64(const uint8_t *p)
{
    return le32(p) | (uint64_t)le32(p + 4) << 32;
}

#endif
