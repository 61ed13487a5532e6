/* SPDX-License-Identifier: MIT */
/*
 * --find: joins the pieces of a pattern that several accesses of one flow have.
 *
 * An open place is an address at which the pattern can begin, with the bytes of it that
 * pieces had so far, in any order.  The piece that brings the last missing byte completes
 * it.  An access that touches some of these bytes and does not agree with the pattern at that
 * place makes the place begin anew, and so does a long time without a piece.  Places do
 * not depend on each other, so what happens to one is the same whatever else is searched.
 *
 * A completed place stays, so that a program that accesses the last bytes again and again
 * does not begin a place with each of them.
 */
#include "dump/find_priv.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define WORDS (FIND_PATTERN_MAX / 64)
#define FIRST_LINES 64u

struct start {
    uint64_t base;
    uint64_t seen; /* ordinal of its latest piece */
    uint64_t have[WORDS];
    uint32_t next;
    uint16_t count;  /* bytes it has */
    uint16_t lo, hi; /* of a completed one: the piece that completed it */
    bool used, done;
};

/* Bytes of the pattern that an access touches, at one place. */
struct touch {
    uint32_t lo, hi;
};

unsigned pieces_shift(const struct pattern *p)
{
    unsigned shift = 6;

    while ((1u << shift) < p->n) {
        shift++;
    }
    return shift;
}

void pieces_init(struct pieces *s, const struct pattern *p, uint64_t within)
{
    *s =
        (struct pieces){.pattern = p, .within = within, .shift = pieces_shift(p), .n = 1};
}

void pieces_fini(struct pieces *s)
{
    free(s->v);
    free(s->heads);
    free(s->done);
}

/* ------------------------------------------------------------------- table */

static uint32_t *head_of(const struct pieces *s, uint64_t line)
{
    return &s->heads[(line * 0x9e3779b97f4a7c15u) >> 32 & s->mask];
}

static bool expired(const struct pieces *s, const struct start *p, uint64_t ordinal)
{
    return ordinal > p->seen && ordinal - p->seen > s->within;
}

static void release(struct pieces *s, uint32_t i)
{
    s->v[i].used = false;
    s->v[i].next = s->free;
    s->free = i;
    s->live--;
}

/* Drops expired places and makes lists for at least `live' lines; false: no memory. */
static bool rebuild(struct pieces *s, uint64_t ordinal)
{
    uint32_t lines = FIRST_LINES, *heads;

    for (uint32_t i = 1; i < s->n; i++) {
        if (s->v[i].used && expired(s, &s->v[i], ordinal)) {
            release(s, i);
        }
    }
    while (lines < s->live && lines < 1u << 30) {
        lines *= 2;
    }
    heads = calloc(lines, sizeof(*heads));
    if (!heads) {
        return false;
    }
    free(s->heads);
    s->heads = heads;
    s->mask = lines - 1;
    for (uint32_t i = 1; i < s->n; i++) {
        if (s->v[i].used) {
            uint32_t *head = head_of(s, s->v[i].base >> s->shift);
            s->v[i].next = *head;
            *head = i;
        }
    }
    return true;
}

/* Makes room for one more place; false: no memory. */
static bool make_room(struct pieces *s, uint64_t ordinal)
{
    uint32_t cap;
    struct start *v;

    if (s->free || s->n < s->cap) {
        return true;
    }
    if (!rebuild(s, ordinal)) {
        return false;
    }
    if (s->free && s->live <= s->cap / 2) {
        return true;
    }
    cap = s->cap ? 2 * s->cap : FIRST_LINES;
    v = cap > s->cap ? realloc(s->v, cap * sizeof(*v)) : NULL;
    if (!v) {
        return false;
    }
    s->v = v;
    s->cap = cap;
    return true;
}

/* ------------------------------------------------------------------- places */

static void set_bytes(struct start *p, const struct touch *t)
{
    for (uint32_t i = t->lo; i < t->hi; i++) {
        uint64_t bit = UINT64_C(1) << (i & 63);

        if (!(p->have[i / 64] & bit)) {
            p->have[i / 64] |= bit;
            p->count++;
        }
    }
}

static bool has_bytes(const struct start *p, const struct touch *t)
{
    for (uint32_t i = t->lo; i < t->hi; i++) {
        if (p->have[i / 64] >> (i & 63) & 1) {
            return true;
        }
    }
    return false;
}

static void begin_anew(struct start *p)
{
    memset(p->have, 0, sizeof(p->have));
    p->count = 0;
    p->done = false;
}

static bool put_done(struct pieces *s, uint64_t base)
{
    size_t i = s->ndone;

    if (!array_reserve(&s->done, &s->cap_done, s->ndone + 1, sizeof(*s->done))) {
        return false;
    }
    for (; i > 0 && s->done[i - 1] > base; i--) {
        s->done[i] = s->done[i - 1];
    }
    s->done[i] = base;
    s->ndone++;
    return true;
}

