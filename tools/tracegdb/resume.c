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
#include "session.h"

#include <stdlib.h>

#include "query/threads.h"

/* A place where the program would stop. */
struct candidate {
    bool found;
    uint32_t thread;
    uint64_t ordinal; /* the position */
    uint64_t when;    /* its time in the order of threads, as of ctr_search */
    bool passed;      /* it is after `event', or before it: that of an access */
    struct ctr_found event;
    struct stop stop;
};

static bool is_break(const struct point *p)
{
    return p->type < '2';
}

/* -------------------------------------------------------------------- comparing */

/* Whether a is met before b, in this direction. */
static bool is_nearer(bool back, const struct candidate *a, const struct candidate *b)
{
    if (!b->found || !a->found) {
        return a->found;
    }
    if (a->thread == b->thread) {
        return back ? a->ordinal > b->ordinal : a->ordinal < b->ordinal;
    }
    if (a->when != b->when) {
        return back ? a->when > b->when : a->when < b->when;
    }
    return back ? a->thread > b->thread : a->thread < b->thread;
}

/* When an instruction is; of a process with one thread it does not matter. */
static int find_when(struct session *s, uint32_t thread, uint64_t ordinal, uint64_t *when)
{
    uint64_t pc;
    int ret;

    *when = 0;
    if (threads_single(s->tr, s->process)) {
        return 0;
    }
    ret = ctr_state_at(s->tr, thread, ordinal, NULL, &pc, when, &s->diag);
    return ret == -CTR_E_INVAL ? 0 : ret;
}

/* -------------------------------------------------------------------- searching */

/* The ranges of the points of some types, for a filter; their number, or -1: no memory. */
static int ranges_of(const struct session *s, const char *types, struct ctr_range **out)
{
    int n = 0;

    *out = calloc(s->nr_points + 1, sizeof(**out));
    for (size_t i = 0; *out && i < s->nr_points; i++) {
        const struct point *p = &s->points[i];
        const uint64_t size = is_break(p) ? 1 : p->size;
        const uint64_t end = p->addr + size < p->addr ? UINT64_MAX : p->addr + size;

        for (const char *t = types; *t; t++) {
            if (p->type == *t) {
                (*out)[n++] = (struct ctr_range){p->addr, end, s->process + 1};
                break;
            }
        }
    }
    return *out ? n : -1;
}

/* What to search for: points of some types, in all threads of the process or in that of the
 * position. */
struct query {
    bool back, own;
    const char *types;
    uint32_t kinds;
    const struct candidate *best; /* the nearest place so far */
};

/* In one thread, nothing beyond the nearest place so far is of interest. */
static void limit(const struct session *s, const struct query *q, struct ctr_filter *f)
{
    if (!q->best->found || !(q->own || threads_single(s->tr, s->process))) {
        return;
    }
    if (q->back) {
        f->from = q->best->ordinal;
    } else {
        f->to = q->best->ordinal + 1;
    }
}

/* Searches from the position, or, with CTR_SEARCH_FOUND, from *out: 1 and *out, 0 or an
 * error. */
static int search(struct session *s, const struct query *q, unsigned flags,
                  struct ctr_found *out)
{
    struct ctr_range *v;
    const int n = ranges_of(s, q->types, &v);
    const bool exec = q->kinds == CTR_KIND_EXEC;
    struct ctr_filter f = {.kinds = q->kinds,
                           .processes = &s->process,
                           .nprocess = 1,
                           .threads = &s->at.thread,
                           .nthread = q->own,
                           .pcs = exec ? v : NULL,
                           .npc = exec && n > 0 ? (uint32_t)n : 0,
                           .addrs = exec ? NULL : v,
                           .naddr = !exec && n > 0 ? (uint32_t)n : 0};
    int ret = 0;

