/* SPDX-License-Identifier: MIT */
/*
 * Call trees as results, however they were made: sums of nodes and functions, and the
 * end of a tree's life.
 */
#include "calltree.h"

#include <stdio.h>
#include <stdlib.h>

const char *call_task_text(const struct ctr_trace *tr, const struct call_task *k,
                           char text[CALL_TASK_TEXT])
{
    const struct ctr_thread *t = ctr_trace_thread(tr, k->thread);

    if (k->pid && k->name[0]) {
        snprintf(text, CALL_TASK_TEXT, "%s-%u", k->name, k->pid);
    } else if (k->pid) {
        snprintf(text, CALL_TASK_TEXT, "task %u", k->pid);
    } else {
        snprintf(text, CALL_TASK_TEXT, "idle cpu%d", t ? t->tid - t->pid : 0);
    }
    return text;
}

void cost_add(struct cost *to, const struct cost *c)
{
    to->insns += c->insns;
    to->loads += c->loads;
    to->stores += c->stores;
}

int calltree_visit(const struct calltree *t, const uint32_t *of, uint32_t n,
                   void (*visit)(void *arg, uint32_t node, uint32_t item, bool first),
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
            uint32_t item = of ? of[at] : v->function;

            if (down && item != SYM_NONE) {
                visit(arg, at, item, depth[item]++ == 0);
            }
            if (down && v->first_child != SYM_NONE) {
                at = v->first_child;
                continue;
            }
            depth[item == SYM_NONE ? n : item]--;
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

static void add_function(void *arg, uint32_t node, uint32_t function, bool first)
{
    struct calltree *t = arg;
    const struct call_node *v = &t->nodes[node];
    struct call_function *f = &t->functions[function];

    f->calls += v->calls;
    cost_add(&f->self, &v->self);
    if (first) {
        cost_add(&f->inclusive, &v->inclusive);
    }
    if (t->older) {
        struct call_older *o = &t->older_functions[function];

        o->calls += t->older[node].calls;
        cost_add(&o->self, &t->older[node].self);
        if (first) {
            cost_add(&o->inclusive, &t->older[node].inclusive);
        }
    }
}

int calltree_sum_functions(struct calltree *t)
{
    return calltree_visit(t, NULL, t->nr_functions, add_function, t);
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
