/* SPDX-License-Identifier: MIT */
/*
 * A call tree from the callee up; see graph.h.
 *
 * Each node's self cost goes along its path, from its function to its caller and on to the
 * root.  Only the sum of all depths bounds the nodes of the result, and the square of the
 * depth the work of a deep recursion, so both have a limit.  The most expensive paths come
 * first; beyond a limit a path ends early, and its cost is where it ends.
 */
#include "graph_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "graph_build.h"

#define MAX_NODES (1u << 20)   /* that are no roots: some 100 bytes each */
#define MAX_STEPS (1ull << 26) /* from callee to caller, for all paths */

struct path {
    uint64_t weight;
    uint32_t node;
};

static int by_weight(const void *va, const void *vb)
{
    const struct path *a = va, *b = vb;

    if (a->weight != b->weight) {
        return a->weight < b->weight ? 1 : -1;
    }
    return a->node < b->node ? -1 : a->node > b->node;
}

static bool any(const struct cost *c)
{
    return c->insns || c->loads || c->stores;
}

/* The nodes with self cost, the most expensive first; NULL: no memory. */
static struct path *paths_of(const struct calltree *t, enum graph_cost cost, uint32_t *n)
{
    struct path *v = malloc((t->nr_nodes + (size_t)1) * sizeof(*v));

    *n = 0;
    for (uint32_t i = 0; v && i < t->nr_nodes; i++) {
        if (any(&t->nodes[i].self) || (t->older && any(&t->older[i].self))) {
            v[(*n)++] = (struct path){graph_self(t, i, cost).sum, i};
        }
    }
    if (v) {
        qsort(v, *n, sizeof(*v), by_weight);
    }
    return v;
}

/* What goes along one path. */
struct load {
    uint64_t calls, older_calls;
    struct cost self, older_self;
};

static void add_calls(struct calltree *to, uint32_t node, const struct load *l)
{
    to->nodes[node].calls += l->calls;
    if (to->older) {
        to->older[node].calls += l->older_calls;
    }
}

/* Adds one path; false: no memory. */
static bool add_path(struct graph_builder *b, const struct calltree *t, uint32_t node,
                     uint32_t max_nodes, uint64_t *steps, struct cost *cut)
{
    struct load l = {.calls = t->nodes[node].calls, .self = t->nodes[node].self};
    uint32_t at = graph_build_node(b, SYM_NONE, t->nodes[node].function);

    if (t->older) {
        l.older_calls = t->older[node].calls;
        l.older_self = t->older[node].self;
    }
    for (uint32_t p = t->nodes[node].parent; at != SYM_NONE; p = t->nodes[p].parent) {
        add_calls(b->tree, at, &l);
        if (p == SYM_NONE) {
            break;
        }
        if (!*steps || (b->tree->nr_nodes >= max_nodes &&
                        !graph_build_has(b, at, t->nodes[p].function))) {
            cost_add(cut, &l.self);
            cost_add(cut, &l.older_self);
            break;
        }
        --*steps;
        at = graph_build_node(b, at, t->nodes[p].function);
    }
    if (at == SYM_NONE) {
        return false;
    }
    cost_add(&b->tree->nodes[at].self, &l.self);
    if (t->older) {
        cost_add(&b->tree->older[at].self, &l.older_self);
    }
    return true;
}

static bool add_paths(struct graph_builder *b, const struct calltree *t,
                      const struct path *paths, uint32_t n, struct cost *cut)
{
    uint64_t steps = MAX_STEPS;
    uint32_t max_nodes;
    bool ok = true;

    for (uint32_t i = 0; ok && i < n; i++) {
        ok = graph_build_node(b, SYM_NONE, t->nodes[paths[i].node].function) != SYM_NONE;
    }
    max_nodes = b->tree->nr_nodes + MAX_NODES;
    for (uint32_t i = 0; ok && i < n; i++) {
        ok = add_path(b, t, paths[i].node, max_nodes, &steps, cut);
    }
    return ok;
}

int graph_invert(struct calltree **out, const struct calltree *t, enum graph_cost cost,
                 struct cost *cut)
{
    struct graph_builder b;
    struct path *paths = NULL;
    uint32_t n;
    int ret = graph_build_init(&b, t->trace, t->older != NULL);

    *cut = (struct cost){0};
    if (!ret) {
        paths = paths_of(t, cost, &n);
        ret = paths && graph_build_functions(&b, t) && add_paths(&b, t, paths, n, cut)
                  ? 0
                  : -ENOMEM;
    }
    if (!ret) {
        graph_build_finish(&b, t, out);
        ret = graph_sort_roots(*out, cost);
    }
    free(paths);
    graph_build_fini(&b);
    return ret;
}
