/* SPDX-License-Identifier: MIT */
/* The registers that instructions write, as a stream has them. */
#include <string.h>

#include "common/array.h"
#include "stream_priv.h"

/* The position of an instruction in the batch, of those that came last; UINT32_MAX: it is
 * not in it, as it is ignored. */
static uint32_t position(const struct batch *b, uint64_t ordinal)
{
    const uint64_t at = ordinal - b->ordinal;
    uint32_t i = b->n;

    while (i > 0 && b->ord[i - 1] > at) {
        i--;
    }
    if (ordinal < b->ordinal || !i) {
        return UINT32_MAX;
    }
    i--;
    return at - b->ord[i] < batch_at(b, i + 1) - b->at[i]
               ? b->at[i] + (uint32_t)(at - b->ord[i])
               : UINT32_MAX;
}

int stream_on_reg(void *arg, struct ctr_job *job, const struct ctr_reg_change *r)
{
    struct stream *s = arg;
    struct batch *b = s->batch;
    const uint32_t id = r->reg < s->side->nr_registers ? s->side->registers[r->reg] : 0;
    struct write *to;
    uint32_t pos;

    (void)job;
    /* What the system changes is compared as calls and signals. */
    if (!id || r->outside || !b || r->size > UINT16_MAX) {
        return 0;
    }
    pos = position(b, r->ordinal);
    if (pos == UINT32_MAX) {
        return 0;
    }
    if ((b->nwrite == b->write_cap &&
         !array_reserve(&b->write, &b->write_cap, b->nwrite + 1, sizeof(*b->write))) ||
        (r->size > 8 && !array_reserve(&b->pool, &b->pool_cap, b->npool + r->size, 1))) {
        return -CTR_E_NOMEM;
    }
    to = &b->write[b->nwrite++];
    *to =
        (struct write){.pos = pos, .reg = (uint16_t)(id - 1), .size = (uint16_t)r->size};
    if (r->size == 8) {
        memcpy(&to->value, r->value, 8);
    } else if (r->size < 8) {
        memcpy(&to->value, r->value, r->size);
    } else {
        to->value = b->npool;
        memcpy(b->pool + b->npool, r->value, r->size);
        b->npool += r->size;
    }
    return 0;
}
