/* SPDX-License-Identifier: MIT */
/* Physical addresses of accesses. */
#include "decode/phys.h"

#include <string.h>
#include "base/ranges.h"
#include "cannoli/events.h"

void phys_fini(struct phys_view *v)
{
    buf_free(&v->column);
    pagemap_fini(&v->map);
    free(v->out);
    *v = (struct phys_view){.have = 0};
}

static int next_fill(struct phys_view *v)
{
    v->have = pagecol_next(&v->col, &v->fill);
    return v->have < 0 ? -1 : 0;
}

static struct page_fill *recent_of(struct phys_view *v, uint64_t page, unsigned mmu)
{
    return &v->recent[(page ^ mmu << 4) % PHYS_RECENT];
}

static int take_fill(struct phys_view *v)
{
    recent_of(v, v->fill.page, v->fill.mmu)->run = 0;
    return pagemap_set(&v->map, &v->fill) ? -CTR_E_NOMEM : next_fill(v);
}

int phys_begin(struct phys_view *v, uint64_t addr_mask)
{
    v->addr_mask = addr_mask;
    pagemap_clear(&v->map);
    memset(v->recent, 0, sizeof(v->recent));
    v->have = 0;
    if (pagecol_begin(&v->col, v->column.p, v->column.n)) {
        return -1;
    }
    int err = next_fill(v);
    while (!err && v->have && v->fill.run == 0 && v->fill.insn == 0) {
        err = take_fill(v);
    }
    return err;
}

/* The physical address of addr; returns CTR_PHYS_*. */
static unsigned translate(struct phys_view *v, uint64_t addr, unsigned mmu,
                          uint64_t *phys)
{
    const unsigned bits = v->col.bits;
    struct page_fill *f = recent_of(v, addr >> bits, mmu);
    if (!f->run || f->page != addr >> bits || f->mmu != mmu) {
        f->page = addr >> bits;
        f->mmu = (uint8_t)mmu;
        f->run = (uint32_t)pagemap_get(&v->map, f);
        if (!f->run) {
            return 0;
        }
    }
    *phys = f->phys << bits | (addr & ((1ull << bits) - 1));
    return CTR_PHYS_KNOWN | (f->flags & CTR_PAGE_DEVICE ? CTR_PHYS_DEVICE : 0) |
           (f->flags & CTR_PAGE_SECURE ? CTR_PHYS_SECURE : 0);
}

static void translate_access(struct phys_view *v, const struct ctr_access *a,
                             struct ctr_phys *out)
{
    const uint64_t page = 1ull << v->col.bits;
    const uint64_t room = page - (a->addr & (page - 1));
    *out = (struct ctr_phys){.size = a->size};
    out->flags = translate(v, a->addr, CTR_ACC_MMU(a->flags), &out->addr);
    if (a->size > room) {
        const uint64_t next = (a->addr + room) & v->addr_mask;
        out->size = (uint32_t)room;
        out->next_size =
            a->size - out->size < page ? a->size - out->size : (uint32_t)page;
        if (!translate(v, next, CTR_ACC_MMU(a->flags), &out->next)) {
            out->flags = 0;
        }
    }
}

int phys_run(struct phys_view *v, uint64_t run, const struct ctr_access *a, uint32_t n)
{
    int err = 0;
    while (!err && v->have &&
           (v->fill.run < run || (v->fill.run == run && v->fill.insn == 0))) {
        err = take_fill(v);
    }
    if (n > v->cap) {
        free(v->out);
        v->cap = 0;
        v->out = malloc((n + n / 8 + 64) * sizeof(*v->out));
        if (!v->out) {
            return -CTR_E_NOMEM;
        }
        v->cap = n + n / 8 + 64;
    }
    for (uint32_t i = 0; !err && i < n; i++) {
        while (!err && v->have && v->fill.run == run && v->fill.insn <= a[i].insn) {
            err = take_fill(v);
        }
        translate_access(v, &a[i], &v->out[i]);
    }
    return err;
}

int phys_end(struct phys_view *v, uint64_t runs)
{
    int err = 0;
    while (!err && v->have) {
        err = v->fill.run > runs ? -1 : next_fill(v);
    }
    return err;
}

int phys_touches(const struct buf *column, const struct ranges *r)
{
    struct pagecol c;
    struct page_fill f;
    if (pagecol_begin(&c, column->p, column->n)) {
        return 1; /* reading the chunk will say so */
    }
    int got;
    while ((got = pagecol_next(&c, &f)) == 1) {
        const uint64_t from = f.phys << c.bits;
        if (in_ranges(r, from, from + ((1ull << c.bits) - 1))) {
            return 1;
        }
    }
    return got < 0;
}
