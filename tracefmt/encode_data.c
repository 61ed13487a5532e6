/* SPDX-License-Identifier: MIT */
/*
 * The hot loops of a recording with values or registers: encode_fast's, with
 * slots that are more than an address.  Whether a guess of a value was right is
 * stored as a byte, as there; what has to be told of a wrong one is rare enough
 * for a branch.
 */
#include "encode.h"

#include <string.h>
#include "le.h"

#define INLINE static inline __attribute__((always_inline))

/* Where values go, while it is in registers. */
struct values {
    uint8_t *hit;
    uint8_t *miss;
    uint64_t prev;
    uint64_t prev2;
};

static struct values values_begin(const struct value_out *o)
{
    if (o->cap == 0) {
        return (struct values){0}; /* none are recorded */
    }
    return (struct values){o->hit + o->nhit, o->miss + o->nmiss, o->prev, o->prev2};
}

static void values_end(struct value_out *o, const struct values *v)
{
    if (o->cap == 0) {
        return;
    }
    o->nhit = (uint32_t)(v->hit - o->hit);
    o->nmiss = (size_t)(v->miss - o->miss);
    o->prev = v->prev;
    o->prev2 = v->prev2;
}

/* The same for addresses; a miss is of the width of an address. */
struct addrs {
    const uint8_t *data; /* the next unit ends here */
    uint8_t *miss;
    uint8_t *hit;
    uint64_t *cand;
};

static struct addrs addrs_begin(const struct ctr_encoder *e, const struct walk *w)
{
    return (struct addrs){
        .data = (const uint8_t *)w->seg->data_end - (size_t)w->unit * e->addr_bytes,
        .miss = (uint8_t *)e->addr_miss + (size_t)e->naddr_miss * e->addr_bytes,
        .hit = e->addr_hit + e->naddr,
        .cand = e->cand + e->ncand,
    };
}

static void addrs_end(struct ctr_encoder *e, struct walk *w, const struct addrs *a)
{
    e->naddr_miss = (uint32_t)(a->miss - (uint8_t *)e->addr_miss) / e->addr_bytes;
    e->naddr = (uint32_t)(a->hit - e->addr_hit);
    e->ncand = (uint32_t)(a->cand - e->cand);
    w->unit = (uint32_t)((const uint8_t *)w->seg->data_end - a->data) / e->addr_bytes;
}

/* The next unit is an address, which has predictor `at'. */
INLINE uint64_t put_addr(struct ctr_encoder *e, struct addrs *a, uint32_t at,
                         const unsigned ab)
{
    uint64_t addr;
    unsigned ok;
    a->data -= ab;
    if (ab == 4) {
        struct pred32 *p = (struct pred32 *)e->pred + at;
        uint32_t v;
        memcpy(&v, a->data, 4);
        uint32_t step = v - p->last;
        ok = step == p->step;
        *p = (struct pred32){v, step};
        memcpy(a->miss, &step, 4);
        addr = v;
    } else {
        struct pred64 *p = (struct pred64 *)e->pred + at;
        memcpy(&addr, a->data, 8);
        uint64_t step = addr - p->last;
        ok = step == p->step;
        *p = (struct pred64){addr, step};
        memcpy(a->miss, &step, 8);
    }
    a->miss += ok ? 0 : ab;
    *a->hit++ = (uint8_t)ok;
    uint64_t key = PAGE_KEY(addr, e->reach[at]);
    if (__builtin_expect(e->seen[PAGE_HASH(key)] != key, 0)) {
        e->seen[PAGE_HASH(key)] = key;
        *a->cand++ = key;
    }
    return addr;
}

/* The address of a derived access. */
INLINE uint64_t derived_addr(const struct ctr_encoder *e, const struct item *it,
                             const unsigned ab)
{
    const struct slot_derive v = {
        .delta = it->delta, .bits = it->bits, .is_signed = it->is_signed};
    uint64_t root = ab == 4 ? ((const struct pred32 *)e->pred)[it->pred].last
                            : ((const struct pred64 *)e->pred)[it->pred].last;
    return slot_derive_addr(&v, root);
}

