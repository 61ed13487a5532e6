/* SPDX-License-Identifier: MIT */
/* The frames that are open at a moment; see frames.h. */
#include "frames.h"

#include <stdlib.h>

#include "common/array.h"
#include "common/options.h"

struct finder {
    struct call_frames *out;
    const struct ctr_moment *at;
    size_t cap;
    bool no_memory;
};

static int on_open(void *arg, const struct calltree *t, const struct call_span *s)
{
    struct finder *f = arg;
    struct call_frames *out = f->out;

    (void)t;
    if (s->thread != f->at->thread) {
        return 0;
    }
    if (!array_reserve(&out->v, &f->cap, out->n + (size_t)1, sizeof(*out->v))) {
        f->no_memory = true;
        return 1;
    }
    out->v[out->n++] = (struct call_frame){.function = s->function,
                                           .from = {s->from_thread, s->from},
                                           .opened = {s->opened_thread, s->opened},
                                           .midway = s->midway,
                                           .uncalled = s->uncalled,
                                           .running = s->running};
    return 0;
}

/* Where a frame is: at the moment, or at the call of the next one. */
static void find_now(const struct finder *f, const struct ctr_trace *tr, uint32_t i)
{
    const struct call_frames *out = f->out;
    const struct instant *next = i + 1 < out->n ? &out->v[i + 1].opened : NULL;
    struct call_frame *v = &out->v[i];

    if (!next) {
        v->now = (struct instant){f->at->thread, f->at->ordinal};
    } else if (!out->v[i + 1].uncalled &&
               next->ordinal > ctr_trace_thread(tr, next->thread)->first) {
        v->now = (struct instant){next->thread, next->ordinal - 1};
    } else {
        v->now = v->from;
        v->unseen = true;
    }
    if (v->now.thread == v->from.thread && v->now.ordinal < v->from.ordinal) {
        v->now.ordinal = v->from.ordinal;
    }
}

/*
 * Everything up to the moment: of its thread by ordinal, of the others by time.  Its
 * instruction is included: the first one of a function is where a call is known.  The end
 * of the thread, where all calls end, is not.
 */
int call_frames_find(struct call_frames *out, struct ctr_trace *tr, const char *path,
                     const struct places *places, const struct ctr_moment *at,
                     const struct calltree_options *opt)
{
    const struct ctr_thread *t = ctr_trace_thread(tr, at->thread);
    struct finder f = {.out = out, .at = at};
    struct calltree_options tree = *opt;
    int status;

    *out = (struct call_frames){0};
    tree.filter =
        (struct ctr_filter){.to = at->ordinal + (at->ordinal < t->first + t->insns),
                            .to_thread = at->thread + 1,
                            .to_ns = at->time_ns};
    tree.open = on_open;
    tree.open_arg = &f;
    status = calltree_make(&out->tree, tr, path, places, &tree);
    if (f.no_memory) {
        tool_error(opt->prog, "out of memory");
        return TOOL_FAILED;
    }
    for (uint32_t i = 0; i < out->n; i++) {
        find_now(&f, tr, i);
    }
    return status;
}

void call_frames_free(struct call_frames *f)
{
    calltree_free(f->tree);
    free(f->v);
    *f = (struct call_frames){0};
}
