/* SPDX-License-Identifier: MIT */
/*
 * Decoding the runs of a chunk whose columns decode.c has taken apart: the slots
 * that each run made, with addresses and values, and what is told beside them.
 */
#include "decode.h"

#include <string.h>
#include "le.h"

/* --------------------------------------------------------------- addresses */

/*
 * Address of the next inline access, made by slot `at' of the arena.  The caller has
 * made sure that there is one more.  Returns -1 if the column of steps ends.
 */
static inline int next_addr(struct decoder *d, size_t at, uint64_t *out)
{
    uint32_t i = d->addr_at++;
    uint64_t step;
    if (d->hit_bits[i >> 3] >> (i & 7) & 1) {
        step = d->pred[at].step;
    } else {
        uint32_t m = d->miss_at++;
        if (m >= d->miss_n) {
            return -1;
        }
        if (!(d->same_bits[m >> 3] >> (m & 7) & 1)) {
            uint64_t z;
            if (get_varint(&d->steps, d->steps_end, &z)) {
                return -1;
            }
            d->last_miss = unzigzag64(z);
        }
        step = d->last_miss;
        d->pred[at].step = step;
    }
    uint64_t addr = d->pred[at].last + step;
    if (d->addr_bits == 32) {
        addr = (uint32_t)addr;
    }
    d->pred[at].last = addr;
    *out = addr;
    return 0;
}

/* ------------------------------------------------------------------ values */

/* Is the next piece as foretold?  -1 if there is none. */
static inline int value_hit(struct value_in *v)
{
    if (v->at == v->n) {
        return -1;
    }
    uint32_t i = v->at++;
    return v->hit[i >> 3] >> (i & 7) & 1;
}

/* A piece by its predictor; place: what stood where it belongs.  Returns 0 or -1. */
static inline int next_piece(struct value_in *c, struct piece *p, uint64_t place,
                             uint64_t *out)
{
    uint64_t mask = p->mask;
    const uint64_t guess[4] = {p->last + p->step, c->prev, c->prev2, place};
    unsigned mode = p->mode;
    uint64_t v = guess[mode];
    int hit = value_hit(c);
    if (hit != 1) {
        uint64_t z;
        if (hit < 0 || get_varint(&c->miss, c->miss_end, &z)) {
            return -1;
        }
        v = p->last + unzigzag64(z);
        for (unsigned k = 0; k < 4; k++) {
            if (((guess[k] ^ v) & mask) == 0) {
                p->mode = (uint8_t)k;
                break;
            }
        }
    }
    v &= mask;
    c->prev2 = c->prev;
    *out = c->prev = v;
    if (hit != 1 || mode != VALUE_PLACE) {
        p->step = v - p->last;
        p->last = v;
    }
    return 0;
}

/* Room for n bytes of data of this run, where they begin in *off. */
static inline int data_room(struct decoder *d, size_t n, size_t *off)
{
    *off = d->data.n;
    if (d->data.n + n + 8 > d->data.cap && buf_reserve(&d->data, n + 8)) {
        return ctr_fail_nomem(d->diag);
    }
    d->data.n += n;
    return 0;
}

/* The data of an inline access. */
static inline int next_data(struct decoder *d, size_t at, const struct ctr_slot *s,
                            struct access *a)
{
    struct piece *p = &d->piece[d->piece_of[at]];
    size_t off;
    if (data_room(d, s->size, &off)) {
        return -CTR_E_NOMEM;
    }
    for (unsigned k = 0, n = value_pieces(s->size); k < n; k++, p++) {
        uint64_t addr = a->addr + p->off, v;
        uint64_t *word = &d->memory[value_place(addr)];
        unsigned shift = value_shift(addr, p->turn);
        if (next_piece(&d->vals, p, *word >> shift, &v)) {
            return decoder_bad(d, "chunk.values", "values missing");
        }
        *word = (*word & ~(p->mask << shift)) | v << shift;
        uint8_t *to = d->data.p + off + p->off;
        if (p->bytes == 8 || !s->big_endian) {
            /* there is room for 8; what comes behind overwrites the rest */
            put64(to, s->big_endian ? __builtin_bswap64(v) : v);
        } else {
            value_put(to, v, p->bytes, 1);
        }
    }
    a->data = (const uint8_t *)(uintptr_t)off;
    return 0;
}

