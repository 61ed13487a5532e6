/* SPDX-License-Identifier: MIT */
/* --find: which accesses and places --addr and --pc select. */
#include "dump/find_priv.h"
#include "query/location.h"

#include <stdlib.h>

bool find_in_ranges(const struct ctr_range *v, uint32_t n, uint32_t process,
                    uint64_t first, uint64_t size)
{
    const uint64_t last = first + (size - 1) < first ? UINT64_MAX : first + (size - 1);

    for (uint32_t i = 0; i < n; i++) {
        if (v[i].from <= last && (first < v[i].to || v[i].to == UINT64_MAX) &&
            location_range_is_of(&v[i], process)) {
            return true;
        }
    }
    return false;
}

bool find_selected(const struct find *f, uint32_t process, uint64_t place)
{
    const struct ctr_filter *filter = &f->opt->filter;

    return !filter->naddr ||
           find_in_ranges(filter->addrs, filter->naddr, process, place, f->pattern.n);
}

bool find_wide(const struct find *f, const struct ctr_thread *t, uint64_t addr,
               uint64_t size)
{
    return !f->wide ||
           find_in_ranges(f->wide, f->opt->filter.naddr, t->process, addr, size);
}

bool find_widen(struct find *f)
{
    const struct ctr_filter *filter = &f->opt->filter;
    const uint64_t more = f->pattern.n - 1;

    if (!filter->naddr) {
        return true;
    }
    f->wide = calloc(filter->naddr, sizeof(*f->wide));
    for (uint32_t i = 0; f->wide && i < filter->naddr; i++) {
        const struct ctr_range *r = &filter->addrs[i];

        f->wide[i] = *r;
        f->wide[i].from = r->from > more ? r->from - more : 0;
        f->wide[i].to = r->to < UINT64_MAX - more ? r->to + more : UINT64_MAX;
    }
    return f->wide != NULL;
}
