/* SPDX-License-Identifier: MIT */
/* Walking a call tree of any depth without recursion; see graph_priv.h. */
#include "graph_priv.h"

#include <errno.h>
#include <stdlib.h>

struct child {
    uint64_t cost;
    uint32_t node;
};

static int by_cost(const void *va, const void *vb)
{
    const struct child *a = va, *b = vb;

    if (a->cost != b->cost) {
        return a->cost < b->cost ? 1 : -1;
    }
    return a->node < b->node ? -1 : a->node > b->node;
}

static uint32_t sort_children(struct graph_walk *w, uint32_t parent, struct child *v,
                              enum graph_cost cost)
{
    const struct call_node *nodes = w->t->nodes;
    uint32_t n = 0;

    for (uint32_t c = nodes[parent].first_child; c != SYM_NONE; c = nodes[c].next) {
        v[n++] = (struct child){graph_inclusive(w->t, c, cost).sum, c};
    }
    qsort(v, n, sizeof(*v), by_cost);
    for (uint32_t i = 0; i < n; i++) {
        w->next[v[i].node] = i + 1 < n ? v[i + 1].node : SYM_NONE;
    }
    return n ? v[0].node : SYM_NONE;
}

int graph_sort_roots(struct calltree *t, enum graph_cost cost)
{
    struct child *v = malloc((t->nr_threads + (size_t)1) * sizeof(*v));

    if (!v) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        uint32_t root = t->threads[i].root;
        v[i] = (struct child){graph_inclusive(t, root, cost).sum, root};
    }
    qsort(v, t->nr_threads, sizeof(*v), by_cost);
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        t->threads[i] = (struct calltree_thread){.root = v[i].node,
                                                 .total = t->nodes[v[i].node].inclusive};
    }
    free(v);
    return 0;
}

int graph_walk_init(struct graph_walk *w, const struct calltree *t, bool sorted,
                    enum graph_cost cost)
{
    size_t n = t->nr_nodes + (size_t)1;
    struct child *v;

    *w = (struct graph_walk){.t = t};
    w->node = t->nr_threads ? t->threads[0].root : SYM_NONE;
    if (!sorted) {
        return 0;
    }
    v = malloc(n * sizeof(*v));
    w->first = malloc(n * sizeof(*w->first));
    w->next = malloc(n * sizeof(*w->next));
    if (!v || !w->first || !w->next) {
        free(v);
        graph_walk_fini(w);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        w->first[i] = sort_children(w, i, v, cost);
    }
    free(v);
    return 0;
}

void graph_walk_fini(struct graph_walk *w)
{
    free(w->first);
    free(w->next);
    w->first = w->next = NULL;
}

uint32_t graph_walk_child(const struct graph_walk *w, uint32_t node)
{
    return w->first ? w->first[node] : w->t->nodes[node].first_child;
}

uint32_t graph_walk_sibling(const struct graph_walk *w, uint32_t node)
{
    return w->next ? w->next[node] : w->t->nodes[node].next;
}

static void add_amount(struct graph_amount *to, struct graph_amount a)
{
    to->now += a.now;
    to->older += a.older;
    to->sum += a.sum;
}

uint32_t graph_walk_skip(struct graph_walk *w, enum graph_cost cost,
                         struct graph_amount *sum)
{
    uint32_t count = 0;

    *sum = (struct graph_amount){0};
    for (uint32_t i = w->node; i != SYM_NONE; count++) {
        add_amount(sum, graph_inclusive(w->t, i, cost));
        w->node = i;
        if (w->depth) {
            i = graph_walk_sibling(w, i);
        } else {
            i = w->root + 1 < w->t->nr_threads ? w->t->threads[++w->root].root : SYM_NONE;
        }
    }
    return count;
}

void graph_walk_next(struct graph_walk *w, bool descend)
{
    uint32_t child = descend ? graph_walk_child(w, w->node) : SYM_NONE;

    if (child != SYM_NONE) {
        w->node = child;
        w->depth++;
        return;
    }
    while (w->depth) {
        uint32_t sibling = graph_walk_sibling(w, w->node);

        if (sibling != SYM_NONE) {
            w->node = sibling;
            return;
        }
        w->node = w->t->nodes[w->node].parent;
        w->depth--;
    }
    w->root++;
    w->node = graph_walk_ok(w) ? w->t->threads[w->root].root : SYM_NONE;
}
