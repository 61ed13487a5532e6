/* SPDX-License-Identifier: MIT */
/*
 * Counts by replaying runs of blocks: for a part of a thread's time, and for blocks that
 * were at several places over time.
 *
 * Each worker counts for itself, by block id; blocks whose place depends on process or
 * time have slots after those, one for each place.  The thread's next event shows which
 * way a run went, by the rules of tracefmt/FORMAT.md (4. CHUNK); for the last run of a
 * chunk it is in the thread's next chunk, and is passed on in order.  The ways are those
 * of ctr_trace_counts.
 */
#include "cover_priv.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"

#define STOP_NOMEM 1

/* Full runs of a block. */
struct slot {
    uint64_t full;
    uint64_t ways, falls;
};

/* One of several places of a block. */
struct extra {
    uint32_t id;
    const struct module *module; /* NULL: in no file */
    uint64_t vaddr;
    uint32_t next; /* next one of the same block, + 1 */
};

/* Runs of a part of a block: an open hash by slot, first and end. */
struct cut {
    uint32_t slot; /* + 1 */
    uint16_t first, end;
    uint64_t count;
};
struct cuts {
    struct cut *v;
    uint32_t n, size;
};

/* On cache lines of its own: it changes with every run. */
struct worker {
    _Alignas(64) struct slot *slots; /* blocks by id, then extras */
    uint32_t cap;
    struct extra *extras;
    uint32_t nr_extras, cap_extras;
    struct cuts cuts;
    /* By id: the slot found for a block in that epoch; its extras. */
    struct recent {
        uint32_t epoch;
        uint32_t slot;
        uint32_t first; /* + 1 */
    } *recent;
    uint32_t epoch;
    /* The current chunk. */
    struct ctr_chunk chunk;
    uint32_t process;
    uint64_t now, until;
    bool pending;     /* the last run ended its block; its way is not known yet */
    uint32_t last;    /* slot of that run */
    uint64_t fall_pc; /* the address after that block */
    bool begun;       /* the chunk's begin was passed on, for the chunk before */
};

/* Passed between chunks of a thread: the begin or the end of a chunk. */
struct seam {
    uint64_t first_pc;
    uint64_t fall_pc;
    uint32_t worker;
    uint32_t last;
    uint8_t known;   /* first_pc is known */
    uint8_t pending; /* the end of a chunk, else the begin */
};

/* A way that became known in the next chunk. */
struct late {
    uint32_t worker, slot;
    bool fell;
};

struct replay {
    struct adding *a;
    bool dependent;
    struct worker *workers;
    unsigned nr_workers;
    struct seam *threads; /* the last seam of each thread */
    uint32_t nr_threads;
    struct late *late;
    size_t nr_late, cap_late;
};

/* ----------------------------------------------------------------- counters */

static bool count_cut(struct cuts *c, uint32_t slot, uint16_t first, uint16_t end)
{
    uint32_t at;

    if (c->n >= c->size / 2) {
        uint32_t size = c->size ? 2 * c->size : 256;
        struct cut *v = calloc(size, sizeof(*v));
        if (!v) {
            return false;
        }
        for (uint32_t i = 0; i < c->size; i++) {
            const struct cut *old = &c->v[i];
            if (!old->slot) {
                continue;
            }
            at = (old->slot * 0x9e3779b1u ^ old->first * 31u ^ old->end) & (size - 1);
            while (v[at].slot) {
                at = (at + 1) & (size - 1);
            }
            v[at] = *old;
        }
        free(c->v);
        c->v = v;
        c->size = size;
    }
    at = ((slot + 1) * 0x9e3779b1u ^ first * 31u ^ end) & (c->size - 1);
    while (c->v[at].slot && (c->v[at].slot != slot + 1 || c->v[at].first != first ||
                             c->v[at].end != end)) {
        at = (at + 1) & (c->size - 1);
    }
    if (!c->v[at].slot) {
        c->v[at] = (struct cut){slot + 1, first, end, 0};
        c->n++;
    }
    c->v[at].count++;
    return true;
}

static bool reserve_slots(struct worker *w, uint32_t n)
{
    if (n > w->cap) {
        uint32_t cap = n + n / 2;
        struct slot *v = realloc(w->slots, (size_t)cap * sizeof(*v));
        if (!v) {
            return false;
        }
        memset(v + w->cap, 0, (size_t)(cap - w->cap) * sizeof(*v));
        w->slots = v;
        w->cap = cap;
    }
    return true;
}

