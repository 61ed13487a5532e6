/* SPDX-License-Identifier: MIT */
/*
 * Functions made at run time that do not overlap: the newest one at each address, and
 * layers of older ones, for programs that reuse memory.  A sweep over the addresses keeps
 * the functions that contain the current one in a heap, the newest on top.
 */
#include "symbols/jit.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* A function by age: the number is its place in the order of time. */
struct member {
    uint64_t addr, end, time_ns;
    uint32_t function;
    uint32_t age; /* higher is newer */
};

struct heap {
    const struct member **v;
    size_t n;
};

static void heap_swap(struct heap *h, size_t a, size_t b)
{
    const struct member *m = h->v[a];

    h->v[a] = h->v[b];
    h->v[b] = m;
}

static void heap_push(struct heap *h, const struct member *m)
{
    size_t i = h->n++;

    h->v[i] = m;
    for (; i && h->v[i]->age > h->v[(i - 1) / 2]->age; i = (i - 1) / 2) {
        heap_swap(h, i, (i - 1) / 2);
    }
}

static void heap_pop(struct heap *h)
{
    size_t i = 0, child;

    h->v[0] = h->v[--h->n];
    while ((child = 2 * i + 1) < h->n) {
        child += child + 1 < h->n && h->v[child + 1]->age > h->v[child]->age;
        if (h->v[child]->age < h->v[i]->age) {
            return;
        }
        heap_swap(h, i, child);
        i = child;
    }
}

static int by_time(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return x->time_ns != y->time_ns
               ? (x->time_ns < y->time_ns ? -1 : 1)
               : (x->function > y->function) - (x->function < y->function);
}

static int by_addr(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    return x->addr != y->addr ? (x->addr < y->addr ? -1 : 1)
                              : (x->age > y->age) - (x->age < y->age);
}

static bool add_piece(struct jit_layer *out, size_t *cap, uint64_t addr, uint64_t end,
                      uint32_t function)
{
    struct jit_piece *last = out->n ? &out->v[out->n - 1] : NULL;

    if (last && last->function == function && last->end == addr) {
        last->end = end;
        return true;
    }
    if (!array_reserve(&out->v, cap, out->n + 1, sizeof(*out->v))) {
        return false;
    }
    out->v[out->n++] = (struct jit_piece){addr, end, function};
    return true;
}

/* The newest of the members, which are ascending by address. */
static bool flatten(const struct member *v, size_t n, struct jit_layer *out)
{
    struct heap h = {malloc((n + 1) * sizeof(struct member *)), 0};
    size_t i = 0, cap = 0;
    uint64_t at = 0;
    bool ok = h.v != NULL;

    while (ok && (i < n || h.n)) {
        const struct member *top;
        uint64_t next;

        if (h.n && h.v[0]->end <= at) {
            heap_pop(&h);
            continue;
        }
        at = h.n ? at : v[i].addr;
        for (; i < n && v[i].addr == at; i++) {
            heap_push(&h, &v[i]);
        }
        top = h.v[0];
        next = i < n && v[i].addr < top->end ? v[i].addr : top->end;
        ok = add_piece(out, &cap, at, next, top->function);
        at = next;
    }
    free(h.v);
    return ok;
}

/* Keeps the pieces that are whole functions; the members of the others are the next
 * layer's.  whole: by function. */
static size_t keep_whole(struct jit_layer *layer, const struct jit_code *c,
                         struct member *v, size_t n, uint8_t *whole)
{
    size_t pieces = 0, left = 0;

    for (size_t i = 0; i < layer->n; i++) {
        const struct jit_piece *p = &layer->v[i];
        const struct jit_function *f = &c->functions[p->function];
        if (p->addr == f->addr && p->end == f->end) {
            whole[p->function] = 1;
            layer->v[pieces++] = *p;
        }
    }
    layer->n = pieces;
    for (size_t i = 0; i < n; i++) {
        if (!whole[v[i].function]) {
            v[left++] = v[i];
        }
    }
    return left;
}

/* All functions, ascending by address, with their ages. */
static struct member *all_members(const struct jit_code *c)
{
    size_t n = c->nr_functions;
    struct member *v = malloc((n + 1) * sizeof(*v));

    if (!v) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        const struct jit_function *f = &c->functions[i];
        v[i] =
            (struct member){f->addr, f->end, c->timed ? f->time_ns : 0, (uint32_t)i, 0};
    }
    if (n) {
        qsort(v, n, sizeof(*v), by_time);
    }
    for (size_t i = 0; i < n; i++) {
        v[i].age = (uint32_t)i;
    }
    if (n) {
        qsort(v, n, sizeof(*v), by_addr);
    }
    return v;
}

bool jit_layers(const struct jit_code *c, unsigned max, struct jit_layer *out,
                unsigned *n)
{
    size_t left = c->nr_functions;
    struct member *v = all_members(c);
    uint8_t *whole = calloc(left + 1, 1);
    bool ok = v && whole;

    *n = 0;
    while (ok && left) {
        struct jit_layer *layer = &out[(*n)++];

        *layer = (struct jit_layer){0};
        ok = flatten(v, left, layer);
        left = ok && c->timed && *n < max ? keep_whole(layer, c, v, left, whole) : 0;
    }
    free(v);
    free(whole);
    return ok;
}

void jit_layers_free(struct jit_layer *layers, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        free(layers[i].v);
    }
}
