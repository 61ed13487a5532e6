/* SPDX-License-Identifier: MIT */
/*
 * Computes the final result from the tree of self costs (calltree_result.c has the sums):
 * calls between places, names of threads.
 */
#include "calltree_priv.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ edges */

struct edge_key {
    uint32_t caller, callee;
    uint64_t site;
    uint32_t node;
};

static int by_edge(const void *a, const void *b)
{
    const struct edge_key *x = a, *y = b;

    if (x->caller != y->caller) {
        return x->caller < y->caller ? -1 : 1;
    }
    if (x->site != y->site) {
        return x->site < y->site ? -1 : 1;
    }
    if (x->callee != y->callee) {
        return x->callee < y->callee ? -1 : 1;
    }
    return x->node < y->node ? -1 : x->node > y->node;
}

static void add_edge(void *arg, uint32_t node, uint32_t i, bool first)
{
    struct calltree *t = arg;

    if (first) {
        cost_add(&t->edges[i].inclusive, &t->nodes[node].inclusive);
    }
}

static int make_edges(struct fold *f)
{
    struct calltree *t = f->tree;
    struct edge_key *k = malloc((t->nr_nodes + 1) * sizeof(*k));
    uint32_t *of = malloc((t->nr_nodes + 1) * sizeof(*of)), n = 0;
    int ret = -CTR_E_NOMEM;

    if (!k || !of) {
        goto out;
    }
    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        const struct call_node *v = &t->nodes[i];

        of[i] = SYM_NONE;
        if (v->parent != SYM_NONE) {
            k[n++] = (struct edge_key){t->nodes[v->parent].function, v->function,
                                       f->more[i].site, i};
        }
    }
    qsort(k, n, sizeof(*k), by_edge);
    t->edges = calloc(n + 1, sizeof(*t->edges));
    if (!t->edges) {
        goto out;
    }
    for (uint32_t i = 0; i < n; i++) {
        struct call_edge *e = t->nr_edges ? &t->edges[t->nr_edges - 1] : NULL;

        if (!e || e->caller != k[i].caller || e->callee != k[i].callee ||
            e->site != k[i].site) {
            e = &t->edges[t->nr_edges++];
            e->caller = k[i].caller;
            e->callee = k[i].callee;
            e->site = k[i].site;
        }
        e->calls += t->nodes[k[i].node].calls;
        of[k[i].node] = (uint32_t)(t->nr_edges - 1);
    }
    ret = calltree_visit(t, of, (uint32_t)t->nr_edges, add_edge, t);
out:
    free(k);
    free(of);
    return ret;
}

/*
 * With edges there is a node for each place of a call: merges those of one function in
 * one parent.
 */
static int join_sites(struct fold *f)
{
    struct calltree *t = f->tree;
    struct call_node *old = t->nodes;
    struct node_more *old_more = f->more;
    uint32_t n = t->nr_nodes, *to = malloc((n + 1) * sizeof(*to));
    int ret = to ? 0 : -CTR_E_NOMEM;

    t->nodes = NULL;
    f->more = NULL;
    t->nr_nodes = f->cap_nodes = 0;
    memset(f->buckets, 0, f->nr_buckets * sizeof(*f->buckets));
    for (uint32_t i = 0; !ret && i < n; i++) {
        uint32_t parent = old[i].parent == SYM_NONE ? SYM_NONE : to[old[i].parent];
        uint32_t had = t->nr_nodes;

        to[i] = fold_child(f, parent, old_more[i].fn, 0);
        if (to[i] == parent || (had == t->nr_nodes && to[i] == SYM_NONE)) {
            ret = -CTR_E_NOMEM;
            break;
        }
        t->nodes[to[i]].calls += old[i].calls;
        cost_add(&t->nodes[to[i]].self, &old[i].self);
        cost_add(&t->nodes[to[i]].inclusive, &old[i].inclusive);
    }
    for (uint32_t i = 0; !ret && i < t->nr_threads; i++) {
        t->threads[i].root = to[t->threads[i].root];
    }
    free(to);
    free(old);
    free(old_more);
    return ret;
}

int calltree_sum(struct fold *f)
{
    int ret;

    calltree_sum_nodes(f->tree);
    ret = f->opt->edges ? make_edges(f) : 0;
    if (!ret && f->opt->edges) {
        ret = join_sites(f);
    }
    if (!ret) {
        ret = calltree_sum_functions(f->tree);
    }
    for (uint32_t i = 0; !ret && i < f->tree->nr_threads; i++) { /* known only now */
        ret = fold_name(f, f->tree->nodes[f->tree->threads[i].root].function);
    }
    return ret;
}
