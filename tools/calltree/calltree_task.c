/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a machine's tasks. A TASK event comes where the kernel switches from one
 * to another; without these a CONTEXT event with another id (Linux on arm64 can write the
 * pid there right before it changes the stack). What a vCPU does from there on belongs to
 * the other task's stack. Of vCPUs that ran in parallel nobody knows which one ran a task
 * first: there a task has a stack for each of them.
 */
#include "calltree_priv.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 16384u
#define MAX_TASKS (1u << 18) /* the others are the idle one's */

void fold_tasks_init(struct fold *f, const struct ctr_trace *tr)
{
    const struct calltree_options *opt = f->opt;
    struct ctr_info info;

    ctr_trace_info(tr, &info);
    f->parallel = !(info.events & CTR_HAS_ORDER);
    if (!info.machine || !info.seekable || opt->separate_threads) {
        return;
    }
    if (info.events & CTR_HAS_TASK) {
        f->task_kind = CTR_KIND_TASK;
    } else if (info.elf_machine == EM_AARCH64 && info.events & CTR_HAS_CTX) {
        f->task_kind = CTR_KIND_CTX;
    }
}

/* The task's number; SYM_NONE: no memory. */
static uint32_t task_of(struct fold *f, uint32_t id, uint32_t thread)
{
    uint32_t *head, n, root = f->nr_tasks;

    if (!f->task_buckets &&
        !(f->task_buckets = calloc(BUCKETS, sizeof(*f->task_buckets)))) {
        return SYM_NONE;
    }
    head = &f->task_buckets[(id ? id : thread) % BUCKETS];
    for (n = *head; n; n = f->tasks[n - 1].chain) {
        const struct task *k = &f->tasks[n - 1];
        if (k->is.pid == id && ((id && !f->parallel) || k->is.thread == thread)) {
            return n - 1;
        }
        root = k->is.pid == id && id ? k->root : root;
    }
    if (id && f->nr_tasks >= MAX_TASKS) {
        return task_of(f, 0, thread);
    }
    if (!fold_grow(&f->tasks, &f->cap_tasks, f->nr_tasks + 1, sizeof(*f->tasks))) {
        return SYM_NONE;
    }
    f->tasks[f->nr_tasks] =
        (struct task){.is = {.number = f->nr_tasks, .pid = id, .thread = thread},
                      .chain = *head,
                      .root = root};
    f->tree->nr_tasks += id && root == f->nr_tasks;
    *head = ++f->nr_tasks;
    return f->nr_tasks - 1;
}

int fold_first_task(struct fold *f, struct thread_state *t)
{
    t->task = task_of(f, 0, (uint32_t)(t - f->threads));
    return t->task == SYM_NONE ? -CTR_E_NOMEM : 0;
}

/* There can be many: they have no room to grow. */
static void shrink(struct stack *s)
{
    struct frame *v = s->n < s->cap ? realloc(s->v, s->n * sizeof(*v)) : NULL;

    if (v) {
        s->v = v;
        s->cap = s->n;
    }
}

/* The vCPU goes on with another task's stack. */
static int switch_to(struct fold *f, struct thread_state *t, uint32_t to)
{
    struct task *from = &f->tasks[t->task], *k = &f->tasks[to];

    fold_hold(f, from, false); /* if two vCPUs are in it, as in a damaged trace */
    task_drop(from);
    from->stack = t->stack;
    from->parked = t->parked;
    from->signals = t->signals;
    from->last = (uint32_t)(t - f->threads);
    from->executed = t->ordinal + t->clock;
    shrink(&from->stack);
    fold_hold(f, from, true);
    fold_hold(f, k, false);
    t->stack = k->stack;
    t->parked = k->parked;
    t->signals = k->signals;
    k->stack = (struct stack){NULL, 0, 0};
    k->parked = NULL;
    t->clock = k->executed - t->ordinal;
    t->task = to;
    t->young = !t->stack.n;
    return t->stack.n ? 0 : fold_root(f, t);
}

/* Another vCPU that was not recorded when it left the task leaves it now. */
static int take_from(struct fold *f, const struct thread_state *t, uint32_t task)
{
    int ret = 0;

    for (uint32_t i = 0; !ret && f->task_kind == CTR_KIND_TASK && i < f->nr_threads;
         i++) {
        struct thread_state *other = &f->threads[i];
        if (other != t && other->begun && other->task == task) {
            const uint32_t idle = task_of(f, 0, i);
            ret = idle == SYM_NONE ? -CTR_E_NOMEM : switch_to(f, other, idle);
        }
    }
    return ret;
}

static void set_name(struct call_task *k, const struct ev *e, const struct ev_name *name)
{
    k->tgid = (uint32_t)e->pc;
    snprintf(k->name, sizeof(k->name), "%.15s", name->text);
}

int fold_switch(struct fold *f, struct thread_state *t, const struct ev *e,
                const struct ev_name *name)
{
    uint32_t to = task_of(f, e->number, (uint32_t)(t - f->threads));
    int ret;

    if (to == SYM_NONE) {
        return -CTR_E_NOMEM;
    }
    set_name(&f->tasks[to].is, e, name);
    set_name(&f->tasks[f->tasks[to].root].is, e, name);
    if (to == t->task) {
        return 0;
    }
    ret = take_from(f, t, to);
    return ret ? ret : switch_to(f, t, to);
}

int fold_end_tasks(struct fold *f, const struct thread_state *vcpu,
                   int (*fn)(struct fold *f, struct thread_state *t))
{
    int ret = 0;

    for (uint32_t i = 0; !ret && i < f->nr_tasks; i++) {
        const struct task *k = &f->tasks[i];
        struct thread_state *t = &f->threads[k->last];
        const uint32_t own = t->task;
        const bool young = t->young;

        if (!k->stack.n || (vcpu && vcpu != t)) {
            continue;
        }
        ret = switch_to(f, t, i);
        ret = ret ? ret : fn(f, t);
        ret = ret ? ret : switch_to(f, t, own);
        t->young = young;
    }
    return ret;
}

int fold_tasks_finish(struct fold *f)
{
    int ret = 0;

    for (uint32_t i = 0; !ret && i < f->nr_tasks; i++) {
        const struct task *k = &f->tasks[i];
        struct thread_state *t = &f->threads[k->last];

        if (k->stack.n > 1) {
            ret = switch_to(f, t, i);
            ret = ret ? ret : fold_pop_to(f, t, 1);
        }
    }
    return ret;
}

void fold_tasks_fini(struct fold *f)
{
    for (uint32_t i = 0; i < f->nr_tasks; i++) {
        task_drop(&f->tasks[i]);
    }
    free(f->tasks);
    free(f->task_buckets);
}
