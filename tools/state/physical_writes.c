/* SPDX-License-Identifier: MIT */
/*
 * What was written to RAM since it was described; see physical_priv.h.  Writes of devices and the
 * like are events, of which all are read.  Stores are searched backward in stretches of time,
 * each twice as long as the one after it, until every byte has its last one: what was stored
 * lately is found soon.  Chunks are decoded in parallel, those alone that have one of the pages.
 */
#include "state/physical_priv.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"

/* x86: what SMM has there is not what others have. */
#define SMRAM_BEGIN 0xa0000u
#define SMRAM_END 0xc0000u
/* The last stretch is that part of the time; fewer chunks are read at once. */
#define FIRST_STRETCH 64u
#define FEW_CHUNKS 16u

/* What a job puts out: followed by n bytes. */
struct note {
    uint64_t ordinal, time_ns, addr, size;
    uint32_t thread, n;
    bool slice, lost;
};

static int put_note(const struct physical_read *r, struct ctr_job *job, struct note *w,
                    const uint8_t *data)
{
    uint64_t from = UINT64_MAX, to = 0;

    /* Only what is of these bytes, so that no note is large. */
    for (size_t i = 0; i < r->nr_spans; i++) {
        uint64_t at, n = physical_part(&r->spans[i], w->addr, w->size, &at);

        at += r->spans[i].range.addr;
        from = n && at < from ? at : from;
        to = n && at + (n - 1) > to ? at + (n - 1) : to;
    }
    if (from > to) {
        return 0;
    }
    data = data ? data + (from - w->addr) : NULL;
    w->addr = from;
    w->size = to - from + 1;
    w->n = data ? (uint32_t)w->size : 0;
    return ctr_job_append(job, w, sizeof(*w)) || (w->n && ctr_job_append(job, data, w->n))
               ? -CTR_E_NOMEM
               : 0;
}

static void set_bytes(struct physical_read *r, const struct physical_span *s,
                      const struct note *w, const uint8_t *data,
                      const struct physical_place *place, bool lost)
{
    uint64_t at, n = physical_part(s, w->addr, w->size, &at);

    for (uint64_t i = 0; i < n; i++) {
        struct physical_byte *b = &r->bytes[s->first + at + i];

        /* What memory held when it was described has what was written before. */
        if (physical_place_cmp(place, &b->place) < 0 ||
            (w->time_ns && w->time_ns <= b->described_ns)) {
            continue;
        }
        b->place = *place;
        b->state = lost || !w->n ? PHYSICAL_LOST : PHYSICAL_KNOWN;
        b->value = w->n ? data[s->range.addr + at + i - w->addr] : 0;
        b->stores_ns = w->time_ns && b->stores_ns != UINT64_MAX ? w->time_ns : UINT64_MAX;
    }
}

/* ------------------------------------------------- writes of devices and others */

struct dma_pass {
    struct physical_read *read;
    uint64_t *slice_ns; /* by thread: when its slice was begun */
};

static int on_dma(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct dma_pass *p = arg;
    struct note w = {
        .ordinal = e->ordinal, .time_ns = e->time_ns, .thread = e->thread->index};
    struct ctr_slice slice;
    struct ctr_dma dma;

    if (!ctr_parse_slice(e, &slice)) {
        w.slice = true;
        return ctr_job_append(job, &w, sizeof(w));
    }
    if (ctr_parse_dma(e, &dma) || !dma.size || dma.addr + (dma.size - 1) < dma.addr) {
        return 0;
    }
    w.addr = dma.addr;
    w.size = dma.size;
    return put_note(p->read, job, &w, dma.n == dma.size ? dma.data : NULL);
}

/*
 * The address is that at the time of the write, which is before the event: RAM may have been
 * moved in between, also right before it.  Then the bytes that were there are not known.
 */
static void apply_dma(struct physical_read *r, const struct note *w, const uint8_t *data,
                      const struct physical_place *place)
{
    for (size_t i = 0; i < r->nr_spans; i++) {
        const struct physical_range *range = &r->spans[i].range;

        if (range->from_ns <= w->time_ns && w->time_ns < range->until_ns) {
            set_bytes(r, &r->spans[i], w, data, place,
                      physical_place_cmp(&range->until, place) <= 0);
        }
    }
}

static int take_dma(void *arg, const struct ctr_job *job, const void *data, size_t bytes)
{
    struct dma_pass *p = arg;
    const struct physical_layout *l = p->read->layout;
    const uint8_t *at = data, *const end = at + bytes;
    struct note w;

    (void)job;
    for (; at < end; at += w.n) {
        struct physical_place place;

        memcpy(&w, at, sizeof(w));
        at += sizeof(w);
        if (w.slice) {
            p->slice_ns[w.thread] = w.time_ns;
            continue;
        }
        place = (struct physical_place){p->slice_ns[w.thread], 2 * w.ordinal};
        place.slice_ns = place.slice_ns ? place.slice_ns : l->threads[w.thread].begun_ns;
        apply_dma(p->read, &w, at, &place);
    }
    return 0;
}

