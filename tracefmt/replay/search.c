/* SPDX-License-Identifier: MIT */
/*
 * ctr_search: the access, or the execution of an instruction, next to a place.
 *
 * Chunks are searched one by one, away from the place, and the index shows which need
 * not be. Several workers take them in that order. Once a worker has found something no
 * more are taken, and those on nearer chunks finish, so that the nearest counts. An
 * error counts as found at its place.
 *
 * Where threads ran one at a time (lanes.h), the chunks of a bundle are all searched, and
 * the slice decides which of two threads was nearer.
 */
#include "decode/lanes.h"

#include <pthread.h>
#include <unistd.h>

#define MAX_WORKERS 256u

struct search {
    struct ctr_trace *tr;
    struct feed feed;   /* instructions and system events */
    struct feed system; /* system events only */
    int back;
    int exec;        /* instructions are searched, not accesses */
    int point;       /* the instruction at the place is after it ... */
    int system_here; /* ... and what the system did right before it */
    uint32_t thread; /* the place */
    uint64_t ordinal;
    uint64_t when; /* slices: a time in its slice */

    pthread_mutex_t lock; /* protects all that follows, and reading */
    uint64_t at;          /* next chunk in order of time ... */
    int begun;            /* ... and whether it was taken already, */
    int left;             /* ... and whether there still is one */
    uint32_t taken;       /* chunks to decode */
    uint64_t first_ns;    /* slices, back: all after this was taken */
    uint64_t best;        /* where `result' was found, if that is not 0 ... */
    uint64_t best_ns;     /* ... and a time in its slice */
    int result;           /* 1, or an error */
    struct ctr_found found;
    struct ctr_diag diag;
};

struct searcher {
    struct search *s;
    struct walk walk;
    struct raw_chunk raw;
    const struct feed *feed; /* one of the two */
    uint64_t at;
    uint64_t slice_ns;   /* a time in the slice where the walk is ... */
    uint64_t slice_from; /* ... and its first ordinal in the chunk */
    uint64_t found_ns;   /* of what was found */
    struct ctr_found found;
    struct ctr_diag diag;
};

/* ------------------------------------------------------------------- taking */

/*
 * Whether a chunk is too far away to have anything nearer than what was found. With the
 * lock.
 */
static int is_beyond(struct search *s, const struct ctr_chunk *c)
{
    if (!s->feed.slices) {
        return s->result != 0;
    }
    int beyond =
        s->result && (s->back ? s->first_ns <= s->best_ns : c->start_ns > s->best_ns);
    if (c->flags & CTR_CHUNK_FIRST) {
        s->first_ns = c->start_ns;
    }
    return beyond;
}

/*
 * Reads the next chunk that may hold something.  Returns 1, 0 if there is none, or an
 * error.  With the lock.
 */
static int take(struct search *s, struct searcher *me)
{
    struct chunk_row row;
    while (s->left && (s->feed.slices || !s->result)) {
        const struct ctr_chunk *c = &row.pub;
        me->at = s->back ? s->at - 1 : s->at + 1; /* if there is an error */
        if (s->begun) {
            s->left = chunktab_step(s->tr->chunks, &s->at, s->back, &me->diag);
        }
        s->begun = 1;
        if (s->left <= 0) {
            return s->left;
        }
        me->at = s->at;
        int may = chunktab_get_at(s->tr->chunks, s->at, &row, &me->diag);
        if (may < 0) {
            return may;
        }
        if (is_beyond(s, c)) {
            s->left = 0;
            break;
        }
        me->found_ns = s->back ? c->end_ns : c->start_ns; /* of an error */
        if (s->feed.filter.stop && s->feed.filter.stop(s->feed.filter.arg)) {
            s->left = 0;
            return ctr_fail(&me->diag, CTR_E_LIMIT, CTR_NO_OFF, "search",
                            "it was stopped");
        }
        if (!feed_chunk(&s->feed, c)) {
            continue;
        }
        may = s->feed.runs ? feed_may_match(&s->feed, c->index, &me->diag) : 0;
        if (may < 0) {
            return may;
        }
        struct feed *f = may ? &s->feed : &s->system;
        if (!may && !feed_chunk(f, c)) {
            continue;
        }
        if (s->feed.filter.most && s->taken == s->feed.filter.most) {
            s->left = 0;
            return ctr_fail(&me->diag, CTR_E_LIMIT, CTR_NO_OFF, "search",
                            "it is not in the first chunks");
        }
        s->taken++;
        me->feed = f;
        may = feed_take(f, c, &me->raw, &me->diag);
        if (may) {
            return may;
        }
    }
    return 0;
}

