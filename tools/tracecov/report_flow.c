/* SPDX-License-Identifier: MIT */
/*
 * How control came to an instruction: by fall-through from the one before, by a jump
 * whose target is in its bytes, or otherwise (calls, returns, jumps through registers,
 * exceptions).  The first two have counts of their own; the others are the rest.
 */
#include "tracecov/report_priv.h"

#include <stdlib.h>

#include "common/array.h"
#include "cannoli/isa.h"

static int by_target(const void *va, const void *vb)
{
    const struct jump *a = va, *b = vb;

    if (a->to != b->to) {
        return a->to < b->to ? -1 : 1;
    }
    return a->from < b->from ? -1 : a->from > b->from;
}

int report_jumps(struct report_code *k)
{
    size_t cap = 0;

    for (size_t i = 0; i < k->nr_sites; i++) {
        const struct site *s = &k->sites[i];
        struct site_count n;
        uint64_t target, count;
        size_t to;

        if (s->insn == NO_INDEX ||
            (s->flags & (CANNOLI_INSN_BRANCH | CANNOLI_INSN_CALL |
                         CANNOLI_INSN_INDIRECT)) != CANNOLI_INSN_BRANCH ||
            !insn_target(k->cover, s->addr, k->module->insns[s->insn].bytes, s->len,
                         s->mode, &target)) {
            continue;
        }
        n = report_site_count(k, s);
        count = s->flags & CANNOLI_INSN_COND ? n.taken : n.count;
        to = report_site_at(k, target);
        if (!count || to >= k->nr_sites || k->sites[to].addr != target) {
            continue;
        }
        if (!array_reserve(&k->jumps, &cap, k->nr_jumps + 1, sizeof(*k->jumps))) {
            return -CTR_E_NOMEM;
        }
        k->jumps[k->nr_jumps++] =
            (struct jump){.from = (uint32_t)i, .to = (uint32_t)to, .count = count};
    }
    if (k->nr_jumps) {
        qsort(k->jumps, k->nr_jumps, sizeof(*k->jumps), by_target);
    }
    return 0;
}

size_t report_jump_at(const struct report_code *k, size_t site)
{
    size_t lo = 0, hi = k->nr_jumps;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (k->jumps[mid].to < site) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

/* Whether site i directly follows the one before it. */
static bool follows(const struct report_code *k, size_t i)
{
    return i && k->sites[i - 1].addr + k->sites[i - 1].len == k->sites[i].addr;
}

uint64_t report_without_jumps(const struct report_code *k, size_t i, uint64_t n)
{
    for (size_t j = report_jump_at(k, i); j < k->nr_jumps && k->jumps[j].to == i; j++) {
        n -= k->jumps[j].count < n ? k->jumps[j].count : n;
    }
    return n;
}

uint64_t report_fall(const struct report_code *k, size_t i)
{
    uint64_t here = report_site_count(k, &k->sites[i]).count;
    const struct site *before;
    struct site_count n;

    if (!here || !follows(k, i)) {
        return 0;
    }
    before = &k->sites[i - 1];
    if (insn_delay_slots(k->cover)) {
        if (before->flags & CANNOLI_INSN_BRANCH) {
            return here; /* the delay slot */
        }
        if (follows(k, i - 1) && (k->sites[i - 2].flags & CANNOLI_INSN_BRANCH)) {
            before = &k->sites[i - 2];
        }
    }
    n = report_site_count(k, before);
    if (before->flags & CANNOLI_INSN_CALL) {
        return n.count ? report_without_jumps(k, i, here) : 0;
    }
    if (before->flags & CANNOLI_INSN_BRANCH) {
        if (!(before->flags & CANNOLI_INSN_COND)) {
            return 0;
        }
        if (n.taken + n.not_taken == n.count) {
            n.count = n.not_taken;
        }
    }
    return n.count < here ? n.count : here;
}

static uint32_t scope_of(const struct report_code *k, const struct site *s)
{
    return s->range != NO_INDEX ? k->ranges[s->range].scope : SYM_NONE;
}

/* The scope around `scope', or SYM_NONE; its number is lower, so that walks end. */
static uint32_t parent_of(const struct report_code *k, uint32_t scope)
{
    uint32_t parent = k->scopes[scope].parent;

    return parent < scope ? parent : SYM_NONE;
}

bool report_within(const struct report_code *k, const struct site *s, uint32_t scope)
{
    uint32_t at = scope_of(k, s);

    while (at < k->nr_scopes && at > scope) {
        at = parent_of(k, at);
    }
    return at == scope && scope != SYM_NONE;
}

/* The innermost scope that contains both sites, or SYM_NONE. */
static uint32_t common_scope(const struct report_code *k, const struct site *a,
                             const struct site *b)
{
    uint32_t x = scope_of(k, a), y = scope_of(k, b);

    while (x != y && x < k->nr_scopes && y < k->nr_scopes) {
        if (x > y) {
            x = parent_of(k, x);
        } else {
            y = parent_of(k, y);
        }
    }
    return x == y ? x : SYM_NONE;
}

uint64_t report_entries(const struct report_code *k, size_t site, uint32_t scope,
                        const struct sym_function *symbol)
{
    uint64_t n = report_site_count(k, &k->sites[site]).count;

    for (size_t i = report_jump_at(k, site); i < k->nr_jumps && k->jumps[i].to == site;
         i++) {
        const struct site *from = &k->sites[k->jumps[i].from];
        bool own = symbol ? from->addr >= symbol->addr && from->addr < symbol->end
                          : report_within(k, from, scope);

        if (own) {
            n -= k->jumps[i].count < n ? k->jumps[i].count : n;
        }
    }
    return n;
}

/* The count of jumps to site i, known or not, except known ones within the scope. */
static uint64_t jumps_into(const struct report_code *k, size_t i, uint64_t jump,
                           uint32_t scope)
{
    for (size_t j = report_jump_at(k, i); j < k->nr_jumps && k->jumps[j].to == i; j++) {
        if (report_within(k, &k->sites[k->jumps[j].from], scope)) {
            jump -= k->jumps[j].count < jump ? k->jumps[j].count : jump;
        }
    }
    return jump;
}

int report_inlined_entries(const struct report_code *k, uint64_t *v)
{
    uint32_t *seen = calloc((size_t)k->nr_scopes + 1, sizeof(*seen)), stretch = 1;
    const struct site *before = NULL;

    if (!seen) {
        return -CTR_E_NOMEM;
    }
    for (size_t i = 0; i < k->nr_sites; before = &k->sites[i++]) {
        const struct site *s = &k->sites[i];
        uint64_t count = s->insn == NO_INDEX ? 0 : report_site_count(k, s).count, fall,
                 jump;
        uint32_t at = scope_of(k, s), common;

        if (!count) {
            continue;
        }
        fall = report_fall(k, i);
        jump = count - fall;
        stretch += jump > 0;
        /* `common' and the scopes around it also contain `before' */
        common = fall ? common_scope(k, before, s) : SYM_NONE;
        while (at < k->nr_scopes && k->scopes[at].parent < at) {
            if (fall && seen[at] != stretch && (common == SYM_NONE || at > common)) {
                v[at] = sum_u64(v[at], fall);
            }
            if (jump) {
                v[at] = sum_u64(v[at], jumps_into(k, i, jump, at));
            }
            seen[at] = stretch;
            at = k->scopes[at].parent;
        }
    }
    free(seen);
    return 0;
}
