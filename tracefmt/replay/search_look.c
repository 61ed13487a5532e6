/* SPDX-License-Identifier: MIT */
/* The search of one chunk: its first event after the place, or its last one before. */
#include "replay/search_priv.h"

/* Keeps a result, of this time. Returns 1 if nothing else can be nearer. */
static int hit_at(struct searcher *me, const struct ctr_found *found, uint64_t ns)
{
    me->out = *found;
    me->out.thread = me->walk.thread;
    me->out.chunk = me->walk.pub.index;
    me->out.time_ns = me->s->order == SEARCH_ALONE ? 0 : ns;
    /* A chunk may begin with the rest of an instruction. */
    me->out.from = me->slice_from < found->ordinal ? me->slice_from : found->ordinal;
    me->out.to = me->walk.pub.first + me->walk.pub.insns;
    me->key = (struct search_key){.ns = ns,
                                  .thread = me->walk.pub.thread,
                                  .ordinal = found->ordinal,
                                  .insn = !found->system};
    return !me->s->back;
}

static int hit(struct searcher *me, const struct ctr_found *found)
{
    return hit_at(me, found, me->slice_ns);
}

/* Whether what another thread did at a time is, on the right side of the place. */
static int is_other_side(const struct searcher *me, uint64_t ns)
{
    const struct search *s = me->s;
    if (s->order == SEARCH_ALONE) {
        return 1;
    }
    if (ns == s->when) {
        const uint32_t thread = me->walk.pub.thread;
        return s->order == SEARCH_MERGED &&
               (s->back ? thread < s->thread : thread > s->thread);
    }
    return s->back ? ns < s->when : ns > s->when;
}

/* The same of what the thread did from which something was found. */
static int is_found_side(const struct searcher *me, uint64_t ns, uint64_t ordinal,
                         int insn)
{
    const struct search *s = me->s;
    if (ns != s->when) {
        return s->back ? ns < s->when : ns > s->when;
    }
    if (ordinal != s->ordinal) {
        return s->back ? ordinal < s->ordinal : ordinal > s->ordinal;
    }
    return s->back ? insn < s->found_insn : insn > s->found_insn;
}

/* Whether an instruction of the chunk is on the right side of the place. */
static int is_side(const struct searcher *me, uint64_t ordinal)
{
    const struct search *s = me->s;
    if (ordinal < me->walk.lo || ordinal >= me->walk.hi) {
        return 0;
    }
    if (me->walk.pub.thread != s->thread) {
        return is_other_side(me, me->slice_ns);
    }
    if (s->found) {
        return is_found_side(me, me->slice_ns, ordinal, 1);
    }
    return s->back ? ordinal < s->ordinal : ordinal + s->point > s->ordinal;
}

/* Events belong to the instruction that follows, and came before it. */
static int is_event_side(const struct searcher *me, uint64_t ordinal, uint64_t ns)
{
    const struct search *s = me->s;
    if (me->walk.pub.thread != s->thread) {
        return is_other_side(me, ns);
    }
    if (s->found) {
        return is_found_side(me, ns, ordinal, 0);
    }
    return s->back ? ordinal < s->ordinal + !s->system_here
                   : ordinal + s->system_here > s->ordinal;
}

/*
 * Memory that the system wrote changed at the end of its call, which has the next time
 * at the ordinal. Until that is known it waits here.
 */
static int settle(struct searcher *me, uint64_t ns)
{
    const struct ctr_found found = me->later;
    me->later.kind = 0;
    return found.kind && is_event_side(me, found.ordinal, ns) && hit_at(me, &found, ns);
}

static int look_event(struct searcher *me, const struct ctr_os_event *e)
{
    const struct search *s = me->s;
    const struct feed *f = me->feed;
    struct ctr_usermem m;
    if (!walk_event_selected(&me->walk) || ctr_parse_usermem(e, &m) || !m.size) {
        return 0;
    }
    uint32_t kind = m.flags & CTR_USERMEM_WRITE ? CTR_KIND_STORE : CTR_KIND_LOAD;
    uint64_t last = m.addr + (m.size - 1);
    if (!(f->kinds & kind) ||
        !in_ranges(&me->walk.sel.addrs, m.addr, last < m.addr ? UINT64_MAX : last)) {
        return 0;
    }
    const struct ctr_found found = {
        .ordinal = e->ordinal, .addr = m.addr, .size = m.size, .kind = kind, .system = 1};
    if (s->order == SEARCH_MERGED && kind == CTR_KIND_STORE && !e->time_ns) {
        me->later = s->back || !me->later.kind ? found : me->later;
        return 0;
    }
    return is_event_side(me, e->ordinal, me->slice_ns) && hit(me, &found);
}

