/* SPDX-License-Identifier: MIT */
/*
 * Computes the final result from the tree of self costs: inclusive costs, sums of
 * functions, calls between places.
 */
#include "calltree_priv.h"

#include <stdlib.h>
#include <string.h>

static void add(struct cost *to, const struct cost *c)
{
    to->insns += c->insns;
    to->loads += c->loads;
    to->stores += c->stores;
}

/* ------------------------------------------------------------------- sums */

/*
 * Inclusive costs of the items that nodes represent (of[node], 0..n-1; SYM_NONE: none).
 * Each instruction counts once, however often an item is on its path.
 */
static int sum_paths(const struct calltree *t, const uint32_t *of, uint32_t n,
                     struct cost *(*cost)(void *arg, uint32_t i), void *arg)
{
    uint32_t *depth = calloc(n + 1, sizeof(*depth)), at = 0;
    bool down = true;

    if (!depth) {
        return -CTR_E_NOMEM;
    }
    for (uint32_t r = 0; r < t->nr_threads; r++) {
        at = t->threads[r].root;
        down = true;
        for (;;) {
            const struct call_node *v = &t->nodes[at];

            if (down && of[at] != SYM_NONE && depth[of[at]]++ == 0) {
                add(cost(arg, of[at]), &v->inclusive);
            }
            if (down && v->first_child != SYM_NONE) {
                at = v->first_child;
                continue;
            }
            depth[of[at] == SYM_NONE ? n : of[at]]--;
            if (v->parent == SYM_NONE) {
                break;
            }
            down = v->next != SYM_NONE;
            at = down ? v->next : v->parent;
        }
    }
    free(depth);
    return 0;
}

static struct cost *function_cost(void *arg, uint32_t i)
{
    return &((struct calltree *)arg)->functions[i].inclusive;
}

static int sum_functions(struct calltree *t)
{
    uint32_t *of = malloc((t->nr_nodes + 1) * sizeof(*of));
    int ret;

    if (!of) {
        return -CTR_E_NOMEM;
    }
    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        struct call_node *v = &t->nodes[i];
        struct call_function *fn = &t->functions[v->function];

        of[i] = v->function;
        fn->calls += v->calls;
        add(&fn->self, &v->self);
    }
    ret = sum_paths(t, of, t->nr_functions, function_cost, t);
    free(of);
    return ret;
}

/* Children have higher numbers than their parents. */
static void sum_nodes(struct calltree *t)
{
    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        t->nodes[i].inclusive = t->nodes[i].self;
    }
    for (uint32_t i = t->nr_nodes; i-- > 0;) {
        if (t->nodes[i].parent != SYM_NONE) {
            add(&t->nodes[t->nodes[i].parent].inclusive, &t->nodes[i].inclusive);
        }
    }
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        t->threads[i].total = t->nodes[t->threads[i].root].inclusive;
        add(&t->total, &t->threads[i].total);
    }
}

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

static struct cost *edge_cost(void *arg, uint32_t i)
{
    return &((struct calltree *)arg)->edges[i].inclusive;
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
    ret = sum_paths(t, of, (uint32_t)t->nr_edges, edge_cost, t);
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
        add(&t->nodes[to[i]].self, &old[i].self);
        add(&t->nodes[to[i]].inclusive, &old[i].inclusive);
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

    sum_nodes(f->tree);
    ret = f->opt->edges ? make_edges(f) : 0;
    if (!ret && f->opt->edges) {
        ret = join_sites(f);
    }
    if (!ret) {
        ret = sum_functions(f->tree);
    }
    for (uint32_t i = 0; !ret && i < f->tree->nr_threads; i++) { /* known only now */
        ret = fold_name(f, f->tree->nodes[f->tree->threads[i].root].function);
    }
    return ret;
}
