/* SPDX-License-Identifier: MIT */
/* The nodes of a call tree, and the stacks of its threads: pushes, pops and replaces
 * frames. */
#include "calltree_priv.h"

#include <stdlib.h>
#include <string.h>

/* Limit of a stack's frames; the oldest frames of a deeper one are dropped. */
#define MAX_STACK (1u << 20)

bool stack_reserve(struct stack *s, uint32_t n)
{
    uint32_t cap = s->cap ? s->cap : 64;
    struct frame *v;

    if (s->n + n <= s->cap) {
        return true;
    }
    while (cap < s->n + n) {
        cap *= 2;
    }
    v = realloc(s->v, cap * sizeof(*v));
    if (!v) {
        return false;
    }
    s->v = v;
    s->cap = cap;
    return true;
}

void stack_fit(struct stack *s)
{
    uint32_t cap = s->n > 64 ? s->n : 64;
    struct frame *v = cap < s->cap ? realloc(s->v, cap * sizeof(*v)) : NULL;

    if (v) {
        s->v = v;
        s->cap = cap;
    }
}

bool fold_grow(void *v, uint32_t *cap, uint32_t n, size_t size)
{
    void **p = v, *new;
    uint32_t more = *cap ? *cap : 256;

    if (n <= *cap) {
        return true;
    }
    while (more < n) {
        more *= 2;
    }
    new = realloc(*p, more * size);
    if (!new) {
        return false;
    }
    *p = new;
    *cap = more;
    return true;
}

/* --------------------------------------------------------------- the tree */

static uint32_t *bucket(const struct fold *f, uint32_t parent, const struct fn *fn,
                        uint64_t site)
{
    uint64_t h = ((uint64_t)parent << 32 | fn->index) * UINT64_C(0x9e3779b97f4a7c15);

    h = (h ^ site) * UINT64_C(0xff51afd7ed558ccd);
    return &f->buckets[(h >> 32) & (f->nr_buckets - 1)];
}

bool fold_number(struct fold *f, struct fn *fn)
{
    struct calltree *t = f->tree;
    uint32_t cap = f->cap_functions;

    if (fn->index != SYM_NONE) {
        return true;
    }
    if (!fold_grow(&f->fns, &cap, t->nr_functions + 1, sizeof(*f->fns)) ||
        !fold_grow(&t->functions, &f->cap_functions, t->nr_functions + 1,
                   sizeof(*t->functions))) {
        return false;
    }
    fn->index = t->nr_functions++;
    f->fns[fn->index] = fn;
    t->functions[fn->index] = (struct call_function){
        .index = fn->index,
        .kind = fn->kind == FN_THREAD    ? CALL_THREAD
                : fn->kind != FN_SIGNAL  ? CALL_FUNCTION
                : fn->number & INTERRUPT ? CALL_EXCEPTION
                                         : CALL_SIGNAL,
        .module = fn->module,
        .vaddr = fn->vaddr,
        .end = fn->symbol ? fn->end : 0,
        .symbol = fn->symbol,
    };
    return fold_name(f, fn->index) == 0;
}

static void rehash(struct fold *f)
{
    uint32_t n = 2 * f->nr_buckets;
    uint32_t *v = calloc(n, sizeof(*v));

    if (!v) {
        return;
    }
    free(f->buckets);
    f->buckets = v;
    f->nr_buckets = n;
    for (uint32_t i = 0; i < f->tree->nr_nodes; i++) {
        struct node_more *m = &f->more[i];
        uint32_t *head = bucket(f, f->tree->nodes[i].parent, m->fn, m->site);
        m->chain = *head;
        *head = i + 1;
    }
}

