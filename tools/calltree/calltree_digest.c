/* SPDX-License-Identifier: MIT */
/*
 * A worker digests a chunk's runs.
 *
 * Calls that return within the chunk are counted in a tree of its own, whose root
 * represents the frame on top of the thread's stack.  A transition that the worker
 * cannot decide, since it would need the frames below, is passed to the fold as an
 * event, together with that tree and with the frames that are still open; after
 * it the tree starts again.
 */
#include "calltree_digest.h"

#include <stdlib.h>
#include <string.h>

struct digest *digest_new(struct code *c, const struct calltree_options *opt)
{
    struct digest *d = aligned_alloc(64, sizeof(*d));

    if (d) {
        memset(d, 0, sizeof(*d));
        d->code = c;
        d->opt = opt;
        d->nr_nodes = 1;
        if (opt->lines && !(d->lines = lines_new())) {
            free(d);
            return NULL;
        }
    }
    return d;
}

struct lines *digest_lines(const struct digest *d)
{
    return d->lines;
}

void digest_free(struct digest *d)
{
    for (unsigned i = 0; d && i < OWN_SPOTS; i++) {
        spot_drop(d->own[i].spot);
    }
    if (d) {
        lines_free(d->lines);
    }
    free(d);
}

/* -------------------------------------------------------------- the tree */

static uint32_t *bucket(struct digest *d, uint32_t parent, const struct fn *fn,
                        uint64_t site)
{
    uint64_t h = (uint64_t)(uintptr_t)fn * UINT64_C(0x9e3779b97f4a7c15) ^
                 ((uint64_t)parent << 20) ^ site;

    h *= UINT64_C(0xff51afd7ed558ccd);
    return &d->buckets[(h >> 40) & (BUCKETS - 1)];
}

static uint32_t child(struct digest *d, uint32_t parent, struct fn *fn, uint64_t site)
{
    uint32_t n = d->nodes[parent].hot;
    uint32_t *head;

    if (n && d->nodes[n].fn == fn && d->nodes[n].site == site) {
        return n;
    }
    head = bucket(d, parent, fn, site);
    for (n = *head; n; n = d->nodes[n].chain) {
        const struct ev_node *v = &d->nodes[n];
        if (v->parent == parent && v->fn == fn && v->site == site) {
            break;
        }
    }
    if (!n) {
        n = d->nr_nodes++;
        d->nodes[n] =
            (struct ev_node){.fn = fn, .site = site, .parent = parent, .chain = *head};
        *head = n;
    }
    d->nodes[parent].hot = n;
    return n;
}

static void restart(struct digest *d)
{
    for (uint32_t i = 1; i < d->nr_nodes; i++) {
        const struct ev_node *v = &d->nodes[i];
        *bucket(d, v->parent, v->fn, v->site) = 0;
    }
    d->nr_nodes = 1;
    d->nr_frames = d->peak = 0;
    d->cur = 0;
    d->nodes[0] = (struct ev_node){0};
}

int digest_emit(struct digest *d, struct ev *e, const struct spot *to, const void *more,
                size_t more_bytes)
{
    size_t nodes = d->nr_nodes * sizeof(d->nodes[0]);
    size_t frames = d->nr_frames * sizeof(d->frames[0]);
    size_t bytes = sizeof(*e) + nodes + frames + more_bytes;
    const struct spot *s = d->last;
    uint8_t *p = ctr_job_reserve(d->job, bytes);

    if (!p) {
        return -CTR_E_NOMEM;
    }
    e->nr_nodes = d->nr_nodes;
    e->nr_frames = d->nr_frames;
    e->peak = d->peak;
    e->ordinal = d->ordinal;
    e->time_ns = d->now_ns;
    e->leave = LEAVE_KEEP;
    if (s) {
        e->leave = s->leave;
        e->cond = s->cond;
        e->fall = s->fall;
        e->site = s->vaddr + s->site_off;
    }
    if (to) {
        e->pc = to->pc;
        e->vaddr = to->vaddr;
        e->range = to->range;
        e->entry = atomic_load_explicit(&to->entry, memory_order_acquire);
        e->start = to->start;
        d->base = to->range;
    }
    memcpy(p, e, sizeof(*e));
    memcpy(p + sizeof(*e), d->nodes, nodes);
    memcpy(p + sizeof(*e) + nodes, d->frames, frames);
    if (more_bytes) {
        memcpy(p + sizeof(*e) + nodes + frames, more, more_bytes);
    }
    ctr_job_commit(d->job, bytes);
    restart(d);
    return 0;
}

