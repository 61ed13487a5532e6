/* SPDX-License-Identifier: MIT */
/* Ids of processes and threads, sorted. */
#include "ids.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    const struct id *x = a, *y = b;

    if (x->id != y->id) {
        return x->id < y->id ? -1 : 1;
    }
    return (x->number > y->number) - (x->number < y->number);
}

bool ids_load(struct ids *ids, const struct ctr_trace *tr)
{
    const struct ctr_process *p;
    const struct ctr_thread *t;
    struct ctr_info info;

    ctr_trace_info(tr, &info);
    ids->v = calloc(2u * info.processes + info.threads + 1u, sizeof(*ids->v));
    if (!ids->v) {
        return false;
    }
    for (uint32_t i = 0; (p = ctr_trace_process(tr, i)) != NULL; i++) {
        ids->v[ids->n++] = (struct id){(uint32_t)p->pid, 2 * i};
        /* The parent of the first process is no process of the trace. */
        ids->v[ids->n++] = (struct id){(uint32_t)p->ppid, UINT32_MAX};
    }
    /* A process's first thread has its id. */
    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        if (t->tid != t->pid) {
            ids->v[ids->n++] = (struct id){(uint32_t)t->tid, 2 * i + 1};
        }
    }
    qsort(ids->v, ids->n, sizeof(*ids->v), by_id);
    return true;
}

void ids_fini(struct ids *ids)
{
    free(ids->v);
    *ids = (struct ids){0};
}

/* The first entry of an id, or NULL. */
static const struct id *find(const struct ids *ids, uint32_t id)
{
    uint32_t low = 0, high = ids->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (ids->v[mid].id < id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < ids->n && ids->v[low].id == id ? &ids->v[low] : NULL;
}

bool ids_same(const struct ids *a, uint32_t id_a, const struct ids *b, uint32_t id_b)
{
    const struct id *x = find(a, id_a), *y = find(b, id_b);

    /* Ids are used again; it is enough that one use of each corresponds. */
    for (const struct id *i = x; i && i < a->v + a->n && i->id == id_a; i++) {
        for (const struct id *k = y; k && k < b->v + b->n && k->id == id_b; k++) {
            if (i->number == k->number) {
                return true;
            }
        }
    }
    return false;
}
