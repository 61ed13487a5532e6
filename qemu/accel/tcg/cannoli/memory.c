/*
 * Execution tracing into shared memory: memory of our own
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Memory that is permanent, or kept until all translated code is flushed, is
 * reserved before the guest starts and made accessible as it is used, so that
 * it never occupies addresses that the guest would get.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cpu.h"
#include "far.h"
#include "internal.h"
#include <sys/mman.h>

/* The memory that cannoli_alloc returns. */
#define ARENA_BYTES (16ull << 30)
#define ARENA_STEP  (1ull << 20)

static uint8_t *arena;
static uint64_t arena_bytes;

/* Its halves, filled from their starts. */
static struct Area {
    uint8_t *base;
    uint64_t bytes, used, open;
} lasting, passing;

void cannoli_open_memory(void *p, uint64_t bytes)
{
    uintptr_t page = qemu_real_host_page_size();
    uintptr_t from = ROUND_DOWN((uintptr_t)p, page);
    uintptr_t to = ROUND_UP((uintptr_t)p + bytes, page);

    if (bytes && mprotect((void *)from, to - from, PROT_READ | PROT_WRITE)) {
        error_report("cannoli: cannot open memory: %s", strerror(errno));
        exit(EXIT_FAILURE);
    }
}

static void *alloc_in(struct Area *a, size_t bytes)
{
    uint64_t at = qatomic_fetch_add(&a->used, ROUND_UP(bytes, 16));
    uint64_t end = at + bytes, opened = qatomic_read(&a->open);

    if (end > a->bytes) {
        error_report("cannoli: the dictionary of blocks has outgrown %" PRIu64
                     " MiB",
                     a->bytes >> 20);
        exit(EXIT_FAILURE);
    }
    while (end > opened) {
        /* Threads may open the same pages twice; that does no harm. */
        uint64_t upto = MIN(ROUND_UP(end, ARENA_STEP), a->bytes);

        cannoli_open_memory(a->base + opened, upto - opened);
        opened = qatomic_cmpxchg(&a->open, opened, upto);
        opened = MAX(opened, qatomic_read(&a->open));
    }
    return a->base + at;
}

void *cannoli_alloc(size_t bytes)
{
    return alloc_in(&lasting, bytes);
}

void *cannoli_alloc_passing(size_t bytes)
{
    return alloc_in(&passing, bytes);
}

void cannoli_free_passing(void)
{
    size_t used = ROUND_UP(passing.used, qemu_real_host_page_size());

    /* This zeroes it; memory that the guest has locked cannot be released. */
    if (madvise(passing.base, used, MADV_DONTNEED)) {
        memset(passing.base, 0, passing.used);
    }
    passing.used = 0;
}

void cannoli_reserve_memory(void)
{
    /* As much as a limit on address space leaves. */
    for (arena_bytes = ARENA_BYTES;; arena_bytes /= 2) {
        arena = cannoli_map_far(
            arena_bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
        if (arena != MAP_FAILED || arena_bytes < 2 * ARENA_STEP) {
            break;
        }
    }
    if (arena == MAP_FAILED) {
        error_report("cannoli: cannot reserve memory: %s", strerror(errno));
        exit(EXIT_FAILURE);
    }
    lasting.base = arena;
    lasting.bytes = passing.bytes = arena_bytes / 2;
    passing.base = arena + lasting.bytes;
}

void cannoli_release_memory(void)
{
    munmap(arena, arena_bytes);
    arena = NULL;
}
