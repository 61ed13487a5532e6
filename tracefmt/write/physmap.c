/* SPDX-License-Identifier: MIT */
/*
 * The column of physical pages. A chunk is packed by itself and has what the TLB got
 * while it was recorded; what was known before only its thread's chunks before it say.
 * So the column is made here, where the chunks of a thread pass in order: of all pages
 * that are known it gets those that the chunk touches.
 */
#include <string.h>
#include <zstd.h>
#include "base/format.h"
#include "base/le.h"
#include "cannoli/events.h"
#include "cannoli/mempipe.h"
#include "model/pagemap.h"
#include "write/packed.h"

_Static_assert(MEMPIPE_MOST_PAGES < MAX_CHUNK_PAGES, "a chunk can begin with all pages");

struct ctr_physmap {
    struct pagemap map;
    uint32_t mmus; /* mask of those that had a page */
    unsigned bits; /* of a page; 0: not known yet */
    uint64_t addr_mask;
    ZSTD_CCtx *cctx;
    struct buf start; /* struct page_fill */
    struct buf pages; /* uint64_t */
    struct buf raw;
};

int ctr_physmap_new(struct ctr_physmap **out, unsigned addr_bytes, int level)
{
    struct ctr_physmap *m = calloc(1, sizeof(*m));
    *out = m;
    if (!m) {
        return -CTR_E_NOMEM;
    }
    m->addr_mask = addr_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    m->cctx = ZSTD_createCCtx();
    if (!m->cctx ||
        ZSTD_isError(ZSTD_CCtx_setParameter(m->cctx, ZSTD_c_compressionLevel, level))) {
        ctr_physmap_free(m);
        *out = NULL;
        return -CTR_E_NOMEM;
    }
    return 0;
}

void ctr_physmap_free(struct ctr_physmap *m)
{
    if (!m) {
        return;
    }
    pagemap_fini(&m->map);
    ZSTD_freeCCtx(m->cctx);
    buf_free(&m->start);
    buf_free(&m->pages);
    buf_free(&m->raw);
    free(m);
}

void ctr_physmap_forget(struct ctr_physmap *m)
{
    pagemap_clear(&m->map);
}

static int add_start(struct ctr_physmap *m, const struct page_fill *f)
{
    return buf_append(&m->start, f, sizeof(*f));
}

/* All pages that are known. */
static int start_with_all(struct ctr_physmap *m)
{
    struct page_fill f;
    for (uint32_t at = 0; pagemap_next(&m->map, &at, &f);) {
        if (add_start(m, &f)) {
            return -1;
        }
    }
    return 0;
}

/*
 * A page of the index, as pages of the TLB; the next one, too, since an access may reach
 * into it.
 */
static int add_touched(struct ctr_physmap *m, uint64_t page)
{
    const uint64_t from = page << PAGE_BITS >> m->bits;
    const uint64_t to = ((page << PAGE_BITS | (PAGE_BYTES - 1)) >> m->bits) + 1;
    for (uint64_t k = from; k <= to; k++) {
        const uint64_t in = k & m->addr_mask >> m->bits;
        if (buf_append(&m->pages, &in, sizeof(in))) {
            return -1;
        }
    }
    return 0;
}

/* What is known of the pages in the chunk's share of the index, which ends with them. */
static int start_with_touched(struct ctr_physmap *m, const struct buf *index)
{
    const uint8_t *p = index->p, *end = p + index->n;
    m->pages.n = 0;
    for (unsigned k = 0; k < 2; k++) {
        uint64_t n, page = 0, step;
        if (get_varint(&p, end, &n)) {
            return -1;
        }
        if (n == 0) {
            return start_with_all(m);
        }
        while (--n) {
            if (get_varint(&p, end, &step)) {
                return -1;
            }
            page += step;
            if (add_touched(m, page)) {
                return -1;
            }
        }
    }
    uint64_t *list = (uint64_t *)(void *)m->pages.p;
    const size_t n = m->pages.n / sizeof(*list);
    if (n) {
        qsort(list, n, sizeof(*list), ctr_by_u64);
    }
    for (unsigned mmu = 0; mmu < CTR_MMUS; mmu++) {
        for (size_t i = 0; m->mmus >> mmu & 1 && i < n; i++) {
            struct page_fill f = {.mmu = (uint8_t)mmu, .page = list[i]};
            if ((i == 0 || list[i] != list[i - 1]) && pagemap_get(&m->map, &f) &&
                add_start(m, &f)) {
                return -1;
            }
        }
    }
    return 0;
}

