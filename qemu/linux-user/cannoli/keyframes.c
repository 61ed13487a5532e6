/*
 * Execution tracing into shared memory: key frames
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Who reads a trace finds what memory holds by the accesses before.  A page
 * that is written in every chunk would make it read all of them: the recorder,
 * which sees what each chunk writes, requests the contents of such a page now
 * and then.  Only the thread itself can give them, at a place of its own.
 *
 * Where a recording begins in the middle (expand.c), all pages have one.
 */
#include "qemu/osdep.h"
#include "qemu.h"
#include "user/guest-host.h"
#include "user/page-protection.h"
#include "accel/tcg/cannoli/far.h"
#include "expand.h"

/* Of a buffer, at most. */
#define MOST_PAGES 16

#define FRAME_FIXED (8 + 4)

static const struct mempipe_requests *requests_of(const CannoliThread *t)
{
    return (const struct mempipe_requests *)((uint8_t *)cannoli_ctl +
                                             cannoli_ctl->requests_off) +
           t->pipe_no;
}

void cannoli_keyframes_begin(CannoliThread *t)
{
    t->keyframes = qatomic_read(&requests_of(t)->head);
}

static void put_page(CPUState *cpu, uint64_t page)
{
    uint8_t *p;

    if (page != (abi_ulong)page || page % CTR_KEYFRAME_BYTES ||
        !(page_get_flags(page) & PAGE_READ)) {
        return;
    }
    p = cannoli_event(cpu, CTR_EVENT_KEYFRAME, FRAME_FIXED + CTR_KEYFRAME_BYTES,
                      0);
    if (!p || cannoli_peek(p + FRAME_FIXED, page, CTR_KEYFRAME_BYTES) !=
                  CTR_KEYFRAME_BYTES) {
        return; /* an event that does not end is none */
    }
    stq_le_p(p, page);
    stl_le_p(p + 8, CTR_KEYFRAME_BYTES);
    cannoli_event_end(cpu, FRAME_FIXED + CTR_KEYFRAME_BYTES);
}

void cannoli_keyframes(CPUState *cpu)
{
    CannoliThread *t = cannoli_cpu(cpu)->thread;
    const struct mempipe_requests *q = requests_of(t);
    uint32_t head;

    if (!(cannoli_ctl->events & CTR_EVENTS_KEY) || !t->gate.open) {
        return;
    }
    /* Pairs with the recorder's release. */
    head = qatomic_load_acquire(&q->head);
    if (CPU_NEXT(first_cpu)) {
        /* Others may write to it at any moment: its contents have no place. */
        t->keyframes = head;
        return;
    }
    if (head - t->keyframes > MEMPIPE_REQUESTS) {
        t->keyframes = head - MEMPIPE_REQUESTS;
    }
    for (int n = 0; t->keyframes != head && n < MOST_PAGES; n++) {
        const struct mempipe_request *r =
            &q->request[t->keyframes++ % MEMPIPE_REQUESTS];

        if (qatomic_read(&r->serial) == t->serial) {
            put_page(cpu, qatomic_read(&r->page));
        }
    }
}

/* ---- all of them ---- */

/* What is not held of a larger range is not recorded, as it may be huge. */
#define MOST_ANONYMOUS ((target_ulong)1 << 20)
#define MOST_OF_FILE   ((target_ulong)64 << 20)

typedef struct Walk {
    CPUState *cpu;
    int pagemap;
} Walk;

/* Whether the host holds a page of its own there, so that it may be not 0. */
static bool is_held(const Walk *w, target_ulong page)
{
    uintptr_t host = (uintptr_t)g2h_untagged(page);
    off_t at = (off_t)(host / qemu_real_host_page_size()) * sizeof(uint64_t);
    uint64_t entry;

    return pread(w->pagemap, &entry, sizeof(entry), at) == sizeof(entry) &&
           entry >> 62; /* present, swapped */
}

static int put_region(void *opaque, target_ulong start, target_ulong end,
                      unsigned long prot)
{
    const Walk *w = opaque;
    bool all =
        end - start <= (prot & PAGE_ANON ? MOST_ANONYMOUS : MOST_OF_FILE);

    if (!(prot & PAGE_READ)) {
        return 0;
    }
    do { /* of a region that ends with the address space `end' is 0 */
        if (all || is_held(w, start)) {
            put_page(w->cpu, start);
        }
        start += CTR_KEYFRAME_BYTES;
    } while (start != end);
    return 0;
}

void cannoli_keyframes_all(CPUState *cpu)
{
    Walk w = { .cpu = cpu };

    if (!(cannoli_ctl->events & CTR_EVENTS_KEY)) {
        return;
    }
    mmap_lock();
    cannoli_apart++;
    w.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    walk_memory_regions(&w, put_region);
    if (w.pagemap >= 0) {
        close(w.pagemap);
    }
    cannoli_apart--;
    mmap_unlock();
}
