/* SPDX-License-Identifier: MIT */
/* Which events of a chunk are selected. */
#ifndef CTR_SELECT_H
#define CTR_SELECT_H

#include "base/ranges.h"
#include "decode/feed.h"

/* The system events that the filter selects: 0 if it is for instructions. */
static inline uint32_t feed_os_kinds(const struct feed *f)
{
    const struct ctr_filter *flt = &f->filter;
    return flt->npc || flt->naddr || flt->nphys ? 0 : f->kinds & CTR_KIND_BETWEEN;
}

/* Whether `size' bytes from addr on have any in the ranges. */
static inline int select_bytes(const struct ranges *r, uint64_t addr, uint32_t size)
{
    uint64_t last = addr + (size - 1);
    return in_ranges(r, addr, last < addr ? UINT64_MAX : last);
}

static inline int select_phys(const struct ranges *r, const struct ctr_phys *p)
{
    return p->flags && (select_bytes(r, p->addr, p->size) ||
                        (p->next_size && select_bytes(r, p->next, p->next_size)));
}

/* Whether access number i of a run is selected. */
static inline int select_access(const struct selection *s, const struct run *r,
                                uint32_t i)
{
    const struct ctr_access *a = &r->access[i];
    if (!(s->kinds & (a->store ? CTR_KIND_STORE : CTR_KIND_LOAD))) {
        return 0;
    }
    if (!s->has_addrs) {
        return 1;
    }
    return (s->addrs.n && select_bytes(&s->addrs, a->addr, a->size)) ||
           (s->phys.n && r->phys && select_phys(&s->phys, &r->phys[i]));
}

/* Whether code of its privilege is. */
static inline int select_block(const struct selection *s, const struct ctr_block *b)
{
    return s->privileges >> b->privilege & 1;
}

/* Whether an instruction at this address is. */
static inline int select_pc(const struct selection *s, uint64_t pc)
{
    return !s->has_pcs || in_ranges(&s->pcs, pc, pc);
}

/*
 * Whether any instructions of a run may be selected. There are many runs, and what is
 * searched for is rare, so this avoids walking over most of them.
 */
static inline int select_run(const struct selection *s, const struct run *r)
{
    const struct ctr_block *b = &r->block->pub;
    if (!select_block(s, b)) {
        return 0;
    }
    if (s->has_addrs) {
        uint32_t a = 0;
        while (a < r->naccess && !select_access(s, r, a)) {
            a++;
        }
        return a < r->naccess;
    }
    if (s->has_pcs && !b->pcs) {
        /* The rest of a resumed instruction comes before the first. */
        unsigned first = r->first ? r->first - 1u : 0;
        return in_ranges(&s->pcs, ctr_block_pc(b, first), ctr_block_pc(b, r->end - 1u));
    }
    return 1;
}

#endif
