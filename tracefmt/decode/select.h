/* SPDX-License-Identifier: MIT */
/* Which events of a chunk the filter of a feed selects. */
#ifndef CTR_SELECT_H
#define CTR_SELECT_H

#include "base/ranges.h"
#include "decode/feed.h"

/* The system events that the filter selects: 0 if it is for instructions. */
static inline uint32_t feed_os_kinds(const struct feed *f)
{
    return f->filter.npc || f->filter.naddr
               ? 0
               : f->kinds & (CTR_KIND_SYS | CTR_KIND_MAP | CTR_KIND_THR | CTR_KIND_MARK);
}

/* Whether the filter selects an access of this kind at this address. */
static inline int feed_access(const struct feed *f, const struct ctr_access *a)
{
    if (!(f->kinds & (a->store ? CTR_KIND_STORE : CTR_KIND_LOAD))) {
        return 0;
    }
    if (f->filter.naddr == 0) {
        return 1;
    }
    uint64_t last = a->addr + (a->size - 1);
    return in_ranges(f->filter.addrs, f->filter.naddr, a->addr,
                     last < a->addr ? UINT64_MAX : last);
}

/*
 * Whether the filter may select any instructions of a run. There are many runs, and
 * what is searched for is rare, so this avoids walking over most of them.
 */
static inline int feed_run(const struct feed *f, const struct run *r)
{
    const struct ctr_block *b = &r->block->pub;
    if (f->filter.naddr) {
        uint32_t a = 0;
        while (a < r->naccess && !feed_access(f, &r->access[a])) {
            a++;
        }
        return a < r->naccess;
    }
    if (f->filter.npc && !b->pcs) {
        /* The rest of a resumed instruction comes before the first. */
        unsigned first = r->first ? r->first - 1u : 0;
        return in_ranges(f->filter.pcs, f->filter.npc, ctr_block_pc(b, first),
                         ctr_block_pc(b, r->end - 1u));
    }
    return 1;
}

#endif