/* The slot of a block with several places, at one of them; UINT32_MAX: no memory. */
static uint32_t find_extra(const struct replay *r, struct worker *w, uint32_t id,
                           const struct place *place)
{
    uint32_t base = r->a->nr_blocks;
    const struct module *module = place && !place->module->system ? place->module : NULL;
    uint64_t vaddr = module ? place->vaddr : 0;

    for (uint32_t i = w->recent[id].first; i; i = w->extras[i - 1].next) {
        const struct extra *e = &w->extras[i - 1];
        if (e->module == module && e->vaddr == vaddr) {
            return base + i - 1;
        }
    }
    if (w->nr_extras == w->cap_extras) {
        uint32_t cap = 2 * w->cap_extras + 64;
        struct extra *v = realloc(w->extras, cap * sizeof(*v));
        if (!v) {
            return UINT32_MAX;
        }
        w->extras = v;
        w->cap_extras = cap;
    }
    if (!reserve_slots(w, base + w->nr_extras + 1)) {
        return UINT32_MAX;
    }
    w->extras[w->nr_extras] = (struct extra){id, module, vaddr, w->recent[id].first};
    w->recent[id].first = ++w->nr_extras;
    return base + w->nr_extras - 1;
}

static uint32_t slot_of(const struct replay *r, struct worker *w,
                        const struct ctr_block *b)
{
    struct recent *recent;
    struct place place;
    bool found;

    if (r->a->blocks[b->id].found >= 0) {
        return b->id;
    }
    recent = &w->recent[b->id];
    if (recent->epoch != w->epoch) {
        found = places_find_block_at(r->a->places, b, w->process, w->now, w->chunk.end_ns,
                                     &place);
        recent->slot = find_extra(r, w, b->id, found ? &place : NULL);
        recent->epoch = w->epoch;
    }
    return recent->slot;
}

/* ---------------------------------------------------------------- callbacks */

static int on_begin(void *arg, struct ctr_job *job)
{
    struct replay *r = arg;
    struct worker *w = &r->workers[ctr_job_worker(job)];

    if (!w->slots) {
        w->recent = calloc(r->a->nr_blocks, sizeof(*w->recent));
        if (!w->recent || !reserve_slots(w, r->a->nr_blocks)) {
            return STOP_NOMEM;
        }
    }
    w->chunk = *ctr_job_chunk(job);
    w->process = ctr_job_thread(job)->process;
    w->epoch++;
    w->until = 0;
    w->now = 0;
    w->pending = w->begun = false;
    return 0;
}

static void set_time(const struct replay *r, struct worker *w, uint64_t time)
{
    if (places_by_task(r->a->places) ? time != w->now : time > w->now) {
        w->now = time;
        w->epoch++;
    }
}

static int append_seam(struct replay *r, struct worker *w, struct ctr_job *job,
                       bool known, uint64_t first_pc, bool ends)
{
    struct seam s = {first_pc, w->fall_pc, (uint32_t)(w - r->workers),
                     w->last,  known,      ends && w->pending};

    return ctr_job_append(job, &s, sizeof(s)) ? STOP_NOMEM : 0;
}

/* The thread continues at pc, or at an unknown place. */
static int continue_at(struct replay *r, struct worker *w, struct ctr_job *job,
                       bool known, uint64_t pc)
{
    int ret = 0;

    if (w->pending) {
        w->slots[w->last].ways += known;
        w->slots[w->last].falls += known && pc == w->fall_pc;
        w->pending = false;
    } else if (!w->begun) {
        ret = append_seam(r, w, job, known, pc, false);
    }
    w->begun = true;
    return ret;
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct replay *r = arg;
    struct worker *w = &r->workers[ctr_job_worker(job)];
    enum ctr_next next;
    uint64_t pc = 0;

    if (e->time_ns && !places_by_task(r->a->places)) {
        set_time(r, w, e->time_ns);
    }
    next = ctr_event_next(e, &pc);
    return next == CTR_NEXT_LATER ? 0 : continue_at(r, w, job, next == CTR_NEXT_PC, pc);
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *run)
{
    struct replay *r = arg;
    struct worker *w = &r->workers[ctr_job_worker(job)];
    const struct ctr_block *b = run->block;
    bool whole = run->first == 0 && run->end == b->ninsn;
    bool ends = run->end == b->ninsn && !(run->flags & (CTR_EV_FAULTED | CTR_EV_UNSURE));
    uint32_t slot;

    if (run->first == run->end) {
        return 0; /* the rest of an instruction that was counted before */
    }
    if (run->ordinal >= w->until) {
        set_time(r, w, places_time(r->a->places, &w->chunk, run->ordinal, &w->until));
    }
    if (continue_at(r, w, job, run->first == 0, b->pc)) {
        return STOP_NOMEM;
    }
    if (r->dependent && r->a->blocks[b->id].found >= 0) {
        return 0;
    }
    slot = slot_of(r, w, b);
    if (slot == UINT32_MAX) {
        return STOP_NOMEM;
    }
    if (whole) {
        w->slots[slot].full++;
    } else if (!count_cut(&w->cuts, slot, run->first, run->end)) {
        return STOP_NOMEM;
    }
    if (ends) {
        w->pending = true;
        w->last = slot;
        w->fall_pc = ctr_block_pc(b, b->ninsn - 1u) + ctr_block_len(b, b->ninsn - 1u);
    }
    return 0;
}

