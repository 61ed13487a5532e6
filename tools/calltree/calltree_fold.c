/* SPDX-License-Identifier: MIT */
/*
 * Merges the digests of all chunks in recorded order: the stack of each thread and the
 * tree of all threads.
 */
#include "calltree_priv.h"

#include <stdlib.h>
#include <string.h>

/* Limit of stacks kept for forked processes that have not appeared yet. */
#define MAX_FORKS 256u

#define MAX_NODES (512u << 10)
#define MAX_MACHINE_NODES (4u << 20) /* a kernel and all of its programs are one tree */

int fold_init(struct fold *f, struct calltree *t, struct code *c,
              const struct calltree_options *opt)
{
    struct ctr_info info;

    ctr_trace_info(t->trace, &info);
    *f = (struct fold){.tree = t, .code = c, .opt = opt};
    fold_tasks_init(f, t->trace);
    f->max_nodes = opt->max_nodes ? opt->max_nodes
                   : info.machine ? MAX_MACHINE_NODES
                                  : MAX_NODES;
    f->nr_buckets = 4096;
    f->buckets = calloc(f->nr_buckets, sizeof(*f->buckets));
    return f->buckets ? 0 : -CTR_E_NOMEM;
}

static void thread_fini(struct thread_state *t)
{
    free(t->stack.v);
    free(t->forking.v);
    park_free(t->parked);
    t->stack = t->forking = (struct stack){NULL, 0, 0};
    t->parked = NULL;
    t->signals = 0;
}

void fold_fini(struct fold *f)
{
    for (uint32_t i = 0; i < f->nr_threads; i++) {
        thread_fini(&f->threads[i]);
    }
    while (f->forks) {
        fold_drop_fork(f, &f->forks);
    }
    fold_tasks_fini(f);
    free(f->threads);
    free(f->more);
    free(f->fns);
    free(f->buckets);
    free(f->roots);
}

/* Adds the counts of a digest on top of the stack. */
static int merge(struct fold *f, struct thread_state *t, const struct ev *e,
                 struct ev_node *nodes, const struct ev_frame *frames)
{
    struct calltree *tree = f->tree;
    uint32_t base = t->stack.n, thread = (uint32_t)(t - f->threads);

    fold_see_depth(f, base - 1 + e->peak);
    nodes[0].global = t->stack.v[base - 1].node;
    for (uint32_t i = 0; i < e->nr_nodes; i++) {
        struct ev_node *v = &nodes[i];
        struct call_node *n;

        if (i) {
            v->global = fold_child(f, nodes[v->parent].global, v->fn, v->site);
        }
        n = &tree->nodes[v->global];
        n->self.insns += v->self.insns;
        n->self.loads += v->self.loads;
        n->self.stores += v->self.stores;
        if (i && f->more[v->global].fn == v->fn) {
            n->calls += v->calls;
        }
    }
    for (uint32_t i = 0; i < e->nr_frames; i++) {
        const struct ev_frame *from = &frames[i];
        const struct ev_node *v = &nodes[from->node];

        if (!fold_room(t)) {
            return -CTR_E_NOMEM;
        }
        t->stack.v[t->stack.n++] = (struct frame){.ret = from->ret,
                                                  .site = v->site,
                                                  .fn = v->fn,
                                                  .node = v->global,
                                                  .twice = from->twice,
                                                  .midway = from->midway,
                                                  .from = from->from,
                                                  .from_ns = from->from_ns,
                                                  .opened = from->opened,
                                                  .at = from->from + t->clock,
                                                  .gaps = *fold_gaps(f, t),
                                                  .from_thread = thread,
                                                  .opened_thread = thread};
        t->credit++;
    }
    return 0;
}

/* ------------------------------------------------------ threads, processes */

static bool copy_stack(struct stack *to, const struct stack *from)
{
    to->n = 0;
    if (!stack_reserve(to, from->n + 1)) {
        return false;
    }
    memcpy(to->v, from->v, from->n * sizeof(*from->v));
    to->n = from->n;
    return true;
}

