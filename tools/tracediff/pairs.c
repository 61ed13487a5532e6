/* SPDX-License-Identifier: MIT */
/* Pairs of threads; see pairs.h. */
#include "pairs.h"

#include <stdlib.h>

void pairs_free(struct pairs *p)
{
    free(p->v);
    *p = (struct pairs){0};
}

/* The number of each thread among those of its process, from 0; NULL: no memory. */
static uint32_t *number_threads(const struct side *s)
{
    uint32_t *number = calloc(s->info.threads + 1u, sizeof(*number));
    uint32_t *count = calloc(s->info.processes + 1u, sizeof(*count));

    for (uint32_t i = 0; number && count && i < s->info.threads; i++) {
        number[i] = count[ctr_trace_thread(s->view, i)->process]++;
    }
    if (!count) {
        free(number);
        number = NULL;
    }
    free(count);
    return number;
}

static bool listed(const struct thread_choice *c, uint32_t thread)
{
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->v[i] == thread) {
            return true;
        }
    }
    return c->n == 0;
}

static int by_place(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Process, number in it and index of each thread, sorted. */
struct placed {
    uint64_t place; /* process << 32 | number */
    uint32_t index;
};

static struct placed *place_threads(const struct side *s)
{
    struct placed *v = calloc(s->info.threads + 1u, sizeof(*v));
    uint32_t *number = number_threads(s);

    if (!v || !number) {
        free(v);
        free(number);
        return NULL;
    }
    for (uint32_t i = 0; i < s->info.threads; i++) {
        const struct ctr_thread *t = ctr_trace_thread(s->view, i);
        v[i] = (struct placed){(uint64_t)t->process << 32 | number[i], i};
    }
    qsort(v, s->info.threads, sizeof(*v), by_place);
    free(number);
    return v;
}

/* Merges both by their places. */
static bool pair_by_place(struct pairs *out, const struct side *a, const struct side *b,
                          const struct thread_choice *of)
{
    struct placed *x = place_threads(a), *y = place_threads(b);
    uint32_t i = 0, k = 0;

    out->v = calloc((size_t)a->info.threads + b->info.threads + 1, sizeof(*out->v));
    while (x && y && out->v && (i < a->info.threads || k < b->info.threads)) {
        const uint64_t pa = i < a->info.threads ? x[i].place : UINT64_MAX;
        const uint64_t pb = k < b->info.threads ? y[k].place : UINT64_MAX;
        struct thread_pair p = {.thread = {NULL, NULL}};
        if (pa <= pb) {
            p.thread[0] = ctr_trace_thread(a->view, x[i++].index);
        }
        if (pb <= pa) {
            p.thread[1] = ctr_trace_thread(b->view, y[k++].index);
        }
        if (!of->n || (p.thread[0] && listed(of, p.thread[0]->index))) {
            out->v[out->n++] = p;
        }
    }
    free(x);
    free(y);
    return x && y && out->v;
}

static bool pair_in_order(struct pairs *out, const struct side *a, const struct side *b,
                          const struct thread_choice *of,
                          const struct thread_choice *with)
{
    const uint32_t n = of->n > with->n ? of->n : with->n;

    out->v = calloc(n + 1u, sizeof(*out->v));
    for (out->n = 0; out->v && out->n < n; out->n++) {
        struct thread_pair *p = &out->v[out->n];
        p->thread[0] = out->n < of->n ? ctr_trace_thread(a->view, of->v[out->n]) : NULL;
        p->thread[1] =
            out->n < with->n ? ctr_trace_thread(b->view, with->v[out->n]) : NULL;
    }
    return out->v;
}

int pairs_make(struct pairs *out, const struct side *a, const struct side *b,
               const struct thread_names *of, const struct thread_names *with,
               const char *prog)
{
    struct thread_choice x = {0}, y = {0};
    int status = TOOL_OK;
    bool ok = true;

    *out = (struct pairs){0};
    if (of->n) {
        status = threads_find(of, false, a->view, prog, a->path, &x);
    }
    if (!status && with->n) {
        status = threads_find(with, false, b->view, prog, b->path, &y);
    }
    if (!status) {
        ok = with->n ? pair_in_order(out, a, b, &x, &y) : pair_by_place(out, a, b, &x);
    }
    free(x.v);
    free(y.v);
    if (!ok) {
        tool_error(prog, "no memory");
    }
    return ok ? status : TOOL_FAILED;
}
