/* SPDX-License-Identifier: MIT */
/*
 * The hot loop of a recording: whole runs of blocks with unconditional slots.
 *
 * It makes no decision that depends on data where a store and a conditional add
 * will do: whether a prediction was right ends up as a byte in an array, and
 * what it should have been is always stored but only kept if it was wrong.
 * encode_pack turns these arrays into bitmaps and varints afterwards.
 */
#include "encode.h"

/*
 * One access on the fast path.  T is the width of an address; a, last, step
 * are all of it.  The page is a candidate for the index when the slot leaves
 * its last one (its first run, on the slow path, put that in).
 */
#define FAST_SLOTS(T, PRED)                                                              \
    do {                                                                                 \
        struct PRED *pr = (struct PRED *)pred + b->base;                                 \
        const struct ctr_slot *sl = slot + b->base;                                      \
        const T *ap = (const T *)addr;                                                   \
        T *ms = (T *)miss;                                                               \
        for (unsigned j = 0; j < ns; j++) {                                              \
            T a = *--ap;                                                                 \
            T last = pr[j].last;                                                         \
            T step = (T)(a - last);                                                      \
            unsigned ok = step == pr[j].step;                                            \
            pr[j].last = a;                                                              \
            pr[j].step = step;                                                           \
            *addr_hit++ = (uint8_t)ok;                                                   \
            *ms = step;                                                                  \
            ms += !ok;                                                                   \
            *cand = ((uint64_t)a & ~(uint64_t)((1u << PAGE_BITS) - 1)) | sl[j].store;    \
            cand += (a ^ last) >> PAGE_BITS != 0;                                        \
        }                                                                                \
        addr = ap;                                                                       \
        miss = ms;                                                                       \
    } while (0)

/* Takes whole runs from w until one needs encode_slow or `stop' is reached. */
static inline __attribute__((always_inline)) void
run_fast(struct ctr_encoder *e, struct walk *w, uint32_t stop, const unsigned addr_bytes)
{
    const uint32_t *words = w->seg->words;
    const uint32_t *map = e->map;
    const uint32_t map_cap = e->map_cap;
    const uint32_t map_base = e->map_base;
    const uint32_t nloc = e->nloc < TOK16_GROUP ? e->nloc : TOK16_GROUP;
    struct local *loc = e->loc;
    void *pred = e->pred;
    const struct ctr_slot *slot = e->slot;
    uint8_t *tok_hit = e->tok_hit + e->ntok;
    uint16_t *tok_miss = e->tok_miss + e->ntok_miss;
    uint8_t *addr_hit = e->addr_hit + e->naddr;
    void *miss = (uint8_t *)e->addr_miss + (size_t)e->naddr_miss * addr_bytes;
    uint64_t *cand = e->cand + e->ncand;
    const void *addr = (const uint8_t *)w->seg->addrs_end - (size_t)w->addr * addr_bytes;
    uint32_t left = w->seg->n_addrs - w->addr;
    uint32_t *ctx = e->ctx_loc == TOK_NONE ? &e->start.next[e->ctx_which]
                                           : &loc[e->ctx_loc].next[e->ctx_which];
    uint32_t first = w->word;
    uint32_t i = first;
    uint32_t l = 0;
    struct local *b = NULL;

    for (; i < stop; i++) {
        uint32_t word = words[i];
        if (word >= map_cap || words[i + 1] >> 31) {
            break;
        }
        uint32_t this = map[word] - map_base;
        if (this >= nloc) {
            break;
        }
        unsigned ns = loc[this].nslot;
        if (loc[this].slow || ns > left) {
            break;
        }
        l = this;
        b = &loc[l];
        unsigned hit = *ctx == l;
        *ctx = l;
        ctx = &b->next[0];
        *tok_hit++ = (uint8_t)hit;
        *tok_miss = (uint16_t)l;
        tok_miss += !hit;
        b->fast++;
        left -= ns;
        if (addr_bytes == 4) {
            FAST_SLOTS(uint32_t, pred32);
        } else {
            FAST_SLOTS(uint64_t, pred64);
        }
    }
    if (i == first) {
        return;
    }
    w->word = i;
    w->addr = w->seg->n_addrs - left;
    e->last_raw = words[i - 1];
    e->runs += i - first;
    e->ctx_loc = l;
    e->ctx_which = 0;
    e->ntok = (uint32_t)(tok_hit - e->tok_hit);
    e->ntok_miss = (uint32_t)(tok_miss - e->tok_miss);
    e->naddr = (uint32_t)(addr_hit - e->addr_hit);
    e->naddr_miss = (uint32_t)(((uint8_t *)miss - (uint8_t *)e->addr_miss) / addr_bytes);
    e->ncand = (uint32_t)(cand - e->cand);
}

void encode_fast32(struct ctr_encoder *e, struct walk *w, uint32_t stop)
{
    run_fast(e, w, stop, 4);
}

void encode_fast64(struct ctr_encoder *e, struct walk *w, uint32_t stop)
{
    run_fast(e, w, stop, 8);
}
