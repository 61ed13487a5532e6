/* SPDX-License-Identifier: MIT */
/*
 * Stores to some bytes; see touch.h.
 *
 * As long as its steps are predicted, the address of an access is linear in the number of runs of
 * its block.  So for each block the number of the run is known before which none of its stores
 * can touch the bytes: until then a run is only counted, and its bits of misses are tested.
 * Addresses are computed where a step was not predicted, in a run that may touch the bytes, and
 * before runs with markers, which decoder_next decodes.
 */
#include "decode/touch.h"

#include "decode/decode_fast.h"

#define NEVER UINT32_MAX
#define FAR (1u << 30) /* more runs than a chunk has */

struct touch_block {
    uint64_t watched; /* bits of the first DECODER_HITS of own that are watched */
    uint32_t count;   /* runs without markers so far */
    uint32_t next;    /* the first one in which a store may touch the bytes */
    uint16_t nown;
    uint16_t ninsn;
    uint8_t always; /* `next' cannot be computed: each run is looked at */
};

/* An access with an address of its own: the bytes that it, and accesses derived from it, store,
 * as offsets from its address; none, if both are 0. */
struct touch_access {
    int32_t low, high;
    uint32_t at; /* its address is that after so many runs */
};

static int is_watched(const struct touch_access *w)
{
    return w->low != w->high;
}

static int touches(const struct touches *t, uint64_t addr, uint32_t size)
{
    return addr > t->addr ? addr - t->addr < t->size : t->addr - addr < size;
}

/* Reports a store if it touches the bytes. */
static void report(const struct touches *t, uint64_t ordinal, const struct ctr_access *a)
{
    if (!a->store || !touches(t, a->addr, a->size) || ordinal < t->lo ||
        ordinal >= t->hi) {
        return;
    }
    const uint64_t begin = a->addr > t->addr ? a->addr - t->addr : 0;
    const uint64_t skip = a->addr < t->addr ? t->addr - a->addr : 0;
    const uint64_t end = begin + (a->size - skip);
    t->fn(t->arg, ordinal, (uint32_t)begin, end < t->size ? (uint32_t)end : t->size);
}

/* ------------------------------------------------------------------------ begin */

static void widen(struct touch_access *w, int64_t low, uint32_t size)
{
    const int64_t high = low + size;
    const int first = !is_watched(w);
    w->low = first || low < w->low ? (int32_t)low : w->low;
    w->high = first || high > w->high ? (int32_t)high : w->high;
}

/* Whether the address of a derived access is its root's plus something, modulo 2^A. */
static int is_offset(const struct decoder *d, const struct derived_access *v)
{
    return v->root != CTR_DERIVE_CONST &&
           v->bits >= (d->addr_mask == UINT32_MAX ? 32 : 64);
}

static void watch_block(struct decoder *d, struct touches *t, uint32_t i)
{
    const struct dlocal *l = &d->loc[i];
    const struct ctr_access *a = d->slot + l->access;
    const struct derived_access *v = block_derived(l->block);
    struct touch_access *w = t->access + l->access;
    struct touch_block *b = &t->block[i];
    const uint16_t *own = block_own(l->block);
    *b = (struct touch_block){.nown = l->nown, .ninsn = l->ninsn, .next = NEVER};
    for (unsigned k = 0; k < l->nown; k++) {
        w[own[k]] = (struct touch_access){0};
        if (a[own[k]].store) {
            widen(&w[own[k]], 0, a[own[k]].size);
            b->next = 1;
        }
    }
    for (unsigned k = 0; k < l->nderived; k++) {
        const struct ctr_access *of = &a[v[k].at];
        if (!of->store || (v[k].root == CTR_DERIVE_CONST &&
                           !touches(t, derived_addr(&v[k], a, d->addr_mask), of->size))) {
            continue;
        }
        b->next = 1;
        b->always |= !is_offset(d, &v[k]);
        if (v[k].root != CTR_DERIVE_CONST) { /* its address must be known, in any case */
            widen(&w[v[k].root], b->always ? 0 : v[k].delta, of->size);
        }
    }
    for (unsigned k = 0; k < l->nown && k < DECODER_HITS; k++) {
        b->watched |= (uint64_t)is_watched(&w[own[k]]) << k;
    }
}