static int learn(struct ctr_physmap *m, const struct page_fill *fill, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct page_fill f = fill[i];
        /* QEMU remembers no more: the records were not made by it. */
        if (f.flags & MEMPIPE_PAGE_FORGET || m->map.n > MEMPIPE_MOST_PAGES) {
            pagemap_clear(&m->map);
        }
        if (f.flags & MEMPIPE_PAGE_FORGET) {
            continue;
        }
        m->mmus |= 1u << f.mmu;
        if (pagemap_set(&m->map, &f)) {
            return -1;
        }
    }
    return 0;
}

int ctr_physmap_learn(struct ctr_physmap *m, const struct ctr_packed *p)
{
    const struct packed_frame *f = &p->frame[FRAME_PAGES];
    struct pagecol c;
    struct page_fill fill;
    int got;
    if (!f->z.n) {
        return 0;
    }
    if (buf_room(&m->raw, f->dsize)) {
        return -CTR_E_NOMEM;
    }
    if (ZSTD_decompress(m->raw.p, f->dsize, f->z.p, f->z.n) != f->dsize ||
        pagecol_begin(&c, m->raw.p, f->dsize)) {
        return -CTR_E_CORRUPT;
    }
    m->bits = c.bits;
    while ((got = pagecol_next(&c, &fill)) == 1) {
        if (learn(m, &fill, 1)) {
            return -CTR_E_NOMEM;
        }
    }
    return got < 0 ? -CTR_E_CORRUPT : 0;
}

/* A reader learns nothing from these. Returns how many others there are. */
static uint32_t without_forgets(struct page_fill *fill, uint32_t n)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!(fill[i].flags & MEMPIPE_PAGE_FORGET)) {
            fill[kept++] = fill[i];
        }
    }
    return kept;
}

int ctr_physmap_apply(struct ctr_physmap *m, struct ctr_packed *p, struct ctr_diag *diag)
{
    struct page_fill *fill = (struct page_fill *)(void *)p->fills.p;
    uint32_t n = (uint32_t)(p->fills.n / sizeof(*fill));
    struct packed_frame *f = &p->frame[FRAME_PAGES];
    m->start.n = 0;
    m->bits = m->bits ? m->bits : p->page_bits;
    if (n && p->page_bits != m->bits) {
        return ctr_fail(diag, CTR_E_CORRUPT, CTR_NO_OFF, "pages",
                        "pages of another size");
    }
    if (m->bits && start_with_touched(m, &p->pages)) {
        return ctr_fail_nomem(diag);
    }
    if (learn(m, fill, n)) {
        return ctr_fail_nomem(diag);
    }
    n = without_forgets(fill, n);
    const uint32_t nstart = (uint32_t)(m->start.n / sizeof(*fill));
    p->fills.n = 0;
    if (n + nstart == 0) {
        return 0;
    }
    if (pagecol_write(&m->raw, m->bits, (const struct page_fill *)(void *)m->start.p,
                      nstart, fill, n)) {
        return ctr_fail_nomem(diag);
    }
    if (n + nstart > MAX_CHUNK_PAGES || p->info.raw_bytes + m->raw.n > MAX_COLUMN) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "pages",
                        "more data than a chunk can hold");
    }
    const int err = packed_frame_compress(f, m->cctx, &m->raw, diag);
    if (err) {
        return err;
    }
    p->info.raw_bytes += m->raw.n;
    p->info.bytes += f->z.n;
    return 0;
}
