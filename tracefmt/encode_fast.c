/* SPDX-License-Identifier: MIT */
/*
 * The hot loops of a recording: whole runs of blocks, as nearly all are.
 *
 * They make no decision that depends on data where a store and a conditional add
 * will do: whether a prediction was right ends up as a byte in an array, and
 * what it should have been is always stored but only kept if it was wrong.
 * encode_pack turns these arrays into bitmaps and varints afterwards.
 */
#include "encode.h"

/*
 * One access of slot `at' at address a; T is the width of an address.  Whether
 * the step was foretold goes into a word of 64 bits, from above; a 1 that was
 * put in first comes out when it is full.  The page is a candidate for the
 * index when the slot leaves its last one.
 */
#define PREDICT(T, at)                                                                   \
    do {                                                                                 \
        T a = *--addr;                                                                   \
        T before = pred[at].last;                                                        \
        T step = (T)(a - before);                                                        \
        unsigned ok = step == pred[at].step;                                             \
        pred[at].last = a;                                                               \
        pred[at].step = step;                                                            \
        *miss = step;                                                                    \
        miss += !ok;                                                                     \
        uint64_t full = bits & 1;                                                        \
        bits = bits >> 1 | (uint64_t)ok << 63;                                           \
        if (full) {                                                                      \
            *hit++ = bits;                                                               \
            bits = ADDR_BITS_EMPTY;                                                      \
        }                                                                                \
        if ((a ^ before) >> PAGE_BITS) {                                                 \
            *cand++ = ((uint64_t)a & ~(uint64_t)((1u << PAGE_BITS) - 1)) | kind[at];     \
        }                                                                                \
    } while (0)

/* Everything that PREDICT uses, from the encoder and back. */
#define PREDICT_BEGIN(T, PRED)                                                           \
    struct PRED *const pred = e->pred;                                                   \
    const uint8_t *const kind = e->kind;                                                 \
    const T *addr = (const T *)w->seg->data_end - w->unit;                               \
    T *miss = (T *)e->addr_miss + e->naddr_miss;                                         \
    uint64_t *hit = e->addr_hit + e->naddr_hit;                                          \
    uint64_t bits = e->addr_bits;                                                        \
    uint64_t *cand = e->cand + e->ncand

#define PREDICT_END(T)                                                                   \
    do {                                                                                 \
        e->naddr_miss = (uint32_t)(miss - (T *)e->addr_miss);                            \
        e->naddr_hit = (uint32_t)(hit - e->addr_hit);                                    \
        e->addr_bits = bits;                                                             \
        e->ncand = (uint32_t)(cand - e->cand);                                           \
        w->unit = (uint32_t)((const T *)w->seg->data_end - addr);                        \
    } while (0)

/* The slots noted in e->pending, addresses all of them. */
static void pending32(struct ctr_encoder *e, struct walk *w)
{
    PREDICT_BEGIN(uint32_t, pred32);
    for (uint32_t i = 0; i < e->npending; i++) {
        PREDICT(uint32_t, e->pending[i]);
    }
    PREDICT_END(uint32_t);
}

static void pending64(struct ctr_encoder *e, struct walk *w)
{
    PREDICT_BEGIN(uint64_t, pred64);
    for (uint32_t i = 0; i < e->npending; i++) {
        PREDICT(uint64_t, e->pending[i]);
    }
    PREDICT_END(uint64_t);
}

void encode_pending(struct ctr_encoder *e, struct walk *w)
{
    uint32_t stores = 0, regs = 0;
    for (uint32_t i = 0; i < e->npending; i++) {
        stores += e->kind[e->pending[i]];
        regs += e->slot[e->pending[i]].reg;
    }
    e->stores += stores;
    e->nregs += regs;
    e->loads += e->npending - stores - regs;
    if (e->data) {
        encode_data_pending(e, w);
    } else if (e->addr_bytes == 4) {
        pending32(e, w);
    } else {
        pending64(e, w);
    }
}

/*
 * Can run_groups take these GROUP words, with so much data left, if a slot takes
 * `most' units?
 */
