/* SPDX-License-Identifier: MIT */
/*
 * Where a return or an indirect jump leads that is not simply the return of the function
 * on top of the stack.  In this order:
 *
 *   a return address on the stack: what was above is left, or parked if it may go on
 *   the place behind a setjmp in a frame of the stack: longjmp
 *   the beginning of a function: a tail call
 *   a return address on a stack that was parked: a switch of coroutines
 *   a function on the stack: an exception, or a longjmp that was not seen as such
 *   nothing known: the function takes the place of the one on top
 *
 * The stack pointer would tell all this apart, but a trace need not have it.
 */
#include "calltree_priv.h"

#include <stdlib.h>

/* Frames looked at for free. */
#define FREE_LOOK 64u

static struct frame *top(struct thread_state *t)
{
    return &t->stack.v[t->stack.n - 1];
}

/* The frame on top returns to the one below it. */
static int pop_one(struct fold *f, struct thread_state *t, uint64_t pc)
{
    bool twice = top(t)->twice;
    int ret = fold_pop_to(f, t, t->stack.n - 1);

    if (twice) {
        top(t)->setjmp_pc = pc;
    }
    return ret;
}

/* Whatever the stack says, this function runs now. */
static int settle(struct fold *f, struct thread_state *t, const struct ev *e,
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
 * The frame nearest to the top that fits, 0 if there is none.  Looks that find nothing
 * are paid for by frames that were pushed, so that all work is linear.
 */
static uint32_t look(struct thread_state *t, enum look what, const struct ev *e)
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

static int take_down(struct fold *f, struct thread_state *t, const struct ev *e,
                     uint32_t at)
{
    bool twice = t->stack.v[at].twice;
    int ret;

    park_put(&t->parked, t->stack.v + at, t->stack.n - at);
    ret = fold_pop_to(f, t, at);
    if (twice) {
        top(t)->setjmp_pc = e->pc;
    }
    return ret ? ret : settle(f, t, e, false);
}

/* A parked stack goes on: it takes the place of the function that switched to it. */
static int resume(struct fold *f, struct thread_state *t, const struct ev *e, bool *done)
{
    struct stack s = {NULL, 0, 0};
    uint64_t back = 0;
    uint32_t base;
    int ret = 0;

    *done = false;
    if (!t->parked || !park_take(t->parked, e->pc, &s)) {
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
        t->signals += fr->fn->kind == FN_SIGNAL;
    }
    if (!ret) {
        t->stack.v[base].ret = back;
        ret = settle(f, t, e, false);
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
    uint32_t at = 0;
    int ret;

    if (branch &&
        (top(t)->ret == e->pc || (leave == LEAVE_RETURN && top(t)->ret == RET_WILD &&
                                  top(t)->fn->kind != FN_SIGNAL))) {
        ret = pop_one(f, t, e->pc);
        return ret ? ret : settle(f, t, e, e->start);
    }
    if (same && leave != LEAVE_RETURN) {
        return 0;
    }
    if (leave == LEAVE_RETURN || (leave == LEAVE_INDIRECT && !e->start)) {
        at = look(t, LOOK_RETURN, e);
        if (at) {
            return take_down(f, t, e, at);
        }
    }
    if (same) {
        return 0;
    }
    if (branch && (at = look(t, LOOK_SETJMP, e)) != 0) {
        ret = fold_pop_to(f, t, at + 1);
        return ret ? ret : settle(f, t, e, false);
    }
    if (branch && e->start) {
        return settle(f, t, e, true);
    }
    if (branch) {
        ret = resume(f, t, e, &done);
        if (ret || done) {
            return ret;
        }
    }
    at = look(t, LOOK_FUNCTION, e);
    if (at) {
        return fold_pop_to(f, t, at + 1);
    }
    if (leave != LEAVE_INDIRECT || e->range->kind != FN_STRETCH) {
        f->tree->unmatched++;
    }
    if (leave == LEAVE_HANDLER) { /* nothing was recorded for a while */
        ret = fold_pop_to(f, t, 1);
        return ret ? ret : settle(f, t, e, false);
    }
    return settle(f, t, e, e->range->kind == FN_STRETCH && branch);
}
