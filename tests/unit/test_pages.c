/* SPDX-License-Identifier: MIT */
/*
 * The pages of the index, compared with the chunks.  The index is decoded from the bytes
 * of the file by FORMAT.md; the contents of the chunks come from a replay.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zstd.h>
#include "cannoli/events.h"
#include "base/format.h"
#include "base/le.h"

#define MAX_CHUNKS 512u

/* Pages in ascending order, each once. */
struct pages {
    uint64_t *v;
    size_t n, cap;
    int any;
};

struct touched {
    struct pages of[MAX_CHUNKS][2]; /* [chunk][store] */
    unsigned chunks;
};

static void pages_add(struct pages *p, uint64_t page)
{
    if (p->n && p->v[p->n - 1] == page) {
        return;
    }
    if (p->n == p->cap) {
        p->cap = 2 * p->cap + 64;
        p->v = realloc(p->v, p->cap * sizeof(p->v[0]));
        assert_non_null(p->v);
    }
    p->v[p->n++] = page;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void pages_sort(struct pages *p)
{
    size_t n = 0;
    if (p->n) {
        qsort(p->v, p->n, sizeof(p->v[0]), ascending);
    }
    for (size_t i = 0; i < p->n; i++) {
        if (n == 0 || p->v[n - 1] != p->v[i]) {
            p->v[n++] = p->v[i];
        }
    }
    p->n = n;
}

static int pages_have(const struct pages *p, uint64_t page)
{
    return p->n && bsearch(&page, p->v, p->n, sizeof(p->v[0]), ascending) != NULL;
}

static void touched_free(struct touched *t)
{
    for (unsigned i = 0; i < MAX_CHUNKS; i++) {
        free(t->of[i][0].v);
        free(t->of[i][1].v);
    }
    free(t);
}

/* ------------------------------------------------------------------- replay */

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct touched *t = arg;
    uint64_t chunk = ctr_job_chunk(job)->index;
    uint64_t last = m->addr + (m->size - 1);
    assert_true(chunk < MAX_CHUNKS);
    last = last < m->addr ? UINT64_MAX : last;
    /* of an inline access only the page of its first byte */
    last = m->helper ? last : m->addr;
    for (uint64_t page = m->addr >> PAGE_BITS; page <= last >> PAGE_BITS; page++) {
        pages_add(&t->of[chunk][m->store], page);
    }
    return 0;
}

static struct touched *replayed(const struct recording *r)
{
    static const struct ctr_replay_ops ops = {.mem = on_mem};
    const struct ctr_replay_opts opts = {.workers = 1};
    struct touched *t = calloc(1, sizeof(*t));
    struct ctr_trace *tr = open_bytes(r->file, r->bytes, CTR_OPEN_NO_INDEX);
    struct ctr_info info;
    assert_non_null(t);
    ctr_trace_info(tr, &info);
    assert_true(info.chunks <= MAX_CHUNKS);
    t->chunks = (unsigned)info.chunks;
    assert_int_equal(ctr_replay(tr, &ops, t, &opts, NULL), 0);
    ctr_close(tr);
    for (unsigned i = 0; i < t->chunks; i++) {
        pages_sort(&t->of[i][0]);
        pages_sort(&t->of[i][1]);
    }
    return t;
}

/* -------------------------------------------------------------------- index */

static uint64_t varint(const uint8_t **p, const uint8_t *end)
{
    uint64_t v = 0;
    if (get_varint(p, end, &v)) {
        fail_msg("a varint is missing in the index");
    }
    return v;
}

