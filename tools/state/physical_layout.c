/* SPDX-License-Identifier: MIT */
/*
 * Where a machine's RAM was; see physical_layout.h.  One replay of few chunks: those with
 * events of RAM, gates and, if there are several vCPUs, slices.
 */
#include "state/physical_layout.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"

#define NEVER ((struct physical_place){UINT64_MAX, UINT64_MAX})

/* What a job puts out: followed by the block's name. */
struct note {
    uint32_t type, thread;
    uint64_t ordinal, time_ns;
    struct ctr_ram ram;  /* without pointers */
    uint32_t name_bytes; /* RAM */
    uint8_t on;          /* GATE: it is open; SELECT: a part is selected */
};

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct note n = {.type = e->type,
                     .thread = e->thread->index,
                     .ordinal = e->ordinal,
                     .time_ns = e->time_ns};
    struct ctr_select select;
    struct ctr_slice slice;
    struct ctr_gate gate;
    const char *name = NULL;

    (void)arg;
    if (!ctr_parse_ram(e, &n.ram)) {
        name = n.ram.block.p;
        n.name_bytes = (uint32_t)n.ram.block.n;
        n.ram.block = (struct ctr_str){NULL, 0};
        n.ram.data = NULL;
    } else if (!ctr_parse_gate(e, &gate)) {
        n.on = gate.open != 0;
    } else if (!ctr_parse_select(e, &select)) {
        n.on = select.text.n != 0;
    } else if (ctr_parse_slice(e, &slice)) {
        return 0;
    }
    return ctr_job_append(job, &n, sizeof(n)) ||
                   (n.name_bytes && ctr_job_append(job, name, n.name_bytes))
               ? -CTR_E_NOMEM
               : 0;
}

/* ---------------------------------------------------------------------- ranges */

static struct physical_range *add_range(struct physical_layout *l,
                                        const struct physical_range *r)
{
    if (!array_reserve(&l->ranges, &l->ranges_cap, l->nr_ranges + 1, sizeof(*r))) {
        return NULL;
    }
    l->ranges[l->nr_ranges] = *r;
    return &l->ranges[l->nr_ranges++];
}

/* Ends what is at `size' bytes from addr on; what is left of a range goes on. */
static bool end_ranges(struct physical_layout *l, uint64_t addr, uint64_t size,
                       const struct physical_place *place, uint64_t time_ns)
{
    const size_t n = l->nr_ranges;

    for (size_t i = 0; i < n; i++) {
        const struct physical_range r = l->ranges[i];
        const uint64_t last = r.addr + (r.size - 1);
        const uint64_t from = r.addr > addr ? r.addr : addr;
        const uint64_t to = last < addr + (size - 1) ? last : addr + (size - 1);
        struct physical_range part = r;

        if (r.until_ns != UINT64_MAX || from > to) {
            continue;
        }
        part.size = from - r.addr;
        if (part.size && !add_range(l, &part)) {
            return false;
        }
        part.size = last - to;
        part.addr = to + 1;
        part.offset = r.offset + (part.addr - r.addr);
        if (part.size && !add_range(l, &part)) {
            return false;
        }
        l->ranges[i].addr = from;
        l->ranges[i].offset = r.offset + (from - r.addr);
        l->ranges[i].size = to - from + 1;
        l->ranges[i].until = *place;
        l->ranges[i].until_ns = time_ns;
    }
    return true;
}

/* The number of a block; UINT32_MAX: no memory. */
static uint32_t block_of(struct physical_layout *l, const char *name, uint32_t n)
{
    char *copy;

    for (size_t i = 0; i < l->nr_blocks; i++) {
        if (l->blocks[i].n == n && !memcmp(l->blocks[i].p, name, n)) {
            return (uint32_t)i;
        }
    }
    copy = array_reserve(&l->blocks, &l->blocks_cap, l->nr_blocks + 1, sizeof(*l->blocks))
               ? malloc(n + (size_t)1)
               : NULL;
    if (!copy) {
        return UINT32_MAX;
    }
    memcpy(copy, name, n);
    l->blocks[l->nr_blocks] = (struct ctr_str){copy, n};
    return (uint32_t)l->nr_blocks++;
}

static bool map(struct physical_layout *l, const struct note *n,
                const struct physical_place *place, const char *name)
{
    const struct ctr_ram *ram = &n->ram;
    const struct physical_range r = {.addr = ram->addr,
                                     .size = ram->size,
                                     .offset = ram->offset,
                                     .block = block_of(l, name, n->name_bytes),
                                     .rom = ram->fill == CTR_RAM_ROM,
                                     .from = *place,
                                     .until = NEVER,
                                     .from_ns = n->time_ns,
                                     .until_ns = UINT64_MAX};

    return r.block != UINT32_MAX &&
           end_ranges(l, ram->addr, ram->size, place, n->time_ns) && add_range(l, &r);
}

/* ---------------------------------------------------------------------- events */

/* All that was known before is void. */
static void begin_anew(struct physical_layout *l, const struct note *n)
{
    l->nr_contents = 0;
    l->floor_ns = n->time_ns;
    for (uint32_t i = 0; i < l->nr_threads; i++) {
        const struct physical_thread *t = &l->threads[i];

        l->threads[i].begun_ns = t->n ? t->slices[t->n - 1].time_ns : 0;
    }
}

