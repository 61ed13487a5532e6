/*
 * Execution tracing into shared memory: events of memory and devices
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * They happen on any thread, while a vCPU is in the middle of a block or does
 * not run.  An access of a device ends its block, so events are kept until the
 * vCPU is about to run the next one, and are in their place then.  With vCPUs
 * that run in parallel, what one of them has done is its own; what others do is
 * recorded by the one that goes on first.  If that is not recorded itself (its
 * gate is closed), neither are these events.
 */
#include "qemu/osdep.h"
#include "qemu/thread.h"
#include "cpu.h"
#include "memory.h"

typedef struct {
    uint32_t type, bytes;
    uint64_t time_ns;
    const CannoliThread *thread; /* whose it is; NULL: of any */
} Entry; /* its payload follows, padded to 8 bytes; type 0: it was dropped */

static GByteArray *queue, *spare;
static bool pending; /* for any thread */
static QemuMutex lock;

static void __attribute__((constructor)) init_lock(void)
{
    qemu_mutex_init(&lock);
}

bool cannoli_queue_pending(void)
{
    return qatomic_read(&pending);
}

void cannoli_queue_wake(void)
{
    CPUState *cpu = current_cpu;

    qatomic_set(&pending, true);
    if (cannoli_turns_mine() && cpu && cannoli_cpu(cpu)->thread) {
        cannoli_stop_chain(cpu);
    }
}

/* The thread whose an event is that happens now; NULL: any thread's. */
static CannoliThread *owner(void)
{
    bool owned = current_cpu && cannoli_turns_mine() && cannoli_parallel();

    return owned ? cannoli_cpu(current_cpu)->thread : NULL;
}

uint8_t *cannoli_queue_event(uint32_t type, uint32_t n)
{
    Entry entry = { type, n, cannoli_now(), owner() };
    guint at;

    qemu_mutex_lock(&lock);
    queue = queue ? queue : g_byte_array_new();
    g_byte_array_append(queue, (void *)&entry, sizeof(entry));
    at = queue->len;
    g_byte_array_set_size(queue, at + ROUND_UP(n, 8));
    return queue->data + at;
}

void cannoli_queue_end(void)
{
    CannoliThread *t = owner();

    qemu_mutex_unlock(&lock);
    if (t) {
        t->queued = true;
        cannoli_stop_chain(current_cpu);
    } else {
        cannoli_queue_wake();
    }
}

void cannoli_queue_drop(uint32_t type)
{
    qemu_mutex_lock(&lock);
    for (guint at = 0; queue && at < queue->len;) {
        Entry *entry = (void *)(queue->data + at);

        if (entry->type == type) {
            entry->type = 0;
        }
        at += sizeof(*entry) + ROUND_UP(entry->bytes, 8);
    }
    qemu_mutex_unlock(&lock);
}

/* Put back what is another thread's. */
static void put_back(GByteArray *taken, const CannoliThread *t)
{
    for (guint at = 0; at < taken->len;) {
        Entry *entry = (void *)(taken->data + at);
        uint32_t all = sizeof(*entry) + ROUND_UP(entry->bytes, 8);

        if (entry->type && entry->thread && entry->thread != t) {
            queue = queue ? queue : g_byte_array_new();
            g_byte_array_append(queue, (void *)entry, all);
            entry->type = 0;
        }
        at += all;
    }
}

static GByteArray *take_queue(CannoliThread *t)
{
    GByteArray *taken;

    qemu_mutex_lock(&lock);
    taken = queue;
    queue = spare;
    spare = NULL;
    if (taken && cannoli_parallel()) {
        put_back(taken, t);
    }
    t->queued = false;
    qatomic_set(&pending, false);
    qemu_mutex_unlock(&lock);
    return taken;
}

void cannoli_queue_enter(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    GByteArray *taken;
    bool open;

    if (likely(!qatomic_read(&pending) && !t->queued &&
               !qatomic_read(&cannoli_ram_changed))) {
        return;
    }
    open = t->gate.open;
    if (qatomic_read(&cannoli_ram_changed) && open) {
        cannoli_report_alone(cpu);
    }
    taken = take_queue(t);
    if (open) {
        for (guint at = 0; taken && at < taken->len;) {
            const Entry *entry = (void *)(taken->data + at);
            uint8_t *p = NULL;

            if (entry->type) {
                p = cannoli_event(cpu, entry->type, entry->bytes,
                                  entry->time_ns);
            }
            if (p) {
                memcpy(p, entry + 1, entry->bytes);
                cannoli_event_end(cpu, entry->bytes);
            }
            at += sizeof(*entry) + ROUND_UP(entry->bytes, 8);
        }
    }
    if (taken) {
        g_byte_array_set_size(taken, 0);
        qemu_mutex_lock(&lock);
        if (spare) {
            g_byte_array_unref(spare);
        }
        spare = taken;
        qemu_mutex_unlock(&lock);
    }
}