/* Decodes a PART's chunks from the frame of its pages. */
static void read_part(struct touched *t, const uint8_t *body, const uint8_t *z, size_t n,
                      int keyframes)
{
    size_t raw = (size_t)ZSTD_getFrameContentSize(z, n);
    uint8_t *column = malloc(raw + 1);
    assert_non_null(column);
    assert_int_equal(ZSTD_decompress(column, raw, z, n), raw);
    const uint8_t *p = column, *end = column + raw;
    for (uint32_t k = 0; k < le32(body + PART_COUNT); k++, t->chunks++) {
        assert_int_equal(le64(body + PART_FIRST) + k, t->chunks);
        assert_true(t->chunks < MAX_CHUNKS);
        for (unsigned store = 0; store < 2; store++) {
            struct pages *s = &t->of[t->chunks][store];
            uint64_t count = varint(&p, end), page = 0;
            s->any = count == 0;
            for (; count > 1; count--) {
                uint64_t delta = varint(&p, end);
                assert_true(s->n == 0 || delta > 0);
                page += delta;
                pages_add(s, page);
            }
        }
        if (keyframes) { /* the simulation makes none */
            assert_int_equal(varint(&p, end), 1);
        }
    }
    assert_ptr_equal(p, end);
    free(column);
}

static struct touched *indexed(const struct recording *r)
{
    struct touched *t = calloc(1, sizeof(*t));
    const uint8_t *p = r->file + FILE_HEAD, *end = r->file + r->bytes;
    assert_non_null(t);
    while (p < end) {
        const uint8_t *payload = p + FRAME_HEAD + le32(p + 4);
        if (le32(p) != FRAME_OURS) {
            p = payload;
            continue;
        }
        const unsigned frames = le16(p + SECT_OFF_NFRAMES);
        const uint8_t *frame[SECT_MAX_FRAMES + 1] = {payload};
        for (unsigned i = 0; i < frames; i++) {
            frame[i + 1] = frame[i] + le32(p + SECT_OFF_FRAMES + i * SECT_FRAME);
        }
        if (le16(p + SECT_OFF_TYPE) == SECT_PART) {
            read_part(t, p + SECT_OFF_FRAMES + frames * SECT_FRAME, frame[2],
                      (size_t)(frame[3] - frame[2]),
                      le32(r->file + FILE_OFF_INCOMPAT) & FILE_INCOMPAT_KEY);
        }
        p = frame[frames];
    }
    return t;
}

/* ------------------------------------------------------------------ compare */

/*
 * May the index list this page because of accesses whose addresses are derived from
 * others?  Those are listed by their root's page with its neighbours, each also cut to
 * the number of bits that the definition gives.
 */
static int follows(const struct pages *reads, const struct pages *writes, uint64_t page,
                   uint64_t mask)
{
    for (unsigned k = 0; k < 2; k++) {
        const struct pages *p = k ? writes : reads;
        for (size_t i = 0; i < p->n; i++) {
            for (int by = -1; by <= 1; by++) {
                uint64_t near = (p->v[i] + (uint64_t)by) & mask;
                for (unsigned bits = 1; bits <= 64; bits++) {
                    unsigned up = 64 - bits;
                    uint64_t a = near << PAGE_BITS << up;
                    if (a >> up >> PAGE_BITS == page ||
                        (((uint64_t)((int64_t)a >> up)) >> PAGE_BITS & mask) == page) {
                        return 1;
                    }
                }
            }
        }
    }
    return 0;
}

static void compare(const struct recording *r, uint64_t seed)
{
    const int derived =
        r->sim.features & SIM_DERIVED && !(r->sim.features & SIM_CONSTANT);
    const uint64_t mask = (r->sim.addr_bytes == 4 ? UINT32_MAX : UINT64_MAX) >> PAGE_BITS;
    struct touched *want = replayed(r), *got = indexed(r);
    assert_int_equal(got->chunks, want->chunks);
    for (unsigned i = 0; i < want->chunks; i++) {
        for (unsigned store = 0; store < 2; store++) {
            const struct pages *w = &want->of[i][store], *g = &got->of[i][store];
            if (g->any) {
                if (!derived && w->n <= MAX_PAGES) {
                    fail_msg("seed %u, chunk %u: any page", (unsigned)seed, i);
                }
                continue;
            }
            for (size_t k = 0; k < w->n; k++) {
                if (!pages_have(g, w->v[k])) {
                    fail_msg("seed %u, chunk %u, %s: page 0x%llx is missing",
                             (unsigned)seed, i, store ? "store" : "load",
                             (unsigned long long)w->v[k]);
                }
            }
            for (size_t k = 0; k < g->n; k++) {
                if (!pages_have(w, g->v[k]) &&
                    !(derived &&
                      follows(&want->of[i][0], &want->of[i][1], g->v[k], mask))) {
                    fail_msg("seed %u, chunk %u, %s: nothing accesses page 0x%llx",
                             (unsigned)seed, i, store ? "store" : "load",
                             (unsigned long long)g->v[k]);
                }
            }
        }
    }
    touched_free(want);
    touched_free(got);
}

