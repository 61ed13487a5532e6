/* SPDX-License-Identifier: MIT */
/*
 * The part of a call tree that is below calls of chosen functions; see graph.h.
 */
#include "graph_priv.h"

#include <errno.h>
#include <stdlib.h>

#include "graph_build.h"

/* Adds node i; to: the nodes of the result by node, SYM_NONE: not chosen. */
static bool add_node(struct graph_builder *b, const struct calltree *t, uint32_t i,
                     const bool *wanted, bool all_roots, uint32_t *to)
{
    const struct call_node *n = &t->nodes[i];
    uint32_t parent = n->parent == SYM_NONE || (all_roots && wanted[n->function])
                          ? SYM_NONE
                          : to[n->parent];

    to[i] = SYM_NONE;
    if (parent == SYM_NONE && !wanted[n->function]) {
        return true;
    }
    to[i] = graph_build_node(b, parent, n->function);
    if (to[i] == SYM_NONE) {
        return false;
    }
    b->tree->nodes[to[i]].calls += n->calls;
    cost_add(&b->tree->nodes[to[i]].self, &n->self);
    if (t->older) {
        b->tree->older[to[i]].calls += t->older[i].calls;
        cost_add(&b->tree->older[to[i]].self, &t->older[i].self);
    }
    return true;
}

int graph_select(struct calltree **out, const struct calltree *t, const bool *wanted,
                 bool all_roots, enum graph_cost cost)
{
    uint32_t *to = malloc((t->nr_nodes + (size_t)1) * sizeof(*to));
    struct graph_builder b;
    int ret = graph_build_init(&b, t->trace, t->older != NULL);

    if (!ret) {
        ret = to && graph_build_functions(&b, t) ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; !ret && i < t->nr_nodes; i++) { /* parents first */
        ret = add_node(&b, t, i, wanted, all_roots, to) ? 0 : -ENOMEM;
    }
    if (!ret) {
        graph_build_finish(&b, t, out);
        (*out)->selected = true;
        (*out)->all = t->total;
        (*out)->older_all = t->older_total;
        ret = graph_sort_roots(*out, cost);
    }
    free(to);
    graph_build_fini(&b);
    return ret;
}
