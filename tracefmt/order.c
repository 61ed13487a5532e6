/* SPDX-License-Identifier: MIT */
/*
 * Threads are merged by time.  Chunks stand in a file as they were finished, which
 * tells little of when they began, so readers of files take them by their first
 * moment.  Within a thread that must not change their order, whatever times a
 * file tells: a chunk counts as begun no earlier than those before it.
 */
#include "trace.h"

struct begun {
    uint64_t ns;
    uint32_t chunk;
};

static int by_time(const void *a, const void *b)
{
    const struct begun *x = a, *y = b;
    if (x->ns != y->ns) {
        return x->ns < y->ns ? -1 : 1;
    }
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

int trace_make_order(struct ctr_trace *tr, struct ctr_diag *diag)
{
    uint64_t n = tr->nchunks;
    if (tr->nthreads < 2 || n < 2) {
        return 0;
    }
    if (n > UINT32_MAX) {
        return ctr_fail(diag, CTR_E_LIMIT, CTR_NO_OFF, "chunk", "too many chunks");
    }
    struct begun *list = malloc(n * sizeof(list[0]));
    uint64_t *last = calloc(tr->nthreads, sizeof(last[0]));
    int err = 0, sorted = 1;
    if (!list || !last) {
        err = ctr_fail_nomem(diag);
        goto out_free;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct ctr_chunk *c = &tr->chunks[i];
        if (last[c->thread] < c->start_ns) {
            last[c->thread] = c->start_ns;
        }
        list[i] = (struct begun){last[c->thread], i};
        sorted &= i == 0 || list[i - 1].ns <= list[i].ns;
    }
    if (sorted) {
        goto out_free;
    }
    qsort(list, n, sizeof(list[0]), by_time);
    tr->order = malloc(n * sizeof(tr->order[0]));
    if (!tr->order) {
        err = ctr_fail_nomem(diag);
        goto out_free;
    }
    for (uint32_t i = 0; i < n; i++) {
        tr->order[i] = list[i].chunk;
    }
out_free:
    free(list);
    free(last);
    return err;
}
