/* SPDX-License-Identifier: MIT */
/* Mappings, files and forks for memory.h; see memory_initial.h. */
#include "state/memory_initial.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/array.h"
#include "cannoli/events.h"
#include "query/fork.h"

struct memory_initial {
    struct ctr_trace *tr;
    const struct places *places; /* or NULL */
    struct ctr_maps *maps;       /* NULL: mappings were not recorded */
    struct ctr_info info;
    /* Mappings of one process, by start. */
    struct ctr_mapping *v;
    uint32_t n;
    size_t cap;
    uint32_t process; /* UINT32_MAX: none read yet */
    struct known_fork {
        struct moment at;
        int found; /* as of fork_find */
        bool searched;
    } *forks; /* by process */
    size_t nr_forks;
};

int memory_initial_open(struct memory_initial **out, struct ctr_trace *tr,
                        const struct places *places, struct ctr_diag *diag)
{
    struct memory_initial *m = calloc(1, sizeof(*m));
    int ret = m ? 0 : -CTR_E_NOMEM;

    *out = m;
    if (ret) {
        return ret;
    }
    m->tr = tr;
    m->places = places;
    m->process = UINT32_MAX;
    ctr_trace_info(tr, &m->info);
    if (m->info.events & CTR_HAS_MAP) {
        ret = ctr_maps_load(&m->maps, tr, diag);
    }
    return ret;
}

void memory_initial_close(struct memory_initial *m)
{
    if (m) {
        ctr_maps_free(m->maps);
        free(m->v);
        free(m->forks);
        free(m);
    }
}

/* ------------------------------------------------------------------- mappings */

static int add_mapping(void *arg, const struct ctr_mapping *new)
{
    struct memory_initial *m = arg;

    if (!array_reserve(&m->v, &m->cap, m->n + (size_t)1, sizeof(*m->v))) {
        return 1;
    }
    m->v[m->n++] = *new;
    return 0;
}

/* Reads the mappings that a process ever had; false: no memory. */
static bool read_process(struct memory_initial *m, uint32_t process)
{
    if (m->process == process) {
        return true;
    }
    m->n = 0;
    m->process =
        ctr_maps_history(m->maps, process, add_mapping, m) ? UINT32_MAX : process;
    return m->process == process;
}

/* The mapping of an address at a time that ends at `end' (0: contains the time); NULL. */
static const struct ctr_mapping *find(const struct memory_initial *m, uint64_t addr,
                                      uint64_t time_ns, uint64_t end)
{
    for (uint32_t i = 0; i < m->n; i++) {
        const struct ctr_mapping *c = &m->v[i];
        if (addr >= c->start && addr < c->end &&
            (end ? c->to_ns == end : c->from_ns <= time_ns && time_ns < c->to_ns)) {
            return c;
        }
    }
    return NULL;
}

/*
 * When the contents of an address at a time began.  A change of a mapping that stays in
 * place (growth, mprotect) ends one entry of the history and begins another.  *prot: all
 * that was permitted since then.
 */
static uint64_t content_begin(struct memory_initial *m, uint32_t process, uint64_t addr,
                              uint64_t time_ns, uint32_t *prot)
{
    const struct ctr_mapping *now, *before;

    *prot = 0;
    if (!m->maps || !read_process(m, process)) {
        return 0;
    }
    now = find(m, addr, time_ns, 0);
    *prot = now ? now->prot : 0;
    while (now && (before = find(m, addr, 0, now->from_ns)) != NULL &&
           !strcmp(before->path, now->path) && before->inode == now->inode &&
           before->dev == now->dev &&
           (!now->inode ||
            addr - before->start + before->offset == addr - now->start + now->offset)) {
        now = before;
        *prot |= now->prot;
    }
    return now ? now->from_ns : 0;
}

uint64_t memory_initial_begin(struct memory_initial *m, uint32_t process, uint64_t addr,
                              uint64_t time_ns)
{
    uint32_t prot;
    const uint64_t begin = content_begin(m, process, addr, time_ns, &prot);

    return begin <= ctr_trace_process(m->tr, process)->start_ns ? 0 : begin;
}

bool memory_initial_reaches(struct memory_initial *m, uint32_t process, uint64_t addr,
                            uint32_t thread, uint64_t ordinal, uint64_t time_ns)
{
    const uint64_t begin = memory_initial_begin(m, process, addr, time_ns);
    uint64_t pc, then;
    struct ctr_chunk chunk;
    struct ctr_diag diag;
    int ret;

    if (!begin || (!ctr_trace_find(m->tr, thread, ordinal, &chunk, &diag) &&
                   chunk.start_ns >= begin)) {
        return true;
    }
    ret = ctr_state_at(m->tr, thread, ordinal, NULL, &pc, &then, &diag);
    return (ret && ret != -CTR_E_INVAL) || then >= begin;
}

