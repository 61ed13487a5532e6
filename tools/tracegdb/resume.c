/* SPDX-License-Identifier: MIT */
/*
 * Goes on, forward or backward: finds what stops the program next.
 *
 * A breakpoint stops it before an instruction there, except the one at the position.  A
 * watchpoint stops it after the instruction that made the access, or, backward, before it;
 * what the system wrote for a system call counts as the call's.  A signal stops it before
 * the instruction that raised it, or before the one that follows; backward signals do not
 * count, as for gdb's own recordings.
 */
#include "resume_priv.h"

#include <stdlib.h>

#include "cannoli/events.h"
#include "judge.h"

/* Instructions that are judged at once: at first, if the next stop may be near, and later. */
#define SPAN_LEAST 4096u
#define SPAN_MOST (1u << 18)

/* -------------------------------------------------------------------- searching */

/* What to search for: what some types of points wait for. */
struct query {
    struct course way;
    const char *types;
    uint32_t kinds;
    const struct candidate *best; /* the nearest place so far */
    uint64_t from;                /* ordinal of the position's thread where it begins */
};

/* In one thread, nothing beyond the nearest place so far is of interest. */
static void limit(const struct session *s, const struct query *q, struct ctr_filter *f)
{
    if (!q->best->found ||
        !(q->way.alone || ctr_process_single(s->tr, s->here.process))) {
        return;
    }
    if (q->way.back) {
        f->from = q->best->ordinal;
    } else {
        f->to = q->best->ordinal + 1;
    }
}

/* For ctr_search. */
static int stop_search(void *session)
{
    return interrupt_pending(session);
}

/* Searches from there, or, with CTR_SEARCH_FOUND, from *out: 1 and *out, 0 or an
 * error. */
static int search(struct session *s, const struct query *q, unsigned flags,
                  struct ctr_found *out)
{
    struct ctr_range *v;
    const int n = points_ranges(s, q->types, &v);
    const bool exec = q->kinds == CTR_KIND_EXEC;
    struct ctr_filter f = {.kinds = q->kinds,
                           .processes = &s->here.process,
                           .nprocess = 1,
                           .threads = &s->here.at.thread,
                           .nthread = q->way.alone,
                           .stop = stop_search,
                           .arg = s,
                           .pcs = exec ? v : NULL,
                           .npc = exec && n > 0 ? (uint32_t)n : 0,
                           .addrs = exec ? NULL : v,
                           .naddr = !exec && n > 0 ? (uint32_t)n : 0};
    int ret = 0;

    if (n > 0) {
        limit(s, q, &f);
        ret = ctr_search(s->tr, &f, s->here.at.thread, q->from,
                         flags | (q->way.back ? CTR_SEARCH_BACK : 0), s->jobs, out,
                         &s->diag);
    }
    free(v);
    return n < 0 ? -CTR_E_NOMEM : ret;
}

/*
 * Where the search for stops begins.  The position alone does not say which of what other
 * threads did between two instructions of its thread was passed, but what it stopped for
 * does.
 */
static unsigned begin_search(const struct session *s, const struct query *q,
                             unsigned flags, struct ctr_found *out)
{
    if (!s->here.passed.kind || s->here.passed_back != q->way.back || q->way.alone) {
        return flags;
    }
    *out = s->here.passed;
    return CTR_SEARCH_FOUND;
}

/* Whether a place of the position's thread is not farther than that. */
static bool is_here(const struct session *s, bool back, const struct candidate *c)
{
    return c->thread == s->here.at.thread &&
           (back ? c->ordinal >= s->here.at.ordinal : c->ordinal <= s->here.at.ordinal);
}

/* Whether a signal stops it at the same place, and is raised only by the instruction there. */
static bool before_signal(const struct session *s, const struct candidate *c,
                          const struct candidate *signal)
{
    return signal->stop.why == STOP_SIGNAL && c->thread == signal->thread &&
           c->ordinal == signal->ordinal &&
           s->signals[signal->stop.nr].info.flags & CTR_SIGNAL_SYNC;
}

/*
 * Whether the execution of a breakpoint stops the program; if not, and the process has one
 * thread, *c is the next one of which that is known, or the last one of those that do not.
 */
