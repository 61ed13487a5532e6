/* SPDX-License-Identifier: MIT */
/*
 * Where a session is: registers and memory there.
 *
 * Registers of the instructions around the position are read together, as reading one
 * state decodes its chunk up to there, and gdb steps.
 */
#include "session.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_BEFORE 256u
#define WINDOW 1024u

static int fail(struct session *s, int code, const char *text)
{
    s->diag = (struct ctr_diag){.code = code, .off = CTR_NO_OFF};
    strncpy(s->diag.text, text, sizeof(s->diag.text) - 1);
    return -code;
}

int position_open(struct session *s)
{
    const struct ctr_reg *r;

    for (; (r = ctr_trace_reg(s->tr, s->nr_values)) != NULL; s->nr_values++) {
        s->value_bytes += r->size;
    }
    s->value_off = calloc(s->nr_values + 1u, sizeof(*s->value_off));
    s->values = calloc(s->nr_values + 1u, CTR_REG_STRIDE);
    if (!s->value_off || !s->values) {
        return fail(s, CTR_E_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < s->nr_values; i++) {
        s->value_off[i + 1] = s->value_off[i] + ctr_trace_reg(s->tr, i)->size;
    }
    return 0;
}

static void free_window(struct window *w)
{
    free(w->pcs);
    free(w->times);
    free(w->values);
    *w = (struct window){0};
}

void position_close(struct session *s)
{
    free_window(&s->window);
    free_window(&s->other);
    ctr_memory_close(s->memory);
    free(s->value_off);
    free(s->values);
}

/* ------------------------------------------------------------------- registers */

struct filling {
    struct session *s;
    struct window *w;
};

static int keep_state(void *arg, size_t i, const struct ctr_state_point *p)
{
    const struct filling *f = arg;
    const struct session *s = f->s;

    f->w->pcs[i] = p->pc;
    f->w->times[i] = p->time_ns;
    for (uint32_t r = 0; p->values && r < s->nr_values; r++) {
        memcpy(f->w->values + i * s->value_bytes + s->value_off[r],
               p->values + (size_t)r * CTR_REG_STRIDE,
               s->value_off[r + 1] - s->value_off[r]);
    }
    return 0;
}

/* Reads the states around an instruction. */
static int fill(struct session *s, struct window *w, const struct ctr_thread *t,
                uint64_t ordinal)
{
    uint64_t ordinals[WINDOW];
    struct filling f = {s, w};
    uint64_t room;
    int ret;

    if (!w->pcs) {
        w->pcs = calloc(WINDOW, sizeof(*w->pcs));
        w->times = calloc(WINDOW, sizeof(*w->times));
        w->values = s->value_bytes ? calloc(WINDOW, s->value_bytes) : NULL;
        if (!w->pcs || !w->times || (s->value_bytes && !w->values)) {
            free_window(w);
            return fail(s, CTR_E_NOMEM, "out of memory");
        }
    }
    w->valid = false;
    w->thread = t->index;
    w->from = ordinal - t->first > WINDOW_BEFORE ? ordinal - WINDOW_BEFORE : t->first;
    room = thread_end(t) - w->from + 1;
    w->n = room < WINDOW ? (uint32_t)room : WINDOW;
    for (uint32_t i = 0; i < w->n; i++) {
        ordinals[i] = w->from + i;
    }
    ret = ctr_states(s->tr, t->index, ordinals, w->n, keep_state, &f, &s->diag);
    w->valid = !ret;
    return ret;
}

/* The window that has an instruction, and its number there. */
static int find_state(struct session *s, struct window *w, uint32_t thread,
                      uint64_t ordinal, uint32_t *i)
{
    int ret = 0;

    if (!w->valid || w->thread != thread || ordinal < w->from ||
        ordinal - w->from >= w->n) {
        ret = fill(s, w, ctr_trace_thread(s->tr, thread), ordinal);
    }
    *i = (uint32_t)(ordinal - w->from);
    return ret;
}

int position_of(struct session *s, uint32_t thread, uint64_t *ordinal)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, thread);
    const struct ctr_filter filter = {.kinds = CTR_KIND_EXEC,
                                      .threads = &t->index,
                                      .nthread = 1,
                                      .from_ns = s->here.at.time_ns};
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret;

    *ordinal = s->here.at.ordinal;
    if (thread == s->here.at.thread) {
        return 0;
    }
    ret = ctr_cursor_open(&c, s->tr, &filter, &s->diag);
    if (ret) {
        return ret;
    }
    ret = ctr_cursor_next(c, &ev, &s->diag);
    *ordinal = ret == 1 ? ev.exec.ordinal : thread_end(t) - 1;
    ctr_cursor_close(c);
    return ret < 0 ? ret : 0;
}