static bool take_ram(struct physical_layout *l, const struct note *n, const char *name)
{
    struct physical_thread *t = &l->threads[n->thread];
    const struct physical_place place = {t->n ? t->slices[t->n - 1].time_ns : 0,
                                         2 * n->ordinal};
    const struct ctr_ram *ram = &n->ram;

    t->number = t->ordinal == n->ordinal ? t->number : 0;
    t->ordinal = n->ordinal;
    t->number++;
    if (ram->op == CTR_RAM_ANEW) {
        begin_anew(l, n);
        return end_ranges(l, 0, 0, &place, n->time_ns); /* 0 bytes: all of 2^64 */
    }
    if (!ram->size || ram->addr + (ram->size - 1) < ram->addr) {
        return true; /* no event of QEMU's */
    }
    if (ram->op == CTR_RAM_MAP) {
        return map(l, n, &place, name);
    }
    if (ram->op == CTR_RAM_UNMAP) {
        return end_ranges(l, ram->addr, ram->size, &place, n->time_ns);
    }
    if (!array_reserve(&l->contents, &l->contents_cap, l->nr_contents + 1,
                       sizeof(*l->contents))) {
        return false;
    }
    l->contents[l->nr_contents++] =
        (struct physical_contents){.addr = ram->addr,
                                   .size = ram->size,
                                   .from = ram->from,
                                   .ordinal = n->ordinal,
                                   .time_ns = n->time_ns,
                                   .place = place,
                                   .thread = n->thread,
                                   .number = t->number - 1,
                                   .n = ram->n,
                                   .fill = ram->fill,
                                   .same = ram->op == CTR_RAM_SAME};
    return true;
}

static bool take_slice(struct physical_thread *t, const struct note *n)
{
    if (!array_reserve(&t->slices, &t->cap, t->n + 1, sizeof(*t->slices))) {
        return false;
    }
    t->slices[t->n++] = (struct physical_slice){n->ordinal, n->time_ns};
    return true;
}

/* Where recording is paused or another part is selected, all that happens is not seen. A pause
 * that begins at the moment is after it. */
static void take_gate(struct physical_layout *l, const struct note *n)
{
    struct physical_thread *t = &l->threads[n->thread];
    bool *off = n->type == CTR_EVENT_GATE ? &t->closed : &t->chosen;
    const bool now = n->type == CTR_EVENT_GATE ? !n->on : n->on;
    const bool at_moment = n->thread == l->at.thread && n->ordinal == l->at.ordinal;

    if (n->type == CTR_EVENT_GATE && now && at_moment) {
        return;
    }
    *off = now;
    begin_anew(l, n);
}

static int apply(void *arg, const struct ctr_job *job, const void *data, size_t bytes)
{
    struct physical_layout *l = arg;
    const uint8_t *p = data, *const end = p + bytes;
    struct note n;

    (void)job;
    for (bool ok; p < end; p += n.name_bytes) {
        memcpy(&n, p, sizeof(n));
        p += sizeof(n);
        ok = true;
        if (n.type == CTR_EVENT_RAM) {
            ok = take_ram(l, &n, (const char *)p);
        } else if (n.type == CTR_EVENT_SLICE) {
            ok = take_slice(&l->threads[n.thread], &n);
        } else if (n.type == CTR_EVENT_GATE || n.type == CTR_EVENT_SELECT) {
            take_gate(l, &n);
        }
        if (!ok) {
            return -CTR_E_NOMEM;
        }
    }
    return 0;
}

int physical_layout_read(struct physical_layout *l, unsigned jobs, struct ctr_diag *diag)
{
    const struct ctr_replay_ops ops = {.os = on_os, .ordered = apply};
    struct ctr_info info;
    struct ctr_filter filter;
    struct ctr_replay_opts opts = {.workers = jobs, .filter = &filter, .slices = 1};
    int ret;

    ctr_trace_info(l->tr, &info);
    l->nr_threads = info.threads;
    l->threads = calloc(info.threads + (size_t)1, sizeof(*l->threads));
    if (!l->threads) {
        return -CTR_E_NOMEM;
    }
    filter = physical_filter(
        l, CTR_KIND_RAM | CTR_KIND_MARK | (info.threads > 1 ? CTR_KIND_ORDER : 0), true);
    ret = ctr_replay(l->tr, &ops, l, &opts, diag);
    for (uint32_t i = 0; i < l->nr_threads; i++) {
        l->paused |= l->threads[i].closed || l->threads[i].chosen;
    }
    return ret;
}

void physical_layout_free(struct physical_layout *l)
{
    for (uint32_t i = 0; i < l->nr_threads && l->threads; i++) {
        free(l->threads[i].slices);
    }
    for (size_t i = 0; i < l->nr_blocks; i++) {
        free((void *)l->blocks[i].p);
    }
    free(l->blocks);
    free(l->threads);
    free(l->ranges);
    free(l->contents);
    *l = (struct physical_layout){0};
}

struct physical_place physical_place_of(const struct physical_layout *l, uint32_t thread,
                                        uint64_t ordinal)
{
    const struct physical_thread *t = &l->threads[thread];
    size_t low = 0, high = t->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (t->slices[middle].ordinal <= ordinal) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (struct physical_place){low ? t->slices[low - 1].time_ns : 0, 2 * ordinal + 1};
}

struct ctr_filter physical_filter(const struct physical_layout *l, uint32_t kinds,
                                  bool events)
{
    /* Of other vCPUs, what was in earlier slices: a slice's time is later than all before it. */
    return (struct ctr_filter){
        .kinds = kinds,
        .from_ns = l->floor_ns,
        .to_thread = l->at.thread + 1,
        .to = l->at.ordinal + (events && !l->at.before_system),
        .to_ns = l->at.time_ns ? l->at.time_ns : 1,
    };
}
