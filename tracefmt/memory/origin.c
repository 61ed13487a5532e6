/* SPDX-License-Identifier: MIT */
/* The histories of mappings, forks and moves; see origin.h. */
#include "memory/origin.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cannoli/events.h"

#define PROT_EXECUTE 4u

struct memory_origins {
    struct ctr_trace *tr;
    const struct ctr_maps *maps; /* NULL: mappings were not recorded */
    struct ctr_maps *own_maps;   /* loaded here, or NULL */
    struct ctr_info info;
    uint64_t damage_ns; /* from then on changes may be missing */
    /* Mappings of one process, by start. */
    struct ctr_mapping *v; /* in `mappings' */
    uint32_t n;
    struct buf mappings;
    uint32_t process;  /* UINT32_MAX: none read yet */
    uint64_t first_ns; /* a time before that counts as this one */
    bool single;       /* it has one thread */
    /* The result of the last request. */
    struct memory_origin last;
    uint64_t last_ns; /* UINT64_MAX: none */
    struct known_fork {
        struct ctr_moment at;
        int found; /* as of ctr_moment_fork */
        bool searched;
    } *forks; /* by process */
};

int memory_origins_open(struct memory_origins **out, struct ctr_trace *tr,
                        const struct ctr_maps *maps, struct ctr_diag *diag)
{
    struct memory_origins *o = calloc(1, sizeof(*o));
    int ret = 0;

    *out = o;
    if (!o) {
        return ctr_fail_nomem(diag);
    }
    o->tr = tr;
    o->process = UINT32_MAX;
    o->last_ns = UINT64_MAX;
    o->damage_ns = UINT64_MAX;
    ctr_trace_info(tr, &o->info);
    if (o->info.events & CTR_HAS_MAP && !o->info.machine) {
        ret = maps ? 0 : ctr_maps_load(&o->own_maps, tr, diag);
        o->maps = maps ? maps : o->own_maps;
    }
    if (!ret && o->maps) {
        ctr_maps_damage(o->maps, &o->damage_ns, NULL);
    }
    return ret;
}

void memory_origins_close(struct memory_origins *o)
{
    if (o) {
        ctr_maps_free(o->own_maps);
        buf_free(&o->mappings);
        free(o->forks);
        free(o);
    }
}

/* Whether accesses that are not recorded may have changed memory after a page's key frame, or
 * if nothing was dropped, ever. */
static bool is_incomplete(const struct memory_origins *o)
{
    const bool dropped = o->info.dropped_insns || o->info.dropped_chunks;

    return o->info.selection[0] || (dropped && !(o->info.events & CTR_HAS_KEY)) ||
           o->info.machine || !(o->info.events & CTR_HAS_MEM);
}

bool memory_origins_part(const struct memory_origins *o)
{
    return is_incomplete(o) || o->info.dropped_insns || o->info.dropped_chunks;
}

/* ------------------------------------------------------------------- mappings */

static int add_mapping(void *arg, const struct ctr_mapping *new)
{
    struct memory_origins *o = arg;

    if (buf_append(&o->mappings, new, sizeof(*new))) {
        return 1;
    }
    o->v = (struct ctr_mapping *)o->mappings.p;
    o->n++;
    o->first_ns = new->from_ns < o->first_ns ? new->from_ns : o->first_ns;
    return 0;
}

/* Reads the mappings that a process ever had; false: no memory. */
static bool read_process(struct memory_origins *o, uint32_t process)
{
    if (o->process == process) {
        return true;
    }
    o->n = 0;
    o->mappings.n = 0;
    o->first_ns = UINT64_MAX;
    o->last_ns = UINT64_MAX;
    o->single = ctr_process_single(o->tr, process);
    o->process =
        ctr_maps_history(o->maps, process, add_mapping, o) ? UINT32_MAX : process;
    return o->process == process;
}