int digest_emit_type(struct digest *d, enum ev_type type, uint32_t number)
{
    struct ev e = {.type = type, .number = number};

    return digest_emit(d, &e, NULL, NULL, 0);
}

/* Reports a closed frame.  The fold reports frames that began before the chunk. */
static int emit_span(struct digest *d, const struct ev_frame *f, uint32_t depth)
{
    struct ev e = {.type = EV_SPAN};
    struct ev_span s = {d->nodes[f->node].fn,
                        f->from,
                        d->ordinal,
                        f->from_ns,
                        d->now_ns,
                        f->opened,
                        depth,
                        .midway = f->midway};
    uint8_t *p;

    if (d->ordinal - f->from < d->opt->span_min) {
        return 0;
    }
    p = ctr_job_reserve(d->job, sizeof(e) + sizeof(s));
    if (!p) {
        return -CTR_E_NOMEM;
    }
    memcpy(p, &e, sizeof(e));
    memcpy(p + sizeof(e), &s, sizeof(s));
    ctr_job_commit(d->job, sizeof(e) + sizeof(s));
    return 0;
}

/* ------------------------------------------------------------ transitions */

static int call(struct digest *d, struct spot *to)
{
    struct fn *fn = spot_entry(d->code, to);
    uint64_t site = d->opt->edges ? d->last->vaddr + d->last->site_off : 0;
    struct ev_frame *f;

    if (!fn) {
        return -CTR_E_NOMEM;
    }
    if (d->nr_frames == MAX_FRAMES || d->nr_nodes == MAX_NODES) {
        struct fn *base = d->nr_frames ? d->nodes[d->cur].fn->range : d->base;
        int ret = digest_emit_type(d, EV_FLUSH, 0);
        d->base = base;
        if (ret) {
            return ret;
        }
    }
    f = &d->frames[d->nr_frames++];
    d->peak = d->nr_frames > d->peak ? d->nr_frames : d->peak;
    f->ret = d->last->fall;
    f->node = child(d, d->cur, fn, site);
    f->twice = fn->twice;
    f->midway = false;
    f->from = f->opened = d->ordinal;
    f->from_ns = d->now_ns;
    d->cur = f->node;
    d->nodes[d->cur].calls++;
    return 0;
}

/* Whether it is a plain return to the frame below. */
static bool returns(const struct digest *d, const struct spot *to)
{
    const struct ev_frame *f = &d->frames[d->nr_frames - 1];
    const struct fn *below = d->nr_frames > 1 ? d->nodes[f[-1].node].fn->range : d->base;

    return f->ret == to->pc && below == to->range && !f->twice;
}

static int leave_frame(struct digest *d)
{
    const struct ev_frame *f = &d->frames[--d->nr_frames];

    d->cur = d->nr_frames ? f[-1].node : 0;
    return d->opt->span ? emit_span(d, f, d->nr_frames) : 0;
}

static int tail_call(struct digest *d, struct spot *to)
{
    struct ev_frame *f = &d->frames[d->nr_frames - 1];
    struct fn *fn = spot_entry(d->code, to);
    uint64_t site = d->nodes[f->node].site;
    uint32_t parent = d->nodes[f->node].parent;

    if (!fn) {
        return -CTR_E_NOMEM;
    }
    if (d->opt->span) {
        int ret = emit_span(d, f, d->nr_frames - 1);
        if (ret) {
            return ret;
        }
    }
    f->from = d->ordinal;
    f->from_ns = d->now_ns;
    f->node = child(d, parent, fn, site);
    f->twice |= fn->twice;
    d->cur = f->node;
    f->midway = !to->start && fn->range->kind != FN_STRETCH;
    d->nodes[d->cur].calls += !f->midway;
    return 0;
}