static int judge(struct session *s, bool back, uint64_t *span, struct candidate *c)
{
    const uint64_t here = c->ordinal;
    const bool single = ctr_process_single(s->tr, s->here.process);
    int ret = 0;

    c->found = !points_conditional(s) || stepover_is_step(s, back, c->thread, here);
    if (c->found) {
        return 0;
    }
    if (!judge_knows(s, c->thread, here)) {
        const struct ctr_thread *t = ctr_trace_thread(s->tr, c->thread);
        const uint64_t room = back ? here - t->first : thread_end(t) - here - 1;
        const uint64_t far = room < *span ? room : *span;

        ret = judge_stretch(s, c->thread, back ? here - far : here,
                            back ? here + 1 : here + far + 1);
        *span = *span < SPAN_MOST ? *span * 4 : *span;
    }
    if (ret || !s->stretch.known) {
        return ret;
    }
    c->found = judge_next(s, back, &c->ordinal) && (single || c->ordinal == here);
    if (!c->found) {
        c->ordinal = !single ? here : back ? s->stretch.from : s->stretch.to - 1;
    }
    return 0;
}

static int find_break(struct session *s, bool back, struct candidate *best)
{
    struct query q = {.way.back = back,
                      .types = "01",
                      .kinds = CTR_KIND_EXEC,
                      .best = best,
                      .from = s->here.at.ordinal};
    struct candidate c = {.stop.why = STOP_BREAK};
    struct ctr_found found;
    /* The instruction there has not stopped it yet. */
    const bool ahead = !back && s->here.phase == PHASE_FORKED;
    unsigned flags = begin_search(s, &q, ahead ? CTR_SEARCH_POINT : 0, &found);
    uint64_t span = SPAN_LEAST;
    int ret;

    while ((ret = search(s, &q, flags, &found)) == 1) {
        c.thread = found.thread->index;
        c.ordinal = found.ordinal;
        c.when = found.time_ns;
        flags = CTR_SEARCH_FOUND;
        if (is_here(s, back, &c) && !(ahead && c.ordinal == s->here.at.ordinal)) {
            continue;
        }
        ret = judge(s, back, &span, &c);
        if (ret || c.found) {
            break;
        }
        if (interrupt_pending(s)) {
            c.found = true;
            c.ordinal = found.ordinal;
            c.stop.why = STOP_INTERRUPT;
            *best = c;
            return 0;
        }
        if (c.ordinal != found.ordinal) {
            q.from = c.ordinal;
            flags = 0;
        }
    }
    if (ret >= 0 && c.found &&
        (resume_nearer(back, &c, best) || before_signal(s, &c, best))) {
        *best = c;
    }
    return ret < 0 ? ret : 0;
}

/* The point that an access concerns: its own address there. */
static void name_watch(const struct session *s, const char *types,
                       const struct ctr_found *f, struct stop *stop)
{
    for (size_t i = 0; i < s->nr_points; i++) {
        const struct point *p = &s->points[i];

        if (!point_is_break(p) && (p->type == types[0] || p->type == types[1]) &&
            (p->addr - f->addr < f->size || f->addr - p->addr < p->size)) {
            stop->type = p->type;
            stop->addr = p->addr > f->addr ? p->addr : f->addr;
            return;
        }
    }
}

/* Where the program stops for an access; false: beyond the ends of the trace. */
static bool watch_position(const struct ctr_found *found, bool back, uint64_t *ordinal,
                           int8_t *phase)
{
    const struct ctr_thread *t = found->thread;

    *ordinal = found->ordinal;
    *phase = PHASE_RETURN;
    if (back && found->system) {
        (*ordinal)--; /* before its system call */
        *phase = PHASE_UNWRITTEN;
        return found->ordinal > t->first;
    }
    if (!back && found->system) {
        *phase = PHASE_WRITTEN;
    } else if (!back) {
        (*ordinal)++;
    }
    return *ordinal < thread_end(t);
}

static int find_watch(struct session *s, const struct course *way, const char *types,
                      uint32_t kind, struct candidate *best)
{
    const bool back = way->back;
    const struct query q = {.way = *way,
                            .types = types,
                            .kinds = kind | CTR_KIND_SYS,
                            .best = best,
                            .from = s->here.at.ordinal};
    struct candidate c = {.stop.why = STOP_WATCH, .passed = true};
    unsigned flags = begin_search(s, &q, back ? 0 : CTR_SEARCH_POINT, &c.event);
    int ret;

    while ((ret = search(s, &q, flags, &c.event)) == 1) {
        c.thread = c.event.thread->index;
        c.when = c.event.time_ns;
        c.found = watch_position(&c.event, back, &c.ordinal, &c.stop.phase) &&
                  !is_here(s, back, &c);
        if (c.found) {
            name_watch(s, types, &c.event, &c.stop);
            break;
        }
        /* Beyond the end of its thread: what other threads did from there on. */
        flags = CTR_SEARCH_FOUND;
    }
    if (ret == 1 && (resume_nearer(back, &c, best) || before_signal(s, &c, best))) {
        *best = c;
    }
    return ret < 0 ? ret : 0;
}