/* A piece of this place; false: no memory. */
static bool add_piece(struct pieces *s, struct start *p, uint64_t ordinal,
                      const struct touch *t, bool weak)
{
    if (p->done) {
        if (t->lo >= p->lo && t->hi <= p->hi) {
            return true;
        }
        begin_anew(p);
    }
    if (weak && !p->count) {
        return true;
    }
    set_bytes(p, t);
    p->seen = ordinal;
    if (p->count < s->pattern->n) {
        return true;
    }
    p->done = true;
    p->lo = (uint16_t)t->lo;
    p->hi = (uint16_t)t->hi;
    return put_done(s, p->base);
}

static struct touch touch_of(const struct pieces *s, uint64_t base, uint64_t addr,
                             uint64_t size)
{
    const uint32_t n = s->pattern->n;
    struct touch t = {.lo = addr > base ? (uint32_t)(addr - base) : 0, .hi = n};
    const uint64_t skip = addr < base ? base - addr : 0; /* bytes before the place */

    if (size - skip < n - t.lo) {
        t.hi = t.lo + (uint32_t)(size - skip);
    }
    return t;
}

static bool among(const int64_t *at, size_t n, int64_t v)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (at[mid] < v) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo < n && at[lo] == v;
}

/* An access, with the first and the last place that it can touch, and its pieces. */
struct reach {
    uint64_t ordinal, addr, size, first, last;
    const int64_t *at;
    size_t n;
};

/* Makes the places of a list that the access touches, and is no piece of, begin anew. */
static void clear_list(struct pieces *s, uint32_t *link, const struct reach *r)
{
    while (*link) {
        struct start *p = &s->v[*link];
        uint32_t i = *link;
        struct touch t;

        if (expired(s, p, r->ordinal)) {
            *link = p->next;
            release(s, i);
            continue;
        }
        if (p->base >= r->first && p->base <= r->last &&
            !among(r->at, r->n, (int64_t)(p->base - r->addr))) {
            t = touch_of(s, p->base, r->addr, r->size);
            if (has_bytes(p, &t)) {
                *link = p->next;
                release(s, i);
                continue;
            }
        }
        link = &p->next;
    }
}

static void clear_touched(struct pieces *s, const struct reach *r)
{
    const uint64_t from = r->first >> s->shift, to = r->last >> s->shift;

    if (to - from > s->mask) {
        for (uint32_t i = 0; i <= s->mask; i++) {
            clear_list(s, &s->heads[i], r);
        }
        return;
    }
    for (uint64_t line = from; line <= to; line++) {
        clear_list(s, head_of(s, line), r);
    }
}

/* The place with this address, or NULL. */
static struct start *find_place(struct pieces *s, uint64_t base, uint64_t ordinal)
{
    uint32_t i = s->heads ? *head_of(s, base >> s->shift) : 0;

    while (i && s->v[i].base != base) {
        i = s->v[i].next;
    }
    if (i && expired(s, &s->v[i], ordinal)) {
        begin_anew(&s->v[i]);
    }
    return i ? &s->v[i] : NULL;
}

/* Opens a place that there is not; NULL: no memory. */
static struct start *open_place(struct pieces *s, uint64_t base, uint64_t ordinal)
{
    uint32_t i, *head;

    if (!make_room(s, ordinal)) {
        return NULL;
    }
    i = s->free;
    if (i) {
        s->free = s->v[i].next;
    } else {
        i = s->n++;
    }
    s->v[i] = (struct start){.base = base, .used = true};
    head = head_of(s, base >> s->shift);
    s->v[i].next = *head;
    *head = i;
    s->live++;
    return &s->v[i];
}

/* A piece of the place at base; false: no memory. */
static bool take_piece(struct pieces *s, uint64_t base, const struct reach *r)
{
    const struct pattern *pattern = s->pattern;
    const struct touch t = touch_of(s, base, r->addr, r->size);
    const bool weak = pattern->strong[t.hi] == pattern->strong[t.lo];
    struct start *p = find_place(s, base, r->ordinal);

    if (!p && weak) {
        return true;
    }
    p = p ? p : open_place(s, base, r->ordinal);
    return p && add_piece(s, p, r->ordinal, &t, weak);
}

bool pieces_access(struct pieces *s, uint64_t ordinal, uint64_t addr, uint64_t size,
                   const int64_t *at, size_t n)
{
    const uint64_t before = s->pattern->n - 1;
    struct reach r = {
        .ordinal = ordinal,
        .addr = addr,
        .size = size,
        .first = addr > before ? addr - before : 0,
        .last = addr + (size - 1) < addr ? UINT64_MAX : addr + (size - 1),
        .at = at,
        .n = n,
    };

    s->ndone = 0;
    if (s->live) {
        clear_touched(s, &r);
    }
    for (size_t i = 0; i < n; i++) {
        const uint64_t base = addr + (uint64_t)at[i];

        if ((at[i] < 0 ? base > addr : base < addr) || base + before < base) {
            continue; /* beyond either end of the address space */
        }
        if (!take_piece(s, base, &r)) {
            return false;
        }
    }
    return true;
}
