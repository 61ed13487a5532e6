/* SPDX-License-Identifier: MIT */
/*
 * Explicit little-endian loads and stores, and the variable-length integers
 * of the format (LEB128: seven bits a byte, lowest first; signed values by
 * zigzag).
 */
#ifndef CTR_LE_H
#define CTR_LE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define CTR_SWAP16(v) __builtin_bswap16(v)
#define CTR_SWAP32(v) __builtin_bswap32(v)
#define CTR_SWAP64(v) __builtin_bswap64(v)
#else
#define CTR_SWAP16(v) (v)
#define CTR_SWAP32(v) (v)
#define CTR_SWAP64(v) (v)
#endif

static inline uint16_t le16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return CTR_SWAP16(v);
}

static inline uint32_t le32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return CTR_SWAP32(v);
}

static inline uint64_t le64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return CTR_SWAP64(v);
}

static inline void put16(void *p, uint16_t v)
{
    v = CTR_SWAP16(v);
    memcpy(p, &v, sizeof(v));
}

static inline void put32(void *p, uint32_t v)
{
    v = CTR_SWAP32(v);
    memcpy(p, &v, sizeof(v));
}

static inline void put64(void *p, uint64_t v)
{
    v = CTR_SWAP64(v);
    memcpy(p, &v, sizeof(v));
}

#define VARINT_MAX 10 /* bytes of the longest */

static inline uint64_t zigzag64(uint64_t d)
{
    return (d << 1) ^ (0 - (d >> 63));
}

static inline uint64_t unzigzag64(uint64_t z)
{
    return (z >> 1) ^ (0 - (z & 1));
}

static inline uint32_t zigzag32(uint32_t d)
{
    return (d << 1) ^ (0 - (d >> 31));
}

/* Writes v at p, returns its length. */
static inline size_t put_varint(uint8_t *p, uint64_t v)
{
    size_t n = 0;
    while (v >= 0x80) {
        p[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (uint8_t)v;
    return n;
}

/*
 * The same without a branch on the length, for values whose length the processor cannot
 * predict. Always writes 8 bytes (10 for a value above 56 bits), so the buffer needs
 * VARINT_MAX bytes of room.
 */
static inline size_t put_varint_fast(uint8_t *p, uint64_t v)
{
    if (__builtin_expect(v >> 56 != 0, 0)) {
        return put_varint(p, v);
    }
    unsigned bits = 64u - (unsigned)__builtin_clzll(v | 1);
    unsigned n = (bits * 37 + 222) >> 8; /* (bits + 6) / 7 for 1..56 */
    uint64_t x = v;
    x = (x & 0x000000000fffffffull) | (x & 0x00fffffff0000000ull) << 4;
    x = (x & 0x00003fff00003fffull) | (x & 0x0fffc0000fffc000ull) << 2;
    x = (x & 0x007f007f007f007full) | (x & 0x3f803f803f803f80ull) << 1;
    x |= 0x8080808080808080ull & ((1ull << (8 * (n - 1))) - 1);
    put64(p, x);
    return n;
}

/* Byte by byte, as at the end of a column. */
static inline int get_varint_bytes(const uint8_t **pp, const uint8_t *end, uint64_t *out)
{
    const uint8_t *p = *pp;
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
        uint8_t b = *p++;
        v |= (uint64_t)(b & 0x7f) << (shift & 63);
        if (b < 0x80) {
            if (shift == 63 && b > 1) {
                return -1;
            }
            *pp = p;
            *out = v;
            return 0;
        }
    }
    return -1;
}

/*
 * Reads a varint at *pp and moves *pp after it. Returns 0, or -1 if it does not end
 * before `end' or is longer than VARINT_MAX. The processor cannot predict how long the
 * next one is, so up to eight bytes are taken without a branch.
 */
static inline int get_varint(const uint8_t **pp, const uint8_t *end, uint64_t *out)
{
    const uint8_t *p = *pp;
    if (end - p >= 8) {
        const uint64_t bytes = le64(p), last = ~bytes & UINT64_C(0x8080808080808080);
        if (last) {
            uint64_t v = bytes & (last ^ (last - 1)) & UINT64_C(0x7f7f7f7f7f7f7f7f);
            v = (v & UINT64_C(0x007f007f007f007f)) |
                (v & UINT64_C(0x7f007f007f007f00)) >> 1;
            v = (v & UINT64_C(0x00003fff00003fff)) |
                (v & UINT64_C(0x3fff00003fff0000)) >> 2;
            *out = (v & UINT64_C(0x0fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
            *pp = p + (__builtin_ctzll(last) >> 3) + 1;
            return 0;
        }
    }
    return get_varint_bytes(pp, end, out);
}

#endif
