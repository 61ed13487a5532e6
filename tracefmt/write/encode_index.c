/* SPDX-License-Identifier: MIT */
/* A chunk's share of the index: how often its blocks ran, and the pages it touched. */
#include "write/encode.h"

#include "base/le.h"

/* How often each block ran: one row of a PART's counts. */
int encode_counts(const struct blocks *b, const struct follow *follow, struct buf *out)
{
    out->n = 0;
    if (buf_reserve(out, ((size_t)b->n * 3 + (size_t)follow->cuts.n * 5 +
                          (size_t)follow->unknown.n * 3 + 3) *
                             VARINT_MAX)) {
        return -1;
    }
    uint8_t *p = out->p;
    uint32_t last = 0, n = 0;
    for (uint32_t i = 0; i < b->n; i++) {
        n += FROM_SINCE(b->loc[i].from) + b->follower[i].full != 0;
    }
    p += put_varint(p, n);
    for (uint32_t i = 0; i < b->n; i++) {
        uint64_t count = (uint64_t)FROM_SINCE(b->loc[i].from) + b->follower[i].full;
        if (count) {
            uint32_t id = b->def[i]->id;
            p += put_varint(p, zigzag64((uint64_t)id - last));
            p += put_varint(p, count);
            p += put_varint(p, b->follower[i].falls);
            last = id;
        }
    }
    p += put_varint(p, follow->cuts.n);
    last = 0;
    for (uint32_t i = 0; follow->cuts.n && i < follow->cuts.cap; i++) {
        if (follow->cuts.entry[i].key) {
            uint64_t key = follow->cuts.entry[i].key - 1;
            uint32_t id = b->def[CUT_BLOCK(key)]->id;
            p += put_varint(p, zigzag64((uint64_t)id - last));
            p += put_varint(p, CUT_FIRST(key));
            p += put_varint(p, CUT_END(key));
            p += put_varint(p, follow->cuts.entry[i].count);
            p += put_varint(p, countmap_get(&follow->cut_falls, key));
            last = id;
        }
    }
    p += put_varint(p, follow->unknown.n);
    last = 0;
    for (uint32_t i = 0; follow->unknown.n && i < follow->unknown.cap; i++) {
        if (follow->unknown.entry[i].key) {
            uint64_t key = follow->unknown.entry[i].key - 1;
            uint32_t id = b->def[CUT_BLOCK(key)]->id;
            p += put_varint(p, zigzag64((uint64_t)id - last));
            p += put_varint(p, CUT_FIRST(key));
            p += put_varint(p, follow->unknown.entry[i].count);
            last = id;
        }
    }
    out->n = (size_t)(p - out->p);
    return 0;
}

/* A truncated address, by its REACH_KIND. */
static uint64_t cut(uint64_t a, unsigned kind)
{
    unsigned up = 64 - reach_bits(kind);
    return reach_is_signed(kind) ? (uint64_t)((int64_t)(a << up) >> up) : a << up >> up;
}

/* A root touched a page: adds the pages of it and of the slots derived from it. */
static int add_reach(struct pageset pages[2], const struct recorded *rec, uint64_t key)
{
    unsigned reach = (unsigned)key & REACH_MASK;
    unsigned kind = REACH_KIND(reach);
    const unsigned bits[2] = {REACH_LOADS(reach), REACH_STORES(reach)};
    for (unsigned store = 0; store < 2; store++) {
        struct pageset *set = &pages[store];
        for (unsigned k = 0; k < 3; k++) {
            uint64_t a = (key & ~(uint64_t)REACH_MASK) - PAGE_BYTES + k * PAGE_BYTES;
            if (!(bits[store] >> k & 1)) {
                continue;
            }
            if (pageset_add(set, encode_page(rec, a >> PAGE_BITS))) {
                return -1;
            }
            if (kind == 0) {
                set->any = 1;
            } else if (kind != REACH_WHOLE &&
                       pageset_add(set, encode_page(rec, cut(a, kind) >> PAGE_BITS))) {
                return -1;
            }
        }
    }
    return 0;
}

/*
 * Accesses with a constant address have no key. Every whole run that encode_slow did
 * not handle makes all of its block's; encode_slow notes those of its runs itself.
 */
static int add_constants(struct ctr_encoder *e, uint32_t local)
{
    const struct dict_entry *d = e->blocks.def[local];
    const struct follower *f = &e->blocks.follower[local];
    if (!d->nconst || (!FROM_SINCE(e->blocks.loc[local].from) && f->full == f->slow)) {
        return 0;
    }
    for (unsigned i = 0; i < d->nconst; i++) {
        if (encode_constant(e, d->constant[i])) {
            return -1;
        }
    }
    return 0;
}

int encode_constant(struct ctr_encoder *e, uint64_t page_store)
{
    return pageset_add(&e->pages.set[page_store & 1],
                       encode_page(&e->rec, page_store >> 1));
}

int encode_pages(struct ctr_encoder *e, struct buf *out)
{
    for (uint32_t i = 0; e->rec.mem && i < e->blocks.n; i++) {
        if (add_constants(e, i)) {
            return -1;
        }
    }
    for (uint32_t i = 0; i < e->pages.ncand; i++) {
        if (add_reach(e->pages.set, &e->rec, e->pages.cand[i])) {
            return -1;
        }
    }
    out->n = 0;
    return pageset_write(&e->pages.set[0], out) || pageset_write(&e->pages.set[1], out) ||
           (e->rec.key && pageset_write(&e->pages.keys, out));
}