/* The parent's stack at the time of the fork that made this thread, or NULL. */
static struct stack *inherited(struct fold *f, const struct ctr_thread *thread)
{
    for (struct fork_stack *s = f->forks; s; s = s->next) {
        if (s->tid == thread->tid) {
            return &s->stack;
        }
    }
    for (uint32_t i = 0; i < f->nr_threads; i++) {
        const struct ctr_thread *p = ctr_trace_thread(f->tree->trace, i);
        if (p && thread->ptid && p->tid == thread->ptid && f->threads[i].forking.n) {
            return &f->threads[i].forking; /* still in vfork */
        }
    }
    return NULL;
}

static int begin(struct fold *f, struct thread_state *t, const struct ctr_thread *thread)
{
    struct stack *from = NULL;
    int ret;

    t->begun = true;
    t->process = thread->process;
    ret = f->task_kind ? fold_first_task(f, t) : 0;
    ret = ret ? ret : fold_root(f, t);
    if (thread->pid == thread->tid) {
        from = inherited(f, thread);
    }
    for (uint32_t i = 1; !ret && from && i < from->n; i++) {
        struct frame fr = from->v[i];
        ret = fold_push(f, t, fr.fn, fr.ret, fr.site, false);
        fr.node = t->stack.v[t->stack.n - 1].node;
        fr.gaps = 0; /* the parent's are not this thread's */
        t->stack.v[t->stack.n - 1] = fr;
    }
    for (struct fork_stack **at = &f->forks; from && *at; at = &(*at)->next) {
        if (&(*at)->stack == from) { /* no other process begins with it */
            fold_drop_fork(f, at);
            break;
        }
    }
    t->last = (struct ev){.leave = LEAVE_LAND};
    return ret;
}

static int forked(struct fold *f, struct thread_state *t, int32_t tid)
{
    struct fork_stack *s = calloc(1, sizeof(*s)), **at = &f->forks;

    for (unsigned n = 0; *at; n++) {
        if ((*at)->tid == tid || n >= MAX_FORKS) {
            fold_drop_fork(f, at);
        } else {
            at = &(*at)->next;
        }
    }
    if (!s) {
        return -CTR_E_NOMEM;
    }
    s->tid = tid;
    s->stack = t->forking;
    t->forking = (struct stack){NULL, 0, 0};
    s->next = f->forks;
    f->forks = s;
    f->held += s->stack.cap;
    return 0;
}

/* ----------------------------------------------------------------- events */

/*
 * Whether what called a function, at whose start the thread is, may be missing in the
 * trace; `from': how the code before was left.  Without stack pointers an indirect jump to
 * the start of its own function is taken for one.
 */
static bool is_uncalled(const struct fold *f, const struct thread_state *t,
                        const struct ev *from, const struct ev *e)
{
    const struct frame *top = &t->stack.v[t->stack.n - 1];
    bool falls = e->pc == from->fall;

    if (!e->start || top->fn->kind == FN_SIGNAL) {
        return false;
    }
    switch (from->leave) {
    case LEAVE_LAND:
        return from->cond; /* recording was off */
    case LEAVE_RETURN:     /* code after a call may be the start of a function, too */
        return f->code->partial && !(from->cond && falls) && top->ret != e->pc;
    case LEAVE_NONE:
        return f->code->partial && !falls;
    case LEAVE_INDIRECT:
        return f->code->partial && !(from->cond && falls) && top->fn->range == e->range;
    default:
        return false;
    }
}

