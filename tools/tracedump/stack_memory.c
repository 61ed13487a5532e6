/* SPDX-License-Identifier: MIT */
/*
 * A window of a stack, by the accesses that its thread made before the moment; see
 * stack_memory.h.  It has the first rule of memory.h only: the last access to a byte has its
 * value.  So nothing else may access it: not of a machine, or of a process with more threads;
 * and what was accessed before a mapping changed there does not count.
 */
#include "stack_memory.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW (64u << 10)
#define MAX_WINDOWS 64u
/* What is older is left to memory.h. */
#define INSTRUCTIONS (UINT64_C(1) << 24)

struct stack_byte {
    uint64_t when; /* of the last access, 0: never ... */
    uint8_t value;
    bool known; /* ... and whether it has a value */
};

/* An event of the system is before the instruction that has its ordinal, and after all that the
 * one before does. */
static uint64_t when_system(uint64_t ordinal)
{
    return 2 * ordinal + 1;
}

static uint64_t when_instruction(uint64_t ordinal)
{
    return 2 * ordinal + 2;
}

/* What a job puts out: followed by n bytes. */
struct access {
    uint64_t when, from; /* from: in the window */
    uint32_t size, n;
};

static int put_access(const struct stack_memory *m, struct ctr_job *job, uint64_t when,
                      uint64_t addr, uint64_t size, const uint8_t *data, uint64_t n)
{
    const uint64_t end = m->base + WINDOW;
    const uint64_t skip = addr < m->base ? m->base - addr : 0;
    struct access a = {.when = when, .from = addr + skip - m->base};

    if (addr >= end || skip >= size) {
        return 0;
    }
    size = size < end - addr ? size : end - addr;
    n = !data || n < skip ? 0 : (n < size ? n : size) - skip;
    a.size = (uint32_t)(size - skip);
    a.n = (uint32_t)n;
    return ctr_job_append(job, &a, sizeof(a)) ||
                   (n && ctr_job_append(job, data + skip, n))
               ? -CTR_E_NOMEM
               : 0;
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    return put_access(arg, job, when_instruction(m->ordinal), m->addr, m->size, m->data,
                      m->data ? m->size : 0);
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct stack_memory *m = arg;
    const uint64_t when = when_system(e->ordinal);
    struct ctr_usermem u;
    struct ctr_map map;

    if (!ctr_parse_map(e, &map)) {
        int ret = put_access(m, job, when, map.start, map.size, NULL, 0);
        return ret ? ret : put_access(m, job, when, map.old_start, map.old_size, NULL, 0);
    }
    if (e->ordinal >= m->at->ordinal && m->at->before_system) {
        return 0;
    }
    return ctr_parse_usermem(e, &u) || !u.size
               ? 0
               : put_access(m, job, when, u.addr, u.size, u.data, u.n);
}

static int apply(void *arg, const struct ctr_job *job, const void *data, size_t bytes)
{
    struct stack_memory *m = arg;
    const uint8_t *p = data, *end = p + bytes;
    struct access a;

    (void)job;
    for (; p < end; p += a.n) {
        memcpy(&a, p, sizeof(a));
        p += sizeof(a);
        for (uint32_t i = 0; i < a.size; i++) {
            struct stack_byte *b = &m->v[a.from + i];
            if (a.when >= b->when) {
                *b = (struct stack_byte){a.when, i < a.n ? p[i] : 0, i < a.n};
            }
        }
    }
    return 0;
}

/* Events apart: of a chunk that the index leaves out, they would be left out, too. */
static int read_window(struct stack_memory *m, uint64_t addr, struct ctr_diag *diag)
{
    const uint64_t to = m->at->ordinal;
    const struct ctr_range range = {addr, addr + WINDOW, 0};
    struct ctr_filter filter = {
        .kinds = CTR_KIND_SYS | CTR_KIND_MAP,
        .threads = &m->at->thread,
        .nthread = 1,
        .from = to > INSTRUCTIONS ? to - INSTRUCTIONS : 0,
        .to = to + 1,
    };
    const struct ctr_replay_ops events = {.os = on_os, .ordered = apply};
    const struct ctr_replay_ops accesses = {.mem = on_mem, .ordered = apply};
    const struct ctr_replay_opts opts = {.workers = m->jobs, .filter = &filter};
    int ret;

    free(m->v);
    m->base = addr;
    m->windows++;
    m->v = calloc(WINDOW, sizeof(*m->v));
    ret = m->v ? ctr_replay(m->tr, &events, m, &opts, diag) : -CTR_E_NOMEM;
    filter.kinds = CTR_KIND_LOAD | CTR_KIND_STORE;
    filter.to = to;
    filter.addrs = &range;
    filter.naddr = 1;
    return ret || to <= filter.from ? ret : ctr_replay(m->tr, &accesses, m, &opts, diag);
}

static bool is_alone(const struct stack_memory *m)
{
    const struct ctr_thread *t = ctr_trace_thread(m->tr, m->at->thread);
    struct ctr_info info;

    ctr_trace_info(m->tr, &info);
    return !info.machine && info.events & CTR_HAS_VAL && info.events & CTR_HAS_SYS &&
           !info.selection[0] && ctr_process_single(m->tr, t->process);
}

int stack_memory_read(struct stack_memory *m, uint64_t addr, uint8_t *out, size_t n,
                      struct ctr_diag *diag)
{
    const bool inside = m->v && addr >= m->base && addr - m->base <= WINDOW - n;
    int ret = 0;

    if (n > WINDOW || addr > UINT64_MAX - WINDOW ||
        (!inside && (m->windows == MAX_WINDOWS || !is_alone(m)))) {
        return 0;
    }
    ret = inside ? 0 : read_window(m, addr, diag);
    for (size_t i = 0; !ret && i < n; i++) {
        const struct stack_byte *b = &m->v[addr - m->base + i];
        if (!b->when || !b->known) {
            return 0;
        }
        out[i] = b->value;
    }
    return ret ? ret : 1;
}

void stack_memory_fini(struct stack_memory *m)
{
    free(m->v);
    m->v = NULL;
}