int resume_find_watch(struct session *s, const struct course *way, struct candidate *best)
{
    int ret = find_watch(s, way, "24", CTR_KIND_STORE, best);

    return ret ? ret : find_watch(s, way, "34", CTR_KIND_LOAD, best);
}

static int find_signal(struct session *s, struct candidate *best)
{
    struct candidate here;
    int ret = signals_load(s);

    ret = ret ? ret : resume_here(s, false, &here);
    for (size_t i = 0; !ret && i < s->nr_signals; i++) {
        struct signal_stop *g = &s->signals[i];
        struct candidate c = {.found = true,
                              .thread = g->thread,
                              .ordinal = g->ordinal,
                              .when = g->when,
                              .stop = {.why = STOP_SIGNAL, .signal = g->number, .nr = i}};
        const bool same = c.thread == here.thread && c.ordinal == here.ordinal;

        if (signals_passed(s, g->number) || (same && i < s->here.signal_next)) {
            continue;
        }
        if (!g->timed) {
            ret = resume_when(s, &c);
            g->when = c.when;
            g->timed = !ret;
        }
        if (!ret && (same || resume_nearer(false, &here, &c)) &&
            resume_nearer(false, &c, best)) {
            *best = c;
        }
    }
    return ret;
}

/* ------------------------------------------------------------------------- ends */

/* The first or last instruction of the process, in the order of its threads. */
static int find_limit(struct session *s, bool back, struct candidate *best)
{
    const struct ctr_thread *t;
    int ret = 0;

    for (uint32_t i = 0; !ret && (t = ctr_trace_thread(s->tr, i)) != NULL; i++) {
        struct candidate c = {.found = true,
                              .thread = i,
                              .ordinal = back ? t->first : thread_end(t) - 1,
                              .stop.why = back ? STOP_BEGIN : STOP_END};
        struct ctr_chunk chunk;

        if (t->process != s->here.process || !t->insns) {
            continue;
        }
        ret = ctr_trace_find(s->tr, i, c.ordinal, &chunk, &s->diag);
        if (!ret && !(best->found &&
                      (back ? chunk.start_ns > best->when : chunk.end_ns < best->when))) {
            ret = resume_when(s, &c);
            if (!ret && resume_nearer(!back, &c, best)) {
                *best = c;
            }
        }
    }
    return ret;
}

/* Goes to what stops it next. */
static int go_once(struct session *s, bool back, struct stop *stop)
{
    const struct course way = {.back = back};
    struct candidate best = {0};
    int ret = syscalls_find(s, back, NULL, &best);

    ret = ret ? ret : births_find(s, back, NULL, &best);
    ret = ret || back ? ret : thread_events_find(s, &best);
    ret = ret || back ? ret : find_signal(s, &best);
    /* At one place a watchpoint counts: gdb sees by the pc that it is a breakpoint, too. */
    ret = ret ? ret : resume_find_watch(s, &way, &best);
    ret = ret ? ret : find_break(s, back, &best);
    if (s->interrupted) {
        *stop = (struct stop){.why = STOP_INTERRUPT};
        return best.stop.why == STOP_INTERRUPT
                   ? position_go(s, best.thread, best.ordinal)
                   : 0; /* nothing failed but the search that was stopped */
    }
    if (!ret && !best.found) {
        ret = births_exec(s, back, stop);
        if (ret) {
            return ret < 0 ? ret : 0;
        }
        ret = find_limit(s, back, &best);
    }
    ret = ret ? ret : position_go(s, best.thread, best.ordinal);
    *stop = best.stop;
    if (stop->why != STOP_END) { /* it may be at the last call already */
        s->here.phase = stop->phase;
    }
    if (!ret && stop->why == STOP_SIGNAL) {
        s->here.signal_next = stop->nr + 1;
    }
    if (!ret && best.passed) {
        s->here.passed = best.event;
        s->here.passed_back = back;
    }
    return ret;
}

int resume_go(struct session *s, bool back, struct stop *stop)
{
    bool stepped;
    int ret = 0;

    if (births_vforked(s, stop)) {
        return 0;
    }
    ret = stepover_go(s, back, &stepped);
    /* gdb may make the step by a breakpoint. */
    if (ret || (stepped && points_hold_here(s))) {
        *stop = (struct stop){.why = STOP_BREAK};
        return ret;
    }
    interrupt_reset(s);
    ret = go_once(s, back, stop);
    ret = ret ? ret : births_take(s, stop);
    return !ret && stop->why == STOP_WATCH ? stepover_stop(s, back) : ret;
}
