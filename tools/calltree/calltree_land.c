/* SPDX-License-Identifier: MIT */
/*
 * Finds the target frame of a return or an indirect jump that is not just the return of
 * the function on top of the stack.  In this order:
 *
 *   a return address on the stack: the frames above are left, or parked if they may
 *     resume
 *   anything else, of a function that called itself: it put the address there instead of
 *     the one that the call did, and jumps by a return (x86 retpolines); not of a recording
 *     of a part, which may lack the instruction at the return address
 *   the place after a setjmp in a frame of the stack: longjmp
 *   the start of a function: a tail call
 *   a return address on a parked stack: a switch of coroutines
 *   the function on top was the first of the trace, and returns: to a caller that is not
 *     known
 *   a function on the stack: an exception, or a longjmp that was not recognized
 *   nothing known: the function replaces the one on top
 *
 * The stack pointer would distinguish these cases, but a trace need not have it.
 */
#include "calltree_priv.h"

#include <stdlib.h>

/* Frames that each search may check without credit. */
#define FREE_LOOK 64u

static struct frame *top(struct thread_state *t)
{
    return &t->stack.v[t->stack.n - 1];
}

/* Returns from the frame on top to the one below it. */
static int pop_one(struct fold *f, struct thread_state *t, uint64_t pc)
{
    bool twice = top(t)->twice;
    int ret = fold_pop_to(f, t, t->stack.n - 1);

    if (twice) {
        top(t)->setjmp_pc = pc;
    }
    return ret;
}

/* Makes this function the one on top, as it runs now. */
static int make_current(struct fold *f, struct thread_state *t, const struct ev *e,
                        bool entered)
{
    struct fn *fn;

    if (top(t)->fn->range == e->range) {
        return 0;
    }
    fn = e->entry ? e->entry : code_enter(f->code, e->range, e->vaddr);
    return fn ? fold_replace(f, t, fn, entered) : -CTR_E_NOMEM;
}

enum look { LOOK_RETURN, LOOK_SETJMP, LOOK_FUNCTION };

/*
 * The matching frame nearest to the top, 0 if there is none.  A search that finds nothing
 * uses up credit, which pushed frames give, so that all work is linear.
 */
static uint32_t find_frame(struct thread_state *t, enum look what, const struct ev *e)
{
    uint64_t most = FREE_LOOK + t->credit, seen = 0;

    for (uint32_t i = t->stack.n - 1; i > 0 && seen < most; i--, seen++) {
        const struct frame *fr = &t->stack.v[i];

        if (what == LOOK_RETURN   ? fr->ret == e->pc
            : what == LOOK_SETJMP ? fr->setjmp_pc == e->pc
                                  : fr->fn->range == e->range) {
            return i;
        }
    }
    t->credit -= seen < t->credit ? seen : t->credit;
    return 0;
}

static int pop_frames(struct fold *f, struct thread_state *t, const struct ev *e,
                      uint32_t at)
{
    bool twice = t->stack.v[at].twice;
    int ret;

    park_put(&t->parked, t->stack.v + at, t->stack.n - at);
    ret = fold_pop_to(f, t, at);
    if (twice) {
        top(t)->setjmp_pc = e->pc;
    }
    return ret ? ret : make_current(f, t, e, false);
}