static int go(struct fold *f, struct thread_state *t, const struct ev *e)
{
    const struct ev *from = e->leave == LEAVE_KEEP ? &t->last : e;
    const struct frame *top = &t->stack.v[t->stack.n - 1];
    struct fn *fn = e->entry ? e->entry : code_enter(f->code, e->range, e->vaddr);
    bool entered = e->start || e->range->kind == FN_STRETCH;

    if (!fn) {
        return -CTR_E_NOMEM;
    }
    t->credit += 16;
    if (t->stack.n == 1) {
        return fold_begin_uncalled(f, t, e, fn, 1);
    }
    if (is_uncalled(f, t, from, e)) {
        return fold_begin_uncalled(f, t, e, fn,
                                   from->leave == LEAVE_LAND ? 1 : t->stack.n - 1);
    }
    switch (from->leave) {
    case LEAVE_HANDLER:
        return fold_push(f, t, fn, RET_UNKNOWN, 0, true);
    case LEAVE_CALL:
        if (e->pc != from->fall) {
            return fold_push(f, t, fn, from->fall, from->site, true);
        }
        break;
    case LEAVE_RETURN:
    case LEAVE_INDIRECT:
        if (!from->cond || e->pc != from->fall) {
            return fold_land(f, t, from->leave, e);
        }
        break;
    case LEAVE_LAND:
        return fold_land(f, t, from->cond ? LEAVE_HANDLER : LEAVE_LAND, e);
    case LEAVE_NONE:
        if (e->pc != from->fall) {
            return fold_land(f, t, LEAVE_INDIRECT, e);
        }
        break;
    }
    return top->fn->range == e->range ? 0 : fold_replace(f, t, fn, entered);
}

static int on_signal(struct fold *f, struct thread_state *t, const struct ev *e)
{
    struct fn *fn = code_numbered(f->code, FN_SIGNAL, e->number);
    int ret = e->type == EV_ENTRY ? 0 : go(f, t, e);

    if (!fn) {
        return -CTR_E_NOMEM;
    }
    t->last = (struct ev){.leave = LEAVE_HANDLER};
    return ret ? ret : fold_push(f, t, fn, RET_UNKNOWN, e->pc, true);
}

static int on_sigreturn(struct fold *f, struct thread_state *t, const struct ev *e)
{
    uint32_t at = 0;

    for (uint32_t i = t->stack.n - 1, left = t->signals; i > 0 && left; i--) {
        const struct frame *fr = &t->stack.v[i];

        if (fr->fn->kind == FN_SIGNAL) {
            at = at ? at : i;
            left--;
            if (fr->site == e->pc) {
                at = i;
                break;
            }
        }
    }
    t->last = (struct ev){.leave = LEAVE_LAND};
    return at ? fold_pop_to(f, t, at) : 0;
}

static int set_thread_name(struct thread_state *t, const struct ev_name *name)
{
    struct fn *fn = t->stack.v[0].fn;

    free(fn->name);
    fn->name = strdup(name->text);
    return fn->name ? 0 : -CTR_E_NOMEM;
}

static int on_event(struct fold *f, struct thread_state *t, const struct ev *e,
                    const void *more)
{
    const struct ev last = {
        .leave = e->leave, .cond = e->cond, .fall = e->fall, .site = e->site};
    int ret = 0;

    switch (e->type) {
    case EV_GO:
        return go(f, t, e);
    case EV_FLUSH:
        return 0;
    case EV_SIGNAL:
    case EV_ENTRY:
        return on_signal(f, t, e);
    case EV_SIGRETURN:
        return on_sigreturn(f, t, e);
    case EV_GAP:
        t->last = (struct ev){.leave = LEAVE_LAND, .cond = true};
        ++*fold_gaps(f, t);
        return 0;
    case EV_RUNS:
        if (t->placed) {
            return 0;
        }
        /* fallthrough */
    case EV_TASK:
        t->placed = true;
        ret = fold_switch(f, t, e, more);
        break;
    case EV_POWER:
        return fold_power(f, t, e->number);
    case EV_EXEC:
        ret = fold_pop_to(f, t, 1);
        park_free(t->parked);
        t->parked = NULL;
        ret = ret ? ret : set_thread_name(t, more);
        break;
    case EV_NAME:
        ret = set_thread_name(t, more);
        break;
    case EV_THREAD_END:
        ret = fold_pop_to(f, t, 1);
        park_free(t->parked);
        t->parked = NULL;
        free(t->forking.v);
        t->forking = (struct stack){NULL, 0, 0};
        stack_fit(&t->stack);
        break;
    case EV_FORK:
        ret = copy_stack(&t->forking, &t->stack) ? 0 : -CTR_E_NOMEM;
        break;
    case EV_FORKED:
        ret = forked(f, t, (int32_t)e->number);
        break;
    }
    if (e->leave != LEAVE_KEEP) {
        t->last = last;
    }
    return ret;
}

