/* SPDX-License-Identifier: MIT */
#include "small.h"

#include "write/encode.h"

void small_chunks(struct ctr_encoder *e, uint32_t locals, uint32_t side)
{
    e->limits.locals = locals;
    e->limits.side = side;
}