/* Resumes a parked stack: it replaces the function that switched to it. */
static int resume(struct fold *f, struct thread_state *t, const struct ev *e, bool *done)
{
    struct stack s = {NULL, 0, 0};
    uint64_t back = 0;
    uint32_t base;
    int ret = 0;

    *done = false;
    if (!t->parked || !park_remove(t->parked, e->pc, &s)) {
        return 0;
    }
    *done = true;
    if (t->stack.n > 1 && top(t)->fn->kind != FN_SIGNAL) {
        back = top(t)->ret;
        ret = fold_pop_to(f, t, t->stack.n - 1);
    }
    base = t->stack.n;
    if (!ret && !stack_reserve(&t->stack, s.n)) {
        ret = -CTR_E_NOMEM;
    }
    for (uint32_t i = 0; !ret && i < s.n; i++) {
        struct frame *fr = &t->stack.v[t->stack.n++];

        *fr = s.v[i];
        fr->from = t->ordinal;
        fr->from_ns = t->time_ns;
        fr->at = t->ordinal + t->clock;
        fr->gaps = *fold_gaps(f, t);
        fr->from_thread = (uint32_t)(t - f->threads);
        fr->midway = true;
        t->signals += fr->fn->kind == FN_SIGNAL;
    }
    if (!ret) {
        t->stack.v[base].ret = back;
        ret = make_current(f, t, e, false);
    }
    if (t->stack.n - 1 > f->tree->max_depth) {
        f->tree->max_depth = t->stack.n - 1;
    }
    free(s.v);
    return ret;
}

int fold_land(struct fold *f, struct thread_state *t, enum leave leave,
              const struct ev *e)
{
    bool branch = leave == LEAVE_RETURN || leave == LEAVE_INDIRECT;
    bool same = top(t)->fn->range == e->range, done;
    /* The trace has neither the call that it returns from, nor what called */
    bool first = leave == LEAVE_RETURN && top(t)->uncalled && !top(t)->ret;
    uint32_t at = 0;
    struct fn *fn;
    int ret;

    if (branch &&
        (top(t)->ret == e->pc || (leave == LEAVE_RETURN && top(t)->ret == RET_UNKNOWN &&
                                  top(t)->fn->kind != FN_SIGNAL))) {
        ret = pop_one(f, t, e->pc);
        return ret ? ret : make_current(f, t, e, e->start);
    }
    if (same && leave != LEAVE_RETURN) {
        return 0;
    }
    if (leave == LEAVE_RETURN || (leave == LEAVE_INDIRECT && !e->start)) {
        at = find_frame(t, LOOK_RETURN, e);
        if (at) {
            return pop_frames(f, t, e, at);
        }
    }
    if (leave == LEAVE_RETURN && !f->code->partial && t->stack.n > 2 &&
        top(t)->fn == top(t)[-1].fn) {
        ret = fold_pop_to(f, t, t->stack.n - 1);
        fn = e->entry ? e->entry : code_enter(f->code, e->range, e->vaddr);
        return !fn ? -CTR_E_NOMEM : ret ? ret : fold_replace(f, t, fn, true);
    }
    if (t->young && leave == LEAVE_RETURN) {
        /* The switch to a new task returns to where that begins. */
        t->young = false;
        fn = e->entry ? e->entry : code_enter(f->code, e->range, e->vaddr);
        return fn ? fold_begin_uncalled(f, t, e, fn, 1) : -CTR_E_NOMEM;
    }
    if (same && !first) {
        return 0;
    }
    if (branch && (at = find_frame(t, LOOK_SETJMP, e)) != 0) {
        ret = fold_pop_to(f, t, at + 1);
        return ret ? ret : make_current(f, t, e, false);
    }
    if (branch && e->start) {
        return make_current(f, t, e, true);
    }
    if (branch) {
        ret = resume(f, t, e, &done);
        if (ret || done) {
            return ret;
        }
    }
    if (first) {
        fn = e->entry ? e->entry : code_enter(f->code, e->range, e->vaddr);
        return fn ? fold_begin_uncalled(f, t, e, fn, t->stack.n - 1) : -CTR_E_NOMEM;
    }
    at = find_frame(t, LOOK_FUNCTION, e);
    if (at) {
        return fold_pop_to(f, t, at + 1);
    }
    if (leave != LEAVE_INDIRECT || e->range->kind != FN_STRETCH) {
        f->tree->unmatched++;
    }
    if (leave == LEAVE_HANDLER) { /* recording was off for a while */
        ret = fold_pop_to(f, t, 1);
        return ret ? ret : make_current(f, t, e, false);
    }
    return make_current(f, t, e, e->range->kind == FN_STRETCH && branch);
}