    if (n > 0) {
        limit(s, q, &f);
        ret = ctr_search(s->tr, &f, s->at.thread, s->at.ordinal,
                         flags | (q->back ? CTR_SEARCH_BACK : 0), s->jobs, out, &s->diag);
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
    if (!s->passed.kind || s->passed_back != q->back || q->own) {
        return flags;
    }
    *out = s->passed;
    return CTR_SEARCH_FOUND;
}

/* Whether a place of the position's thread is not farther than that. */
static bool is_here(const struct session *s, bool back, const struct candidate *c)
{
    return c->thread == s->at.thread &&
           (back ? c->ordinal >= s->at.ordinal : c->ordinal <= s->at.ordinal);
}

static int find_break(struct session *s, bool back, struct candidate *best)
{
    const struct query q = {
        .back = back, .types = "01", .kinds = CTR_KIND_EXEC, .best = best};
    struct candidate c = {.stop.why = STOP_BREAK};
    struct ctr_found found;
    unsigned flags = begin_search(s, &q, 0, &found);
    int ret;

    while ((ret = search(s, &q, flags, &found)) == 1) {
        c.thread = found.thread->index;
        c.ordinal = found.ordinal;
        c.when = found.time_ns;
        c.found = !is_here(s, back, &c);
        if (c.found) {
            break;
        }
        flags = CTR_SEARCH_FOUND;
    }
    if (ret == 1 && is_nearer(back, &c, best)) {
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

        if (!is_break(p) && (p->type == types[0] || p->type == types[1]) &&
            (p->addr - f->addr < f->size || f->addr - p->addr < p->size)) {
            stop->type = p->type;
            stop->addr = p->addr > f->addr ? p->addr : f->addr;
            return;
        }
    }
}

/* Where the program stops for an access; false: beyond the ends of the trace. */
static bool watch_position(const struct ctr_found *found, bool back, uint64_t *ordinal)
{
    const struct ctr_thread *t = found->thread;

    *ordinal = found->ordinal;
    if (back && found->system) {
        (*ordinal)--; /* before its system call */
        return found->ordinal > t->first;
    }
    *ordinal += !back && !found->system;
    return *ordinal < thread_end(t);
}

static int find_watch(struct session *s, bool back, bool own, const char *types,
                      uint32_t kind, struct candidate *best)
{
    const struct query q = {.back = back,
                            .own = own,
                            .types = types,
                            .kinds = kind | CTR_KIND_SYS,
                            .best = best};
    struct candidate c = {.stop.why = STOP_WATCH, .passed = true};
    unsigned flags = begin_search(s, &q, back ? 0 : CTR_SEARCH_POINT, &c.event);
    int ret;

    while ((ret = search(s, &q, flags, &c.event)) == 1) {
        c.thread = c.event.thread->index;
        c.when = c.event.time_ns;
        c.found = watch_position(&c.event, back, &c.ordinal) && !is_here(s, back, &c);
        if (c.found) {
            name_watch(s, types, &c.event, &c.stop);
            break;
        }
        /* Beyond the end of its thread: what other threads did from there on. */
        flags = CTR_SEARCH_FOUND;
    }
    if (ret == 1 && is_nearer(back, &c, best)) {
        *best = c;
    }
    return ret < 0 ? ret : 0;
}

static int find_points(struct session *s, bool back, struct candidate *best)
{
    /* At one place a watchpoint counts: gdb sees by the pc that it is a breakpoint, too. */
    int ret = find_watch(s, back, false, "24", CTR_KIND_STORE, best);

    ret = ret ? ret : find_watch(s, back, false, "34", CTR_KIND_LOAD, best);
    return ret ? ret : find_break(s, back, best);
}

static int find_signal(struct session *s, struct candidate *best)
{
    struct candidate here = {
        .found = true, .thread = s->at.thread, .ordinal = s->at.ordinal};
    int ret = signals_load(s);

    here.when = s->passed.time_ns;
    if (!ret && (!s->passed.kind || s->passed_back)) {
        ret = find_when(s, here.thread, here.ordinal, &here.when);
    }
    for (size_t i = 0; !ret && i < s->nr_signals; i++) {
        struct signal_stop *g = &s->signals[i];
        struct candidate c = {.found = true,
                              .thread = g->thread,
                              .ordinal = g->ordinal,
                              .when = g->when,
                              .stop = {.why = STOP_SIGNAL, .signal = g->number, .nr = i}};
        const bool same = c.thread == here.thread && c.ordinal == here.ordinal;

        if (signals_passed(s, g->number) || (same && i < s->signal_next)) {
            continue;
        }
        if (!g->timed) {
            ret = find_when(s, c.thread, c.ordinal, &c.when);
            g->when = c.when;
            g->timed = !ret;
        }
        if (!ret && (same || is_nearer(false, &here, &c)) && is_nearer(false, &c, best)) {
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

        if (t->process != s->process || !t->insns) {
            continue;
        }
        ret = ctr_trace_find(s->tr, i, c.ordinal, &chunk, &s->diag);
        if (!ret && !(best->found &&
                      (back ? chunk.start_ns > best->when : chunk.end_ns < best->when))) {
            ret = find_when(s, i, c.ordinal, &c.when);
            if (!ret && is_nearer(!back, &c, best)) {
                *best = c;
            }
        }
    }
    return ret;
}

int resume_go(struct session *s, bool back, struct stop *stop)
{
    struct candidate best = {0};
    int ret = back ? 0 : find_signal(s, &best);

    ret = ret ? ret : find_points(s, back, &best);
    if (!ret && !best.found) {
        ret = find_limit(s, back, &best);
    }
    ret = ret ? ret : position_go(s, best.thread, best.ordinal);
    *stop = best.stop;
    if (!ret && stop->why == STOP_SIGNAL) {
        s->signal_next = stop->nr + 1;
    }
    if (!ret && best.passed) {
        s->passed = best.event;
        s->passed_back = back;
    }
    return ret;
}

/* ------------------------------------------------------------------------ steps */

/* Whether there is an access that a point waits for between the position and the one of the
 * next step. */
static int watch_hit(struct session *s, bool back, uint64_t next, struct stop *stop,
                     struct ctr_found *passed)
{
    /* Nothing beyond that counts. */
    struct candidate best = {.found = !back || next,
                             .thread = s->at.thread,
                             .ordinal = back ? next - 1 : next + 1};
    int ret = find_watch(s, back, true, "24", CTR_KIND_STORE, &best);

    ret = ret ? ret : find_watch(s, back, true, "34", CTR_KIND_LOAD, &best);
    if (!ret && best.stop.why == STOP_WATCH && best.ordinal == next) {
        *stop = best.stop;
        *passed = best.event;
    }
    return ret;
}

static bool has_watch(const struct session *s)
{
    for (size_t i = 0; i < s->nr_points; i++) {
        if (!is_break(&s->points[i])) {
            return true;
        }
    }
    return false;
}

static bool has_break(const struct session *s, uint64_t pc)
{
    for (size_t i = 0; i < s->nr_points; i++) {
        if (is_break(&s->points[i]) && s->points[i].addr == pc) {
            return true;
        }
    }
    return false;
}

/* A signal that stops the program at the position, forward, and was not reported yet. */
static int signal_hit(struct session *s, struct stop *stop)
{
    int ret = signals_load(s);

    for (size_t i = s->signal_next; !ret && i < s->nr_signals; i++) {
        const struct signal_stop *g = &s->signals[i];

        if (g->thread == s->at.thread && g->ordinal == s->at.ordinal &&
            !signals_passed(s, g->number)) {
            *stop = (struct stop){.why = STOP_SIGNAL, .signal = g->number, .nr = i};
            s->signal_next = i + 1;
            break;
        }
    }
    return ret;
}

/* One step; *stop.why is STOP_THERE if nothing else happened. */
static int step_once(struct session *s, bool back, struct stop *stop)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, s->at.thread);
    const uint64_t here = s->at.ordinal;
    uint64_t next = back ? here - 1 : here + 1;
    struct ctr_found passed = {
        .thread = t, .ordinal = here, .kind = CTR_KIND_EXEC, .time_ns = s->at.time_ns};
    int ret = 0;

