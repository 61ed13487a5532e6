/* SPDX-License-Identifier: MIT */
/* Reading the rows of the index: counts of blocks, sets of pages. */
#include "decode/part_reader.h"

#include <string.h>
#include "base/le.h"
#include "base/ranges.h"

void part_reader_init(struct part_reader *r, struct ctr_trace *tr)
{
    memset(r, 0, sizeof(*r));
    r->tr = tr;
}

void part_reader_fini(struct part_reader *r)
{
    buf_free(&r->counts);
    buf_free(&r->pages);
    buf_free(&r->payload);
    ZSTD_freeDCtx(r->dctx);
}

static int bad_row(const struct part_reader *r, struct ctr_diag *diag)
{
    return ctr_fail(diag, CTR_E_CORRUPT, chunktab_group(r->tr->chunks, r->part)->off,
                    "part", "index row of chunk %llu", (unsigned long long)r->chunk);
}

/*
 * The lists of counts. counts_list reads so many numbers for each block and reports it.
 */
enum { COUNT_WHOLE, COUNT_CUT, COUNT_UNKNOWN };

static int count_ok(const struct part_reader *r, const struct part_count *c, uint64_t id,
                    const uint64_t *v, unsigned kind)
{
    if (id == 0 || id > blocktab_known(r->tr->blocks) || c->falls > c->runs) {
        return 0;
    }
    switch (kind) {
    case COUNT_WHOLE:
        return 1;
    case COUNT_UNKNOWN:
        return v[0] < CTR_MAX_BLOCK_INSNS;
    default:
        return v[0] < v[1] && v[1] <= CTR_MAX_BLOCK_INSNS;
    }
}

static int counts_list(struct part_reader *r, unsigned kind, part_count_fn *fn, void *arg,
                       struct ctr_diag *diag)
{
    static const uint8_t numbers[] = {
        [COUNT_WHOLE] = 2, [COUNT_CUT] = 4, [COUNT_UNKNOWN] = 2};
    uint64_t n, delta = 0, id = 0, v[4] = {0};
    if (get_varint(&r->c, r->c_end, &n)) {
        return bad_row(r, diag);
    }
    for (; n; n--) {
        struct part_count c = {0};
        int bad = get_varint(&r->c, r->c_end, &delta);
        for (unsigned k = 0; k < numbers[kind]; k++) {
            bad |= get_varint(&r->c, r->c_end, &v[k]);
        }
        id += unzigzag64(delta);
        if (kind == COUNT_WHOLE) {
            c.runs = v[0];
            c.falls = v[1];
        } else if (kind == COUNT_UNKNOWN) {
            c.first = (uint16_t)v[0];
            c.unknown = v[1];
        } else {
            c.first = (uint16_t)v[0];
            c.end = (uint16_t)v[1];
            c.runs = v[2];
            c.falls = v[3];
        }
        c.id = (uint32_t)id;
        if (bad || !count_ok(r, &c, id, v, kind)) {
            return bad_row(r, diag);
        }
        int err = fn ? fn(arg, &c) : 0;
        if (err) {
            return err;
        }
    }
    return 0;
}

static int counts_row(struct part_reader *r, part_count_fn *fn, void *arg,
                      struct ctr_diag *diag)
{
    int err = counts_list(r, COUNT_WHOLE, fn, arg, diag);
    if (!err) {
        err = counts_list(r, COUNT_CUT, fn, arg, diag);
    }
    return err ? err : counts_list(r, COUNT_UNKNOWN, fn, arg, diag);
}

static int page_in_ranges(const struct ranges *addrs, uint64_t page)
{
    uint64_t first = page << PAGE_BITS;
    uint64_t last = first + ((1u << PAGE_BITS) - 1);
    last =
        last + (MAX_INLINE_SIZE - 1) < last ? UINT64_MAX : last + (MAX_INLINE_SIZE - 1);
    return in_ranges(addrs, first, last);
}

/* Pages that can be in the ranges: most of a row are not, which is cheap to test. */
struct page_span {
    uint64_t first, last;
};

static struct page_span span_of(const struct ranges *addrs)
{
    struct page_span s = {1, 0};
    if (addrs && addrs->n) {
        const uint64_t from = addrs->v[0].from, to = addrs->v[addrs->n - 1].to;
        s.first = (from < MAX_INLINE_SIZE ? 0 : from - MAX_INLINE_SIZE) >> PAGE_BITS;
        s.last = to >> PAGE_BITS;
    }
    return s;
}

static int pages_row(struct part_reader *r, const struct ranges *addrs, int *found,
                     struct ctr_diag *diag)
{
    const struct page_span span = span_of(addrs);
    uint64_t n, delta, page = 0;
    if (get_varint(&r->p, r->p_end, &n)) {
        return bad_row(r, diag);
    }
    /* 0 means any page; older files need not list page 0 itself. */
    *found = n == 0 ||
             (!(r->tr->compat & FILE_COMPAT_PAGE_0) && addrs && page_in_ranges(addrs, 0));
    for (; n > 1; n--) {
        if (get_varint(&r->p, r->p_end, &delta)) {
            return bad_row(r, diag);
        }
        page += delta;
        if (page >= span.first && page <= span.last && !*found) {
            *found = page_in_ranges(addrs, page);
        }
    }
    return 0;
}

/* Counts are most of a PART; a search for pages does without them. */
static int load_part(struct part_reader *r, uint32_t part, int counts,
                     struct ctr_diag *diag)
{
    const struct chunk_group *g = chunktab_group(r->tr->chunks, part);
    r->part = part;
    r->chunk = g->first;
    r->loaded = 0;
    r->has_counts = counts;
    if (!r->dctx) {
        r->dctx = ZSTD_createDCtx();
    }
    if (!r->dctx) {
        return ctr_fail_nomem(diag);
    }
    int err = 0;
    if (counts) {
        err = trace_part_frame(r->tr, g, 1, r->dctx, &r->payload, &r->counts, diag);
    }
    if (!err) {
        err = trace_part_frame(r->tr, g, 2, r->dctx, &r->payload, &r->pages, diag);
    }
    if (err) {
        return err;
    }
    r->c = r->counts.p;
    r->c_end = r->c + r->counts.n;
    r->p = r->pages.p;
    r->p_end = r->p + r->pages.n;
    r->loaded = 1;
    return 0;
}

int part_reader_chunk(struct part_reader *r, uint64_t i, part_count_fn *fn, void *arg,
                      const struct ranges *addrs, struct part_pages *pages,
                      struct ctr_diag *diag)
{
    const uint32_t part = chunktab_find(r->tr->chunks, i, r->part);
    if (!r->loaded || part != r->part || i < r->chunk || (fn && !r->has_counts)) {
        int err = load_part(r, part, fn != NULL, diag);
        if (err) {
            return err;
        }
    }
    while (r->chunk <= i) {
        int here = r->chunk == i;
        struct part_pages found = {0};
        int err = r->has_counts ? counts_row(r, here ? fn : NULL, arg, diag) : 0;
        if (!err) {
            err = pages_row(r, here ? addrs : NULL, &found.read, diag);
        }
        if (!err) {
            err = pages_row(r, here ? addrs : NULL, &found.written, diag);
        }
        if (!err && r->tr->events & CTR_HAS_KEY) {
            err = pages_row(r, here ? addrs : NULL, &found.keyframe, diag);
        }
        if (err) {
            r->loaded = 0; /* its position is inside of a row */
            return err;
        }
        if (here && pages) {
            *pages = found;
        }
        r->chunk++;
    }
    return 0;
}
