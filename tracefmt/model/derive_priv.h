/* SPDX-License-Identifier: MIT */
/* What the formulas of derive.h share. */
#ifndef CTR_DERIVE_PRIV_H
#define CTR_DERIVE_PRIV_H

#include "model/derive.h"

/* QEMU's softfloat exception flags. */
#define F_INVALID 0x1u
#define F_DIVBYZERO 0x2u
#define F_OVERFLOW 0x4u
#define F_UNDERFLOW 0x8u
#define F_INEXACT 0x10u
#define F_IN_FLUSHED 0x20u
#define F_OUT_FLUSHED 0x40u
#define F_IN_DENORMAL 0x4000u

/* The low part of argument i. */
#define IN(i) (a->in[i].lo)

static inline struct regval whole(uint64_t lo)
{
    return (struct regval){lo, 0};
}

#endif