uint32_t fold_child(struct fold *f, uint32_t parent, struct fn *fn, uint64_t site)
{
    struct calltree *t = f->tree;
    uint32_t *head, n, cap = f->cap_nodes;
    struct node_more *m;

    if (!fold_number(f, fn)) {
        return parent;
    }
    for (n = *bucket(f, parent, fn, site); n; n = m->chain) {
        m = &f->more[n - 1];
        if (t->nodes[n - 1].parent == parent && m->fn == fn && m->site == site) {
            return n - 1;
        }
    }
    if (t->nr_nodes >= f->max_nodes && parent != SYM_NONE) {
        t->full = true;
        return parent;
    }
    if (!fold_grow(&f->more, &cap, t->nr_nodes + 1, sizeof(*f->more)) ||
        !fold_grow(&t->nodes, &f->cap_nodes, t->nr_nodes + 1, sizeof(*t->nodes))) {
        return parent;
    }
    if (t->nr_nodes > f->nr_buckets) {
        rehash(f);
    }
    n = t->nr_nodes++;
    head = bucket(f, parent, fn, site);
    f->more[n] = (struct node_more){fn, site, SYM_NONE, *head};
    *head = n + 1;
    t->nodes[n] = (struct call_node){.function = fn->index,
                                     .parent = parent,
                                     .first_child = SYM_NONE,
                                     .next = SYM_NONE};
    if (parent != SYM_NONE) {
        uint32_t last = f->more[parent].last_child;
        *(last == SYM_NONE ? &t->nodes[parent].first_child : &t->nodes[last].next) = n;
        f->more[parent].last_child = n;
    }
    return n;
}

static void count_call(struct fold *f, uint32_t node, const struct fn *fn)
{
    if (f->more[node].fn == fn) {
        f->tree->nodes[node].calls++;
    }
}

/* -------------------------------------------------------------- the stack */

int fold_span(struct fold *f, const struct thread_state *t, struct fn *fn,
              const struct ev_span *s)
{
    struct call_span span = {.thread = (uint32_t)(t - f->threads),
                             .depth = s->depth,
                             .from = s->from,
                             .to = s->to,
                             .opened = s->opened,
                             .from_ns = s->from_ns,
                             .to_ns = s->to_ns,
                             .uncalled = s->uncalled,
                             .running = s->running,
                             .midway = s->midway,
                             .open = s->open,
                             .paused = s->paused,
                             .from_thread = s->from_thread,
                             .opened_thread = s->opened_thread,
                             .task = f->task_kind ? &f->tasks[t->task].is : NULL,
                             .at = s->at,
                             .insns = s->insns};

    if (s->insns < f->opt->span_min || !fold_number(f, fn)) {
        return 0;
    }
    span.function = fn->index;
    return f->opt->span(f->opt->span_arg, f->tree, &span);
}

static int close_frame(struct fold *f, struct thread_state *t, uint32_t i)
{
    const struct frame *fr = &t->stack.v[i];
    struct ev_span s = {fr->fn,     fr->from, t->ordinal,   fr->from_ns, t->time_ns,
                        fr->opened, i - 1,    fr->uncalled, fr->running, fr->midway};
    uint32_t thread = (uint32_t)(t - f->threads);

    s.open = f->ended;
    s.paused = fr->gaps != *fold_gaps(f, t);
    s.at = fr->at;
    s.from_thread = fr->from_thread;
    s.opened_thread = fr->opened_thread;
    if (!f->task_kind && s.from_thread != thread) { /* of the process that forked */
        s.from = s.at = t->first;
        s.from_ns = t->first_ns;
        s.from_thread = thread;
    }
    if (!f->task_kind && s.opened_thread != thread) {
        s.opened = t->first;
        s.opened_thread = thread;
    }
    s.insns = t->ordinal + t->clock - s.at;
    t->signals -= fr->fn->kind == FN_SIGNAL;
    return f->opt->span && i ? fold_span(f, t, fr->fn, &s) : 0;
}

int fold_pop_to(struct fold *f, struct thread_state *t, uint32_t n)
{
    int ret = 0;

    while (!ret && t->stack.n > n) {
        ret = close_frame(f, t, t->stack.n - 1);
        t->stack.n--;
    }
    return ret;
}

void fold_see_depth(struct fold *f, uint32_t depth)
{
    f->tree->max_depth = depth > f->tree->max_depth ? depth : f->tree->max_depth;
}

void fold_forget(struct thread_state *t)
{
    struct stack *s = &t->stack;
    uint32_t half = s->n / 2;

    for (uint32_t i = 1; i <= half; i++) {
        t->signals -= s->v[i].fn->kind == FN_SIGNAL;
    }
    memmove(s->v + 1, s->v + 1 + half, (s->n - 1 - half) * sizeof(*s->v));
    s->n -= half;
}

