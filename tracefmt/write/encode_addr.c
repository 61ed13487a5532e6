/* SPDX-License-Identifier: MIT */
/*
 * The hottest loop of a recording: addresses through their predictors.
 *
 * It knows nothing of blocks. The processor cannot predict where a block ends, so
 * encode_fast has stored before which predictor each address belongs to. For the same
 * reason nothing here branches on data, except for a page that was not touched
 * recently, which is rare: whether a step was predicted becomes a byte, and the right
 * step is always stored but only kept after a miss.
 */
#include "write/encode.h"

#define ADDRS(T, PRED)                                                                   \
    do {                                                                                 \
        struct PRED *const pred = e->preds.pred;                                         \
        const volatile T *addr = (const T *)w->seg->data_end - w->unit;                  \
        T *miss = (T *)e->addrs.miss + e->addrs.nmiss;                                   \
        for (uint32_t i = 0; i < n; i++) {                                               \
            uint32_t at = batch[i];                                                      \
            T a = *--addr;                                                               \
            T step = (T)(a - pred[at].last);                                             \
            unsigned ok = step == pred[at].step;                                         \
            pred[at] = (struct PRED){a, step};                                           \
            hit[i] = (uint8_t)ok;                                                        \
            *miss = step;                                                                \
            miss += !ok;                                                                 \
            uint64_t key = PAGE_KEY(a, reach[at]);                                       \
            if (__builtin_expect(e->pages.seen[PAGE_HASH(key)] != key, 0)) {             \
                e->pages.seen[PAGE_HASH(key)] = key;                                     \
                *cand++ = key;                                                           \
            }                                                                            \
        }                                                                                \
        e->addrs.nmiss = (uint32_t)(miss - (T *)e->addrs.miss);                          \
    } while (0)

static inline __attribute__((always_inline)) void take_addrs(struct ctr_encoder *e,
                                                             struct segment_walk *w,
                                                             uint32_t n,
                                                             const unsigned addr_bytes)
{
    const uint32_t *const batch = e->addrs.batch;
    const uint16_t *const reach = e->preds.reach;
    uint8_t *const hit = e->addrs.hit + e->addrs.n;
    uint64_t *cand = e->pages.cand + e->pages.ncand;
    if (addr_bytes == 4) {
        ADDRS(uint32_t, pred32);
    } else {
        ADDRS(uint64_t, pred64);
    }
    e->pages.ncand = (uint32_t)(cand - e->pages.cand);
    e->addrs.n += n;
    w->unit += n;
}

static void take_addrs32(struct ctr_encoder *e, struct segment_walk *w, uint32_t n)
{
    take_addrs(e, w, n, 4);
}

static void take_addrs64(struct ctr_encoder *e, struct segment_walk *w, uint32_t n)
{
    take_addrs(e, w, n, 8);
}

void encode_addrs(struct ctr_encoder *e, struct segment_walk *w, uint32_t n)
{
    if (e->rec.addr_bytes == 4) {
        take_addrs32(e, w, n);
    } else {
        take_addrs64(e, w, n);
    }
}