/* The data of an extra access: foretold by its place alone. */
static int extra_data(struct decoder *d, struct access *a)
{
    struct value_in *c = &d->vals;
    int be = (a->flags & ACCESS_BE) != 0;
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

/* The value that a register slot made. */
static inline int next_reg(struct decoder *d, size_t at, const struct ctr_slot *s,
                           struct reg_write *w)
{
    struct piece *p = &d->piece[d->piece_of[at]];
    uint64_t half[2] = {0, 0};
    for (unsigned k = value_pieces(s->size); k-- > 0; p++) {
        if (next_piece(&d->regvals, p, d->regs[p->place], &half[k])) {
            return decoder_bad(d, "chunk.regs", "values missing");
        }
        d->regs[p->place] = half[k];
    }
    w->insn = s->insn;
    w->reg = s->group;
    put64(w->value, half[0]);
    put64(w->value + 8, half[1]);
    return 0;
}

/* Applies the extra change at hand and goes on to the next. */
static int take_reg_extra(struct decoder *d, struct reg_write *w)
{
    const struct reg_extra *x = &d->reg_extra;
    w->insn = (uint16_t)(x->which ? x->which - 1 : 0);
    w->reg = x->reg;
    for (unsigned k = 0; k < 2; k++) {
        uint64_t *word = &d->regs[x->reg * 2u + k];
        *word += unzigzag64(x->step[k]);
        put64(w->value + 8 * k, *word);
    }
    return decoder_next_reg_extra(d);
}

/* Those from outside, before the run that comes next. */
static int take_outs(struct decoder *d, struct run *r)
{
    uint32_t n = 0;
    while (d->have_reg_extra && d->reg_extra.run == d->run && d->reg_extra.which == 0) {
        if (decoder_room(d, &d->out, &d->out_cap, n + 1u, sizeof(d->out[0]))) {
            return -CTR_E_NOMEM;
        }
        int err = take_reg_extra(d, &d->out[n++]);
        if (err) {
            return err;
        }
    }
    r->outs = d->out;
    r->nout = n;
    return 0;
}

/* Puts the extra changes of this run behind the slots of their instructions. */
static int merge_regs(struct decoder *d, struct run *r)
{
    uint32_t in = 0, out = 0;
    unsigned last = 0;
    while (d->have_reg_extra && d->reg_extra.run == d->run) {
        unsigned which = d->reg_extra.which;
        if (which < last || which == 0 || which > r->end || which < r->first) {
            return decoder_bad(d, "chunk.regs", "a change out of place");
        }
        last = which;
        if (decoder_room(d, &d->reg_merged, &d->reg_merged_cap,
                         (size_t)out + 1 + (r->nreg - in), sizeof(d->reg[0]))) {
            return -CTR_E_NOMEM;
        }
        while (in < r->nreg && r->regs[in].insn < which) {
            d->reg_merged[out++] = r->regs[in++];
        }
        int err = take_reg_extra(d, &d->reg_merged[out++]);
        if (err) {
            return err;
        }
    }
    while (in < r->nreg) {
        d->reg_merged[out++] = r->regs[in++];
    }
    r->regs = d->reg_merged;
    r->nreg = out;
    return 0;
}

/* ------------------------------------------------------------------- slots */

/* Whatever slot k of a block makes; the caller has made room. */
static inline int next_slot(struct decoder *d, const struct dlocal *l, unsigned k,
                            struct run *r)
{
    const struct ctr_slot *s = &l->block->pub.slots[k];
    size_t at = (size_t)l->base + k;
    if (s->reg) {
        if (!(d->want & DEC_REG)) {
            return 0;
        }
        d->reg_at++;
        return next_reg(d, at, s, &d->reg[r->nreg++]);
    }
    if (!(d->want & (DEC_MEM | DEC_COUNT))) {
        return 0;
    }
    struct access *a = &d->access[r->naccess++];
    a->size = s->size;
    a->insn = s->insn;
    a->store = s->store;
    a->flags = (uint8_t)((s->big_endian ? ACCESS_BE : 0) |
                         (s->novalue ? ACCESS_NOVALUE : 0));
    a->data = NULL;
    d->stores += s->store;
    d->loads += !s->store;
    if (!(d->want & DEC_MEM)) {
        return d->loads > d->pub.loads || d->stores > d->pub.stores
                   ? decoder_bad(d, "chunk.words", "counts are wrong")
                   : 0;
    }
    if (next_addr(d, at, &a->addr)) {
        return decoder_bad(d, "chunk.addrs", "steps missing");
    }
    return d->want & DEC_VAL && !s->novalue ? next_data(d, at, s, a) : 0;
}

static int slot_room(struct decoder *d, size_t accesses, size_t regs)
{
    int err = decoder_room(d, &d->access, &d->access_cap, accesses, sizeof(d->access[0]));
    return err ? err : decoder_room(d, &d->reg, &d->reg_cap, regs, sizeof(d->reg[0]));
}

/* Puts the extra accesses of this run where they belong. */
static int merge_extras(struct decoder *d, struct run *r)
{
    uint32_t in = 0, out = 0;
    while (d->have_extra && d->extra.run == d->run) {
        if (d->extra.rel < in || d->extra.rel > r->naccess || d->extra.a.insn >= r->end ||
            d->extra.a.insn + 1u < r->first) {
            return decoder_bad(d, "chunk.extras", "an access out of place");
        }
        if (decoder_room(d, &d->merged, &d->merged_cap,
                         (size_t)out + 1 + (r->naccess - in), sizeof(d->merged[0]))) {
            return -CTR_E_NOMEM;
        }
        while (in < d->extra.rel) {
            d->merged[out++] = r->access[in++];
        }
        struct access *a = &d->merged[out++];
        *a = d->extra.a;
        unsigned h =
            (r->block->pub.id * 31 + a->insn * 2u + a->store) & (EXTRA_PREDS - 1);
        uint64_t step = d->extra_pred[h].step + a->addr;
        a->addr = d->extra_pred[h].last + step;
        d->extra_pred[h].last = a->addr;
        d->extra_pred[h].step = step;
        d->stores += a->store;
        d->loads += !a->store;
        int told = d->want & DEC_VAL && !(a->flags & ACCESS_NOVALUE);
        int err = told ? extra_data(d, a) : 0;
        if (!err) {
            err = decoder_next_extra(d);
        }
        if (err) {
            return err;
        }
    }
    while (in < r->naccess) {
        d->merged[out++] = r->access[in++];
    }
    r->access = d->merged;
    r->naccess = out;
    return 0;
}

/* -------------------------------------------------------------------- runs */

/* What the markers behind a block's token say. */
struct ending {
    uint32_t groups; /* first token behind the id */
    uint32_t groups_end;
    uint32_t slots;  /* LEFT_AT: unconditional slots passed, else maximum */
    uint32_t limit;  /* LEFT: slots made by this run, else maximum */
    uint32_t resume; /* instruction + 1, or 0 */
};

static int read_ending(struct decoder *d, struct run *r, struct ending *e)
{
    const uint32_t *tok = d->tok;
    uint32_t i = d->at;
    e->groups = i;
    while (i < d->ntok && CTR_WORD_KIND(tok[i]) == CTR_WORD_GROUP) {
        i++;
    }
    e->groups_end = i;
    e->slots = e->limit = UINT32_MAX;
    r->end = r->block->pub.ninsn;
    if (i < d->ntok && CTR_WORD_KIND(tok[i]) == CTR_WORD_LEFT_AT) {
        r->end = (uint16_t)CTR_LEFT_AT_INSNS(tok[i]);
        e->slots = CTR_LEFT_AT_SLOTS(tok[i]);
        i++;
    } else if (i < d->ntok && CTR_WORD_KIND(tok[i]) == CTR_WORD_LEFT) {
        r->end = (uint16_t)CTR_LEFT_INSNS(tok[i]);
        r->flags = CTR_LEFT_FLAGS(tok[i]) & (CTR_EV_FAULTED | CTR_EV_UNSURE);
        e->limit = tok[i + 1];
        i += 2;
    }
    if (i < d->ntok && tok[i] >> 31 && CTR_WORD_KIND(tok[i]) != CTR_WORD_RESUME) {
        return decoder_bad(d, "chunk.words", "a marker out of place");
    }
    if (r->end > r->block->pub.ninsn || r->end < r->first || r->end == 0) {
        return decoder_bad(d, "chunk.words", "number of instructions");
    }
    d->at = i;
    return 0;
}

/* Slots of a run with markers; the counterpart of the encoder's. */
static int slow_slots(struct decoder *d, const struct dlocal *l, struct run *r,
                      const struct ending *e)
{
    const struct block *b = l->block;
    const struct ctr_slot *slot = b->pub.slots;
    const uint32_t nslot = l->nslot;
    uint32_t next = 0, uncond = 0, made = 0;

#define MAKE(k)                                                                          \
    do {                                                                                 \
        if (made == e->limit) {                                                          \
            goto out;                                                                    \
        }                                                                                \
        if (slot[k].insn >= r->end || slot[k].insn + 1u < e->resume ||                   \
            (slot[k].reg ? d->reg_at == d->reg_n && d->want & DEC_REG                    \
                         : d->addr_at == d->addr_n && d->want & DEC_MEM)) {              \
            return decoder_bad(d, "chunk.words", "a slot out of place");                 \
        }                                                                                \
        int err = slot_room(d, (size_t)r->naccess + 1, (size_t)r->nreg + 1);             \
        err = err ? err : next_slot(d, l, (k), r);                                       \
        if (err) {                                                                       \
            return err;                                                                  \
        }                                                                                \
        made++;                                                                          \
    } while (0)

    if (e->resume) {
        next = slots_resume_at(slot, nslot, e->resume - 1);
        for (uint32_t k = 0; k < next; k++) {
            uncond += slot_group(&slot[k]) == 0;
        }
    }
    for (uint32_t i = e->groups; i < e->groups_end; i++) {
        uint32_t group = CTR_GROUP_OF(d->tok[i]);
        if (group == 0 || group > b->pub.ngroup) {
            return decoder_bad(d, "chunk.words", "no such group");
        }
        uint32_t g = b->group_first[group];
        for (; g < nslot && next < g; next++) {
            if (slot_group(&slot[next]) == 0) {
                MAKE(next);
                uncond++;
            }
        }
        for (uint32_t k = g; k < b->group_end[group]; k++) {
            if (slot_group(&slot[k]) == group) {
                MAKE(k);
            }
        }
    }
    for (; next < nslot && uncond < e->slots; next++) {
        if (slot_group(&slot[next]) == 0) {
            MAKE(next);
            uncond++;
        }
    }
    if ((e->limit != UINT32_MAX && made != e->limit) ||
        (e->slots != UINT32_MAX && uncond != e->slots)) {
        return decoder_bad(d, "chunk.words", "number of slots");
    }
out:
#undef MAKE
    return 0;
}

/*
 * Counts the accesses of a run that was not left early, if that is enough of them.
 * Returns 1, 0 if it needs a list, or an error.
 */
static int count_run(struct decoder *d, const struct dlocal *l, struct run *r,
                     const struct ending *e, int plain)
{
    const struct block *b = l->block;
    uint64_t end = r->ordinal + r->end;
    if ((!plain && (e->resume || e->slots != UINT32_MAX || e->limit != UINT32_MAX)) ||
        (d->have_extra && d->extra.run == d->run) ||
        (r->ordinal < d->count_lo && end > d->count_lo) || end > d->count_hi) {
        return 0;
    }
    uint64_t loads = b->group_loads[0], stores = b->group_stores[0];
    for (uint32_t i = e->groups; !plain && i < e->groups_end; i++) {
        uint32_t group = CTR_GROUP_OF(d->tok[i]);
        if (group == 0 || group > b->pub.ngroup) {
            return decoder_bad(d, "chunk.words", "no such group");
        }
        loads += b->group_loads[group];
        stores += b->group_stores[group];
    }
    d->loads += loads;
    d->stores += stores;
    if (d->loads > d->pub.loads || d->stores > d->pub.stores) {
        return decoder_bad(d, "chunk.words", "counts are wrong");
    }
    r->loads = (uint32_t)loads;
    r->stores = (uint32_t)stores;
    return 1;
}

/* At the end everything must have been used, and the sums be as told. */
static int check_end(struct decoder *d)
{
    const struct ctr_chunk *c = &d->pub;
    if (d->ordinal - c->first != c->insns || d->run != c->runs) {
        return decoder_bad(d, "chunk.words", "counts are wrong");
    }
    if (d->want & DEC_MEM &&
        (d->addr_at != d->addr_n || d->miss_at != d->miss_n || d->steps != d->steps_end ||
         d->have_extra || d->loads != c->loads || d->stores != c->stores)) {
        return decoder_bad(d, "chunk.addrs", "counts are wrong");
    }
    if (d->want & DEC_COUNT &&
        (d->have_extra || d->loads != c->loads || d->stores != c->stores)) {
        return decoder_bad(d, "chunk.words", "counts are wrong");
    }
    if (d->want & DEC_VAL &&
        (d->vals.at != d->vals.n || d->vals.miss != d->vals.miss_end)) {
        return decoder_bad(d, "chunk.values", "data left over");
    }
    if (d->want & DEC_REG &&
        (d->reg_at != d->reg_n || d->have_reg_extra || d->regvals.at != d->regvals.n ||
         d->regvals.miss != d->regvals.miss_end)) {
        return decoder_bad(d, "chunk.regs", "counts are wrong");
    }
    return 0;
}

/* All slots of a run, the addresses of all data set right. */
static int run_slots(struct decoder *d, const struct dlocal *l, struct run *r,
                     struct ending *e, int plain)
{
    int err;
    d->data.n = 0;
    if (plain && !l->has_groups) {
        if ((d->want & DEC_MEM && l->naccess > d->addr_n - d->addr_at) ||
            (d->want & DEC_REG && l->block->nreg > d->reg_n - d->reg_at)) {
            return decoder_bad(d, "chunk.words", "slots missing");
        }
        err = slot_room(d, l->naccess, l->block->nreg);
        for (unsigned k = 0; !err && k < l->nslot; k++) {
            err = next_slot(d, l, k, r);
        }
    } else {
        if (plain) {
            /* Without GROUP words only the unconditional slots are made. */
            e->groups = e->groups_end = d->at;
            e->slots = e->limit = UINT32_MAX;
        }
        err = slow_slots(d, l, r, e);
    }
    if (err) {
        return err;
    }
    r->access = d->access;
    r->regs = d->reg;
    if (d->have_extra && d->extra.run == d->run) {
        err = merge_extras(d, r);
    }
    if (!err && d->have_reg_extra && d->reg_extra.run == d->run) {
        err = merge_regs(d, r);
    }
    if (!err && d->want & DEC_VAL) {
        struct access *a = r->access == d->merged ? d->merged : d->access;
        for (uint32_t i = 0; i < r->naccess; i++) {
            if (!(a[i].flags & ACCESS_NOVALUE)) {
                a[i].data = d->data.p + (uintptr_t)a[i].data;
            }
        }
    }
    return err;
}

int decoder_next(struct decoder *d, struct run *r)
{
    *r = (struct run){.ordinal = d->ordinal};
    if (d->want & DEC_REG) {
        int err = take_outs(d, r);
        if (err) {
            return err;
        }
    }
    if (d->at >= d->ntok) {
        return check_end(d);
    }
    uint32_t tok = d->tok[d->at++];
    struct ending e = {.resume = 0};
    if (tok >> 31) {
        /* load_tokens lets only RESUME stand here, and a block behind it */
        e.resume = CTR_RESUME_INSN(tok) + 1;
        tok = d->tok[d->at++];
    }
    const struct dlocal *l = &d->loc[tok];
    r->block = l->block;
    r->first = (uint16_t)e.resume;
    int plain = !e.resume && !(d->at < d->ntok && d->tok[d->at] >> 31);
    if (plain) {
        r->end = l->ninsn;
    } else {
        if (e.resume > l->ninsn || (e.resume && d->ordinal == 0)) {
            return decoder_bad(d, "chunk.words", "a run resumed out of place");
        }
        int err = read_ending(d, r, &e);
        if (err) {
            return err;
        }
    }
    int done = d->want == 0;
    if (d->want == DEC_COUNT) {
        done = count_run(d, l, r, &e, plain);
    }
    if (done == 0) {
        done = run_slots(d, l, r, &e, plain);
    }
    if (done < 0) {
        return done;
    }
    d->run++;
    d->ordinal += (uint64_t)(r->end - r->first);
    return 1;
}
