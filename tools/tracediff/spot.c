/* SPDX-License-Identifier: MIT */
/* Ordinals of places in streams. */
#include "pair.h"

/* The run that a position is in, of those that there are. */
static uint32_t run_at(const struct batch *b, uint32_t pos)
{
    uint32_t low = 0, high = b->n;

    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;
        if (b->at[mid] <= pos) {
            low = mid;
        } else {
            high = mid;
        }
    }
    return low;
}

uint64_t batch_ordinal(const struct batch *b, uint32_t pos)
{
    uint32_t run;

    if (!b->n) {
        return b->ordinal;
    }
    run = run_at(b, pos);
    return b->ordinal + b->ord[run] + (pos - b->at[run]);
}

uint64_t spot_ordinal(const struct pair *p, unsigned side)
{
    const struct spot *s = &p->at[side];

    return s->b && !s->ended ? batch_ordinal(s->b, spot_pos(s))
                             : p->thread[side]->first + p->thread[side]->insns;
}

uint64_t batch_insn(const struct pair *p, const struct batch *b, uint32_t pos)
{
    const uint32_t run = run_at(b, pos);
    const struct code *c = code_get(p->side[0]->codes, run_code(b->key[run]));

    return c->insn[run_first(b->key[run]) + (pos - b->at[run])];
}
