/*
 * Execution tracing into shared memory: memory out of the guest's way
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where guest addresses are host addresses, the kernel places the guest's
 * mappings: it uses the first gap that is large enough, from one end of the
 * address space.  Whatever QEMU maps there for a recording would move them.
 * So:
 *
 *  - permanent mappings that are made at the start are placed far away
 *    (cannoli_map_far);
 *  - while libraries are loaded, which the dynamic linker maps wherever the
 *    kernel likes, the gaps near that end are reserved, so that the kernel has
 *    to go far away, too (cannoli_crowd);
 *  - memory that code of a library allocates, then or later, comes from a heap
 *    of its own (malloc.c), which also keeps the allocator of QEMU in the state
 *    that it would be in otherwise.
 */
#include "qemu/osdep.h"
#include "qemu/atomic.h"
#include "qemu/host-utils.h"
#include "cpu.h"
#include "far.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* How far is far away. */
#define FAR_AWAY (1ull << 40)

/*
 * How much of the largest gap is reserved: the guest can map that much before
 * it reaches a library that was loaded while it ran.
 */
#define CROWD_BYTES (1ull << 39)
#define MAX_PIECES  (64 * 1024)

/* Addresses for mappings that libraries make: below the heap. */
#define ZONE_BYTES (1ull << 39)
#define ZONE_STEP  (1ull << 21)
#define ZONE_TRIES 64

__thread int cannoli_apart;

static uintptr_t zone_end, zone_next;

/* Not by the name that malloc.c redefines. */
static void *map(uintptr_t at, size_t bytes, int prot, int flags, int fd,
                 off_t offset)
{
    return (void *)syscall(SYS_mmap, at, bytes, prot, flags, fd, offset);
}

void *cannoli_map_far(size_t bytes, int flags, int fd)
{
    size_t page = qemu_real_host_page_size();
    void *probe = map(0, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (probe == MAP_FAILED) {
        return probe;
    }
    munmap(probe, page);
    for (int i = 1; i <= 8; i++) {
        uintptr_t want = (uintptr_t)probe;
        void *p;

        want -= i * MIN(FAR_AWAY, (uintptr_t)probe / 16);
        want = ROUND_DOWN(want - bytes, 1 << 21);
        p = map(want, bytes, PROT_NONE, flags | MAP_FIXED_NOREPLACE, fd, 0);
        if (p != MAP_FAILED || errno != EEXIST) {
            return p;
        }
    }
    return map(0, bytes, PROT_NONE, flags, fd, 0);
}

/* RLIMIT_AS, or UINT64_MAX. */
static uint64_t limit_on_address_space(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    return limit.rlim_cur;
}

bool cannoli_address_space_is_limited(void)
{
    return limit_on_address_space() != UINT64_MAX;
}

/* ---- mappings of libraries ---- */

void cannoli_far_zone(void *end)
{
    zone_end = zone_next = (uintptr_t)end;
}

void *cannoli_map_apart(size_t bytes, int prot, int flags, int fd, off_t offset)
{
    size_t room = ROUND_UP(bytes, ZONE_STEP);

    for (int i = 0; i < ZONE_TRIES && zone_end && room < ZONE_BYTES; i++) {
        uintptr_t next = qatomic_read(&zone_next), want = next - room;
        void *p;

        if (zone_end - want > ZONE_BYTES) {
            want = zone_end - room;
        }
        if (qatomic_cmpxchg(&zone_next, next, want) != next) {
            continue;
        }
        p = map(want, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd, offset);
        if (p != MAP_FAILED || errno != EEXIST) {
            return p;
        }
    }
    return map(0, bytes, prot, flags, fd, offset);
}

/* ---- reserving the gaps ---- */

typedef struct Piece {
    uintptr_t start;
    size_t bytes;
} Piece;

static Piece *pieces;
static unsigned nr_pieces;

static uintptr_t reserve(size_t bytes)
{
    void *p = map(0, bytes, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) {
        return 0;
    }
    if (nr_pieces == MAX_PIECES) {
        munmap(p, bytes);
        return 0;
    }
    pieces[nr_pieces++] = (Piece){ (uintptr_t)p, bytes };
    return (uintptr_t)p;
}

static void give_back_last(void)
{
    const Piece *p = &pieces[--nr_pieces];

    munmap((void *)p->start, p->bytes);
}

/*
 * The kernel puts a mapping into the first gap that holds it.  So mappings of
 * falling sizes, each size until one lies beyond the limit, fill all gaps up to
 * there; the limit is the far end of the very first one.
 */
static bool fill(void)
{
    size_t page = qemu_real_host_page_size();
    uintptr_t limit = 0, first = reserve(page), second = reserve(page);
    bool down = second < first;
    /*
     * Reserved memory counts towards the limit; so with one the library lies
     * less far away.
     */
    size_t most = MIN(CROWD_BYTES, pow2floor(limit_on_address_space() / 8));

    if (!first || !second) {
        return false;
    }
    for (size_t bytes = most; bytes >= page; bytes /= 2) {
        for (;;) {
            uintptr_t p = reserve(bytes);

            if (!p) {
                break;
            }
            if (!limit) {
                limit = down ? p : p + bytes;
            } else if (down ? p < limit : p + bytes > limit) {
                give_back_last();
                break;
            }
        }
    }
    /* What is left is smaller than a page only if the last one went beyond. */
    first = reserve(page);
    if (!first) {
        return false;
    }
    give_back_last();
    return limit && (down ? first < limit : first >= limit);
}

void cannoli_crowd(void)
{
    assert(!nr_pieces);
    if (!pieces) {
        pieces = cannoli_alloc(MAX_PIECES * sizeof(*pieces));
    }
    if (!fill()) {
        /* There is no room: a library in the way is better than none. */
        cannoli_uncrowd();
    }
}

void cannoli_uncrowd(void)
{
    unsigned left;

    /*
     * Neighbours may have become one.  In reverse order each unmapping restores
     * the state before it; one that fails, because it would split a mapping
     * when there may be no more, is done last.
     */
    do {
        unsigned kept = 0;

        left = nr_pieces;
        while (nr_pieces) {
            const Piece p = pieces[--nr_pieces];

            if (munmap((void *)p.start, p.bytes)) {
                pieces[MAX_PIECES - ++kept] = p;
            }
        }
        memmove(pieces, pieces + MAX_PIECES - kept, kept * sizeof(*pieces));
        nr_pieces = kept;
    } while (nr_pieces && nr_pieces < left);
    nr_pieces = 0;
}