    *stop = (struct stop){.why = STOP_THERE};
    if (!back) {
        ret = signal_hit(s, stop);
    }
    if (ret || stop->why != STOP_THERE) {
        return ret;
    }
    if (back ? here == t->first : here + 1 >= thread_end(t)) {
        stop->why = back ? STOP_BEGIN : STOP_END;
        return 0;
    }
    if (has_watch(s)) {
        ret = watch_hit(s, back, next, stop, &passed);
    }
    ret = ret ? ret : position_go(s, t->index, next);
    if (!ret) {
        s->passed = passed;
        s->passed_back = back;
    }
    return ret;
}

int resume_step(struct session *s, bool back, uint32_t thread, uint64_t range_from,
                uint64_t range_to, struct stop *stop)
{
    const uint8_t *values;
    uint64_t pc, ordinal;
    int ret = 0;

    if (thread != s->at.thread) {
        ret = position_of(s, thread, &ordinal);
        ret = ret ? ret : position_go(s, thread, ordinal);
    }
    do {
        ret = ret ? ret : step_once(s, back, stop);
        ret = ret ? ret : position_state(s, s->at.thread, &values, &pc);
        s->last = *stop;
    } while (!ret && stop->why == STOP_THERE && pc >= range_from && pc < range_to &&
             !has_break(s, pc));
    return ret;
}