/* Handles the result of a chunk: the nearest one stays. */
static void keep(struct search *s, const struct searcher *me, int result)
{
    int nearer = s->back ? me->at > s->best : me->at < s->best;
    if (s->feed.slices && me->found_ns != s->best_ns) {
        nearer = s->back ? me->found_ns > s->best_ns : me->found_ns < s->best_ns;
    }
    if (result && (!s->result || nearer)) {
        s->result = result;
        s->best = me->at;
        s->best_ns = me->found_ns;
        s->found = me->found;
        s->diag = me->diag;
    }
}

/* ------------------------------------------------------------------ looking */

/* Keeps a result. Returns 1 if nothing else can be nearer. */
static int hit(struct searcher *me, const struct ctr_found *found)
{
    me->found = *found;
    me->found.thread = me->walk.thread;
    me->found.chunk = me->walk.pub.index;
    /* A chunk may begin with the rest of an instruction. */
    me->found.from = me->slice_from < found->ordinal ? me->slice_from : found->ordinal;
    me->found.to = me->walk.pub.first + me->walk.pub.insns;
    me->found_ns = me->slice_ns;
    return !me->s->back;
}

/* Whether what another thread did is, there where the walk is. */
static int is_other_side(const struct searcher *me)
{
    const struct search *s = me->s;
    return !s->feed.slices || (s->back ? me->slice_ns < s->when : me->slice_ns > s->when);
}

/* Whether an instruction of the chunk is on the right side of the place. */
static int is_side(const struct searcher *me, uint64_t ordinal)
{
    const struct search *s = me->s;
    if (ordinal < me->walk.lo || ordinal >= me->walk.hi) {
        return 0;
    }
    if (me->walk.pub.thread != s->thread) {
        return is_other_side(me);
    }
    return s->back ? ordinal < s->ordinal : ordinal + s->point > s->ordinal;
}

/* Events belong to the instruction that follows, and came before it. */
static int is_event_side(struct searcher *me, uint64_t ordinal)
{
    const struct search *s = me->s;
    if (!walk_event_selected(&me->walk)) {
        return 0;
    }
    if (me->walk.pub.thread != s->thread) {
        return is_other_side(me);
    }
    return s->back ? ordinal < s->ordinal + !s->system_here
                   : ordinal + s->system_here > s->ordinal;
}

