/* SPDX-License-Identifier: MIT */
/* Makes the lists of address ranges that count in each process. */
#include "base/ranges.h"

#include <stdlib.h>
#include <string.h>

static int by_process(const void *a, const void *b)
{
    const struct ctr_range *x = a, *y = b;
    return (x->process > y->process) - (x->process < y->process);
}

static int by_start(const void *a, const void *b)
{
    const struct ctr_range *x = a, *y = b;
    return (x->from > y->from) - (x->from < y->from);
}

/* Sorts ranges and joins those that touch; returns how many are left. */
static uint32_t tidy(struct ctr_range *v, uint32_t n)
{
    uint32_t kept = 0;
    if (n > 1) {
        qsort(v, n, sizeof(*v), by_start);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].from >= v[i].to && v[i].from != UINT64_MAX) {
            continue;
        }
        if (kept && v[i].from <= v[kept - 1].to) {
            if (v[i].to > v[kept - 1].to) {
                v[kept - 1].to = v[i].to;
            }
        } else {
            v[kept++] = v[i];
        }
    }
    return kept;
}

/* Adds the list of a process: the ranges of all processes, and n of its own. */
static void add_list(struct range_lists *l, struct ctr_range *room, uint32_t process,
                     const struct ctr_range *all, uint32_t nall,
                     const struct ctr_range *own, uint32_t n)
{
    for (uint32_t i = 0; i < nall + n; i++) {
        room[i] = i < nall ? all[i] : own[i - nall];
    }
    l->list[l->nlist++] =
        (struct range_list){process, (uint32_t)(room - l->v), tidy(room, nall + n)};
}

int range_lists_make(struct range_lists *out, const struct ctr_range *v, uint32_t n)
{
    uint32_t shared = 0, processes = 1, any;
    struct ctr_range *sorted, *room;
    *out = (struct range_lists){0};
    if (!n) {
        return 0;
    }
    sorted = malloc(n * sizeof(*sorted));
    if (!sorted) {
        return -1;
    }
    memcpy(sorted, v, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_process);
    while (shared < n && !sorted[shared].process) {
        shared++;
    }
    for (uint32_t i = shared; i < n; i++) {
        processes += i == shared || sorted[i].process != sorted[i - 1].process;
    }
    out->v = malloc(((size_t)processes * shared + 2 * (size_t)n) * sizeof(*out->v));
    out->list = malloc(processes * sizeof(*out->list));
    if (!out->v || !out->list) {
        free(sorted);
        range_lists_free(out);
        return -1;
    }
    room = out->v;
    add_list(out, room, 0, sorted, shared, NULL, 0);
    room += shared;
    for (uint32_t i = shared, end; i < n; i = end) {
        for (end = i + 1; end < n && sorted[end].process == sorted[i].process;) {
            end++;
        }
        add_list(out, room, sorted[i].process, sorted, shared, sorted + i, end - i);
        room += shared + (end - i);
    }
    memcpy(room, sorted, n * sizeof(*room));
    any = tidy(room, n);
    out->any = (struct ranges){room, any};
    free(sorted);
    return 0;
}

void range_lists_free(struct range_lists *l)
{
    free(l->v);
    free(l->list);
    *l = (struct range_lists){0};
}

struct ranges range_lists_of(const struct range_lists *l, uint32_t process)
{
    uint32_t lo = 1, n = l->nlist ? l->nlist - 1 : 0;
    while (n) {
        uint32_t half = n / 2;
        if (l->list[lo + half].process < process + 1) {
            lo += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    if (!l->nlist) {
        return (struct ranges){NULL, 0};
    }
    const struct range_list *at =
        lo < l->nlist && l->list[lo].process == process + 1 ? &l->list[lo] : l->list;
    return (struct ranges){l->v + at->first, at->n};
}