/* Narrows the range to the addresses for which a mapping is the result, too. */
static void narrow(struct memory_origin *out, const struct ctr_mapping *c)
{
    out->start = out->start > c->start ? out->start : c->start;
    out->end = out->end < c->end ? out->end : c->end;
}

/* The mapping of an address at a time; NULL, and a narrower range, if there is none.  *ever:
 * there is one at another time. */
static const struct ctr_mapping *find(const struct memory_origins *o, uint64_t addr,
                                      uint64_t time_ns, struct memory_origin *out,
                                      bool *ever)
{
    *ever = false;
    for (uint32_t i = 0; i < o->n; i++) {
        const struct ctr_mapping *c = &o->v[i];

        if (addr >= c->start && addr < c->end) {
            if (c->from_ns <= time_ns && time_ns < c->to_ns) {
                return c;
            }
            *ever = true;
            narrow(out, c);
        } else if (c->end <= addr) {
            out->start = out->start > c->end ? out->start : c->end;
        } else {
            out->end = out->end < c->start ? out->end : c->start;
        }
    }
    return NULL;
}

/* The one before or after another one, of an address: that which ends when it begins, or
 * begins when it ends. */
static const struct ctr_mapping *neighbour(const struct memory_origins *o, uint64_t addr,
                                           const struct ctr_mapping *of, bool after)
{
    for (uint32_t i = 0; i < o->n; i++) {
        const struct ctr_mapping *c = &o->v[i];

        if (addr >= c->start && addr < c->end && c != of &&
            (after ? c->from_ns == of->to_ns : c->to_ns == of->from_ns)) {
            return c;
        }
    }
    return NULL;
}

/* Whether a file is that of a module: code of it was mapped.  Nobody writes to those while
 * they run. */
static bool is_module(const struct memory_origins *o, const struct ctr_mapping *m)
{
    for (uint32_t i = 0; i < o->n; i++) {
        const struct ctr_mapping *c = &o->v[i];

        if (c->prot & PROT_EXECUTE && c->inode == m->inode && c->dev == m->dev &&
            !strcmp(c->path, m->path)) {
            return true;
        }
    }
    return false;
}

static enum memory_origin_kind kind_of(const struct memory_origins *o,
                                       const struct ctr_mapping *first)
{
    switch (first->began) {
    case CTR_MAPPING_INITIAL:
        return ORIGIN_PROCESS;
    case CTR_MAPPING_NEW:
        return ORIGIN_NEW;
    case CTR_MAPPING_MOVED:
        return ORIGIN_MOVED;
    default: /* as the first events of a process may be */
        return first->from_ns <= o->first_ns ? ORIGIN_PROCESS : ORIGIN_UNKNOWN;
    }
}

static void trace_back(const struct memory_origins *o, uint64_t addr,
                       const struct ctr_mapping *now, struct memory_origin *out)
{
    const struct ctr_mapping *c = now, *next;

    out->mapping = now;
    out->prot = now->prot;
    narrow(out, now);
    while (c->began == CTR_MAPPING_KEPT && (next = neighbour(o, addr, c, false))) {
        c = next;
        out->prot |= c->prot;
        narrow(out, c);
    }
    out->kind = kind_of(o, c);
    out->begin_ns = out->kind == ORIGIN_PROCESS ? 0 : c->from_ns;
    for (c = now; (next = neighbour(o, addr, c, true)) && next->began == CTR_MAPPING_KEPT;
         c = next) {
        narrow(out, next);
    }
    out->until_ns = c->to_ns;
    out->own = o->single && !is_incomplete(o) && !now->shared &&
               now->from_ns < o->damage_ns && (!now->inode || is_module(o, now));
}