static int look_event(struct searcher *me, const struct ctr_os_event *e)
{
    const struct feed *f = me->feed;
    struct ctr_usermem m;
    if (!is_event_side(me, e->ordinal) || ctr_parse_usermem(e, &m) || !m.size) {
        return 0;
    }
    uint32_t kind = m.flags & CTR_USERMEM_WRITE ? CTR_KIND_STORE : CTR_KIND_LOAD;
    uint64_t last = m.addr + (m.size - 1);
    if (!(f->kinds & kind) ||
        !in_ranges(&me->walk.sel.addrs, m.addr, last < m.addr ? UINT64_MAX : last)) {
        return 0;
    }
    return hit(me, &(struct ctr_found){
                       .ordinal = e->ordinal,
                       .addr = m.addr,
                       .size = m.size,
                       .kind = kind,
                       .system = 1,
                   });
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
static void look_slice(struct searcher *me, const struct ctr_os_event *e)
{
    if (me->found.kind && me->found_ns == me->slice_ns) {
        me->found.to = e->ordinal;
    }
    me->slice_ns = e->time_ns;
    me->slice_from = e->ordinal;
}

/* The end of the slice of what was found, if that was not met yet. */
static int find_slice_end(struct searcher *me)
{
    struct evdec *e = &me->walk.events;
    int ret = 0;
    while (me->feed->slices && e->have && !ret) {
        if (e->ev.type == CTR_EVENT_SLICE && e->ev.ordinal > me->found.ordinal) {
            look_slice(me, &e->ev);
            break;
        }
        ret = evdec_next(e);
    }
    return ret;
}

/* Searches the chunk. Returns 1 if something was found, 0 or an error. */
static int look_chunk(struct searcher *me)
{
    struct walk *w = &me->walk;
    me->found.kind = 0;
    me->slice_ns = me->raw.pub.start_ns;
    me->slice_from = me->raw.pub.first;
    int ret = walk_begin(w, me->feed, &me->raw, &me->diag);
    while (!ret) {
        while (w->events.have && (ret = walk_event(w)) == 1) {
            if (w->events.ev.type == CTR_EVENT_SLICE) {
                look_slice(me, &w->events.ev);
            }
            ret = look_event(me, &w->events.ev);
            ret = ret ? ret : evdec_next(&w->events);
            if (ret) {
                return ret;
            }
        }
        if (ret || !w->more) {
            break;
        }
        ret = look_run(me);
        if (!ret && me->s->back && w->pub.thread == me->s->thread &&
            w->run.ordinal > me->s->ordinal) {
            break; /* all that follows is after the place */
        }
        ret = ret ? ret : walk_next(w);
    }
    return ret ? ret : me->found.kind != 0;
}

static int look(struct searcher *me)
{
    int ret = look_chunk(me);
    int err = ret == 1 ? find_slice_end(me) : 0;
    return err ? err : ret;
}

static void *work(void *arg)
{
    struct searcher *me = arg;
    struct search *s = me->s;
    int got;
    do {
        pthread_mutex_lock(&s->lock);
        got = take(s, me);
        if (got < 0) {
            keep(s, me, got);
        }
        pthread_mutex_unlock(&s->lock);
        if (got == 1) {
            int result = look(me);
            pthread_mutex_lock(&s->lock);
            keep(s, me, result);
            pthread_mutex_unlock(&s->lock);
        }
    } while (got == 1);
    return NULL;
}

/* --------------------------------------------------------------------- main */

/* A time in the slice of the place, which is in this chunk; and where to begin. */
static int find_slice(struct search *s, const struct ctr_chunk *c, struct ctr_diag *diag)
{
    struct raw_chunk raw = {.pub = *c};
    struct evdec *e = &s->feed.times;
    s->when = c->start_ns;
    int err = feed_read(&s->feed, c, &raw, diag);
    err = err ? err : evdec_begin(e, &raw.sec, &raw.payload, &raw.pub, s->tr->dctx, diag);
    for (; !err && e->have; err = evdec_next(e)) {
        if (e->ev.ordinal + s->system_here > s->ordinal) {
            break;
        }
        if (e->ev.type == CTR_EVENT_SLICE) {
            s->when = e->ev.time_ns;
        }
    }
    buf_free(&raw.payload);
    return err       ? err
           : s->back ? bundle_end(s->tr->chunks, &s->at, diag)
                     : bundle_begin(s->tr->chunks, &s->at, diag);
}

/* The place among the chunks in order of time; 0 or an error. */
static int find_place(struct search *s, struct ctr_diag *diag)
{
    struct chunk_row row;
    int got = 0;
    if (s->system_here && !s->back && s->ordinal) { /* it may be in the chunk before */
        got = chunktab_ordinal(s->tr->chunks, s->thread, s->ordinal - 1, 0, &row, diag);
    }
    if (!got) {
        got = chunktab_ordinal(s->tr->chunks, s->thread, s->ordinal, s->back || s->point,
                               &row, diag);
    }
    s->left = got;
    if (got == 1) {
        int err = chunktab_place(s->tr->chunks, &row, &s->at, diag);
        return err || !s->feed.slices ? err : find_slice(s, &row.pub, diag);
    }
    return got ? got
               : ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "search", "no such instruction");
}

