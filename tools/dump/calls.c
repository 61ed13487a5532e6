/* SPDX-License-Identifier: MIT */
/*
 * Assembles system calls from the events of their entry and return and of the memory
 * between the two.
 *
 * A call ends with its return, or with the first event of its thread that cannot occur
 * inside a call (an execve that succeeded, a thread that was killed): then the call did
 * not return.
 */
#include "dump.h"

#include <string.h>

#include "cannoli/events.h"

/* Bytes of events kept for one call; memory events beyond that are shown separately. */
#define MAX_CALL_BYTES (64u << 20)

/* Calls that never return are shown at once. */
static bool never_returns(const struct ctr_os_event *e)
{
    const struct syscall_desc *d;
    struct ctr_syscall s;

    if (ctr_parse_syscall(e, &s) != 0) {
        return false;
    }
    d = syscall_find(s.name.p, s.name.n);
    return d && d->result == R_NEVER;
}

/* Removes the innermost call. */
static void call_pop(struct open_call *c)
{
    if (c->depth) {
        c->raw.len = c->at[--c->depth];
    }
}

bool call_flush(struct os_printer *p, struct open_call *c)
{
    while (c->depth) {
        bool ok = os_print_call(p, c, NULL);
        call_pop(c);
        if (!ok) {
            return false;
        }
    }
    return true;
}

bool call_may_hold(const struct ctr_os_event *e)
{
    struct ctr_thread_event t;

    return e->type == CTR_EVENT_SYSRET || e->type == CTR_EVENT_USERMEM ||
           e->type == CTR_EVENT_MAP || e->type == CTR_EVENT_MARK ||
           e->type == CTR_EVENT_LABEL ||
           (e->type == CTR_EVENT_THREAD && ctr_parse_thread(e, &t) == 0 &&
            t.op == CTR_THREAD_NAME);
}

/* The entry event of the innermost open call. */
static bool innermost(const struct open_call *c, struct ctr_syscall *s)
{
    struct ctr_os_event e = {.thread = c->thread};
    size_t pos = c->depth ? c->at[c->depth - 1] : 0;

    return c->depth && call_load(c->raw.data, c->raw.len, &pos, &e) &&
           ctr_parse_syscall(&e, s) == 0;
}

/* Whether another call may begin inside the open ones. */
static bool may_nest(const struct open_call *c)
{
    struct ctr_syscall outer;

    return c->depth < CALL_DEPTH && innermost(c, &outer) && outer.name.n == 7 &&
           !memcmp(outer.name.p, "syscall", 7);
}

/* Whether a return is that of one of the open calls. */
static bool returns(const struct open_call *c, const struct ctr_os_event *e)
{
    struct ctr_syscall begun, ended;

    if (ctr_parse_syscall(e, &ended) != 0) {
        return true; /* it ends nothing */
    }
    for (unsigned i = 0; i < c->depth; i++) {
        struct ctr_os_event b = {.thread = c->thread};
        size_t pos = c->at[i];

        if (call_load(c->raw.data, c->raw.len, &pos, &b) &&
            ctr_parse_syscall(&b, &begun) == 0 && begun.nr == ended.nr) {
            return true;
        }
    }
    return false;
}

bool call_is_over(const struct open_call *c, const struct ctr_os_event *e)
{
    if (!c->depth) {
        return false;
    }
    if (e->ordinal != c->ordinal) {
        return true; /* instructions ran since the call began */
    }
    switch (e->type) {
    case CTR_EVENT_SYSCALL:
        return !may_nest(c);
    case CTR_EVENT_SYSRET:
        return !returns(c, e);
    default:
        return !call_may_hold(e);
    }
}

static bool begin_call(struct os_printer *p, struct open_call *c,
                       const struct ctr_os_event *e)
{
    c->at[c->depth++] = c->raw.len;
    c->thread = e->thread;
    c->ordinal = e->ordinal;
    return call_store(&c->raw, e) && (!never_returns(e) || call_flush(p, c));
}

static bool end_call(struct os_printer *p, struct open_call *c,
                     const struct ctr_os_event *e)
{
    struct ctr_syscall begun, ended;
    bool ok = true;

    /* An innermost call with another number did not return. */
    while (ok && c->depth && ctr_parse_syscall(e, &ended) == 0 &&
           (!innermost(c, &begun) || begun.nr != ended.nr)) {
        ok = os_print_call(p, c, NULL);
        call_pop(c);
    }
    ok = ok && os_print_call(p, c, e);
    call_pop(c);
    return ok;
}

bool call_step(struct os_printer *p, struct open_call *c, const struct ctr_os_event *e)
{
    if (call_is_over(c, e) && !call_flush(p, c)) {
        return false;
    }
    switch (e->type) {
    case CTR_EVENT_SYSCALL:
        return begin_call(p, c, e);
    case CTR_EVENT_SYSRET:
        return end_call(p, c, e);
    case CTR_EVENT_USERMEM:
        return c->depth && c->raw.len < MAX_CALL_BYTES ? call_store(&c->raw, e)
                                                       : os_print_event(p, e);
    default:
        return os_print_event(p, e);
    }
}
