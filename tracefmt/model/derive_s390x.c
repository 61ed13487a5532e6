/* SPDX-License-Identifier: MIT */
/*
 * The condition code of s390x: QEMU keeps the operation of the last instruction that
 * set it, and its operands; this computes the code from them as in FORMAT.md, section
 * 4.8.
 */
#include "model/derive_priv.h"

#define CC_SHIFT 44
#define SIGN32 0x80000000ull
#define SIGN64 (1ull << 63)

/* 0 zero, 1 negative, 2 positive. */
static unsigned sign_of(int64_t v)
{
    return v == 0 ? 0 : v < 0 ? 1 : 2;
}

static int64_t low32(uint64_t v)
{
    return (int64_t)(v << 32) >> 32;
}

static unsigned order(int less, int equal)
{
    return equal ? 0 : less ? 1 : 2;
}

/* Sums and differences: 3 if the result has the wrong sign. */
static unsigned sum(int64_t a, int64_t b, int64_t r)
{
    int over = (a > 0 && b > 0 && r < 0) || (a < 0 && b < 0 && r >= 0);
    return over ? 3 : sign_of(r);
}

static unsigned difference(int64_t a, int64_t b, int64_t r)
{
    int over = (a >= 0 && b < 0 && r < 0) || (a < 0 && b > 0 && r > 0);
    return over ? 3 : sign_of(r);
}

/* The bit of v at the position of the highest bit of mask. */
static int highest(uint64_t v, uint64_t mask)
{
    return v >> (63 - __builtin_clzll(mask)) & 1;
}

/* Test under mask. */
static unsigned test(uint64_t v, uint64_t mask, int wide)
{
    uint64_t r = v & mask;
    if (r == 0 || r == mask) {
        return r == 0 ? 0 : 3;
    }
    return wide && highest(v, mask) ? 2 : 1;
}

static unsigned shift_left(uint64_t v, unsigned by)
{
    uint64_t lost = ~0ull << (63 - by);
    if ((v & lost) != (v & SIGN64 ? lost : 0)) {
        return 3;
    }
    return sign_of((int64_t)((v << by & ~SIGN64) | (v & SIGN64)));
}

/* A floating-point number of which these are sign, exponent and fraction. */
static unsigned number(int negative, int all_ones, int no_exponent, int fraction)
{
    if (all_ones && fraction) {
        return 3;
    }
    return no_exponent && !fraction ? 0 : negative ? 1 : 2;
}

static unsigned float_class(unsigned op, uint64_t src, uint64_t dst)
{
    if (op == 29) {
        uint64_t e = dst >> 23 & 0xff;
        return number(dst >> 31 & 1, e == 0xff, e == 0, (dst & 0x7fffff) != 0);
    }
    if (op == 30) {
        uint64_t e = dst >> 52 & 0x7ff;
        return number(dst >> 63 & 1, e == 0x7ff, e == 0, dst << 12 != 0);
    }
    uint64_t e = src >> 48 & 0x7fff;
    return number(src >> 63 & 1, e == 0x7fff, e == 0, src << 16 != 0 || dst != 0);
}

static unsigned multiplied(uint64_t high, uint64_t low)
{
    if (high + (low >> 63) != 0) {
        return 3;
    }
    return high ? 1 : low != 0 ? 2 : 0;
}

static unsigned condition(unsigned op, uint64_t src, uint64_t dst, uint64_t vr)
{
    switch (op) {
    case 6: /* not zero */
        return dst != 0;
    case 7: /* unsigned sum and difference, with carry and borrow */
        return (dst != 0) + 2 * (src & 1);
    case 8:
        return (dst != 0) + 2 * ((src + 1) & 1);
    case 9: /* comparisons */
        return order(low32(src) < low32(dst), low32(src) == low32(dst));
    case 10:
        return order((int64_t)src < (int64_t)dst, src == dst);
    case 11:
        return order((uint32_t)src < (uint32_t)dst, (uint32_t)src == (uint32_t)dst);
    case 12:
        return order(src < dst, src == dst);
    case 13:
        return sign_of(low32(dst));
    case 14:
        return sign_of((int64_t)dst);
    case 15:
        return sum((int64_t)src, (int64_t)dst, (int64_t)vr);
    case 16:
        return difference((int64_t)src, (int64_t)dst, (int64_t)vr);
    case 17: /* load positive */
        return dst == SIGN64 ? 3 : dst ? 2 : 0;
    case 18: /* load negative */
        return dst != 0;
    case 19:
        return multiplied(src, dst);
    case 20:
        return sum(low32(src), low32(dst), low32(vr));
    case 21:
        return difference(low32(src), low32(dst), low32(vr));
    case 22:
        return (uint32_t)dst == SIGN32 ? 3 : (uint32_t)dst ? 2 : 0;
    case 23:
        return (uint32_t)dst != 0;
    case 24:
        return (int64_t)dst != low32(dst) ? 3 : sign_of((int64_t)dst);
    case 25: /* load complement */
        return (uint32_t)dst == SIGN32 ? 3 : sign_of(low32(dst));
    case 26:
        return dst == SIGN64 ? 3 : sign_of((int64_t)dst);
    case 27:
        return test((uint32_t)src, (uint32_t)dst, 0);
    case 28:
        return test(src, dst, 1);
    case 29:
    case 30:
    case 31:
        return float_class(op, src, dst);
    case 32: /* insert characters under mask */
        return (src & dst) == 0 ? 0 : highest(dst, src) ? 1 : 2;
    case 33:
        return shift_left(src, (unsigned)dst & 63);
    case 34: /* find leftmost one */
        return dst ? 2 : 0;
    case 35: /* load count to block boundary */
        return dst == 16 ? 0 : 3;
    case 36: /* vector comparison */
        return (src & dst) == ~0ull ? 0 : (src | dst) == 0 ? 3 : 1;
    default:
        return op & 3;
    }
}

struct regval s390x_pswm(const struct derive_args *a)
{
    uint64_t mask = IN(0) & ~(3ull << CC_SHIFT);
    uint64_t cc = condition((unsigned)IN(1), IN(2), IN(3), IN(4)) & 3;
    return whole(mask | cc << CC_SHIFT);
}