static int look_insns(struct searcher *me)
{
    const struct run *r = &me->walk.run;
    const struct ctr_block *b = &r->block->pub;
    for (unsigned i = r->first; select_block(&me->walk.sel, b) && i < r->end; i++) {
        uint64_t ordinal = r->ordinal + i - r->first;
        uint64_t pc = ctr_block_pc(b, i);
        if (select_pc(&me->walk.sel, pc) && is_side(me, ordinal) &&
            hit(me, &(struct ctr_found){
                        .ordinal = ordinal,
                        .pc = pc,
                        .addr = pc,
                        .size = ctr_block_len(b, i),
                        .kind = CTR_KIND_EXEC,
                    })) {
            return 1;
        }
    }
    return 0;
}

static int look_accesses(struct searcher *me)
{
    const struct run *r = &me->walk.run;
    for (uint32_t i = 0; i < r->naccess; i++) {
        const struct ctr_access *a = &r->access[i];
        if (!select_access(&me->walk.sel, r, i)) {
            continue;
        }
        uint64_t ordinal = r->ordinal + a->insn - r->first;
        uint64_t pc = ctr_block_pc(&r->block->pub, a->insn);
        if (!is_side(me, ordinal) || !select_block(&me->walk.sel, &r->block->pub) ||
            !select_pc(&me->walk.sel, pc)) {
            continue;
        }
        if (hit(me, &(struct ctr_found){
                        .ordinal = ordinal,
                        .pc = pc,
                        .addr = a->addr,
                        .size = a->size,
                        .kind = a->store ? CTR_KIND_STORE : CTR_KIND_LOAD,
                    })) {
            return 1;
        }
    }
    return 0;
}

static int look_run(struct searcher *me)
{
    return !walk_selects(&me->walk) ? 0
           : me->s->exec            ? look_insns(me)
                                    : look_accesses(me);
}

/* A slice begins: that of what was found may have ended. */
static void look_slice(struct searcher *me, const struct ctr_os_event *e, uint64_t ns)
{
    if (me->out.kind && me->key.ns == me->slice_ns) {
        me->out.to = e->ordinal;
    }
    me->slice_ns = ns;
    me->slice_from = e->ordinal;
}

/* Whether an event begins a slice, merged: another time; which is then *ns. */
static int is_slice(const struct searcher *me, const struct ctr_os_event *e, uint64_t *ns)
{
    if (me->s->order != SEARCH_MERGED) {
        *ns = e->time_ns;
        return e->type == CTR_EVENT_SLICE;
    }
    *ns = search_time(&me->walk.pub, me->slice_ns, e);
    return *ns != me->slice_ns;
}

/* The end of the slice of what was found, if that was not met yet. */
static int find_slice_end(struct searcher *me)
{
    struct evdec *e = &me->walk.events;
    uint64_t ns;
    int ret = 0;
    while (me->s->order != SEARCH_ALONE && me->key.ns == me->slice_ns && e->have &&
           !ret) {
        if (e->ev.ordinal > me->out.ordinal && is_slice(me, &e->ev, &ns)) {
            look_slice(me, &e->ev, ns);
            break;
        }
        ret = evdec_next(e);
    }
    return ret;
}

/* The next event between two runs. Returns 1 if nothing nearer can follow. */
static int look_at_event(struct searcher *me)
{
    const struct ctr_os_event *e = &me->walk.events.ev;
    uint64_t ns;
    int ret =
        me->later.kind && me->later.ordinal != e->ordinal ? settle(me, me->slice_ns) : 0;
    if (!ret && is_slice(me, e, &ns)) {
        look_slice(me, e, ns);
    }
    if (!ret && e->time_ns) {
        ret = settle(me, me->slice_ns);
    }
    return ret ? ret : look_event(me, e);
}

/* Whether all that follows in the chunk is after the place. */
static int is_after(const struct searcher *me)
{
    const struct search *s = me->s;
    const struct walk *w = &me->walk;
    return (w->pub.thread == s->thread && w->run.ordinal > s->ordinal &&
            (!s->found || me->slice_ns == s->when)) ||
           (s->order == SEARCH_MERGED && me->slice_ns > s->when);
}

/* Searches the chunk. Returns 1 if something was found, 0 or an error. */
static int look_chunk(struct searcher *me)
{
    struct walk *w = &me->walk;
    me->out.kind = me->later.kind = 0;
    me->slice_ns = me->raw.pub.start_ns;
    me->slice_from = me->raw.pub.first;
    int ret = walk_begin(w, me->feed, &me->raw, &me->diag);
    while (!ret) {
        while (w->events.have && (ret = walk_event(w)) == 1) {
            ret = look_at_event(me);
            ret = ret ? ret : evdec_next(&w->events);
            if (ret) {
                return ret;
            }
        }
        ret = ret ? ret : settle(me, me->slice_ns);
        if (ret || !w->more) {
            break;
        }
        ret = look_run(me);
        if (!ret && me->s->back && is_after(me)) {
            break;
        }
        ret = ret ? ret : walk_next(w);
    }
    return ret ? ret : me->out.kind != 0;
}

int search_look(struct searcher *me)
{
    const struct search_key error = me->key;
    int ret = look_chunk(me);
    int err = ret == 1 ? find_slice_end(me) : 0;
    ret = err ? err : ret;
    me->key = ret < 0 ? error : me->key;
    return ret;
}