static int on_end(void *arg, struct ctr_job *job)
{
    struct replay *r = arg;
    struct worker *w = &r->workers[ctr_job_worker(job)];

    return w->pending && append_seam(r, w, job, false, 0, true) ? STOP_NOMEM : 0;
}

/* The begin and the end of chunks come alternately. */
static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct replay *r = arg;
    uint32_t index = ctr_job_thread(job)->index;
    struct seam s, *last;

    if (index >= r->nr_threads) {
        return 0;
    }
    last = &r->threads[index];
    for (size_t i = 0; i + sizeof(s) <= n; i += sizeof(s)) {
        memcpy(&s, (const char *)data + i, sizeof(s));
        if (s.pending) {
            *last = s;
            continue;
        }
        if (!last->pending) {
            continue;
        }
        last->pending = 0;
        if (!s.known) {
            continue;
        }
        if (r->nr_late == r->cap_late) {
            size_t cap = 2 * r->cap_late + 64;
            struct late *v = realloc(r->late, cap * sizeof(*v));
            if (!v) {
                return STOP_NOMEM;
            }
            r->late = v;
            r->cap_late = cap;
        }
        r->late[r->nr_late++] =
            (struct late){last->worker, last->last, s.first_pc == last->fall_pc};
    }
    return 0;
}

/* ------------------------------------------------------------------ results */

static bool add_slot(const struct replay *r, const struct worker *w, uint32_t slot,
                     const struct tally_counts *c)
{
    struct adding *a = r->a;
    const struct extra *e = slot >= a->nr_blocks ? &w->extras[slot - a->nr_blocks] : NULL;
    const struct ctr_block *b = ctr_trace_block(a->tr, e ? e->id : slot);
    struct place place;

    if (!e) {
        return adding_block(a, b, c);
    }
    place.module = e->module;
    place.vaddr = e->vaddr;
    return adding_counts(a, b, e->module ? &place : NULL, c);
}

static bool add_worker(const struct replay *r, const struct worker *w)
{
    uint32_t n = w->slots ? r->a->nr_blocks + w->nr_extras : 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct slot *s = &w->slots[i];
        struct tally_counts c = {.full = s->full, .ways = s->ways, .falls = s->falls};
        if ((s->full || s->ways) && !add_slot(r, w, i, &c)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < w->cuts.size; i++) {
        const struct cut *k = &w->cuts.v[i];
        struct tally_counts c = {.partial = k->count, .first = k->first, .end = k->end};
        if (k->slot && !add_slot(r, w, k->slot - 1, &c)) {
            return false;
        }
    }
    return true;
}

static int add_results(struct replay *r)
{
    for (size_t i = 0; i < r->nr_late; i++) {
        const struct late *l = &r->late[i];
        struct slot *s = &r->workers[l->worker].slots[l->slot];
        s->ways++;
        s->falls += l->fell;
    }
    for (unsigned i = 0; i < r->nr_workers; i++) {
        if (!add_worker(r, &r->workers[i])) {
            return -CTR_E_NOMEM;
        }
    }
    return 0;
}

int adding_replay(struct adding *a, bool dependent)
{
    static const struct ctr_replay_ops ops = {.begin = on_begin,
                                              .run = on_run,
                                              .os = on_os,
                                              .end = on_end,
                                              .ordered = on_ordered};
    const struct cover_filter *f = a->filter;
    struct ctr_filter filter = f->events;
    struct ctr_replay_opts opts = {.workers = f->jobs ? f->jobs : 1, .filter = &filter};
    struct replay r = {.a = a,
                       .dependent = dependent,
                       .nr_workers = opts.workers,
                       .nr_threads = a->info.threads};
    int ret = -CTR_E_NOMEM;

    filter.kinds = CTR_KIND_EXEC | CTR_KIND_SYS | CTR_KIND_MARK | CTR_KIND_INT;
    r.workers = aligned_alloc(64, opts.workers * sizeof(*r.workers));
    r.threads = calloc(r.nr_threads + 1u, sizeof(*r.threads));
    if (r.workers && r.threads) {
        memset(r.workers, 0, opts.workers * sizeof(*r.workers));
        ret = ctr_replay(a->tr, &ops, &r, &opts, &a->diag);
        ret = ret == STOP_NOMEM ? -CTR_E_NOMEM : ret;
        ret = ret || !dependent ? ret : adding_index(a);
        ret = ret ? ret : ctr_trace_blocks(a->tr, &a->diag);
        ret = ret ? ret : add_results(&r);
    }
    for (unsigned i = 0; r.workers && i < opts.workers; i++) {
        free(r.workers[i].slots);
        free(r.workers[i].extras);
        free(r.workers[i].recent);
        free(r.workers[i].cuts.v);
    }
    free(r.workers);
    free(r.threads);
    free(r.late);
    return ret;
}