static void test_pages(void **state)
{
    static const unsigned events[] = {
        CTR_EVENTS_EXEC | CTR_EVENTS_MEM,
        CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_VAL,
        CTR_EVENTS_EXEC | CTR_EVENTS_MEM | CTR_EVENTS_REG,
        SIM_EVENTS,
        CTR_EVENTS_EXEC,
        CTR_EVENTS_EXEC | CTR_EVENTS_REG,
    };
    static const unsigned features[] = {
        SIM_ALL & ~SIM_DERIVED,
        SIM_ALL | SIM_CONSTANT,
        SIM_ALL | SIM_CONSTANT | SIM_PART | SIM_SYSTEM,
        SIM_ALL,
        SIM_ALL | SIM_PART | SIM_SYSTEM | SIM_TINY,
        SIM_DERIVED | SIM_CONSTANT, /* whole runs only */
    };
    const unsigned nevents = sizeof(events) / sizeof(events[0]);
    const unsigned nfeatures = sizeof(features) / sizeof(features[0]);
    (void)state;
    for (uint64_t seed = 0; seed < 6 * nevents * nfeatures; seed++) {
        struct recording r;
        recording_make(
            &r, seed + 1, 2, 120, 30, seed & 1 ? 4 : 8, events[seed / 2 % nevents],
            features[seed / 2 / nevents % nfeatures], 1 + (unsigned)(seed % 3), 1);
        compare(&r, seed);
        recording_free(&r);
    }
}

/* ------------------------------------------------------------------- reading */

/* Chunks read to find the accesses of page 0; *found: how many accessed it. */
static uint64_t read_for_page_0(const struct recording *r, unsigned *found)
{
    static const struct ctr_range null = {1, 2, 0};
    const struct ctr_filter filter = {.naddr = 1, .addrs = &null};
    struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    struct ctr_trace *tr = open_bytes(r->file, r->bytes, 0);
    struct ctr_work before, after;
    struct events ev;
    ctr_trace_work(tr, &before);
    assert_int_equal(read_events(tr, &opts, &ev, NULL), 0);
    ctr_trace_work(tr, &after);
    ctr_close(tr);
    *found = 0;
    for (size_t i = 0; i < ev.n; i++) {
        *found += ev.e[i].e.mem;
    }
    events_free(&ev);
    return after.chunks - before.chunks;
}

/*
 * Page 0 is as any other one: chunks that do not touch it are not read.  If a file's
 * header does not say so, the page may be missing, and all chunks are read.
 */
static void test_page_0(void **state)
{
    struct recording r;
    unsigned found, all;
    (void)state;
    recording_make(&r, 77, 2, 60, 12, 8, CTR_EVENTS_EXEC | CTR_EVENTS_MEM, SIM_ALL, 1, 1);
    struct touched *got = indexed(&r);
    uint64_t chunks = 0;
    for (unsigned i = 0; i < got->chunks; i++) {
        const struct pages *p = got->of[i];
        chunks += (uint64_t)(p[0].any || p[1].any || pages_have(&p[0], 0) ||
                             pages_have(&p[1], 0));
    }
    assert_true(chunks < got->chunks); /* or this seed shows nothing */
    assert_int_equal(read_for_page_0(&r, &found), chunks);
    assert_true(le32(r.file + FILE_OFF_COMPAT) & FILE_COMPAT_PAGE_0);
    put32(r.file + FILE_OFF_COMPAT, 0xfffffffeu); /* also bits of the future */
    put64(r.file + FILE_OFF_HASH, XXH64(r.file, FILE_OFF_HASH, 0));
    assert_int_equal(read_for_page_0(&r, &all), got->chunks);
    assert_int_equal(found, all);
    touched_free(got);
    recording_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_page_0),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
