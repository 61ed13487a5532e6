/* SPDX-License-Identifier: MIT */
/*
 * The hot loops of a recording with values or registers: like encode_addr.c, with slots
 * that are more than an address. Whether a prediction of a value was right becomes a
 * byte, as there; what must be stored after a miss is rare enough for a branch.
 *
 * encode_fast has stored which items come next. Most are accesses of one unit, or rows
 * of registers. Those like the one before are encoded by a loop that handles nothing
 * else, so that all it needs stays in registers.
 */
#include "write/encode.h"

#include <string.h>
#include "base/le.h"

#define INLINE static inline __attribute__((always_inline))

/* The output for values, while it is in registers. */
struct values {
    uint8_t *hit;
    uint64_t *miss;
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
    o->nmiss = (uint32_t)(v->miss - o->miss);
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

static struct addrs addrs_begin(const struct ctr_encoder *e, const struct segment_walk *w)
{
    return (struct addrs){
        .data = (const uint8_t *)w->seg->data_end - (size_t)w->unit * e->rec.addr_bytes,
        .miss = (uint8_t *)e->addrs.miss + (size_t)e->addrs.nmiss * e->rec.addr_bytes,
        .hit = e->addrs.hit + e->addrs.n,
        .cand = e->pages.cand + e->pages.ncand,
    };
}

static void addrs_end(struct ctr_encoder *e, struct segment_walk *w,
                      const struct addrs *a)
{
    e->addrs.nmiss = (uint32_t)(a->miss - (uint8_t *)e->addrs.miss) / e->rec.addr_bytes;
    e->addrs.n = (uint32_t)(a->hit - e->addrs.hit);
    e->pages.ncand = (uint32_t)(a->cand - e->pages.cand);
    w->unit = (uint32_t)((const uint8_t *)w->seg->data_end - a->data) / e->rec.addr_bytes;
}

/* The unit that ends at `end'. */
INLINE uint64_t get_unit(const uint8_t *end, const unsigned ab)
{
    uint64_t v = 0;
    if (ab == 4) {
        uint32_t u;
        memcpy(&u, end - 4, 4);
        v = u;
    } else {
        memcpy(&v, end - 8, 8);
    }
    return v;
}

/* The next unit is the item's address. */
INLINE uint64_t put_addr(struct touched *pages, struct addrs *a, struct item *it,
                         const unsigned ab)
{
    uint64_t addr = get_unit(a->data, ab);
    uint64_t step = addr - it->last;
    unsigned ok;
    a->data -= ab;
    if (ab == 4) {
        uint32_t low = (uint32_t)step;
        ok = low == (uint32_t)it->step;
        memcpy(a->miss, &low, 4);
    } else {
        ok = step == it->step;
        memcpy(a->miss, &step, 8);
    }
    it->last = addr;
    it->step = step;
    a->miss += ok ? 0 : ab;
    *a->hit++ = (uint8_t)ok;
    uint64_t key = PAGE_KEY(addr, it->reach);
    if (__builtin_expect(pages->seen[PAGE_HASH(key)] != key, 0)) {
        pages->seen[PAGE_HASH(key)] = key;
        *a->cand++ = key;
    }
    return addr;
}

/*
 * A piece of a value, which is v under the mask; place: the previous value at its
 * place. Returns 0 if v was predicted to be that, and nothing changes.
 */
INLINE int put_value(struct values *o, struct piece *p, uint64_t v, uint64_t place)
{
    uint64_t prev = o->prev, prev2 = o->prev2, mask = p->mask;
    unsigned mode = p->mode;
    o->prev2 = prev;
    o->prev = v;
    if (mode == VALUE_PLACE) {
        unsigned ok = ((place ^ v) & mask) == 0;
        *o->hit++ = (uint8_t)ok;
        if (__builtin_expect(ok, 1)) {
            return 0;
        }
    } else {
        uint64_t last = p->last;
        uint64_t guess = last + p->step;
        guess = mode == VALUE_PREV ? prev : guess;
        guess = mode == VALUE_PREV2 ? prev2 : guess;
        unsigned ok = ((guess ^ v) & mask) == 0;
        *o->hit++ = (uint8_t)ok;
        if (__builtin_expect(ok, 1)) {
            p->step = v - last;
            p->last = v;
            return 1;
        }
    }
    /* no branches: the processor cannot predict which prediction was right either */
    uint64_t step = v - p->last;
    mode = ((place ^ v) & mask) == 0 ? VALUE_PLACE : mode;
    mode = ((prev2 ^ v) & mask) == 0 ? VALUE_PREV2 : mode;
    mode = ((prev ^ v) & mask) == 0 ? VALUE_PREV : mode;
    mode = ((step ^ p->step) & mask) == 0 ? VALUE_STRIDE : mode;
    p->mode = (uint8_t)mode;
    p->step = step;
    p->last = v;
    *o->miss++ = zigzag64(value_signed(step, p->bytes));
    return 1;
}

/* The same for an access whose address is addr. */
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

/* Items of one unit besides their address, as many as come in a row; from number k on. */
INLINE uint32_t take_accesses(struct ctr_encoder *e, struct segment_walk *w, uint32_t k,
                              uint32_t n, const unsigned ab)
{
    const uint32_t *const batch = e->addrs.batch;
    struct item *const items = e->preds.item;
    struct addrs a = addrs_begin(e, w);
    struct values vals = values_begin(&e->vals.out);
    for (; k < n; k++) {
        struct item *it = &items[batch[k]];
        uint64_t addr;
        if (it->kind == ITEM_ACCESS) {
            addr = put_addr(&e->pages, &a, it, ab);
        } else if (it->kind == ITEM_ACCESS_DERIVED) {
            addr = ((it - it->root)->last + it->step) & it->last;
        } else {
            break;
        }
        uint64_t v = get_unit(a.data, ab);
        a.data -= ab;
        put_memory(e->vals.memory, &vals, &it->value, addr, v);
    }
    addrs_end(e, w, &a);
    values_end(&e->vals.out, &vals);
    return k;
}

/*
 * The next piece in the data column, of a value of n pieces with `low' below it. Such a
 * value is one integer of this machine, read here from its highest piece on.
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
    return ab == 4 && p->span == 4 ? get_unit(at + 4, 4) : get_unit(at + 8, 8);
}

/* The same for rows of registers. */
INLINE uint32_t take_rows(struct ctr_encoder *e, struct segment_walk *w, uint32_t k,
                          uint32_t n, const unsigned ab)
{
    const uint32_t *const batch = e->addrs.batch;
    const struct item *const items = e->preds.item;
    struct addrs a = addrs_begin(e, w);
    struct values regs = values_begin(&e->regs.out);
    for (; k < n && items[batch[k]].kind == ITEM_ROW; k++) {
        const struct item *it = &items[batch[k]];
        struct piece *p = e->preds.piece + it->piece;
        for (const struct piece *end = p + it->pieces; p < end; p++) {
            put_reg(e->regs.place, &regs, p, get_piece(&a.data, p, 1, 0, ab));
        }
    }
    addrs_end(e, w, &a);
    values_end(&e->regs.out, &regs);
    return k;
}

/* The address of a derived access whose item is of any kind. */
INLINE uint64_t derived_addr(const struct item *it, const unsigned ab)
{
    const struct item *root = it - it->root;
    if (it->kind == ITEM_ACCESS_DERIVED) {
        return (root->last + it->step) & it->last;
    }
    const struct slot_derive v = {
        .delta = (int64_t)it->step, .bits = it->bits, .is_signed = it->is_signed};
    uint64_t addr = slot_derive_addr(&v, root->last);
    return ab == 4 ? (uint32_t)addr : addr;
}

/* Encodes whatever an item makes. */
INLINE void put_item(struct ctr_encoder *e, struct addrs *a, struct values *vals,
                     struct values *regs, struct item *it, const unsigned ab)
{
    struct piece *p = e->preds.piece + it->piece;
    unsigned n = it->pieces;
    if (it->kind == ITEM_ROW) {
        for (const struct piece *end = p + n; p < end; p++) {
            put_reg(e->regs.place, regs, p, get_piece(&a->data, p, 1, 0, ab));
        }
        return;
    }
    if (it->kind == ITEM_REGISTER) {
        for (; n-- > 0; p++) {
            put_reg(e->regs.place, regs, p, get_piece(&a->data, p, it->pieces, n, ab));
        }
        return;
    }
    uint64_t addr = it->kind == ITEM_ACCESS_DERIVED || it->kind == ITEM_ANY_DERIVED
                        ? derived_addr(it, ab)
                        : put_addr(&e->pages, a, it, ab);
    if (it->kind < ITEM_ROW) {
        uint64_t v = get_unit(a->data, ab);
        a->data -= ab;
        put_memory(e->vals.memory, vals, &it->value, addr, v);
        return;
    }
    for (; n-- > 0; p++) {
        uint64_t v = get_piece(&a->data, p, it->pieces, n, ab);
        put_memory(e->vals.memory, vals, p, addr + p->off, v);
    }
}

/* Items of any kind, until one comes that a loop above handles. */
INLINE uint32_t take_any(struct ctr_encoder *e, struct segment_walk *w, uint32_t k,
                         uint32_t n, const unsigned ab, const int all)
{
    struct addrs a = addrs_begin(e, w);
    struct values vals = values_begin(&e->vals.out);
    struct values regs = values_begin(&e->regs.out);
    for (; k < n; k++) {
        struct item *it = &e->preds.item[e->addrs.batch[k]];
        if (!all && it->kind < ITEM_ANY) {
            break;
        }
        put_item(e, &a, &vals, &regs, it, ab);
    }
    addrs_end(e, w, &a);
    values_end(&e->vals.out, &vals);
    values_end(&e->regs.out, &regs);
    return k;
}

INLINE void take_items(struct ctr_encoder *e, struct segment_walk *w, uint32_t n,
                       const unsigned ab)
{
    if (e->rec.mem && e->rec.reg) { /* alternating kinds */
        take_any(e, w, 0, n, ab, 1);
        return;
    }
    for (uint32_t k = 0; k < n;) {
        unsigned kind = e->preds.item[e->addrs.batch[k]].kind;
        if (kind < ITEM_ROW) {
            k = take_accesses(e, w, k, n, ab);
        } else if (kind == ITEM_ROW) {
            k = take_rows(e, w, k, n, ab);
        } else {
            k = take_any(e, w, k, n, ab, 0);
        }
    }
}

static void take_items32(struct ctr_encoder *e, struct segment_walk *w, uint32_t n)
{
    take_items(e, w, n, 4);
}

static void take_items64(struct ctr_encoder *e, struct segment_walk *w, uint32_t n)
{
    take_items(e, w, n, 8);
}

void encode_items(struct ctr_encoder *e, struct segment_walk *w, uint32_t n)
{
    if (e->rec.addr_bytes == 4) {
        take_items32(e, w, n);
    } else {
        take_items64(e, w, n);
    }
}

void encode_data_extra(struct ctr_encoder *e, uint64_t addr, int big_endian,
                       const uint8_t *data, uint32_t n)
{
    struct values o = values_begin(&e->vals.out);
    for (uint32_t at = 0; at < n; at += 8) {
        unsigned bytes = n - at < 8 ? n - at : 8;
        uint64_t v = value_get(data + at, bytes, big_endian);
        uint64_t *word = &e->vals.memory[value_place(addr + at)];
        uint64_t mask = value_mask(bytes);
        unsigned shift = value_shift(addr + at, value_turn(big_endian, bytes));
        uint64_t step = value_signed(v - (*word >> shift), bytes);
        *o.hit++ = step == 0;
        if (step) {
            *o.miss++ = zigzag64(step);
        }
        *word = (*word & ~(mask << shift)) | v << shift;
    }
    values_end(&e->vals.out, &o);
}
