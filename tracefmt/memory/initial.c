/* SPDX-License-Identifier: MIT */
/* Contents of files and new memory; see initial.h. */
#include "memory/initial.h"

#include <string.h>

#define PROT_WRITE 2u

/* What the file has at addr: bytes, at least one, or NULL. */
static const uint8_t *find(const struct memory_initial *m, uint32_t process,
                           uint64_t addr, const struct ctr_mapping *mapping, size_t *n,
                           unsigned *flags)
{
    const uint8_t *bytes = NULL;

    *n = 0;
    *flags = 0;
    if (m->files.bytes) {
        bytes = m->files.bytes(m->files.arg, m->tr, process, addr, mapping, n, flags);
    }
    return *n ? bytes : NULL;
}

const uint8_t *memory_initial_constant(const struct memory_initial *m, uint32_t process,
                                       uint64_t addr, const struct memory_origin *origin,
                                       size_t *n)
{
    const struct ctr_mapping *c = origin->mapping;
    const uint8_t *bytes = NULL;
    unsigned flags;

    *n = origin->end == UINT64_MAX ? SIZE_MAX : (size_t)(origin->end - addr);
    if (!m->files.bytes || !c || origin->prot & PROT_WRITE || !c->path[0]) {
        return NULL;
    }
    bytes = find(m, process, addr, c, n, &flags);
    if (!(flags & CTR_MEMORY_CONSTANT)) {
        bytes = NULL;
    }
    if (!bytes) { /* looked for again soon, as a part of it may be such */
        *n = 64 - addr % 64;
    }
    *n = *n > origin->end - addr ? (size_t)(origin->end - addr) : *n;
    return bytes;
}

/* Whether a process began with a program, not with a copy of another process's memory. */
static bool is_program(const struct ctr_trace *tr, uint32_t process)
{
    const struct ctr_process *p = ctr_trace_process(tr, process), *before;

    for (uint32_t i = process; p && i-- > 0;) {
        before = ctr_trace_process(tr, i);
        if (before->pid == p->pid) {
            return before->end_reason == CTR_END_EXEC;
        }
    }
    return p && !process;
}

/*
 * New memory of the program's own: zeros, as is what the stack of a new program has beside the
 * arguments, which the recording says that the system wrote.  What else was there at the
 * start was filled by the system.
 */
static bool is_zeroed(const struct memory_initial *m, uint32_t process,
                      const struct memory_origin *origin)
{
    const struct ctr_mapping *c = origin->mapping;

    if (origin->kind == ORIGIN_PROCESS) {
        return m->arguments && c && !strcmp(c->path, "[stack]") &&
               is_program(m->tr, process);
    }
    return origin->kind == ORIGIN_NEW && c && (!c->path[0] || !strcmp(c->path, "[heap]"));
}

struct memory_initial_bytes memory_initial_bytes(const struct memory_initial *m,
                                                 uint32_t process, uint64_t addr,
                                                 const struct memory_origin *origin)
{
    const struct ctr_mapping *c = origin->mapping;
    struct memory_initial_bytes out = {.n = SIZE_MAX};
    unsigned flags;

    if (is_zeroed(m, process, origin) ||
        (c && !c->path[0] && origin->kind != ORIGIN_PROCESS)) {
        out.known = !m->part && is_zeroed(m, process, origin); /* no file has it */
        return out;
    }
    out.bytes = find(m, process, addr, c, &out.n, &flags);
    out.n = out.n ? out.n : 1;
    if (out.bytes) {
        out.known =
            !m->part || (flags & CTR_MEMORY_CONSTANT && !(origin->prot & PROT_WRITE));
    } else {
        out.n = flags & CTR_MEMORY_CLEARED ? out.n : 1;
        out.known =
            !m->part && origin->kind == ORIGIN_PROCESS && flags & CTR_MEMORY_CLEARED;
    }
    return out;
}
