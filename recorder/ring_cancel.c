/* SPDX-License-Identifier: MIT */
/*
 * Which map events have no effect because later ones cover all that they changed. Unlike
 * folding this holds whatever was mapped before, so it does not wait for threads that
 * have not handed over all of their past, like one that sleeps while the others map and
 * unmap for hours.  (If such a thread moved a piece away just before it fell asleep, and
 * another thread then unmapped what was there, the piece is not known to be where it was
 * moved to.)
 *
 * Goes from the last event to the first and keeps the ranges that are mapped or unmapped
 * anew later on, without having been moved before.
 */
#include "ring_priv.h"

#include <stdlib.h>
#include <string.h>

struct range {
    uint64_t start, end;
};

/* Sorted, apart from each other. */
struct ranges {
    struct range *r;
    size_t n, cap;
};

/* The first one that ends at or after `at'. */
static size_t find(const struct ranges *s, uint64_t at)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (s->r[mid].end < at) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low;
}

static bool covers(const struct ranges *s, uint64_t start, uint64_t end)
{
    size_t i = find(s, end);

    return start >= end || (i < s->n && s->r[i].start <= start);
}

/* Puts n ranges in the place of those from `at' to `to' - 1. */
static int replace(struct ranges *s, size_t at, size_t to, const struct range *with,
                   size_t n)
{
    if (s->n + n > s->cap) {
        size_t cap = 2 * s->cap + 64;
        void *more = realloc(s->r, cap * sizeof(*s->r));

        if (!more) {
            return -CTR_E_NOMEM;
        }
        s->r = more;
        s->cap = cap;
    }
    memmove(s->r + at + n, s->r + to, (s->n - to) * sizeof(*s->r));
    memcpy(s->r + at, with, n * sizeof(*s->r));
    s->n = s->n - (to - at) + n;
    return 0;
}

static int add(struct ranges *s, uint64_t start, uint64_t end)
{
    struct range whole = {start, end};
    size_t at = find(s, start), to = at;

    if (start >= end) {
        return 0;
    }
    for (; to < s->n && s->r[to].start <= end; to++) {
        whole.start = s->r[to].start < whole.start ? s->r[to].start : whole.start;
        whole.end = s->r[to].end > whole.end ? s->r[to].end : whole.end;
    }
    return replace(s, at, to, &whole, 1);
}

static int cut_out(struct ranges *s, uint64_t start, uint64_t end)
{
    struct range rest[2];
    size_t at = find(s, start), to = at, n = 0;

    for (; to < s->n && s->r[to].start < end; to++) {
        if (s->r[to].start < start) {
            rest[n++] = (struct range){s->r[to].start, start};
        }
        if (s->r[to].end > end) {
            rest[n++] = (struct range){end, s->r[to].end};
        }
        if (n == 2) {
            to++;
            break;
        }
    }
    return replace(s, at, to, rest, n);
}

static uint64_t end_of(uint64_t start, uint64_t size)
{
    return size > UINT64_MAX - start ? UINT64_MAX : start + size;
}

/* One event; *needless: it need not be kept. */
static int look_at(struct ranges *later, const struct ctr_map *m, bool *needless)
{
    const uint64_t end = end_of(m->start, m->size);
    int err;

    switch (m->op) {
    case CTR_MAP_MMAP:
    case CTR_MAP_SHMAT:
    case CTR_MAP_MUNMAP:
    case CTR_MAP_SHMDT:
        *needless = covers(later, m->start, end);
        return *needless ? 0 : add(later, m->start, end);
    case CTR_MAP_MPROTECT:
    case CTR_MAP_DISCARD:
        *needless = covers(later, m->start, end);
        return 0;
    case CTR_MAP_MREMAP:
        err = add(later, m->start, end);
        /* What it moved counts. */
        return err ? err
                   : cut_out(later, m->old_start,
                             end_of(m->old_start, m->old_size ? m->old_size : m->size));
    default:
        return 0;
    }
}

int ring_cancel(const struct ctr_os_event *events, size_t n, bool *needless)
{
    struct ranges later = {0};
    int err = 0;

    memset(needless, 0, n * sizeof(*needless));
    for (size_t i = n; !err && i--;) {
        struct ctr_thread_event t;
        struct ctr_map m;

        if (ctr_parse_map(&events[i], &m) == 0) {
            if (m.op == CTR_MAP_INITIAL) {
                break;
            }
            err = look_at(&later, &m, &needless[i]);
        } else if (ctr_parse_thread(&events[i], &t) == 0 && t.op == CTR_THREAD_EXEC) {
            break;
        }
    }
    free(later.r);
    return err;
}