static int watch(struct decoder *d, struct touches *t)
{
    const size_t n =
        d->nloc ? (size_t)d->loc[d->nloc - 1].access + d->loc[d->nloc - 1].block->naccess
                : 0;
    int err =
        decoder_room(d, &t->block, &t->block_cap, d->nloc + 1u, sizeof(t->block[0]));
    err = err ? err
              : decoder_room(d, &t->access, &t->access_cap, n + 1, sizeof(t->access[0]));
    for (uint32_t i = 0; !err && i < d->nloc; i++) {
        watch_block(d, t, i);
    }
    return err;
}

/* ------------------------------------------------------------------------- runs */

/*
 * After how many more runs an access may touch the bytes, 0: now.  A lower limit, within a factor
 * of two, since that takes no division.
 */
static uint32_t runs_until(const struct decoder *d, const struct touches *t,
                           const struct touch_access *w, uint64_t addr, uint64_t step)
{
    /* Its address is among these when it touches the bytes. */
    const uint64_t from = t->addr - (uint64_t)((int64_t)w->high - 1);
    const uint64_t n = t->size + (uint64_t)((int64_t)w->high - 1 - w->low);
    const uint64_t mask = d->addr_mask, in = (addr - from) & mask;
    const int up = (step & mask) <= mask >> 1;
    const uint64_t width = (up ? step : -step) & mask;
    const uint64_t distance = up ? -in & mask : in - (n - 1);
    uint64_t runs;
    if (in < n) {
        return 0;
    }
    if (!width) {
        return FAR;
    }
    runs = distance >> (63 - __builtin_clzll(width)) >> 1;
    return runs > FAR ? FAR : runs ? (uint32_t)runs : 1;
}

static void expect(struct touch_block *b, uint32_t run)
{
    b->next = run < b->next ? run : b->next;
}

/* The address of an access after so many runs. */
static inline uint64_t advance(const struct decoder *d, struct touch_access *w,
                               struct ctr_access *a, uint64_t step, uint32_t runs)
{
    a->addr = (a->addr + (uint64_t)(runs - w->at) * step) & d->addr_mask;
    w->at = runs;
    return a->addr;
}

/* The steps of a run, number b->count of its block, that were not predicted; only what is stored
 * counts. */
static int take_misses(struct decoder *d, const struct touches *t, struct touch_block *b,
                       const struct dlocal *l, uint32_t at)
{
    const uint16_t *own = block_own(l->block);
    struct touch_access *access = t->access + l->access;
    uint64_t *step = d->step + l->access;
    for (unsigned from = 0; from < b->nown; from += DECODER_HITS) {
        unsigned some = b->nown - from < DECODER_HITS ? b->nown - from : DECODER_HITS;
        uint64_t miss = decoder_miss_bits(d, at + from, some);
        int err;
        miss &= from ? UINT64_MAX : b->watched;
        err = miss ? decoder_steps(d, at + from + some) : 0;
        if (err) {
            return err;
        }
        for (; miss; miss &= miss - 1) {
            const unsigned i = from + (unsigned)__builtin_ctzll(miss), k = own[i];
            struct touch_access *w = &access[k];
            const uint64_t new = decoder_step(d, at + i);
            uint64_t now;
            if (from && !is_watched(w)) {
                continue;
            }
            now = advance(d, w, &d->slot[l->access + k], step[k], b->count - 1) + new;
            step[k] = new;
            if (b->next > b->count) {
                expect(b, b->count + runs_until(d, t, w, now & d->addr_mask, new));
            }
        }
    }
    return 0;
}