/* What to tell of a value that was not foretold, and which guess was right. */
static __attribute__((noinline)) uint8_t *put_miss(struct piece *p, uint64_t prev,
                                                   uint64_t prev2, uint64_t place,
                                                   uint64_t v, uint8_t *miss)
{
    uint64_t last = p->last;
    uint64_t step = v - last;
    uint64_t mask = p->mask;
    unsigned mode = p->mode;
    /* no branches: which one it is cannot be foretold either */
    mode = ((place ^ v) & mask) == 0 ? VALUE_PLACE : mode;
    mode = ((prev2 ^ v) & mask) == 0 ? VALUE_PREV2 : mode;
    mode = ((prev ^ v) & mask) == 0 ? VALUE_PREV : mode;
    mode = ((step ^ p->step) & mask) == 0 ? VALUE_STRIDE : mode;
    p->mode = (uint8_t)mode;
    p->step = step;
    p->last = v;
    return miss + put_varint_fast(miss, zigzag64(value_signed(step, p->bytes)));
}

/*
 * A piece of a value, which is v under the mask; place: what stood where it belongs.
 * Returns 0 if it was foretold to be that, and nothing changes.
 */
INLINE int put_value(struct values *o, struct piece *p, uint64_t v, uint64_t place)
{
    uint64_t prev = o->prev, prev2 = o->prev2;
    unsigned mode = p->mode;
    o->prev2 = prev;
    o->prev = v;
    if (mode == VALUE_PLACE) {
        unsigned ok = ((place ^ v) & p->mask) == 0;
        *o->hit++ = (uint8_t)ok;
        if (__builtin_expect(ok, 1)) {
            return 0;
        }
        o->miss = put_miss(p, prev, prev2, place, v, o->miss);
        return 1;
    }
    uint64_t last = p->last;
    uint64_t guess = last + p->step;
    guess = mode == VALUE_PREV ? prev : guess;
    guess = mode == VALUE_PREV2 ? prev2 : guess;
    unsigned ok = ((guess ^ v) & p->mask) == 0;
    *o->hit++ = (uint8_t)ok;
    if (__builtin_expect(!ok, 0)) {
        o->miss = put_miss(p, prev, prev2, place, v, o->miss);
        return 1;
    }
    p->step = v - last;
    p->last = v;
    return 1;
}

/* The same of an access whose address is addr. */
INLINE void put_memory(uint64_t *memory, struct values *o, struct piece *p, uint64_t addr,
                       uint64_t v)
{
    uint64_t *word = &memory[value_place(addr)];
    uint64_t old = *word;
    uint64_t mask = p->mask;
    unsigned shift = value_shift(addr, p->turn);
    v &= mask;
    if (put_value(o, p, v, old >> shift)) {
        *word = (old & ~(mask << shift)) | v << shift;
    }
}

INLINE void put_reg(uint64_t *regs, struct values *o, struct piece *p, uint64_t v)
{
    uint64_t *word = &regs[p->place];
    v &= p->mask;
    if (put_value(o, p, v, *word)) {
        *word = v;
    }
}

/*
 * The piece that comes next in the data column, the one of a value of n pieces with
 * `low' below it.  Such a value is one integer of this machine, here taken from its
 * highest piece on.
 */
INLINE uint64_t get_piece(const uint8_t **data, const struct piece *p, unsigned n,
                          unsigned low, const unsigned ab)
{
    *data -= ab == 8 ? 8 : p->span;
    const uint8_t *at = *data;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    at += 8 * ((ptrdiff_t)n - 1) - 16 * (ptrdiff_t)low;
#else
    (void)n;
    (void)low;
#endif
    if (ab == 4 && p->span == 4) {
        uint32_t v;
        memcpy(&v, at, 4);
        return v;
    }
    uint64_t v;
    memcpy(&v, at, 8);
    return v;
}

