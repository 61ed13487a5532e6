/* SPDX-License-Identifier: MIT */
/* Maps of pages, and the column of them. */
#include "model/pagemap.h"

#include <string.h>
#include "base/format.h"
#include "base/le.h"
#include "cannoli/events.h"

/* -------------------------------------------------------------------- map */

static uint64_t key_of(const struct page_fill *f)
{
    return f->page << 5 | (uint64_t)f->mmu << 1 | 1;
}

/* The entry of a key, or the free one where it belongs; the map has room. */
static struct pagemap_entry *find(const struct pagemap *m, uint64_t key)
{
    uint32_t i = (uint32_t)(key * 0x9e3779b97f4a7c15ull >> 32) & (m->cap - 1);
    while (m->entry[i].key && m->entry[i].key != key) {
        i = (i + 1) & (m->cap - 1);
    }
    return &m->entry[i];
}

static int grow(struct pagemap *m)
{
    struct pagemap bigger = {.cap = m->cap ? m->cap * 2 : 256, .n = m->n};
    bigger.entry = calloc(bigger.cap, sizeof(*bigger.entry));
    if (!bigger.entry) {
        return -1;
    }
    for (uint32_t i = 0; i < m->cap; i++) {
        if (m->entry[i].key) {
            *find(&bigger, m->entry[i].key) = m->entry[i];
        }
    }
    free(m->entry);
    *m = bigger;
    return 0;
}

int pagemap_set(struct pagemap *m, const struct page_fill *f)
{
    if (m->n >= m->cap / 2 && grow(m)) {
        return -1;
    }
    struct pagemap_entry *e = find(m, key_of(f));
    m->n += e->key == 0;
    e->key = key_of(f);
    e->phys = f->phys << 2 | f->flags;
    return 0;
}

int pagemap_get(const struct pagemap *m, struct page_fill *f)
{
    const struct pagemap_entry *e = m->n ? find(m, key_of(f)) : NULL;
    if (!e || !e->key) {
        return 0;
    }
    f->phys = e->phys >> 2;
    f->flags = e->phys & 3;
    return 1;
}

int pagemap_next(const struct pagemap *m, uint32_t *at, struct page_fill *f)
{
    while (*at < m->cap) {
        const struct pagemap_entry *e = &m->entry[(*at)++];
        if (e->key) {
            *f = (struct page_fill){.mmu = e->key >> 1 & (CTR_MMUS - 1),
                                    .flags = e->phys & 3,
                                    .page = e->key >> 5,
                                    .phys = e->phys >> 2};
            return 1;
        }
    }
    return 0;
}

void pagemap_clear(struct pagemap *m)
{
    if (m->n) {
        memset(m->entry, 0, m->cap * sizeof(*m->entry));
        m->n = 0;
    }
}

void pagemap_fini(struct pagemap *m)
{
    free(m->entry);
    *m = (struct pagemap){0};
}

/* ----------------------------------------------------------------- column */

/* Numbers of a page have fewer bits than an address: so have their differences. */
static uint8_t *put_entry(uint8_t *p, const struct page_fill *f, uint64_t *page,
                          uint64_t *offset)
{
    p += put_varint(p, (uint64_t)f->mmu << 2 | f->flags);
    p += put_varint(p, zigzag64(f->page - *page));
    p += put_varint(p, zigzag64(f->phys - f->page - *offset));
    *page = f->page;
    *offset = f->phys - f->page;
    return p;
}

int pagecol_write(struct buf *out, unsigned bits, const struct page_fill *start,
                  uint32_t nstart, const struct page_fill *fill, uint32_t nfill)
{
    uint64_t page = 0, offset = 0;
    uint32_t run = 0;
    out->n = 0;
    if (buf_reserve(out, (3 + (size_t)nstart * 3 + (size_t)nfill * 5) * VARINT_MAX)) {
        return -1;
    }
    uint8_t *p = out->p;
    p += put_varint(p, bits);
    p += put_varint(p, nstart);
    p += put_varint(p, nfill);
    for (uint32_t i = 0; i < nstart; i++) {
        p = put_entry(p, &start[i], &page, &offset);
    }
    for (uint32_t i = 0; i < nfill; i++) {
        p += put_varint(p, fill[i].run - run);
        p += put_varint(p, fill[i].insn);
        p = put_entry(p, &fill[i], &page, &offset);
        run = fill[i].run;
    }
    out->n = (size_t)(p - out->p);
    return 0;
}

int pagecol_begin(struct pagecol *c, const uint8_t *p, size_t n)
{
    uint64_t bits, nstart, nfill;
    *c = (struct pagecol){.bits = PAGE_BITS};
    if (n == 0) {
        return 0;
    }
    c->p = p;
    c->end = p + n;
    if (get_varint(&c->p, c->end, &bits) || get_varint(&c->p, c->end, &nstart) ||
        get_varint(&c->p, c->end, &nfill) || bits < PAGE_MIN_BITS ||
        bits > PAGE_MAX_BITS || nstart > MAX_CHUNK_PAGES ||
        nfill > MAX_CHUNK_PAGES - nstart) {
        return -1;
    }
    c->bits = (unsigned)bits;
    c->nstart = (uint32_t)nstart;
    c->nfill = (uint32_t)nfill;
    return 0;
}

int pagecol_next(struct pagecol *c, struct page_fill *f)
{
    uint64_t run = 0, insn = 0, what, page, offset;
    const int fill = c->nstart == 0;
    if (fill && c->nfill == 0) {
        return c->p == c->end ? 0 : -1;
    }
    if (fill && (get_varint(&c->p, c->end, &run) || get_varint(&c->p, c->end, &insn))) {
        return -1;
    }
    if (get_varint(&c->p, c->end, &what) || get_varint(&c->p, c->end, &page) ||
        get_varint(&c->p, c->end, &offset) || what >= CTR_MMUS << 2 || run > MAX_TOKENS ||
        c->last.run + run > MAX_TOKENS || insn > CTR_MAX_BLOCK_INSNS) {
        return -1;
    }
    const uint64_t most = UINT64_MAX >> c->bits;
    c->offset += unzigzag64(offset);
    c->last.run += (uint32_t)run;
    c->last.insn = (uint16_t)insn;
    c->last.mmu = (uint8_t)(what >> 2);
    c->last.flags = what & 3;
    c->last.page += unzigzag64(page);
    c->last.phys = c->last.page + c->offset;
    if (c->last.page > most || c->last.phys > most) {
        return -1;
    }
    *(fill ? &c->nfill : &c->nstart) -= 1;
    *f = c->last;
    return 1;
}