int position_state(struct session *s, uint32_t thread, const uint8_t **values,
                   uint64_t *pc)
{
    struct window *w = thread == s->here.at.thread ? &s->window : &s->other;
    uint64_t ordinal;
    uint32_t i;
    int ret = position_of(s, thread, &ordinal);

    ret = ret ? ret : find_state(s, w, thread, ordinal, &i);
    if (ret) {
        return ret;
    }
    *pc = w->pcs[i];
    *values = NULL;
    if (s->info.events & CTR_HAS_REG) {
        for (uint32_t r = 0; r < s->nr_values; r++) {
            memcpy(s->values + (size_t)r * CTR_REG_STRIDE,
                   w->values + (size_t)i * s->value_bytes + s->value_off[r],
                   s->value_off[r + 1] - s->value_off[r]);
        }
        *values = s->values;
    }
    return 0;
}

int position_pc(struct session *s, uint64_t ordinal, uint64_t *pc)
{
    uint32_t i;
    int ret = find_state(s, &s->window, s->here.at.thread, ordinal, &i);

    if (!ret) {
        *pc = s->window.pcs[i];
    }
    return ret;
}

int position_go(struct session *s, uint32_t thread, uint64_t ordinal)
{
    const struct ctr_thread *t = ctr_trace_thread(s->tr, thread);
    uint32_t i;
    int ret = find_state(s, &s->window, thread, ordinal, &i);

    if (!ret) {
        if (s->here.at.thread != thread || s->here.at.ordinal != ordinal) {
            s->here.signal_next = 0;
            s->here.vforked = false;
            s->here.phase = PHASE_RETURN;
        }
        s->here.at = (struct ctr_moment){
            .thread = thread, .ordinal = ordinal, .time_ns = s->window.times[i]};
        s->here.process = t->process;
        s->chosen = s->stepping = thread;
        s->memory_there = false;
        s->here.passed.kind = 0;
        s->here.stepover.pending = false;
    }
    return ret;
}

/* --------------------------------------------------------------------- threads */

bool position_has(const struct session *s, const struct ctr_thread *t)
{
    const struct process_place *p = process_place(s, t->process);

    if (p && t->index == p->at.thread) {
        return p->phase != PHASE_ENDED;
    }
    return p && t->insns && t->start_ns <= p->at.time_ns &&
           (!t->end_ns || p->at.time_ns < t->end_ns);
}

/* There is one, as the session is in the process. */
const struct ctr_thread *process_first(const struct session *s)
{
    const struct ctr_thread *t;
    uint32_t i = 0;

    while ((t = ctr_trace_thread(s->tr, i)) != NULL && t->process != s->here.process) {
        i++;
    }
    return t;
}

uint64_t process_begin_ns(struct session *s)
{
    const struct ctr_thread *first = process_first(s);
    uint64_t pc, time_ns = 0;

    ctr_state_at(s->tr, first->index, first->first, NULL, &pc, &time_ns, &s->diag);
    return time_ns;
}

/* ---------------------------------------------------------------------- memory */

int position_memory_at(struct session *s, const struct ctr_moment *at, uint64_t addr,
                       uint8_t *out, uint8_t *known, size_t n)
{
    int ret = 0;

    if (!s->memory) {
        ret = memory_open(&s->memory, s->tr, s->places, at, s->jobs, &s->diag);
        if (!ret) {
            ctr_memory_limit(s->memory, s->chunks);
        }
    } else if (!s->memory_there || at->thread != s->memory_at.thread ||
               at->ordinal != s->memory_at.ordinal) {
        ctr_memory_move(s->memory, at);
    }
    s->memory_there = !ret;
    s->memory_at = *at;
    return ret ? ret : ctr_memory_read(s->memory, addr, out, known, n, 0, &s->diag);
}

int position_memory(struct session *s, uint64_t addr, uint8_t *out, uint8_t *known,
                    size_t n)
{
    return position_memory_at(s, &s->here.at, addr, out, known, n);
}