static int groups_ok(const uint32_t *words, uint32_t at, uint32_t end,
                     const struct dict_entry *d, unsigned most, uint32_t left)
{
    uint64_t need = d->def.nslot;
    for (; at < end; at++) {
        uint32_t group = CTR_GROUP_OF(words[at]);
        if (group == 0 || group > d->def.ngroup || group > TOK16_GROUP_MAX ||
            words[at] != (CTR_WORD_GROUP | group)) {
            return 0;
        }
        if (d->group_first[group] == d->def.nslot) {
            return 0;
        }
        need += (uint64_t)(d->group_end[group] - d->group_first[group]);
    }
    return need * most <= left;
}

/*
 * A whole run of a block with groups.  words[at] is the first word behind its
 * id; returns the first behind its GROUP words, or 0, with nothing changed, if
 * encode_slow must look at it.
 */
static uint32_t run_groups(struct ctr_encoder *e, struct walk *w, struct fast *f,
                           uint32_t at, uint32_t stop, uint32_t l)
{
    const uint32_t *words = w->seg->words;
    const struct dict_entry *d = e->def[l];
    struct local *b = &e->loc[l];
    const struct ctr_slot *slot = e->slot + b->base;
    uint32_t *out = e->pending;
    uint32_t next = 0;
    uint32_t end = at;
    while (end < stop && CTR_WORD_KIND(words[end]) == CTR_WORD_GROUP) {
        end++;
    }
    if (words[end] >> 31 || !groups_ok(words, at, end, d, b->units, w->have - w->unit)) {
        return 0;
    }
    unsigned hit = *f->ctx == l;
    *f->ctx = l;
    f->ctx = &b->next[0];
    *f->tok_hit++ = (uint8_t)hit;
    e->tok_miss[f->miss] = (uint16_t)l;
    e->follow[f->miss] = f->follow;
    f->miss += !hit;
    f->follow = (struct follow){end > at ? TOK_NONE : l, b->fast};
    for (; at < end; at++) {
        uint32_t word = words[at];
        uint32_t group = CTR_GROUP_OF(word);
        for (; next < d->group_first[group]; next++) {
            *out = b->base + next;
            out += slot_group(&slot[next]) == 0;
        }
        for (uint32_t k = d->group_first[group]; k < d->group_end[group]; k++) {
            *out = b->base + k;
            out += slot_group(&slot[k]) == group;
        }
        hit = *f->ctx == word;
        *f->ctx = word;
        f->ctx = &b->next[1];
        *f->tok_hit++ = (uint8_t)hit;
        e->tok_miss[f->miss] = (uint16_t)(TOK16_GROUP + group);
        e->follow[f->miss] = (struct follow){TOK_NONE, 0};
        f->miss += !hit;
    }
    for (; next < b->nslot; next++) {
        *out = b->base + next;
        out += slot_group(&slot[next]) == 0;
    }
    e->npending = (uint32_t)(out - e->pending);
    encode_pending(e, w);
    e->npending = 0;
    return end;
}

/*
 * Whole runs of blocks without groups, from w->word on.  Returns how many;
 * *last is the local number of the last one.
 */
#define FAST(T, PRED)                                                                    \
    do {                                                                                 \
        PREDICT_BEGIN(T, PRED);                                                          \
        uint32_t left = w->have - w->unit;                                               \
        for (; i < stop; i++) {                                                          \
            uint32_t word = words[i];                                                    \
            if (word >= map_cap || words[i + 1] >> 31) {                                 \
                break;                                                                   \
            }                                                                            \
            uint32_t this = map[word] - map_base;                                        \
            if (this >= nloc) {                                                          \
                break;                                                                   \
            }                                                                            \
            struct local *b = &loc[this];                                                \
            uint32_t at = b->base;                                                       \
            uint32_t ns = b->nslot;                                                      \
            if (b->groups || ns > left) {                                                \
                break;                                                                   \
            }                                                                            \
            l = this;                                                                    \
            unsigned same = *ctx == l;                                                   \
            *ctx = l;                                                                    \
            ctx = &b->next[0];                                                           \
            *tok_hit++ = (uint8_t)same;                                                  \
            tok_miss[miss_at] = (uint16_t)l;                                             \
            follow[miss_at] = from;                                                      \
            miss_at += !same;                                                            \
            from = (struct follow){l, b->fast};                                          \
            b->fast = from.since + 1;                                                    \
            insns += b->ninsn;                                                           \
            left -= ns;                                                                  \
            for (uint32_t end = at + ns; at < end; at++) {                               \
                PREDICT(T, at);                                                          \
            }                                                                            \
        }                                                                                \
        PREDICT_END(T);                                                                  \
    } while (0)