static bool has_name(const struct ev *e)
{
    return e->type == EV_NAME || e->type == EV_EXEC || e->type == EV_TASK ||
           e->type == EV_RUNS;
}

int fold_records(struct fold *f, const struct ctr_thread *thread, const uint8_t *data,
                 size_t n)
{
    const uint8_t *end = data + n;
    struct thread_state *t;
    int ret = 0;

    if (thread->index >= f->nr_threads) {
        uint32_t old = f->nr_threads;

        if (!fold_grow(&f->threads, &f->nr_threads, thread->index + 1,
                       sizeof(*f->threads))) {
            return -CTR_E_NOMEM;
        }
        memset(f->threads + old, 0, (f->nr_threads - old) * sizeof(*f->threads));
    }
    t = &f->threads[thread->index];
    if (!t->begun) {
        const struct ev *e = (const struct ev *)data;
        t->ordinal = t->first = e->ordinal;
        t->time_ns = t->first_ns = e->time_ns;
        ret = begin(f, t, thread);
    }
    fold_budget(f, t);
    while (!ret && data < end) {
        const struct ev *e = (const struct ev *)data;
        struct ev_node *nodes = (struct ev_node *)(e + 1);
        struct ev_frame *frames = (struct ev_frame *)(nodes + e->nr_nodes);
        const void *more = frames + e->nr_frames;

        if (e->type == EV_SPAN) {
            struct ev_span s = *(const struct ev_span *)(const void *)nodes;
            s.depth += t->stack.n - 1;
            s.from_thread = s.opened_thread = thread->index;
            s.at = s.from + t->clock;
            s.insns = s.to - s.from;
            ret = fold_span(f, t, s.fn, &s);
            data = (const uint8_t *)nodes + sizeof(s);
            continue;
        }
        ret = merge(f, t, e, nodes, frames);
        t->ordinal = e->ordinal;
        t->time_ns = e->time_ns;
        if (!ret) {
            ret = on_event(f, t, e, more);
        }
        fold_budget(f, t);
        data = (const uint8_t *)more + (has_name(e) ? sizeof(struct ev_name) : 0);
    }
    return ret;
}

/* Passes on the frames of a thread that are open. */
static int report_open(struct fold *f, uint32_t thread)
{
    const struct thread_state *t = &f->threads[thread];
    int ret = 0;

    for (uint32_t i = 1; !ret && f->opt->open && i < t->stack.n; i++) {
        const struct frame *fr = &t->stack.v[i];
        struct call_span span = {.thread = thread,
                                 .depth = i - 1,
                                 .from = fr->from,
                                 .to = t->ordinal,
                                 .opened = fr->opened,
                                 .from_ns = fr->from_ns,
                                 .to_ns = t->time_ns,
                                 .from_thread = fr->from_thread,
                                 .opened_thread = fr->opened_thread,
                                 .task = f->task_kind ? &f->tasks[t->task].is : NULL,
                                 .at = fr->at,
                                 .insns = t->ordinal + t->clock - fr->at,
                                 .uncalled = fr->uncalled,
                                 .running = fr->running,
                                 .midway = fr->midway};
        if (!fold_number(f, fr->fn)) {
            return -CTR_E_NOMEM;
        }
        span.function = fr->fn->index;
        ret = f->opt->open(f->opt->open_arg, f->tree, &span);
    }
    return ret;
}

int fold_finish(struct fold *f)
{
    int ret = 0;

    f->ended = true;
    for (uint32_t i = 0; !ret && i < f->nr_threads; i++) {
        if (f->threads[i].begun) {
            ret = report_open(f, i);
            ret = ret ? ret : fold_pop_to(f, &f->threads[i], 1);
        }
    }
    return ret ? ret : fold_tasks_finish(f);
}
