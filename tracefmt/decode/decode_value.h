/* SPDX-License-Identifier: MIT */
/* Values of accesses and registers, in the order of their columns. */
#ifndef CTR_DECODE_VALUE_H
#define CTR_DECODE_VALUE_H

#include "decode/decode.h"
#include "base/le.h"

/* The pieces of the slot with this number in the chunk. */
static inline struct piece *slot_pieces(const struct decoder *d, size_t at)
{
    return &d->piece[d->piece_of[at]];
}

/*
 * Of a column what changes while it is read: copied, so that it need not be in memory.
 */
static inline void value_settle(struct value_in *to, const struct value_in *v)
{
    to->miss = v->miss;
    to->at = v->at;
    to->prev = v->prev;
    to->prev2 = v->prev2;
}

/* Whether the next piece was predicted. Returns -1 if there is none. */
static inline int value_hit(struct value_in *v)
{
    if (v->at == v->n) {
        return -1;
    }
    uint32_t i = v->at++;
    return v->hit[i >> 3] >> (i & 7) & 1;
}

/*
 * Decodes a piece by its predictor; place: the previous value at its place. Returns 0
 * or -1.
 */
static inline __attribute__((always_inline)) int
next_piece(struct value_in *c, struct piece *p, uint64_t place, uint64_t *out)
{
    /* The processor could not predict which of these it is. */
    const uint64_t guess[4] = {p->last + p->step, c->prev, c->prev2, place};
    uint64_t mask = p->mask;
    unsigned mode = p->mode;
    uint64_t v = guess[mode];
    int hit = value_hit(c);
    if (hit != 1) {
        uint64_t z;
        if (hit < 0 || get_varint(&c->miss, c->miss_end, &z)) {
            return -1;
        }
        v = p->last + unzigzag64(z);
        unsigned k = 3;
        k = ((guess[2] ^ v) & mask) == 0 ? 2 : k;
        k = ((guess[1] ^ v) & mask) == 0 ? 1 : k;
        k = ((guess[0] ^ v) & mask) == 0 ? 0 : k;
        p->mode = (uint8_t)(((guess[k] ^ v) & mask) == 0 ? k : mode);
        mode = VALUE_STRIDE;
    }
    v &= mask;
    c->prev2 = c->prev;
    *out = c->prev = v;
    /* A hit of the place changes neither; without a branch. */
    const uint64_t kept = 0 - (uint64_t)(mode == VALUE_PLACE);
    p->step = (p->step & kept) | ((v - p->last) & ~kept);
    p->last = (p->last & kept) | (v & ~kept);
    return 0;
}

/* Room for n bytes of data of this run; stores the offset of its start in *off. */
static inline int data_room(struct decoder *d, size_t n, size_t *off)
{
    *off = d->data.n;
    if (d->data.n + n + 8 > d->data.cap && buf_reserve(&d->data, n + 8)) {
        return ctr_fail_nomem(d->diag);
    }
    d->data.n += n;
    return 0;
}

/* A piece of an access, whose address is that of the piece; 0 or -1. */
static inline __attribute__((always_inline)) int next_value(struct decoder *d,
                                                            struct value_in *c,
                                                            struct piece *p,
                                                            uint64_t addr, uint64_t *out)
{
    uint64_t *word = &d->memory[value_place(addr)];
    const uint64_t old = *word;
    const unsigned shift = value_shift(addr, p->turn);
    if (next_piece(c, p, old >> shift, out)) {
        return -1;
    }
    *word = (old & ~(p->mask << shift)) | *out << shift;
    return 0;
}

/* The data of an inline access, of pieces p, in column c. */
static inline int next_data(struct decoder *d, struct value_in *c, struct piece *p,
                            const struct ctr_slot *s, struct ctr_access *a)
{
    size_t off;
    if (data_room(d, s->size, &off)) {
        return -CTR_E_NOMEM;
    }
    for (unsigned k = 0, n = value_pieces(s->size); k < n; k++, p++) {
        uint64_t v;
        if (next_value(d, c, p, a->addr + p->off, &v)) {
            return decoder_bad(d, "chunk.values", "values missing");
        }
        uint8_t *to = d->data.p + off + p->off;
        if (!s->big_endian || p->bytes == 8) {
            /* there is room for 8 bytes; what follows overwrites the rest */
            put64(to, s->big_endian ? __builtin_bswap64(v) : v);
        } else {
            value_put(to, v, p->bytes, 1);
        }
    }
    a->data = (const uint8_t *)(uintptr_t)off;
    return 0;
}

/* The data of an extra access, which only its place predicts. */
static inline int extra_data(struct decoder *d, struct ctr_access *a)
{
    struct value_in *c = &d->vals;
    int be = (a->flags & CTR_ACC_BE) != 0;
    size_t off;
    if (value_pieces(a->size) > c->n - c->at) {
        return decoder_bad(d, "chunk.values", "values missing");
    }
    if (data_room(d, a->size, &off)) {
        return -CTR_E_NOMEM;
    }
    for (uint32_t at = 0; at < a->size; at += 8) {
        unsigned bytes = a->size - at < 8 ? a->size - at : 8;
        uint64_t *word = &d->memory[value_place(a->addr + at)];
        unsigned shift = value_shift(a->addr + at, value_turn(be, bytes));
        uint64_t mask = value_mask(bytes), v = *word >> shift, z = 0;
        int hit = value_hit(c);
        if (hit < 0 || (hit == 0 && get_varint(&c->miss, c->miss_end, &z))) {
            return decoder_bad(d, "chunk.values", "values missing");
        }
        v = (v + unzigzag64(z)) & mask;
        *word = (*word & ~(mask << shift)) | v << shift;
        value_put(d->data.p + off + at, v, bytes, be);
    }
    a->data = (const uint8_t *)(uintptr_t)off;
    return 0;
}

/* --------------------------------------------------------------- registers */

/* The value that a register slot made, of pieces p, in column c. */
static inline int next_reg(struct decoder *d, struct value_in *c, struct piece *p,
                           const struct ctr_slot *s, struct reg_write *w)
{
    w->insn = s->insn;
    w->reg = s->group;
    put64(w->value + 8, 0);
    for (unsigned k = value_pieces(s->size); k-- > 0; p++) {
        uint64_t v;
        if (next_piece(c, p, d->regs[p->place], &v)) {
            return decoder_bad(d, "chunk.regs", "values missing");
        }
        d->regs[p->place] = v;
        put64(w->value + 8 * k, v);
    }
    return 0;
}

#endif
