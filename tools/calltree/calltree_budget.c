/* SPDX-License-Identifier: MIT */
/*
 * One budget of frames for all stored stacks: those of all threads except the running
 * one, those that forked processes may begin with, and those of coroutines.  A trace can
 * have many threads, forks and switches while each stack is a million deep.
 */
#include "calltree_priv.h"

#include <stdlib.h>

#define BUDGET (1u << 20) /* frames */
#define ENOUGH (BUDGET / 4 * 3)
#define SMALL 64u /* frames of each stack that do not count */

static uint64_t count(const struct stack *s)
{
    return s->cap > SMALL ? s->cap - SMALL : 0;
}

static void recount(struct fold *f, struct thread_state *t)
{
    uint64_t held = count(&t->stack) + count(&t->forking) + park_frames(t->parked);

    f->held += held - t->held;
    t->held = held;
}

void fold_drop_fork(struct fold *f, struct fork_stack **at)
{
    struct fork_stack *s = *at;

    *at = s->next;
    f->held -= s->stack.cap;
    free(s->stack.v);
    free(s);
}

static void drop_oldest_fork(struct fold *f)
{
    struct fork_stack **at = &f->forks;

    while ((*at)->next) {
        at = &(*at)->next;
    }
    fold_drop_fork(f, at);
}

void fold_hold(struct fold *f, const struct task *k, bool stored)
{
    uint64_t n = k->stack.cap + park_frames(k->parked);

    f->held += stored ? n : -n;
}

static bool over(const struct fold *f, const struct thread_state *t)
{
    return f->held - count(&t->stack) > ENOUGH;
}

static void drop_parked(struct fold *f, struct thread_state *t)
{
    park_free(t->parked);
    t->parked = NULL;
    recount(f, t);
}

static void drop_forking(struct fold *f, struct thread_state *t)
{
    free(t->forking.v);
    t->forking = (struct stack){NULL, 0, 0};
    recount(f, t);
}

static struct thread_state *deepest_but(struct fold *f, const struct thread_state *t)
{
    struct thread_state *deepest = NULL;

    for (uint32_t i = 0; i < f->nr_threads; i++) {
        struct thread_state *o = &f->threads[i];

        if (o != t && o->stack.n > SMALL && (!deepest || o->stack.n > deepest->stack.n)) {
            deepest = o;
        }
    }
    return deepest;
}

/* Drops the least useful stacks first. */
static void drop_stacks(struct fold *f, struct thread_state *t)
{
    struct thread_state *o;

    while (f->forks && over(f, t)) {
        drop_oldest_fork(f);
    }
    for (uint32_t i = 0; i < f->nr_tasks && over(f, t); i++) {
        fold_hold(f, &f->tasks[i], false);
        task_drop(&f->tasks[i]);
    }
    for (uint32_t i = 0; i < f->nr_threads && over(f, t); i++) {
        drop_parked(f, &f->threads[i]);
    }
    for (uint32_t i = 0; i < f->nr_threads && over(f, t); i++) {
        o = &f->threads[i];
        if (o != t) {
            stack_fit(&o->stack);
            recount(f, o);
        }
    }
    for (uint32_t i = 0; i < f->nr_threads && over(f, t); i++) {
        if (&f->threads[i] != t) {
            drop_forking(f, &f->threads[i]);
        }
    }
    while (over(f, t) && (o = deepest_but(f, t)) != NULL) {
        fold_forget(o);
        stack_fit(&o->stack);
        recount(f, o);
    }
    if (over(f, t)) {
        drop_forking(f, t);
    }
}

void fold_budget(struct fold *f, struct thread_state *t)
{
    recount(f, t);
    if (f->held - count(&t->stack) > BUDGET) {
        drop_stacks(f, t);
    }
}
