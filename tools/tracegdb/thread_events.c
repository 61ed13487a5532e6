/* SPDX-License-Identifier: MIT */
/*
 * Threads that begin and end, if gdb wants to know (QThreadEvents).  A new thread has stopped
 * before its first instruction.  One that has ended is at its last instruction, after all that
 * this did.  Backward neither stops the program: the protocol cannot say that a thread
 * is there again, or not yet.
 */
#include "resume_priv.h"

/* Whether another thread of its process runs on: else the end is that of the process. */
static bool leaves_others(const struct session *s, const struct ctr_thread *t)
{
    const struct ctr_thread *o;

    for (uint32_t i = 0; (o = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (o != t && o->process == t->process && o->insns && o->start_ns <= t->end_ns &&
            (!o->end_ns || o->end_ns > t->end_ns)) {
            return true;
        }
    }
    return false;
}

static void keep_nearer(const struct candidate *here, const struct candidate *c,
                        struct candidate *best)
{
    if (resume_nearer(false, here, c) && resume_nearer(false, c, best)) {
        *best = *c;
    }
}

static int find_begin(struct session *s, const struct ctr_thread *t,
                      const struct candidate *here, struct candidate *best)
{
    struct candidate c = {
        .found = true,
        .thread = t->index,
        .ordinal = t->first,
        .stop = {.why = STOP_CREATED, .phase = PHASE_FORKED},
    };
    int ret = resume_when(s, &c);

    if (!ret) {
        keep_nearer(here, &c, best);
    }
    return ret;
}

static void find_end(const struct session *s, const struct ctr_thread *t,
                     const struct candidate *here, struct candidate *best)
{
    const uint64_t last = thread_end(t) - 1;
    const struct candidate c = {
        .found = true,
        .thread = t->index,
        .ordinal = last,
        .when = t->end_ns,
        .passed = true,
        .event = {.thread = t,
                  .ordinal = last,
                  .kind = CTR_KIND_EXEC,
                  .time_ns = t->end_ns},
        .stop = {.why = STOP_ENDED, .phase = PHASE_ENDED},
    };

    if (t->end_reason == CTR_END_EXIT && leaves_others(s, t)) {
        keep_nearer(here, &c, best);
    }
}

int thread_events_find(struct session *s, struct candidate *best)
{
    const struct ctr_thread *t, *first = process_first(s);
    struct candidate here;
    int ret;

    if (!s->thread_events) {
        return 0;
    }
    ret = resume_here(s, false, &here);
    for (uint32_t i = 0; !ret && (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        if (t->process == s->here.process && t->insns) {
            ret = t == first ? 0 : find_begin(s, t, &here, best);
            find_end(s, t, &here, best);
        }
    }
    return ret;
}
