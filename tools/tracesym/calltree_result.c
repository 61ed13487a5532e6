/* SPDX-License-Identifier: MIT */
/*
 * Call trees as results, however they were made: sums of nodes and functions, and the
 * end of a tree's life.
 */
#include "calltree.h"

#include <stdlib.h>

void cost_add(struct cost *to, const struct cost *c)
{
    to->insns += c->insns;
    to->loads += c->loads;
    to->stores += c->stores;
}

int calltree_first_on_path(const struct calltree *t, const uint32_t *of, uint32_t n,
                           void (*first)(void *arg, uint32_t node, uint32_t item),
                           void *arg)
{
    uint32_t *depth = calloc(n + (size_t)1, sizeof(*depth)), at = 0;
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
                first(arg, at, of[at]);
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

static void add_function(void *arg, uint32_t node, uint32_t function)
{
    struct calltree *t = arg;

    cost_add(&t->functions[function].inclusive, &t->nodes[node].inclusive);
    if (t->older) {
        cost_add(&t->older_functions[function].inclusive, &t->older[node].inclusive);
    }
}

int calltree_sum_functions(struct calltree *t)
{
    uint32_t *of = malloc((t->nr_nodes + (size_t)1) * sizeof(*of));
    int ret;

    if (!of) {
        return -CTR_E_NOMEM;
    }
    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        struct call_node *v = &t->nodes[i];
        struct call_function *fn = &t->functions[v->function];

        of[i] = v->function;
        fn->calls += v->calls;
        cost_add(&fn->self, &v->self);
        if (t->older) {
            t->older_functions[v->function].calls += t->older[i].calls;
            cost_add(&t->older_functions[v->function].self, &t->older[i].self);
        }
    }
    ret = calltree_first_on_path(t, of, t->nr_functions, add_function, t);
    free(of);
    return ret;
}

void calltree_sum_nodes(struct calltree *t)
{
    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        t->nodes[i].inclusive = t->nodes[i].self;
        if (t->older) {
            t->older[i].inclusive = t->older[i].self;
        }
    }
    for (uint32_t i = t->nr_nodes; i-- > 0;) {
        uint32_t parent = t->nodes[i].parent;

        if (parent != SYM_NONE) {
            cost_add(&t->nodes[parent].inclusive, &t->nodes[i].inclusive);
        }
        if (parent != SYM_NONE && t->older) {
            cost_add(&t->older[parent].inclusive, &t->older[i].inclusive);
        }
    }
    for (uint32_t i = 0; i < t->nr_threads; i++) {
        t->threads[i].total = t->nodes[t->threads[i].root].inclusive;
        cost_add(&t->total, &t->threads[i].total);
        if (t->older) {
            cost_add(&t->older_total, &t->older[t->threads[i].root].inclusive);
        }
    }
}

void calltree_free(struct calltree *t)
{
    if (!t) {
        return;
    }
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        free((char *)t->functions[i].name);
    }
    free(t->functions);
    free(t->nodes);
    free(t->edges);
    free(t->lines);
    free(t->threads);
    free(t->older);
    free(t->older_functions);
    free(t);
}