static int pass_to_fold(struct digest *d, struct spot *to)
{
    struct ev e = {.type = EV_GO};

    return digest_emit(d, &e, to, NULL, 0);
}

/* Handles the transition from d->last to the code that begins at `to'. */
static int go(struct digest *d, struct spot *to)
{
    const struct spot *from = d->last;
    bool tail = d->nr_frames && d->nr_nodes < MAX_NODES;

    if (__builtin_expect(!from, 0)) {
        return pass_to_fold(d, to);
    }
    switch (from->leave) {
    case LEAVE_CALL:
        if (to->pc != from->fall) {
            return call(d, to);
        }
        break;
    case LEAVE_RETURN:
        if (from->cond && to->pc == from->fall) {
            break;
        }
        return d->nr_frames && returns(d, to) ? leave_frame(d) : pass_to_fold(d, to);
    case LEAVE_INDIRECT:
        if (from->cond && to->pc == from->fall) {
            break;
        }
        if (d->nr_frames && d->frames[d->nr_frames - 1].ret == to->pc) {
            return returns(d, to) ? leave_frame(d) : pass_to_fold(d, to);
        }
        if (from->range == to->range) {
            if (to->start && d->code->partial) {
                return pass_to_fold(d, to);
            }
            return d->nr_frames || !to->after_call ? 0 : pass_to_fold(d, to);
        }
        return tail && (to->start) ? tail_call(d, to) : pass_to_fold(d, to);
    case LEAVE_NONE:
        if (to->pc != from->fall) {
            return pass_to_fold(d, to);
        }
        break;
    }
    if (from->range == to->range) {
        return 0;
    }
    return tail ? tail_call(d, to) : pass_to_fold(d, to);
}

/* -------------------------------------------------------------- callbacks */

int digest_begin(struct digest *d, struct ctr_job *job)
{
    const struct ctr_chunk *chunk = ctr_job_chunk(job);

    d->job = job;
    d->last = NULL;
    d->quick = false;
    d->base = NULL;
    d->until = 0;
    d->ordinal = chunk->first;
    d->now_ns = chunk->start_ns;
    d->when = (struct when){ctr_job_thread(job)->process, chunk->start_ns, chunk->end_ns};
    restart(d);
    return 0;
}

void digest_set_when(struct digest *d, uint64_t ordinal)
{
    d->until = UINT64_MAX;
    if (d->code->places) {
        d->when.time_ns =
            places_time(d->code->places, ctr_job_chunk(d->job), ordinal, &d->until);
    }
}

/* A spot of this worker's own, for a block whose place depends on the time. */
static struct spot *own_spot(struct digest *d, const struct ctr_block *b)
{
    struct own_spot *o = &d->own[b->id & (OWN_SPOTS - 1)];

    if (d->ordinal >= d->until) {
        digest_set_when(d, d->ordinal);
    }
    if (!o->spot || o->id != b->id || o->process != d->when.process ||
        o->time_ns != d->when.time_ns) {
        struct spot *s = code_spot_at(d->code, b, &d->when);
        if (!s) {
            return NULL;
        }
        spot_drop(o->spot);
        *o = (struct own_spot){b->id, d->when.process, d->when.time_ns, s};
    }
    return o->spot;
}

/* Counts a block whose place depends on the time, by address. */
static int own_lines(struct digest *d, const struct ctr_block *b, const struct spot *s,
                     unsigned first, unsigned end)
{
    const struct cost once = {.insns = 1};
    int ret = 0;

    for (unsigned i = first; !ret && i < end; i++) {
        ret =
            lines_add(d->lines, s->range, s->vaddr + (ctr_block_pc(b, i) - s->pc), &once);
    }
    return ret;
}

