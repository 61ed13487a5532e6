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
 *
 * Threads of programs may be of several processes, so what they share is in
 * the recorder's memory; who runs is decided in linux-user/cannoli/turns.c.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "event.h"

static bool ordered(void)
{
    return cannoli_ctl->events & CTR_EVENTS_ORDER;
}

/* It belongs to the thread that runs. */
static struct mempipe_turns *turns(void)
{
    return &cannoli_shared()->turns;
}

static bool ran_last(const CannoliThread *t)
{
    return turns()->ran == t->serial + 1;
}

/* A time that nothing was begun at. */
static uint64_t next_time(void)
{
    turns()->last_ns = MAX(cannoli_now(), turns()->last_ns + 1);
    return turns()->last_ns;
}

uint64_t cannoli_order_time(uint64_t time_ns)
{
    return ordered() && time_ns ? MAX(time_ns, turns()->last_ns) : time_ns;
}

void cannoli_order_stop(CannoliThread *t)
{
    t->stopped_ns = cannoli_now();
    t->buffer->end_ns = t->stopped_ns; /* if it is not handed over */
}

void cannoli_order_go_on(CannoliThread *t)
{
    t->buffer->end_ns = 0;
}

static void change_thread(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    uint8_t *p;

#ifndef CONFIG_USER_ONLY
    static CannoliThread *runs;

    if (turns()->ran && runs) {
        cannoli_order_stop(runs);
    }
    runs = t;
#endif
    if (cannoli_buffer_empty(cpu)) {
        cannoli_order_begin(t);
    } else if (t->buffer->set != turns()->set) {
        cannoli_hand_over(cpu);
    }
    cannoli_order_go_on(t);
    turns()->ran = t->serial + 1;
    if (turns()->begun) {
        turns()->slice++;
        p = cannoli_event(cpu, CTR_EVENT_SLICE, 8, next_time());
        if (p) {
            cannoli_put64(&p, turns()->slice);
            cannoli_event_end(cpu, 8);
        }
    }
    turns()->begun = true;
}

void cannoli_slice(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (!ordered()) {
        return;
    }
    if (!ran_last(t)) {
        change_thread(cpu);
    } else if (t->buffer->set != turns()->set) {
        /* It has ended the set itself, and no other thread ran. */
        if (cannoli_buffer_empty(cpu)) {
            cannoli_order_begin(t);
        } else {
            cannoli_hand_over(cpu);
        }
    }
    turns()->used = true;
}

/*
 * Since the thread's cannoli_slice it may have handed a buffer over, with
 * which a set ended.
 */
void cannoli_order_use(void)
{
    if (ordered()) {
        turns()->used = true;
    }
}

void cannoli_order_begin(CannoliThread *t)
{
    if (ordered()) {
        t->buffer->set = turns()->set;
        t->buffer->first = !turns()->used;
        turns()->used |= t->running; /* it goes on without cannoli_slice */
        t->buffer->start_ns = next_time();
        t->buffer->end_ns = 0;
        t->set_bytes = 0;
    }
}

/* Adds what the thread's buffer has to the set, which ends if that is much. */
static void count_in(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    uint64_t bytes =
        cannoli_ctl->buffer_bytes - cannoli_room(cannoli_cpu(cpu)) + t->placed;

    turns()->set_bytes += bytes - t->set_bytes;
    t->set_bytes = bytes;
    if (turns()->set_bytes >= MEMPIPE_SET_BYTES) {
        turns()->set_bytes = 0;
        turns()->set++;
        turns()->used = false;
    }
}

void cannoli_order_pass(CPUState *cpu)
{
    cannoli_order_stop(cannoli_cpu(cpu)->thread);
    /* Many threads may have part of a buffer each, and never fill it. */
    if (turns()->set == cannoli_cpu(cpu)->thread->buffer->set) {
        count_in(cpu);
    }
}

void cannoli_order_end(CPUState *cpu)
{
    const CannoliThread *t = cannoli_cpu(cpu)->thread;

    if (!ordered()) {
        return;
    }
    if (!ran_last(t)) {
        t->buffer->end_ns = t->stopped_ns;
        return;
    }
    count_in(cpu);
}

void cannoli_order_forget(CannoliThread *t)
{
    if (ordered() && ran_last(t)) {
        turns()->ran = 0;
    }
}
