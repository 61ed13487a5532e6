/* SPDX-License-Identifier: MIT */
/*
 * Stores that touch some bytes (decode/touch.h): the same as those among all accesses of the
 * chunk, whatever its blocks, steps, groups, faults and derived addresses.
 */
#include "support.h"

#include <stdlib.h>
#include "cannoli/events.h"
#include "decode/feed.h"
#include "decode/touch.h"

struct store {
    uint64_t ordinal, addr;
    uint32_t size;
};

/* The stores of a chunk. */
struct list {
    struct store *v;
    size_t n, cap;
};

/* What is reported: its number, and a sum that does not depend on the order. */
struct seen {
    uint64_t n, sum;
};

static void see(void *arg, uint64_t ordinal, uint32_t begin, uint32_t end)
{
    struct seen *s = arg;
    uint64_t x = ordinal * 0x9e3779b97f4a7c15ull ^ (uint64_t)begin << 32 ^ end;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
    s->n++;
    s->sum += x ^ x >> 32;
}

static void list_stores(struct decoder *d, struct list *out)
{
    struct run r;
    int ret;
    out->n = 0;
    while ((ret = decoder_next(d, &r)) == 1) {
        for (uint32_t i = 0; i < r.naccess; i++) {
            const struct ctr_access *a = &r.access[i];
            if (!a->store) {
                continue;
            }
            if (out->n == out->cap) {
                out->cap = 2 * out->cap + 64;
                out->v = realloc(out->v, out->cap * sizeof(out->v[0]));
                assert_non_null(out->v);
            }
            out->v[out->n++] =
                (struct store){r.ordinal + a->insn - r.first, a->addr, a->size};
        }
    }
    assert_int_equal(ret, 0);
}

static struct seen expected(const struct list *all, const struct touches *t)
{
    struct seen s = {0, 0};
    for (size_t i = 0; i < all->n; i++) {
        const struct store *a = &all->v[i];
        const uint64_t last =
            a->addr + (a->size - 1) < a->addr ? UINT64_MAX : a->addr + (a->size - 1);
        const uint64_t end = t->addr + (t->size - 1);
        if (a->ordinal >= t->lo && a->ordinal < t->hi && a->addr <= end &&
            last >= t->addr) {
            const uint64_t from = a->addr > t->addr ? a->addr : t->addr;
            const uint64_t to = last < end ? last : end;
            see(&s, a->ordinal, (uint32_t)(from - t->addr), (uint32_t)(to - t->addr + 1));
        }
    }
    return s;
}

struct reader {
    struct sim *rng;
    struct ctr_trace *tr;
    struct feed feed;
    struct raw_chunk raw;
    struct decoder dec;
    struct touches touches;
    struct list all;
    uint64_t found;
};

static void begin(struct reader *r)
{
    assert_int_equal(decoder_begin(&r->dec, r->tr, &r->raw, DEC_MEM, NULL), 0);
}

/* Bytes at or near a store, and instructions of the chunk. */
static void choose(struct reader *r, const struct ctr_chunk *c)
{
    static const uint32_t sizes[] = {1, 8, 64, 4096, 65536};
    struct touches *t = &r->touches;
    const struct store *near =
        &r->all.v[sim_random(r->rng, (uint32_t)(r->all.n ? r->all.n : 1))];
    t->size = sizes[sim_random(r->rng, 5)];
    t->addr = r->all.n ? near->addr - sim_random(r->rng, 2 * t->size) : 0x1000;
    t->addr = t->addr + (t->size - 1) < t->addr ? 0 : t->addr;
    t->lo = 0;
    t->hi = UINT64_MAX;
    if (sim_random(r->rng, 2)) {
        t->lo = c->first + sim_random(r->rng, (uint32_t)c->insns + 1);
        t->hi = t->lo + sim_random(r->rng, (uint32_t)c->insns + 1);
    }
}

static void check_chunk(struct reader *r, uint64_t i)
{
    struct chunk_row row;
    assert_int_equal(chunktab_get(r->tr->chunks, i, &row, NULL), 0);
    if (!row.pub.runs) {
        return;
    }
    assert_int_equal(feed_read(&r->feed, &row.pub, &r->raw, NULL), 0);
    begin(r);
    list_stores(&r->dec, &r->all);
    for (unsigned k = 0; k < 40; k++) {
        struct seen got = {0, 0};
        choose(r, &row.pub);
        const struct seen want = expected(&r->all, &r->touches);
        r->touches.fn = see;
        r->touches.arg = &got;
        begin(r);
        assert_int_equal(decoder_touches(&r->dec, &r->touches), 0);
        assert_int_equal(got.n, want.n);
        assert_int_equal(got.sum, want.sum);
        r->found += got.n;
    }
}

static void check_trace(uint64_t seed, unsigned addr_bytes, unsigned features)
{
    struct recording rec;
    recording_make(&rec, seed, 2, 3000, 40, addr_bytes, CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
                   features, 20, 1);
    struct reader r = {.rng = &rec.sim, .tr = open_bytes(rec.file, rec.bytes, 0)};
    assert_int_equal(feed_init(&r.feed, r.tr, NULL, NULL), 0);
    r.feed.want = DEC_MEM;
    assert_int_equal(decoder_init(&r.dec), 0);
    for (uint64_t i = 0; i < r.tr->nchunks; i++) {
        check_chunk(&r, i);
    }
    assert_true(r.found > 1000);
    free(r.all.v);
    touches_fini(&r.touches);
    decoder_fini(&r.dec);
    buf_free(&r.raw.payload);
    feed_fini(&r.feed);
    ctr_close(r.tr);
    recording_free(&rec);
}

static void test_touches(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 6; seed++) {
        const unsigned addr_bytes = seed % 2 ? 4 : 8;
        check_trace(seed, addr_bytes, 0);
        check_trace(seed + 10, addr_bytes, SIM_DERIVED);
        check_trace(seed + 20, addr_bytes, SIM_DERIVED | SIM_CONSTANT);
        check_trace(seed + 30, addr_bytes, SIM_ALL);
        check_trace(seed + 40, addr_bytes, SIM_ALL | SIM_TINY | SIM_SYSTEM);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_touches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