/* Whatever a slot makes. */
INLINE void put_item(struct ctr_encoder *e, struct addrs *a, struct values *vals,
                     struct values *regs, const struct item *it, const unsigned ab)
{
    struct piece *p = e->piece + it->piece;
    const unsigned n = it->pieces;
    if (it->kind == ITEM_REG) {
        for (unsigned low = n; low-- > 0; p++) {
            put_reg(e->regs, regs, p, get_piece(&a->data, p, n, low, ab));
        }
        return;
    }
    uint64_t addr =
        it->kind == ITEM_ADDR ? put_addr(e, a, it->pred, ab) : derived_addr(e, it, ab);
    for (unsigned low = n; low-- > 0; p++) {
        uint64_t v = get_piece(&a->data, p, n, low, ab);
        put_memory(e->memory, vals, p, addr + p->off, v);
    }
}

/* The items of a run of nothing but registers (see struct local). */
INLINE void put_registers(struct ctr_encoder *e, struct addrs *a, struct values *regs,
                          const struct local *b, const unsigned ab)
{
    const uint8_t *end = a->data - (size_t)b->need * ab;
    for (struct piece *p = e->piece + e->item[b->base].piece; a->data != end; p++) {
        put_reg(e->regs, regs, p, get_piece(&a->data, p, 1, 0, ab));
    }
}

INLINE void data_runs(struct ctr_encoder *e, struct walk *w, uint32_t n,
                      const unsigned ab)
{
    struct addrs a = addrs_begin(e, w);
    struct values vals = values_begin(&e->vals);
    struct values regs = values_begin(&e->regvals);
    for (uint32_t i = 0; i < n; i++) {
        const struct local *b = &e->loc[e->batch[i]];
        if (b->regs) {
            put_registers(e, &a, &regs, b, ab);
            continue;
        }
        const struct item *it = e->item + b->base;
        for (const struct item *end = it + b->n; it < end; it++) {
            put_item(e, &a, &vals, &regs, it, ab);
        }
    }
    addrs_end(e, w, &a);
    values_end(&e->vals, &vals);
    values_end(&e->regvals, &regs);
}

static void data_runs32(struct ctr_encoder *e, struct walk *w, uint32_t n)
{
    data_runs(e, w, n, 4);
}

static void data_runs64(struct ctr_encoder *e, struct walk *w, uint32_t n)
{
    data_runs(e, w, n, 8);
}

void encode_data_runs(struct ctr_encoder *e, struct walk *w, uint32_t n)
{
    if (e->addr_bytes == 4) {
        data_runs32(e, w, n);
    } else {
        data_runs64(e, w, n);
    }
}

void encode_data_pending(struct ctr_encoder *e, struct walk *w, uint32_t local)
{
    const struct dict_slot *const slot = e->def[local]->slot;
    const struct item *const item = e->item + e->loc[local].base;
    struct addrs a = addrs_begin(e, w);
    struct values vals = values_begin(&e->vals);
    struct values regs = values_begin(&e->regvals);
    for (uint32_t i = 0; i < e->npending; i++) {
        if (e->addr_bytes == 4) {
            put_item(e, &a, &vals, &regs, &item[slot[e->pending[i]].item], 4);
        } else {
            put_item(e, &a, &vals, &regs, &item[slot[e->pending[i]].item], 8);
        }
    }
    addrs_end(e, w, &a);
    values_end(&e->vals, &vals);
    values_end(&e->regvals, &regs);
}

void encode_data_extra(struct ctr_encoder *e, uint64_t addr, int big_endian,
                       const uint8_t *data, uint32_t n)
{
    struct values o = values_begin(&e->vals);
    for (uint32_t at = 0; at < n; at += 8) {
        unsigned bytes = n - at < 8 ? n - at : 8;
        uint64_t v = value_get(data + at, bytes, big_endian);
        uint64_t *word = &e->memory[value_place(addr + at)];
        uint64_t mask = value_mask(bytes);
        unsigned shift = value_shift(addr + at, value_turn(big_endian, bytes));
        uint64_t step = value_signed(v - (*word >> shift), bytes);
        *o.hit++ = step == 0;
        if (step) {
            o.miss += put_varint_fast(o.miss, zigzag64(step));
        }
        *word = (*word & ~(mask << shift)) | v << shift;
    }
    values_end(&e->vals, &o);
}