/* Addresses of a run, and when to look at the block again. */
static void look(struct decoder *d, const struct touches *t, struct touch_block *b,
                 const struct dlocal *l, uint64_t ordinal)
{
    struct ctr_access *a = d->slot + l->access;
    const struct derived_access *v = block_derived(l->block);
    const uint16_t *own = block_own(l->block);
    const uint64_t *step = d->step + l->access;
    b->next = NEVER;
    for (unsigned i = 0; i < b->nown; i++) {
        const unsigned k = own[i];
        struct touch_access *w = &t->access[l->access + k];
        if (is_watched(w)) {
            const uint64_t now = advance(d, w, &a[k], step[k], b->count);
            const uint32_t runs = runs_until(d, t, w, now, step[k]);
            expect(b, b->count + runs + !runs);
            report(t, ordinal + a[k].insn, &a[k]);
        }
    }
    for (unsigned i = 0; i < l->nderived; i++) {
        struct ctr_access *of = &a[v[i].at];
        if (of->store) {
            of->addr = derived_addr(&v[i], a, d->addr_mask);
            report(t, ordinal + of->insn, of);
        }
    }
    if (b->always) {
        b->next = b->count + 1;
    }
}

/* The runs without markers and extra accesses that come next.  What changes in each is kept in
 * registers of the processor. */
static int plain_runs(struct decoder *d, const struct touches *t)
{
    const uint32_t *tok = d->tok + d->at, *const end = d->tok + d->ntok;
    const uint64_t runs = d->have_extra ? d->extra.run - d->run : UINT64_MAX;
    const uint32_t *const stop = (uint64_t)(end - tok) > runs ? tok + (size_t)runs : end;
    struct touch_block *const block = t->block;
    const uint64_t hi = t->hi;
    const uint32_t addrs = d->addr_n;
    uint64_t ordinal = d->ordinal;
    uint32_t at = d->addr_at;
    int err = 0;
    for (; tok < stop && ordinal < hi && ((tok[0] | tok[1]) >> 31) == 0; tok++) {
        struct touch_block *b = &block[*tok];
        const unsigned n = b->nown;
        if (n > addrs - at) {
            err = decoder_bad(d, "chunk.words", "slots missing");
            break;
        }
        b->count++;
        if (decoder_miss_bits(d, at, n < DECODER_HITS ? n : DECODER_HITS) & b->watched ||
            n > DECODER_HITS) {
            err = take_misses(d, t, b, &d->loc[*tok], at);
            if (err) {
                break;
            }
        }
        if (b->count >= b->next) {
            look(d, t, b, &d->loc[*tok], ordinal);
        }
        at += n;
        ordinal += b->ninsn;
    }
    d->run += (uint64_t)(tok - (d->tok + d->at));
    d->at = (uint32_t)(tok - d->tok);
    d->addr_at = at;
    d->ordinal = ordinal;
    return err;
}

/* Any run.  Returns as decoder_next. */
static int other_run(struct decoder *d, const struct touches *t)
{
    struct run r;
    if (d->at < d->ntok) {
        const uint32_t tok = d->tok[d->at] >> 31 ? d->tok[d->at + 1] : d->tok[d->at];
        const struct dlocal *l = &d->loc[tok];
        const uint16_t *own = block_own(l->block);
        struct touch_block *b = &t->block[tok];
        for (unsigned i = 0; i < b->nown; i++) {
            const size_t k = l->access + (size_t)own[i];
            if (is_watched(&t->access[k])) {
                advance(d, &t->access[k], &d->slot[k], d->step[k], b->count);
            }
        }
        expect(b, b->next == NEVER ? NEVER : b->count + 1);
    }
    int ret = decoder_next(d, &r);
    for (uint32_t i = 0; ret == 1 && i < r.naccess; i++) {
        report(t, r.ordinal + r.access[i].insn - r.first, &r.access[i]);
    }
    return ret;
}

int decoder_touches(struct decoder *d, struct touches *t)
{
    int ret = watch(d, t);
    ret = ret ? ret : 1;
    while (ret == 1 && decoder_before(d, t->hi)) {
        ret = plain_runs(d, t);
        for (uint32_t i = 0; !ret && d->at >= d->ntok && i < d->nloc; i++) {
            /* what is checked at the end */
            d->loads += (uint64_t)t->block[i].count * d->loc[i].loads;
            d->stores += (uint64_t)t->block[i].count * d->loc[i].stores;
        }
        ret = ret || !decoder_before(d, t->hi) ? ret : other_run(d, t);
    }
    return ret < 0 ? ret : 0;
}

void touches_fini(struct touches *t)
{
    free(t->block);
    free(t->access);
    *t = (struct touches){0};
}
