/*
 * Execution tracing into shared memory: what an input does to memory
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Where a program is executed again (expand.c): changes of its address space
 * and what the system wrote, as they were recorded.
 */
#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu.h"
#include "user-internals.h"
#include "user-mmap.h"
#include "target_mman.h"
#include "user/guest-host.h"
#include "user/page-protection.h"
#include "exec/page-protection.h"
#include "expand.h"

int cannoli_input_open(uint32_t number)
{
    g_autofree char *path =
        g_strdup_printf("%s/%" PRIu32, cannoli_ctl->inputs, number);
    int fd = open(path, O_RDWR | O_CLOEXEC);

    if (fd < 0) {
        error_report("cannoli: cannot open %s: %s", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    return fd;
}

/* ---- memory ---- */

static bool same(abi_ulong addr, const uint8_t *bytes, uint32_t n)
{
    g_autofree uint8_t *now = g_malloc(n);

    return cannoli_peek(now, addr, n) == n && !memcmp(now, bytes, n);
}

void cannoli_input_memory(CPUState *cpu, const uint8_t *payload)
{
    uint64_t addr = ldq_le_p(payload);
    uint32_t flags = ldl_le_p(payload + 16), n = ldl_le_p(payload + 20);
    const uint8_t *bytes = payload + 24;

    if (!n || same(addr, bytes, n)) {
        return;
    }
    if (!(flags & CTR_USERMEM_WRITE)) {
        cannoli_expand_differs(
            cpu, "the system reads other bytes at 0x%" PRIx64, addr);
    }
    if (!page_check_range(addr, n, PAGE_WRITE)) {
        cannoli_expand_differs(
            cpu, "the system writes to 0x%" PRIx64 ", which cannot be written",
            addr);
    }
    memcpy(g2h_untagged(addr), bytes, n);
}

/* ---- the address space ---- */

typedef struct Map {
    uint32_t op, prot, flags;
    uint64_t start, size, offset, old_start, old_size;
} Map;

static Map map_of(const uint8_t *p)
{
    return (Map){
        .op = ldl_le_p(p),
        .prot = ldl_le_p(p + 4),
        .flags = ldl_le_p(p + 8),
        .start = ldq_le_p(p + 16),
        .size = ldq_le_p(p + 24),
        .offset = ldq_le_p(p + 32),
        .old_start = ldq_le_p(p + 40),
        .old_size = ldq_le_p(p + 48),
    };
}

/*
 * Nothing of QEMU's own may be where the guest maps something: what is not
 * mapped yet is claimed first.  False: something is there.
 */
static bool claim(uint64_t start, uint64_t size)
{
    uint64_t end = start + TARGET_PAGE_ALIGN(size);
    const int flags =
        MAP_FIXED_NOREPLACE | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

    for (uint64_t at = start; at < end;) {
        uint64_t upto = at + TARGET_PAGE_SIZE;
        bool mapped = page_get_flags(at) & PAGE_VALID;

        while (upto < end && !!(page_get_flags(upto) & PAGE_VALID) == mapped) {
            upto += TARGET_PAGE_SIZE;
        }
        if (!mapped &&
            target_mmap(at, upto - at, PROT_NONE, flags, -1, 0) == -1) {
            return false;
        }
        at = upto;
    }
    return true;
}

static bool map(const Map *m, uint32_t file)
{
    /* Forked children share it, too. */
    int flags =
        MAP_FIXED | (m->flags & TARGET_MAP_SHARED ? MAP_SHARED : MAP_PRIVATE);
    int fd = -1;
    bool done;

    if (file == INPUTS_NO_FILE) {
        flags |= MAP_ANONYMOUS;
    } else {
        fd = cannoli_input_open(file);
    }
    done = claim(m->start, m->size) &&
           target_mmap(m->start, m->size, m->prot, flags, fd,
                       fd < 0 ? 0 : m->offset) != -1;
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

static bool move(const Map *m)
{
    int flags = MREMAP_MAYMOVE | MREMAP_FIXED;

    if (m->start == m->old_start) {
        /* It may grow into what is not the guest's. */
        return (m->size <= m->old_size ||
                claim(m->start + m->old_size, m->size - m->old_size)) &&
               (m->size <= m->old_size ||
                target_munmap(m->start + m->old_size, m->size - m->old_size) ==
                    0) &&
               target_mremap(m->old_start, m->old_size, m->size, 0, 0) != -1;
    }
    return claim(m->start, m->size) &&
           target_mremap(m->old_start, m->old_size, m->size, flags, m->start) !=
               -1;
}

static bool change(Map *m, uint32_t file)
{
    uint64_t more;

    switch (m->op) {
    case CTR_MAP_MMAP:
    case CTR_MAP_SHMAT:
        return map(m, file);
    case CTR_MAP_MUNMAP:
    case CTR_MAP_SHMDT:
        return target_munmap(m->start, m->size) == 0;
    case CTR_MAP_MPROTECT:
        return target_mprotect(m->start, m->size, m->prot) == 0;
    case CTR_MAP_MREMAP:
        return move(m);
    case CTR_MAP_BRK:
        if (m->size < m->old_size) {
            return target_munmap(m->start + m->size, m->old_size - m->size) ==
                   0;
        }
        more = m->size - m->old_size;
        m->start += m->old_size;
        m->size = more;
        return !more || map(m, INPUTS_NO_FILE);
    case CTR_MAP_DISCARD:
        return target_madvise(m->start, m->size, MADV_DONTNEED) == 0;
    default: /* of the begin */
        return true;
    }
}

void cannoli_input_map(CPUState *cpu, const struct input *in,
                       const uint8_t *payload, uint32_t prot)
{
    Map m = map_of(payload);
    uint64_t start = m.start, size = m.size;

    if (prot && (prot & (PROT_READ | PROT_WRITE | PROT_EXEC)) == m.prot) {
        m.prot = prot;
    }
    if (!change(&m, in->file)) {
        error_report("cannoli: cannot map 0x%" PRIx64 " to 0x%" PRIx64
                     " again: %s",
                     start, start + size - 1, strerror(errno));
        _exit(INPUTS_STATUS_PLACE);
    }
}