bool fold_room(struct thread_state *t)
{
    if (t->stack.n >= MAX_STACK) {
        fold_forget(t);
    }
    return stack_reserve(&t->stack, 1);
}

int fold_push(struct fold *f, struct thread_state *t, struct fn *fn, uint64_t ret,
              uint64_t site, bool entered)
{
    struct frame *fr;
    uint64_t key = f->opt->edges ? site : 0;
    uint32_t thread = (uint32_t)(t - f->threads);

    if (!fold_room(t)) {
        return -CTR_E_NOMEM;
    }
    fr = &t->stack.v[t->stack.n];
    *fr = (struct frame){.ret = ret,
                         .site = site,
                         .fn = fn,
                         .from = t->ordinal,
                         .opened = t->ordinal,
                         .from_ns = t->time_ns,
                         .at = t->ordinal + t->clock,
                         .gaps = *fold_gaps(f, t),
                         .from_thread = thread,
                         .opened_thread = thread,
                         .twice = fn->twice};
    fr->node = t->stack.n ? fold_child(f, fr[-1].node, fn, key) : t->root;
    t->stack.n++;
    t->signals += fn->kind == FN_SIGNAL;
    t->credit++;
    fold_see_depth(f, t->stack.n - 1);
    if (entered) {
        count_call(f, fr->node, fn);
    }
    return 0;
}

int fold_root(struct fold *f, struct thread_state *t)
{
    struct calltree *tree = f->tree;
    uint32_t thread = (uint32_t)(t - f->threads);
    uint32_t index = f->opt->separate_threads          ? thread
                     : f->opt->by_task && f->task_kind ? f->tasks[t->task].root
                                                       : t->process;
    struct fn *fn = code_numbered(f->code, FN_THREAD, index);

    if (!fn) {
        return -CTR_E_NOMEM;
    }
    if (!fold_grow(&f->roots, &f->nr_roots, index + 1, sizeof(*f->roots))) {
        return -CTR_E_NOMEM;
    }
    if (fn->index == SYM_NONE) {
        struct calltree_thread *v =
            realloc(tree->threads, (tree->nr_threads + 1) * sizeof(*v));
        if (!v) {
            return -CTR_E_NOMEM;
        }
        tree->threads = v;
        f->roots[index] = fold_child(f, SYM_NONE, fn, 0);
        v[tree->nr_threads++] =
            (struct calltree_thread){.thread = thread, .root = f->roots[index]};
        if (f->roots[index] == SYM_NONE) {
            return -CTR_E_NOMEM;
        }
    }
    t->root = f->roots[index];
    return fold_push(f, t, fn, 0, 0, false);
}

int fold_replace(struct fold *f, struct thread_state *t, struct fn *fn, bool entered)
{
    struct frame *fr = &t->stack.v[t->stack.n - 1];
    int ret;

    if (t->stack.n == 1 || fr->fn->kind == FN_SIGNAL) {
        return fold_push(f, t, fn, 0, 0, entered);
    }
    ret = close_frame(f, t, t->stack.n - 1);
    fr->node = fold_child(f, fr[-1].node, fn, f->opt->edges ? fr->site : 0);
    fr->fn = fn;
    fr->twice |= fn->twice;
    fr->from = t->ordinal;
    fr->from_ns = t->time_ns;
    fr->at = t->ordinal + t->clock;
    fr->gaps = *fold_gaps(f, t);
    fr->from_thread = (uint32_t)(t - f->threads);
    fr->midway = !entered;
    if (entered) {
        fr->running = false;
        count_call(f, fr->node, fn);
    }
    return ret;
}

int fold_begin_uncalled(struct fold *f, struct thread_state *t, const struct ev *e,
                        struct fn *fn, uint32_t n)
{
    uint64_t back = n < t->stack.n ? t->stack.v[n].ret : 0;
    int ret = fold_pop_to(f, t, n);

    /* What called the function before may go on where that one was to return to. */
    ret = ret ? ret : fold_push(f, t, fn, back, 0, e->start);
    if (!ret) {
        struct frame *fr = &t->stack.v[t->stack.n - 1];

        fr->uncalled = true;
        fr->running = fr->midway = !e->start;
    }
    return ret;
}