static int run_workers(struct search *s, unsigned workers, struct ctr_diag *diag)
{
    struct searcher *all = calloc(workers, sizeof(all[0]));
    pthread_t *thread = calloc(workers, sizeof(thread[0]));
    unsigned made = 0, n = 0;
    int err = all && thread ? 0 : -1;
    for (; !err && made < workers; made++) {
        all[made].s = s;
        err = walk_init(&all[made].walk);
        made += err != 0;
        if (err) {
            break;
        }
    }
    if (!err) {
        /* Fewer threads than wanted do the same work. */
        while (n + 1 < workers &&
               pthread_create(&thread[n], NULL, work, &all[n + 1]) == 0) {
            n++;
        }
        work(&all[0]);
        while (n) {
            pthread_join(thread[--n], NULL);
        }
    }
    for (unsigned i = 0; i < made; i++) {
        walk_fini(&all[i].walk);
        buf_free(&all[i].raw.payload);
    }
    free(all);
    free(thread);
    return err ? ctr_fail_nomem(diag) : 0;
}

/* Then chunks are in the right order. */
static int is_one_thread(const struct ctr_filter *f, uint32_t thread)
{
    return f->nthread == 1 && f->threads[0] == thread;
}

int ctr_search(struct ctr_trace *tr, const struct ctr_filter *filter, uint32_t thread,
               uint64_t ordinal, unsigned flags, unsigned workers, struct ctr_found *out,
               struct ctr_diag *diag)
{
    struct search s = {
        .tr = tr,
        .back = (flags & CTR_SEARCH_BACK) != 0,
        .point = (flags & (CTR_SEARCH_POINT | CTR_SEARCH_SYSTEM)) != 0,
        .system_here = (flags & CTR_SEARCH_SYSTEM) != 0,
        .thread = thread,
        .ordinal = ordinal,
    };
    const uint32_t accesses = CTR_KIND_LOAD | CTR_KIND_STORE;
    if (!tr->src.seekable || !filter || !(filter->naddr + filter->nphys + filter->npc)) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "search",
                        "it needs a file and addresses");
    }
    s.exec = !(filter->naddr + filter->nphys);
    if (workers == 0) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        workers = n > 0 ? (unsigned)n : 1;
    }
    workers = workers > MAX_WORKERS ? MAX_WORKERS : workers;
    workers = workers > tr->nchunks ? (unsigned)tr->nchunks : workers;
    int err = feed_init(&s.feed, tr, filter, diag);
    if (err) {
        return err;
    }
    err = feed_init(&s.system, tr, filter, diag);
    if (err) {
        feed_fini(&s.feed);
        return err;
    }
    s.feed.want = tr->events & CTR_HAS_MEM && s.feed.kinds & accesses ? DEC_MEM : 0;
    s.feed.want |= s.feed.want && s.feed.filter.nphys ? DEC_PHYS : 0;
    if (s.exec) {
        s.feed.want = 0;
    }
    s.feed.runs = s.exec ? (s.feed.kinds & CTR_KIND_EXEC) != 0 : s.feed.want != 0;
    s.system.runs = 0;
    if (!filter->npc && s.feed.kinds & accesses) {
        s.feed.os = s.system.os = s.feed.kinds & CTR_KIND_SYS;
    }
    s.feed.slices = s.system.slices = lanes_needed(tr) && !is_one_thread(filter, thread);
    s.first_ns = UINT64_MAX;
    pthread_mutex_init(&s.lock, NULL);
    err = find_place(&s, diag);
    err = err ? err : run_workers(&s, workers, diag);
    pthread_mutex_destroy(&s.lock);
    feed_fini(&s.feed);
    feed_fini(&s.system);
    if (err) {
        return err;
    }
    if (!s.result && !s.back && tr->damage.code == CTR_E_CORRUPT) {
        s.result = -CTR_E_CORRUPT;
        s.diag = tr->damage;
    }
    if (s.result < 0 && diag) {
        *diag = s.diag;
    }
    if (s.result == 1) {
        *out = s.found;
    }
    return s.result;
}