static inline __attribute__((always_inline)) uint32_t
run_plain(struct ctr_encoder *e, struct walk *w, struct fast *f, uint32_t stop,
          uint32_t *last, const unsigned addr_bytes)
{
    const uint32_t *words = w->seg->words;
    const uint32_t *map = e->map;
    const uint32_t map_cap = e->map_cap;
    const uint32_t map_base = e->map_base;
    const uint32_t nloc = e->nloc < TOK16_GROUP ? e->nloc : TOK16_GROUP;
    struct local *loc = e->loc;
    uint8_t *tok_hit = f->tok_hit;
    uint16_t *const tok_miss = e->tok_miss;
    struct follow *const follow = e->follow;
    struct follow from = f->follow;
    uint32_t miss_at = f->miss;
    uint32_t *ctx = f->ctx;
    uint32_t i = w->word;
    uint32_t l = *last;
    uint64_t insns = 0;
    if (addr_bytes == 4) {
        FAST(uint32_t, pred32);
    } else {
        FAST(uint64_t, pred64);
    }
    uint32_t n = i - w->word;
    f->tok_hit = tok_hit;
    f->miss = miss_at;
    f->follow = from;
    f->ctx = ctx;
    e->insns += insns;
    w->word = i;
    *last = l;
    return n;
}

static uint32_t run_plain32(struct ctr_encoder *e, struct walk *w, struct fast *f,
                            uint32_t stop, uint32_t *last)
{
    return run_plain(e, w, f, stop, last, 4);
}

static uint32_t run_plain64(struct ctr_encoder *e, struct walk *w, struct fast *f,
                            uint32_t stop, uint32_t *last)
{
    return run_plain(e, w, f, stop, last, 8);
}

void encode_fast(struct ctr_encoder *e, struct walk *w, uint32_t stop)
{
    const uint32_t *words = w->seg->words;
    struct fast f = {
        .tok_hit = e->tok_hit + e->ntok,
        .miss = e->ntok_miss,
        .ctx = e->ctx_loc == TOK_NONE ? &e->start.next[e->ctx_which]
                                      : &e->loc[e->ctx_loc].next[e->ctx_which],
        .follow = {e->ctx_which ? TOK_NONE : e->ctx_loc, e->ctx_since},
    };
    uint32_t last = TOK_NONE; /* local number of the last block */
    for (;;) {
        uint32_t first = w->word;
        e->runs += e->data              ? encode_data_runs(e, w, &f, stop, &last)
                   : e->addr_bytes == 4 ? run_plain32(e, w, &f, stop, &last)
                                        : run_plain64(e, w, &f, stop, &last);
        if (w->word > first) {
            encode_next(e, e->map[words[first]] - e->map_base);
            e->ahead.last = last;
            e->ahead.first = 0;
            e->ahead.counted = 1;
        }
        /* What stopped it may be a whole run of a block with groups. */
        uint32_t i = w->word;
        if (i >= stop || words[i] >= e->map_cap) {
            break;
        }
        uint32_t l = e->map[words[i]] - e->map_base;
        if (l >= e->nloc || l >= TOK16_GROUP || !e->loc[l].groups) {
            break;
        }
        uint32_t end = run_groups(e, w, &f, i + 1, stop, l);
        if (end == 0) {
            break;
        }
        encode_next(e, l);
        e->ahead.last = l;
        e->ahead.first = 0;
        e->ahead.counted = 0;
        e->loc[l].full++;
        e->insns += e->loc[l].ninsn;
        e->runs++;
        last = l;
        w->word = end;
    }
    if (last == TOK_NONE) {
        return;
    }
    e->ctx_loc = last;
    e->ctx_since = f.follow.since;
    e->ctx_which = f.ctx == &e->loc[last].next[1];
    e->last_raw = e->raw_of[last];
    e->ntok = (uint32_t)(f.tok_hit - e->tok_hit);
    e->ntok_miss = f.miss;
}
