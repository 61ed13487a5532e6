/* SPDX-License-Identifier: MIT */
/*
 * The values of runs that make all unconditional slots of their block, as nearly all do.  What
 * changes of a column is local while a run is decoded, as the compiler cannot know that no
 * value is written over it.
 */
#include "decode/decode_fast.h"
#include "decode/decode_value.h"

/* The usual case: a value of one piece for each slot. */
static inline int single_data(struct decoder *d, const struct dlocal *l,
                              struct value_in *v)
{
    const struct ctr_slot *s = l->block->pub.slots, *end = s + l->nplain;
    struct ctr_access *a = d->slot + l->access;
    struct piece *p = slot_pieces(d, l->slot);
    uint8_t *to = d->data.p;
    for (; s < end; s++, a++, p++) {
        uint64_t out;
        if (next_value(d, v, p, a->addr, &out)) {
            return decoder_bad(d, "chunk.values", "values missing");
        }
        /* There is room for 8 bytes; what follows overwrites the rest. */
        put64(to, s->big_endian ? __builtin_bswap64(out) >> p->turn : out);
        a->data = to;
        to += p->bytes;
    }
    return 0;
}

static inline int any_data(struct decoder *d, const struct dlocal *l, struct value_in *v)
{
    const struct block *b = l->block;
    struct ctr_access *a = d->slot + l->access;
    int err = 0;
    for (unsigned k = 0; !err && k < b->pub.nslot; k++) {
        const struct ctr_slot *s = &b->pub.slots[k];
        if (s->reg || s->group) {
            continue;
        }
        if (!s->novalue) {
            err = next_data(d, v, slot_pieces(d, (size_t)l->slot + k), s, a);
            a->data = d->data.p + (uintptr_t)a->data;
        }
        a++;
    }
    return err;
}

int decoder_plain_data(struct decoder *d, const struct dlocal *l)
{
    const uint32_t bytes = l->block->value_bytes;
    d->data.n = 0;
    if (!l->has_data) {
        return 0;
    }
    struct value_in v = d->vals;
    if (bytes + 8 > d->data.cap && buf_reserve(&d->data, bytes + 8)) {
        return ctr_fail_nomem(d->diag);
    }
    const int err =
        l->has_data == DATA_SINGLE ? single_data(d, l, &v) : any_data(d, l, &v);
    value_settle(&d->vals, &v);
    return err;
}

int decoder_plain_regs(struct decoder *d, const struct dlocal *l)
{
    const struct block *b = l->block;
    struct value_in v = d->regvals;
    int err = l->nreg > d->reg_cap ? decoder_slot_room(d, 0, l->nreg) : 0;
    if (err || l->nreg > d->reg_n - d->reg_at) {
        return err ? err : decoder_bad(d, "chunk.words", "slots missing");
    }
    struct reg_write *w = d->reg;
    for (unsigned k = 0; !err && k < b->pub.nslot; k++) {
        const struct ctr_slot *s = &b->pub.slots[k];
        if (s->reg) {
            err = next_reg(d, &v, slot_pieces(d, (size_t)l->slot + k), s, w++);
        }
    }
    d->reg_at += l->nreg;
    value_settle(&d->regvals, &v);
    return err;
}
