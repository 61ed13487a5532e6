/*
 * Execution tracing into shared memory: the order of threads that take turns
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a thread does before another one runs is a slice.  A slice begins with
 * an event whose time is later than all before it, so times give the order of
 * all that the threads do.
 *
 * Readers need all buffers of a time at once.  So that these are not many,
 * the threads fill sets of buffers together (MEMPIPE_SET_BYTES).
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "event.h"

/* They belong to the thread that runs. */
static CannoliThread *runs;
static uint64_t slice; /* its number, from 0 */
static bool begun;
static uint32_t set;
static bool used;          /* something was done in it, or is about to be */
static uint64_t set_bytes; /* that were handed over of it */
static uint64_t last_ns;   /* of all that was begun */

static bool ordered(void)
{
    return cannoli_ctl->events & CTR_EVENTS_ORDER;
}

/* A time that nothing was begun at. */
static uint64_t next_time(void)
{
    uint64_t now;

    do {
        now = cannoli_now();
    } while (now <= last_ns);
    last_ns = now;
    return now;
}

static void change_thread(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    uint8_t *p;

    if (runs) {
        runs->stopped_ns = cannoli_now();
        runs->buffer->end_ns = runs->stopped_ns; /* if it is not handed over */
    }
    if (cannoli_buffer_empty(cpu)) {
        cannoli_order_begin(t);
    } else if (t->buffer->set != set) {
        cannoli_hand_over(cpu);
    }
    t->buffer->end_ns = 0;
    runs = t;
    if (begun) {
        slice++;
        p = cannoli_event(cpu, CTR_EVENT_SLICE, 8, next_time());
        if (p) {
            cannoli_put64(&p, slice);
            cannoli_event_end(cpu, 8);
        }
    }
    begun = true;
}

void cannoli_slice(CPUState *cpu)
{
    if (!ordered()) {
        return;
    }
    if (runs != cannoli_cpu(cpu)->thread) {
        change_thread(cpu);
    }
    used = true;
}

/*
 * Since the thread's cannoli_slice it may have handed a buffer over, with
 * which a set ended.
 */
void cannoli_order_use(void)
{
    used = true;
}

void cannoli_order_begin(CannoliThread *t)
{
    if (ordered()) {
        t->buffer->set = set;
        t->buffer->first = !used;
        used |= t->running; /* it goes on without cannoli_slice */
        t->buffer->start_ns = next_time();
        t->buffer->end_ns = 0;
    }
}

void cannoli_order_end(CPUState *cpu)
{
    const CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (!ordered()) {
        return;
    }
    if (t != runs) {
        t->buffer->end_ns = t->stopped_ns;
        return;
    }
    set_bytes +=
        cannoli_ctl->buffer_bytes - cannoli_room(cannoli_cpu(cpu)) + t->placed;
    if (set_bytes >= MEMPIPE_SET_BYTES) {
        set_bytes = 0;
        set++;
        used = false;
    }
}

void cannoli_order_forget(CannoliThread *t)
{
    if (runs == t) {
        runs = NULL;
    }
}
