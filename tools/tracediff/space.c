/* SPDX-License-Identifier: MIT */
/* Mappings as a thread sees them; see space.h. */
#include "space.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"
#include "maplog.h"

/* Mappings at once; Linux permits 65,530.  More are not known. */
#define MAX_REGIONS (1u << 17)

void space_begin(struct space *s, const struct maplog *log, const struct ctr_thread *t)
{
    struct region *keep = s->region;
    size_t cap = s->cap;

    *s = (struct space){.log = log, .thread = t, .region = keep, .cap = cap};
    if (log) {
        s->v = maplog_process(log, t->process, &s->n);
    }
}

void space_fini(struct space *s)
{
    free(s->region);
    *s = (struct space){0};
}

/* Number of the first region that ends after addr. */
static size_t first_after(const struct space *s, uint64_t addr)
{
    size_t low = 0, high = s->nregions;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (s->region[mid].end <= addr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static void insert(struct space *s, size_t i, struct region r)
{
    if (s->nregions == MAX_REGIONS ||
        !array_reserve(&s->region, &s->cap, s->nregions + 1, sizeof(*s->region))) {
        s->failed = true;
        return;
    }
    memmove(s->region + i + 1, s->region + i, (s->nregions - i) * sizeof(*s->region));
    s->region[i] = r;
    s->nregions++;
}

/*
 * Unmaps a range.  What remains above it of a mapping without a file begins anew: programs
 * map more than they need to get an aligned range, and only that has the same contents.
 */
static void carve(struct space *s, uint64_t start, uint64_t end)
{
    size_t i = first_after(s, start), n = 0;

    if (i < s->nregions && s->region[i].start < start) {
        struct region *r = &s->region[i], above = *r;
        r->end = start;
        i++;
        if (above.end > end) {
            above.off += end - above.start;
            above.start = end;
            insert(s, i, above);
            s->removals++;
            return;
        }
        s->removals++;
    }
    while (i + n < s->nregions && s->region[i + n].end <= end) {
        n++;
    }
    if (n) {
        memmove(s->region + i, s->region + i + n,
                (s->nregions - i - n) * sizeof(*s->region));
        s->nregions -= n;
        s->removals++;
    }
    if (i < s->nregions && s->region[i].start < end) {
        struct region *r = &s->region[i];
        if (maplog_is_file(r->key)) {
            r->off += end - r->start;
        }
        r->start = end;
        s->removals++;
    }
}

static uint64_t end_of(uint64_t start, uint64_t size)
{
    return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

static void map(struct space *s, const struct map_change *c)
{
    const uint64_t end = end_of(c->start, c->size);
    struct region r = {.start = c->start, .end = end, .off = c->offset, .key = c->key};
    size_t i;

    carve(s, c->start, end);
    i = first_after(s, c->start);
    if (c->joins && i && s->region[i - 1].end == c->start &&
        maplog_is_file(s->region[i - 1].key)) {
        const struct region *before = &s->region[i - 1];
        r.key = before->key;
        r.off = before->off + (before->end - before->start);
    }
    if (c->stack) {
        r.off = c->start - c->zero;
    }
    insert(s, i, r);
}

/* A moved mapping stays what it was; one that grows, too. */
static void move(struct space *s, const struct map_change *c)
{
    const size_t i = first_after(s, c->old_start);
    struct region r = {.key = 0};

    if (i < s->nregions && s->region[i].start <= c->old_start) {
        r = s->region[i];
        r.off += c->old_start - r.start;
    }
    carve(s, c->old_start, end_of(c->old_start, c->old_size));
    carve(s, c->start, end_of(c->start, c->size));
    r.start = c->start;
    r.end = end_of(c->start, c->size);
    r.key = r.key ? r.key : c->key;
    insert(s, first_after(s, c->start), r);
}

/* The heap's offsets count from its start, so growing changes nothing else. */
static void apply(struct space *s, const struct map_change *c)
{
    const bool again = c->op == CTR_MAP_INITIAL && s->initial && !s->replaced;

    memset(s->cache, 0, sizeof(s->cache));
    s->changes++;
    if (c->op == 0) {
        s->replaced = true;
        return;
    }
    if (c->op == CTR_MAP_INITIAL && !again) {
        s->removals += s->nregions != 0;
        s->nregions = 0;
    }
    s->initial = c->op == CTR_MAP_INITIAL;
    s->replaced = s->replaced && !s->initial;
    switch (c->op) {
    case CTR_MAP_MUNMAP:
    case CTR_MAP_SHMDT:
        carve(s, c->start, end_of(c->start, c->size));
        break;
    case CTR_MAP_MPROTECT:
        break;
    case CTR_MAP_MREMAP:
        move(s, c);
        break;
    default:
        if (c->size && c->start <= UINT64_MAX - c->size) {
            map(s, c);
        }
    }
}

void space_go(struct space *s, uint64_t ordinal, bool after, uint64_t time_ns)
{
    for (;;) {
        if (s->own < s->at) {
            s->own = s->at;
        }
        while (s->own < s->n && s->v[s->own].thread != s->thread->index) {
            s->own++;
        }
        if (s->own == s->n || s->v[s->own].ordinal > ordinal ||
            (s->v[s->own].ordinal == ordinal && !after)) {
            break;
        }
        while (s->at <= s->own) {
            apply(s, &s->v[s->at++]);
        }
    }
    while (s->at < s->own && s->v[s->at].time_ns <= time_ns) {
        apply(s, &s->v[s->at++]);
    }
}

uint64_t space_next(const struct space *s)
{
    return s->own < s->n ? s->v[s->own].ordinal : UINT64_MAX;
}

/*
 * Other threads may have mapped what is not found before the time that is known here: the
 * next change that has the address counts.
 */
static struct space_place find_later(const struct space *s, uint64_t addr)
{
    const size_t most = s->n - s->at < 256 ? s->n : s->at + 256;

    for (size_t i = s->at; i < most; i++) {
        const struct map_change *c = &s->v[i];
        if (c->key && addr - c->start < c->size && c->thread != s->thread->index) {
            return (struct space_place){c->key, c->offset + (addr - c->start)};
        }
    }
    return (struct space_place){0, addr};
}

struct space_place space_find(struct space *s, uint64_t addr)
{
    const uint64_t page = addr >> 12;
    const size_t slot = (size_t)(page ^ page >> 6) % SPACE_CACHE;
    size_t i;

    if (s->cache[slot].region && s->cache[slot].page == page) {
        const struct region *r = &s->region[s->cache[slot].region - 1];
        return (struct space_place){r->key, r->off + (addr - r->start)};
    }
    i = first_after(s, addr);
    if (i == s->nregions || s->region[i].start > addr) {
        return find_later(s, addr);
    }
    s->cache[slot].page = page;
    s->cache[slot].region = (uint32_t)i + 1;
    return (struct space_place){s->region[i].key,
                                s->region[i].off + (addr - s->region[i].start)};
}