bool memory_origin_at(struct memory_origins *o, uint32_t process, uint64_t addr,
                      uint64_t time_ns, struct memory_origin *out)
{
    const struct ctr_mapping *now;
    bool ever;

    *out = (struct memory_origin){.end = UINT64_MAX, .until_ns = UINT64_MAX};
    if (!o->maps || !ctr_trace_process(o->tr, process)) {
        return true;
    }
    if (!read_process(o, process)) {
        return false;
    }
    out->single = o->single;
    if (!o->n) {
        return true;
    }
    time_ns = time_ns > o->first_ns ? time_ns : o->first_ns;
    if (o->last_ns != time_ns || addr < o->last.start || addr >= o->last.end) {
        now = find(o, addr, time_ns, out, &ever);
        if (now) {
            out->start = 0;
            out->end = UINT64_MAX;
            trace_back(o, addr, now, out);
        } else {
            /* Another thread may have mapped it by then. */
            out->kind = ever && o->single && time_ns < o->damage_ns ? ORIGIN_UNMAPPED
                                                                    : ORIGIN_UNKNOWN;
        }
        o->last = *out;
        o->last_ns = time_ns;
    }
    *out = o->last;
    return true;
}

bool memory_origin_since(struct memory_origins *o, uint64_t begin_ns, uint32_t thread,
                         uint64_t ordinal)
{
    struct ctr_chunk chunk;
    struct ctr_diag diag;
    uint64_t until, pc, then;
    int ret;

    if (!begin_ns) {
        return true;
    }
    if (ctr_trace_find(o->tr, thread, ordinal, &chunk, &diag)) {
        return false;
    }
    if (chunk.start_ns >= begin_ns ||
        ctr_maps_time(o->maps, &chunk, ordinal, &until) >= begin_ns) {
        return true;
    }
    if (ctr_process_single(o->tr, ctr_trace_thread(o->tr, thread)->process)) {
        return false; /* the change was its own */
    }
    ret = ctr_state_at(o->tr, thread, ordinal, NULL, &pc, &then, &diag);
    return (!ret || ret == -CTR_E_INVAL) && then >= begin_ns;
}

/* ------------------------------------------------------------- forks and moves */

int memory_origin_fork(struct memory_origins *o, uint32_t process, struct ctr_moment *out,
                       struct ctr_diag *diag)
{
    struct known_fork *f;

    if (!o->forks) {
        o->forks = calloc(o->info.processes + (size_t)1, sizeof(*o->forks));
    }
    if (!o->forks) {
        return ctr_fail_nomem(diag);
    }
    f = &o->forks[process];
    if (!f->searched) {
        f->found = ctr_moment_fork(o->tr, process, &f->at, diag);
        if (f->found < 0) {
            return f->found;
        }
        f->searched = true;
    }
    *out = f->at;
    return f->found;
}

int memory_origin_moved(struct memory_origins *o, uint32_t process, uint64_t addr,
                        uint64_t begin_ns, struct ctr_moment *out, uint64_t *from,
                        struct ctr_diag *diag)
{
    const struct ctr_filter filter = {.kinds = CTR_KIND_MAP,
                                      .processes = &process,
                                      .nprocess = 1,
                                      .from_ns = begin_ns,
                                      .to_ns = begin_ns + 1};
    struct ctr_cursor *c;
    struct ctr_event ev;
    struct ctr_map m;
    bool found = false;
    int ret = ctr_cursor_open(&c, o->tr, &filter, diag);

    if (ret) {
        return ret;
    }
    while ((ret = ctr_cursor_next(c, &ev, diag)) == 1) {
        if (ev.kind == CTR_CURSOR_OS && !ctr_parse_map(&ev.os, &m) &&
            m.op == CTR_MAP_MREMAP && addr - m.start < m.size) {
            *out = (struct ctr_moment){.thread = ev.os.thread->index,
                                       .ordinal = ev.os.ordinal,
                                       .time_ns = begin_ns - 1,
                                       .before_system = true};
            *from = addr - m.start + m.old_start;
            found = true;
        }
    }
    ctr_cursor_close(c);
    return ret < 0 ? ret : found;
}
