/* SPDX-License-Identifier: MIT */
/*
 * Steps: of one instruction, or through a range of addresses.  What stops the program when it
 * goes on stops it in a step, too, except a breakpoint at the first instruction.
 */
#include "resume_priv.h"

#define AHEAD 0x10000u

/* Searches the steps from the position on, as far as AHEAD, for an access. */
static int look_ahead(struct session *s, bool back)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, s->here.at.thread);
    const struct course way = {.back = back, .alone = true};
    const uint64_t here = s->here.at.ordinal;
    const uint64_t room = back ? here - t->first : thread_end(t) - here;
    const uint64_t far = room < AHEAD ? room : AHEAD;
    const uint64_t end = back ? here - far : here + far;
    /* Nothing beyond that counts. */
    struct candidate best = {.found = !back || end,
                             .thread = s->here.at.thread,
                             .ordinal = back ? end - 1 : end + 1};
    int ret = resume_find_watch(s, &way, &best);

    s->ahead = (struct ahead){.known = !ret,
                              .back = back,
                              .thread = s->here.at.thread,
                              .from = here,
                              .to = best.stop.why == STOP_WATCH ? best.ordinal : end,
                              .stop = best.stop,
                              .event = best.event};
    return ret;
}

/*
 * Whether there is an access that a point waits for between the position and the one of the
 * next step.  A search decodes a chunk, so one is for many steps.
 */
static int watch_hit(struct session *s, bool back, uint64_t next, struct stop *stop,
                     struct ctr_found *passed)
{
    const struct ahead *a = &s->ahead;
    const uint64_t here = s->here.at.ordinal;
    int ret = 0;

    if (!a->known || a->back != back || a->thread != s->here.at.thread ||
        (back ? here > a->from || here <= a->to : here < a->from || here >= a->to)) {
        ret = look_ahead(s, back);
    }
    if (!ret && next == a->to && a->stop.why == STOP_WATCH) {
        *stop = a->stop;
        *passed = a->event;
    }
    return ret;
}

/* A signal that stops the program at the position, forward, and was not reported yet. */
static int signal_hit(struct session *s, struct stop *stop)
{
    int ret = signals_load(s);

    for (size_t i = s->here.signal_next; !ret && i < s->nr_signals; i++) {
        const struct signal_stop *g = &s->signals[i];

        if (g->thread == s->here.at.thread && g->ordinal == s->here.at.ordinal &&
            !signals_passed(s, g->number)) {
            *stop = (struct stop){.why = STOP_SIGNAL, .signal = g->number, .nr = i};
            s->here.signal_next = i + 1;
            break;
        }
    }
    return ret;
}

/* One step; *stop.why is STOP_THERE if nothing else happened. */
static int step_once(struct session *s, bool back, struct stop *stop)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, s->here.at.thread);
    const uint64_t here = s->here.at.ordinal;
    const uint64_t next = back ? here - 1 : here + 1;
    struct ctr_found passed = {.thread = t,
                               .ordinal = here,
                               .kind = CTR_KIND_EXEC,
                               .time_ns = s->here.at.time_ns};
    struct candidate call = {0};
    int ret = syscalls_find(s, back, &t->index, &call);
    bool is_here;

    ret = ret ? ret : births_find(s, back, &t->index, &call);
    is_here = call.found && call.ordinal == here;

    *stop = (struct stop){.why = STOP_THERE};
    if (!ret && !back && !(is_here && call.stop.phase <= PHASE_RETURN)) {
        ret = signal_hit(s, stop);
        if (ret || stop->why != STOP_THERE) {
            return ret;
        }
    }
    if (ret || is_here) {
        *stop = call.stop;
        s->here.phase = call.stop.phase;
        return ret;
    }
    if (back ? here == t->first : here + 1 >= thread_end(t)) {
        ret = births_exec(s, back, stop);
        if (!ret) {
            stop->why = back ? STOP_BEGIN : STOP_END;
        }
        return ret < 0 ? ret : 0;
    }
    if (points_watch(s)) {
        ret = watch_hit(s, back, next, stop, &passed);
    }
    if (call.found && call.ordinal == next && (back || call.stop.phase <= PHASE_RETURN) &&
        (stop->why == STOP_THERE ||
         (back ? call.stop.phase > stop->phase : call.stop.phase < stop->phase))) {
        *stop = call.stop;
    }
    ret = ret ? ret : position_go(s, t->index, next);
    s->here.phase = stop->phase;
    if (!ret) {
        s->here.passed = passed;
        s->here.passed_back = back;
    }
    return ret;
}

int step_go(struct session *s, bool back, uint32_t thread, uint64_t range_from,
            uint64_t range_to, struct stop *stop)
{
    const uint8_t *values;
    uint64_t pc, ordinal;
    bool stepped = false;
    int ret = 0;

    *stop = (struct stop){.why = STOP_THERE};
    interrupt_reset(s);
    if (births_vforked(s, stop)) {
        return 0;
    }
    if (thread != s->here.at.thread) {
        ret = position_of(s, thread, &ordinal);
        ret = ret ? ret : position_go(s, thread, ordinal);
    }
    ret = ret ? ret : stepover_go(s, back, &stepped);
    if (ret || stepped) {
        return ret;
    }
    do {
        ret = ret ? ret : step_once(s, back, stop);
        ret = ret ? ret : position_state(s, s->here.at.thread, &values, &pc);
        s->here.last = *stop;
        if ((ret || stop->why == STOP_THERE) && interrupt_pending(s)) {
            ret = 0;
            *stop = (struct stop){.why = STOP_INTERRUPT};
        }
    } while (!ret && stop->why == STOP_THERE &&
             (back ? stepover_in_slot(s)
                   : pc >= range_from && pc < range_to && !points_hold_here(s)));
    ret = ret ? ret : births_take(s, stop);
    return !ret && stop->why == STOP_WATCH ? stepover_stop(s, back) : ret;
}
