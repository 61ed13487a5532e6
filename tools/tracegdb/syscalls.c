/* SPDX-License-Identifier: MIT */
/*
 * System calls that stop the program, as gdb catches them.
 *
 * A call stops it twice: before the instruction that makes the call, and before the one that
 * follows, with the result.  Both are at an ordinal and a phase of it, which make a key.  Stops
 * are loaded when gdb catches the first call, and sorted, so that a step
 * costs a binary search.
 */
#include "resume_priv.h"

#include <stdlib.h>

#include "cannoli/events.h"
#include "common/array.h"

struct syscall_stop {
    uint32_t thread, number;
    uint64_t key;  /* resume_key */
    uint64_t when; /* as of a search, if ... */
    bool timed;    /* ... it is known */
};

struct syscalls {
    struct syscall_stop *v;
    size_t n, cap;
    bool known;
    uint32_t of; /* process */
    bool all;    /* calls that gdb catches: any, ... */
    uint32_t *numbers;
    size_t nr_numbers, cap_numbers; /* ... or these */
};

void syscalls_close(struct session *s)
{
    if (s->syscalls) {
        free(s->syscalls->v);
        free(s->syscalls->numbers);
    }
    free(s->syscalls);
    s->syscalls = NULL;
}

bool syscalls_catch(struct session *s, const char *list)
{
    uint64_t number;

    syscalls_close(s);
    if (*list++ == '0') {
        return true;
    }
    s->syscalls = calloc(1, sizeof(*s->syscalls));
    if (!s->syscalls) {
        return false;
    }
    s->syscalls->all = *list != ';';
    while (*list++ == ';' && parse_hex(&list, &number)) {
        struct syscalls *c = s->syscalls;

        if (!array_reserve(&c->numbers, &c->cap_numbers, c->nr_numbers + 1,
                           sizeof(*c->numbers))) {
            return false;
        }
        c->numbers[c->nr_numbers++] = (uint32_t)number;
    }
    return true;
}

/* --------------------------------------------------------------------- loading */

static int on_event(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct syscall_stop stop = {.thread = e->thread->index};
    struct ctr_syscall call;

    (void)arg;
    if (ctr_parse_syscall(e, &call)) {
        return 0;
    }
    stop.number = call.nr;
    if (e->type == CTR_EVENT_SYSCALL) {
        if (e->ordinal == e->thread->first) { /* its instruction was not recorded */
            return 0;
        }
        stop.key = resume_key(e->ordinal - 1, PHASE_ENTRY);
    } else {
        if (e->ordinal >= thread_end(e->thread)) { /* nothing runs after it */
            return 0;
        }
        stop.key = resume_key(e->ordinal, PHASE_RETURN);
    }
    return ctr_job_append(job, &stop, sizeof(stop));
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t size)
{
    struct syscalls *c = ((struct session *)arg)->syscalls;
    const struct syscall_stop *in = data;

    (void)job;
    for (size_t n = size / sizeof(*in); n; n--) {
        if (!array_reserve(&c->v, &c->cap, c->n + 1, sizeof(*c->v))) {
            return -CTR_E_NOMEM;
        }
        c->v[c->n++] = *in++;
    }
    return 0;
}

static int by_key(const void *x, const void *y)
{
    const struct syscall_stop *a = x, *b = y;

    return a->thread != b->thread ? (a->thread > b->thread) - (a->thread < b->thread)
           : a->key != b->key     ? (a->key > b->key) - (a->key < b->key)
                                  : 0;
}

static int load(struct session *s)
{
    const struct ctr_replay_ops ops = {.os = on_event, .ordered = on_ordered};
    struct syscalls *c = s->syscalls;
    int ret;

    if (c->known && c->of == s->here.process) {
        return 0;
    }
    c->n = 0;
    ret = interrupt_replay(s, ops);
    if (c->n) {
        qsort(c->v, c->n, sizeof(*c->v), by_key);
    }
    c->known = !ret;
    c->of = s->here.process;
    return ret;
}

/* --------------------------------------------------------------------- looking */

static bool is_caught(const struct syscalls *c, const struct syscall_stop *stop)
{
    for (size_t i = 0; i < c->nr_numbers; i++) {
        if (c->numbers[i] == stop->number) {
            return true;
        }
    }
    return c->all;
}

static struct candidate candidate_of(const struct syscall_stop *stop)
{
    const int8_t phase = resume_key_phase(stop->key);

    return (struct candidate){
        .found = true,
        .thread = stop->thread,
        .ordinal = resume_key_ordinal(stop->key),
        .stop = {.why = phase == PHASE_ENTRY ? STOP_ENTRY : STOP_RETURN,
                 .phase = phase,
                 .number = stop->number}};
}

/* The same, and when it is. */
static int timed_candidate(struct session *s, struct syscall_stop *stop,
                           struct candidate *out)
{
    int ret = 0;

    *out = candidate_of(stop);
    if (!stop->timed) {
        ret = resume_when(s, out);
        stop->when = out->when;
        stop->timed = !ret;
    }
    out->when = stop->when;
    return ret;
}

/* One past the stops of a thread. */
static size_t end_of(const struct syscalls *c, uint32_t thread)
{
    size_t lo = 0, hi = c->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (c->v[mid].thread > thread) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return lo;
}

/* The first stop of a thread, of those from `lo' to `hi', that is after the position. */
static int first_after(struct session *s, struct candidate *here, size_t lo, size_t hi,
                       size_t *out)
{
    int ret = 0;

    while (!ret && lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;
        struct syscall_stop *stop = &s->syscalls->v[mid];
        struct candidate c = candidate_of(stop);

        ret = c.thread == here->thread ? 0 : timed_candidate(s, stop, &c);
        if (resume_nearer(false, here, &c)) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    *out = lo;
    return ret;
}

/* The nearest one of a thread. */
static int find_of_thread(struct session *s, bool back, struct candidate *here,
                          size_t from, size_t to, struct candidate *best)
{
    const struct syscalls *c = s->syscalls;
    size_t i;
    int ret = first_after(s, here, from, to, &i);

    if (ret) {
        return ret;
    }
    if (back) {
        /* Not the one where the position is. */
        while (i > from && c->v[i - 1].thread == here->thread &&
               c->v[i - 1].key == resume_key(here->ordinal, here->stop.phase)) {
            i--;
        }
        while (i > from && !is_caught(c, &c->v[i - 1])) {
            i--;
        }
        i = i > from ? i - 1 : to;
    } else {
        while (i < to && !is_caught(c, &c->v[i])) {
            i++;
        }
    }
    if (i < to) {
        struct candidate found;

        ret = timed_candidate(s, &c->v[i], &found);
        if (!ret && resume_nearer(back, &found, best)) {
            *best = found;
        }
    }
    return ret;
}

int syscalls_find(struct session *s, bool back, const uint32_t *only,
                  struct candidate *best)
{
    const struct syscalls *c = s->syscalls;
    struct candidate here;
    int ret = c ? load(s) : 0;

    if (ret || !c || !c->n) {
        return ret;
    }
    ret = resume_here(s, back, &here);
    if (ret) {
        return ret;
    }
    if (only) {
        const size_t from = *only ? end_of(c, *only - 1) : 0;

        return find_of_thread(s, back, &here, from, end_of(c, *only), best);
    }
    for (size_t from = 0, to; !ret && from < c->n; from = to) {
        to = end_of(c, c->v[from].thread);
        ret = find_of_thread(s, back, &here, from, to, best);
    }
    return ret;
}