static int read_dma(struct physical_read *r)
{
    const struct physical_layout *l = r->layout;
    struct dma_pass p = {r, calloc(l->nr_threads + (size_t)1, sizeof(*p.slice_ns))};
    const struct ctr_filter filter =
        physical_filter(l, CTR_KIND_DMA | (l->nr_threads > 1 ? CTR_KIND_ORDER : 0), true);
    const struct ctr_replay_opts opts = {
        .workers = r->jobs, .filter = &filter, .slices = 1};
    const struct ctr_replay_ops ops = {.os = on_dma, .ordered = take_dma};
    const int ret =
        p.slice_ns ? ctr_replay(l->tr, &ops, &p, &opts, r->diag) : -CTR_E_NOMEM;

    free(p.slice_ns);
    return ret;
}

/* ---------------------------------------------------------------------- stores */

struct store_pass {
    struct physical_read *read;
    bool x86;
};

static int put_store(const struct store_pass *p, struct ctr_job *job,
                     const struct ctr_mem *m, uint64_t addr, uint64_t size,
                     const uint8_t *data)
{
    struct note w = {.ordinal = m->ordinal,
                     .thread = m->thread->index,
                     .addr = addr,
                     .size = size,
                     .lost = p->x86 && m->phys->flags & CTR_PHYS_SECURE &&
                             addr >= SMRAM_BEGIN && addr < SMRAM_END};

    return size ? put_note(p->read, job, &w, data) : 0;
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    const struct store_pass *p = arg;
    const struct ctr_phys *to = m->phys;
    int ret = 0;

    if (!to || !to->flags) {
        return 0;
    }
    if (!(to->flags & CTR_PHYS_DEVICE)) {
        ret = put_store(p, job, m, to->addr, to->size, m->data);
    }
    if (!ret) {
        ret = put_store(p, job, m, to->next, to->next_size,
                        m->data ? m->data + to->size : NULL);
    }
    /* Where the rest of it went is not known. */
    return ret || m->size - to->size <= to->next_size
               ? ret
               : put_store(p, job, m, 0, UINT64_MAX, NULL);
}

static int take_stores(void *arg, const struct ctr_job *job, const void *data,
                       size_t bytes)
{
    struct physical_read *r = ((struct store_pass *)arg)->read;
    const uint8_t *at = data, *const end = at + bytes;
    struct note w;

    (void)job;
    for (; at < end; at += w.n) {
        struct physical_place place;

        memcpy(&w, at, sizeof(w));
        at += sizeof(w);
        place = physical_place_of(r->layout, w.thread, w.ordinal);
        for (size_t i = 0; i < r->nr_spans; i++) {
            const struct physical_range *range = &r->spans[i].range;

            if (!range->rom && physical_place_cmp(&range->from, &place) < 0 &&
                physical_place_cmp(&place, &range->until) < 0) {
                set_bytes(r, &r->spans[i], &w, at, &place, w.lost);
            }
        }
    }
    return 0;
}

/* Whether a store before that time can be the last write of any byte. */
static bool any_before(const struct physical_read *r, uint64_t time_ns)
{
    for (size_t i = 0; i < r->n; i++) {
        if (r->bytes[i].stores_ns < time_ns) {
            return true;
        }
    }
    return false;
}

/* The addresses that stores change, as the filter has them; NULL: no memory. */
static struct ctr_range *addresses(const struct physical_read *r, uint32_t *n)
{
    struct ctr_range *v = calloc(r->nr_spans, sizeof(*v));

    *n = 0;
    for (size_t i = 0; v && i < r->nr_spans; i++) {
        const struct physical_range *range = &r->spans[i].range;
        const uint64_t end = range->addr + range->size;

        if (!range->rom) {
            v[(*n)++] = (struct ctr_range){range->addr, end ? end : UINT64_MAX, 0};
        }
    }
    return v;
}

static int read_stores(struct physical_read *r)
{
    const struct physical_layout *l = r->layout;
    struct ctr_filter filter = physical_filter(l, CTR_KIND_STORE, false);
    const struct ctr_replay_opts opts = {
        .workers = r->jobs, .filter = &filter, .phys = 1, .slices = 1};
    const struct ctr_replay_ops ops = {.mem = on_mem, .ordered = take_stores};
    struct store_pass p = {.read = r};
    struct ctr_info info;
    uint64_t floor, end = l->at.time_ns, stretch;
    struct ctr_range *const phys = addresses(r, &filter.nphys);
    int ret = phys ? 0 : -CTR_E_NOMEM;

    ctr_trace_info(l->tr, &info);
    p.x86 = info.elf_machine == EM_X86_64 || info.elf_machine == EM_386;
    filter.phys = phys;
    floor = l->floor_ns ? l->floor_ns : info.start_ns < end ? info.start_ns : end;
    stretch = info.chunks < FEW_CHUNKS ? UINT64_MAX : (end - floor) / FIRST_STRETCH + 1;
    for (bool more = filter.nphys; more && !ret; stretch *= 2) {
        more = end > floor && end - floor > stretch;
        filter.from_ns = more ? end - stretch : l->floor_ns;
        ret = ctr_replay(l->tr, &ops, &p, &opts, r->diag);
        end = filter.from_ns;
        filter.to_thread = 0;
        filter.to = 0;
        filter.to_ns = end;
        more = more && any_before(r, end);
    }
    free(phys);
    return ret;
}

int physical_read_writes(struct physical_read *r)
{
    int ret = r->nr_spans ? read_dma(r) : 0;

    return ret || !r->nr_spans ? ret : read_stores(r);
}