bool memory_initial_reaches_chunk(struct memory_initial *m, uint32_t process,
                                  uint64_t addr, const struct ctr_chunk *chunk,
                                  uint64_t time_ns)
{
    return chunk->start_ns >= memory_initial_begin(m, process, addr, time_ns);
}

bool memory_initial_private(struct memory_initial *m, uint32_t process, uint64_t time_ns,
                            uint64_t addr, uint64_t size)
{
    if (!m->maps || !read_process(m, process)) {
        return false;
    }
    for (uint32_t i = 0; i < m->n; i++) {
        const struct ctr_mapping *c = &m->v[i];

        if (c->shared && c->start < addr + size && addr < c->end &&
            c->from_ns <= time_ns && time_ns < c->to_ns) {
            return false;
        }
    }
    return true;
}

/* ---------------------------------------------------------------------- forks */

int memory_initial_fork(struct memory_initial *m, uint32_t process, struct moment *out,
                        struct ctr_diag *diag)
{
    struct known_fork *f;

    if (!array_reserve_zeroed(&m->forks, &m->nr_forks, process + (size_t)1,
                              sizeof(*m->forks))) {
        return -CTR_E_NOMEM;
    }
    f = &m->forks[process];
    if (!f->searched) {
        f->found = fork_find(m->tr, process, &f->at, diag);
        if (f->found < 0) {
            return f->found;
        }
        f->searched = true;
    }
    *out = f->at;
    return f->found;
}

/* ------------------------------------------------------------------- contents */

const uint8_t *memory_initial_constant(struct memory_initial *m, uint32_t process,
                                       uint64_t time_ns, uint64_t addr, size_t *n)
{
    const struct ctr_mapping *c;
    const uint8_t *bytes = NULL;
    struct place place;
    uint32_t prot;

    *n = 1;
    if (!m->places || !m->maps || m->info.machine || !read_process(m, process)) {
        *n = SIZE_MAX;
        return NULL;
    }
    c = find(m, addr, time_ns, 0);
    if (!c || c->prot & PROT_WRITE || !c->path[0]) {
        *n = c ? (size_t)(c->end - addr) : 1;
        return NULL;
    }
    content_begin(m, process, addr, time_ns, &prot);
    if (!(prot & PROT_WRITE) &&
        places_find_data(m->places, m->tr, process, addr, &place) && place.module->file &&
        !strcmp(place.module->path, c->path) &&
        symfile_is_constant(place.module->file, place.vaddr)) {
        bytes = symfile_bytes(place.module->file, place.vaddr, n);
    }
    if (!bytes) { /* looked for again soon, as a part of it may be such */
        *n = 64 - addr % 64;
    }
    *n = *n > c->end - addr ? (size_t)(c->end - addr) : *n;
    return bytes;
}

/* Whether memory may have been changed by what was not recorded. */
static bool is_part(const struct memory_initial *m)
{
    return m->info.selection[0] || m->info.dropped_insns || m->info.machine ||
           !(m->info.events & CTR_HAS_MEM);
}

/* New memory of the program's own: zeros.  The stack and what was there at the start were
 * filled by the system. */
static bool is_zeroed(const struct memory_initial *m, const struct ctr_mapping *c,
                      uint32_t process, uint64_t begin)
{
    if (c->path[0] && strcmp(c->path, "[heap]")) {
        return false;
    }
    return begin > ctr_trace_process(m->tr, process)->start_ns && !is_part(m);
}

bool memory_initial_byte(struct memory_initial *m, uint32_t process, uint64_t time_ns,
                         uint64_t addr, uint8_t *value)
{
    const struct ctr_mapping *c;
    const uint8_t *bytes = NULL;
    struct place place;
    uint32_t prot;
    size_t n;
    const bool in_file = m->places &&
                         places_find_data(m->places, m->tr, process, addr, &place) &&
                         place.module->file;

    if (in_file) {
        bytes = symfile_bytes(place.module->file, place.vaddr, &n);
    }
    if (bytes && n &&
        (!is_part(m) || symfile_is_constant(place.module->file, place.vaddr))) {
        *value = *bytes;
        return true;
    }
    if (in_file && !is_part(m) && symfile_is_cleared(place.module->file, place.vaddr)) {
        *value = 0;
        return true;
    }
    if (!m->maps || !read_process(m, process)) {
        return false;
    }
    c = find(m, addr, time_ns, 0);
    if (c && is_zeroed(m, c, process, content_begin(m, process, addr, time_ns, &prot))) {
        *value = 0;
        return true;
    }
    return false;
}