/* The uncommon cases: parts of a block, blocks of several parts. */
static int run_slowly(struct digest *d, const struct ctr_run *r, struct spot *s, bool own)
{
    const struct ctr_block *b = r->block;

    d->own_last = own;
    if (d->lines && !own && lines_run(d->lines, b, r->first, r->end)) {
        return -CTR_E_NOMEM;
    }
    for (; s; s = s->next) {
        unsigned first = s->first > r->first ? s->first : r->first;
        unsigned end = s->end < r->end ? s->end : r->end;
        struct spot *t = s;
        int ret;

        if (first >= end) {
            continue;
        }
        if (own || first != s->first || end != s->end ||
            (r->flags & CTR_EV_FAULTED && end == r->end)) {
            t = &d->tmp[d->flip ^= 1];
            *t = *s;
            if (first != s->first) {
                t->pc = ctr_block_pc(b, first);
                t->vaddr = s->vaddr + (t->pc - s->pc);
                t->start = false;
                t->after_call = true;
                if (s->range->kind == FN_STRETCH) {
                    atomic_store_explicit(&t->entry, NULL, memory_order_relaxed);
                }
                t->site_off = (uint16_t)(s->site_off - (t->pc - s->pc));
            }
            if (end != s->end) {
                code_leave(d->code, b, first, end - 1, t);
                t->fall = ctr_block_pc(b, end - 1) + ctr_block_len(b, end - 1);
            }
            if (r->flags & CTR_EV_FAULTED && end == r->end) {
                t->leave = LEAVE_NONE;
                t->delay_open = false;
            }
        }
        if (d->last && d->last->delay_open && t->pc == d->last->fall) {
            /* A delay slot by itself: the branch was taken. */
            struct spot *slot = &d->tmp[d->flip ^= 1];
            uint64_t fall = t->fall;
            *slot = *d->last;
            slot->delay_open = false;
            slot->fall = fall;
            t = slot;
        } else if ((ret = go(d, t)) != 0) {
            return ret;
        }
        d->last = t;
        d->nodes[d->cur].self.insns += end - first;
        d->ordinal += end - first;
        if (d->lines && own && (ret = own_lines(d, b, t, first, end)) != 0) {
            return ret;
        }
    }
    d->nodes[d->cur].self.loads += r->loads;
    d->nodes[d->cur].self.stores += r->stores;
    return 0;
}

static int run_other(struct digest *d, const struct ctr_run *r)
{
    struct spot *s = code_spot(d->code, r->block);
    int state = s ? atomic_load_explicit(&s->state, memory_order_acquire) : SPOT_NEW;
    bool own;
    int ret;

    if (state == SPOT_NEW) {
        s = code_spot_new(d->code, r->block);
        state = s ? atomic_load_explicit(&s->state, memory_order_acquire) : SPOT_NEW;
    }
    own = state == SPOT_DEPENDS;

    if (own) {
        s = own_spot(d, r->block);
    }
    ret = s ? run_slowly(d, r, s, own) : -CTR_E_NOMEM;
    d->quick = d->last && !d->last->delay_open && !d->lines;
    return ret;
}

int digest_run(struct digest *d, struct ctr_job *job, const struct ctr_run *r)
{
    struct spot *s = code_spot(d->code, r->block);
    const struct spot *last = d->last;
    struct cost *c;
    int ret = 0;

    (void)job;
    d->ordinal = r->ordinal;
    if (__builtin_expect(!d->quick || !s ||
                             atomic_load_explicit(&s->state, memory_order_acquire) !=
                                 SPOT_WHOLE ||
                             r->first || r->end != s->end || r->flags,
                         0)) {
        return run_other(d, r);
    }
    if (last->range != s->range || last->leave > LEAVE_JUMP ||
        (last->leave == LEAVE_NONE && s->pc != last->fall)) {
        ret = go(d, s);
    }
    d->last = s;
    c = &d->nodes[d->cur].self;
    c->insns += s->end;
    c->loads += r->loads;
    c->stores += r->stores;
    d->ordinal += s->end;
    return ret;
}

/* Only with lines; nodes get their accesses with the run. */
int digest_mem(struct digest *d, const struct ctr_mem *m)
{
    const struct cost once = {.loads = !m->store, .stores = m->store};
    const struct spot *s = d->last;

    return s && d->own_last
               ? lines_add(d->lines, s->range, s->vaddr + (m->pc - s->pc), &once)
               : lines_access(d->lines, m);
}

int digest_end(struct digest *d, struct ctr_job *job)
{
    (void)job;
    return digest_emit_type(d, EV_END, 0);
}
