/* SPDX-License-Identifier: MIT */
/*
 * How often each block ran and where its runs continued, from the index where there is
 * one. Without an index the columns of words and events are decoded.
 *
 * Each chunk of a thread has the counts of its own runs. What follows a chunk's last
 * run is in the thread's next chunk.
 */
#include "decode/walk.h"

#include "base/countmap.h"
#include "cannoli/events.h"

#include <string.h>

/* A run to its block's end whose successor is not known yet; id 0: none. */
struct waiting {
    uint32_t id;
    uint16_t first;
    uint16_t ninsn;
    uint64_t after; /* address directly after the block */
};

static void wait_for(struct waiting *w, const struct ctr_block *b, unsigned first)
{
    *w = (struct waiting){
        .id = b->id,
        .first = (uint16_t)first,
        .ninsn = b->ninsn,
        .after = block_end(b),
    };
}

struct tally {
    const struct ctr_trace *tr;
    uint64_t *full;       /* by id */
    uint64_t *falls;      /* by id: fall-throughs of these */
    struct countmap cuts; /* by CUT_KEY */
    struct countmap cut_falls;
    struct countmap unknown; /* by CUT_KEY with an end of 0 */
    struct waiting *wait;    /* one for each thread */
    struct ctr_diag *diag;
};

static int add(struct tally *t, struct countmap *m, uint64_t key, uint64_t count)
{
    return count && countmap_add(m, key, count) ? ctr_fail_nomem(t->diag) : 0;
}

static int add_row(void *arg, const struct part_count *c)
{
    struct tally *t = arg;
    if (c->unknown) {
        return add(t, &t->unknown, CUT_KEY(c->id, c->first, 0), c->unknown);
    }
    if (c->end == 0) {
        t->full[c->id] += c->runs;
        t->falls[c->id] += c->falls;
        return 0;
    }
    uint64_t key = CUT_KEY(c->id, c->first, c->end);
    int err = add(t, &t->cuts, key, c->runs);
    return err ? err : add(t, &t->cut_falls, key, c->falls);
}

/* ------------------------------------------------------------ what followed */

static int next_unknown(struct tally *t, struct waiting *w)
{
    uint64_t key = CUT_KEY(w->id, w->first, 0);
    int waits = w->id != 0;
    w->id = 0;
    return add(t, &t->unknown, key, (uint64_t)waits);
}

static int next_pc(struct tally *t, struct waiting *w, uint64_t pc)
{
    if (w->id == 0) {
        return 0;
    }
    uint64_t fell = pc == w->after, key = CUT_KEY(w->id, w->first, w->ninsn);
    uint32_t id = w->id;
    w->id = 0;
    if (w->first == 0) {
        t->falls[id] += fell;
        return 0;
    }
    return add(t, &t->cut_falls, key, fell);
}

/* ---------------------------------------------------------------- the index */

static int bad_last(const struct tally *t, const struct ctr_chunk *c)
{
    return ctr_fail(t->diag, CTR_E_CORRUPT, c->off, "chunk",
                    "its last block has no such definition");
}

/* From now on the chunk's last run waits for its successor. */
static int wait_at_end(struct tally *t, const struct ctr_chunk *c,
                       const struct chunk_ends *e)
{
    struct blocktab *blocks = t->tr->blocks;
    const struct block *b;
    if (e->last > blocktab_known(blocks)) {
        return bad_last(t, c);
    }
    int err = blocktab_hold_one(blocks, e->last, &b, t->diag);
    if (err) {
        return err;
    }
    if (e->last_first < b->pub.ninsn) {
        wait_for(&t->wait[c->thread], &b->pub, e->last_first);
    } else {
        err = bad_last(t, c);
    }
    blocktab_drop_one(blocks, b);
    return err;
}

static int join_chunk(struct tally *t, const struct chunk_row *row)
{
    const struct ctr_chunk *c = &row->pub;
    const struct chunk_ends *e = &row->ends;
    struct waiting *w = &t->wait[c->thread];
    int err = 0;
    if (e->flags & CHUNK_F_NEXT) {
        err = next_pc(t, w, e->next);
    } else if (e->flags & CHUNK_F_BREAK) {
        err = next_unknown(t, w);
    }
    return !err && e->last ? wait_at_end(t, c, e) : err;
}

static int from_index(struct feed *f, struct tally *t)
{
    const struct ctr_trace *tr = f->tr;
    struct chunk_row row;
    int err = 0;
    for (uint64_t i = 0; !err && i < tr->nchunks; i++) {
        err = chunktab_get(tr->chunks, i, &row, t->diag);
        if (!err && feed_thread(f, ctr_trace_thread(tr, row.pub.thread))) {
            err = part_reader_chunk(&f->index, i, add_row, t, NULL, NULL, t->diag);
            err = err ? err : join_chunk(t, &row);
        }
    }
    return err;
}

/* --------------------------------------------------------------- the chunks */

static int take_event(struct tally *t, struct waiting *w, const struct ctr_os_event *e)
{
    uint64_t pc;
    switch (ctr_event_next(e, &pc)) {
    case CTR_NEXT_PC:
        return next_pc(t, w, pc);
    case CTR_NEXT_UNKNOWN:
        return next_unknown(t, w);
    default:
        return 0;
    }
}

static int take_run(struct tally *t, struct waiting *w, const struct run *r)
{
    const struct ctr_block *b = &r->block->pub;
    if (r->end == r->first) {
        return 0; /* the rest of an instruction that is already counted */
    }
    int err = r->first ? next_unknown(t, w) : next_pc(t, w, b->pc);
    if (r->first == 0 && r->end == b->ninsn) {
        t->full[b->id]++;
    } else if (!err) {
        err = add(t, &t->cuts, CUT_KEY(b->id, r->first, r->end), 1);
    }
    if (!err && r->end == b->ninsn) {
        wait_for(w, b, r->first);
        err = r->flags & (CTR_EV_FAULTED | CTR_EV_UNSURE) ? next_unknown(t, w) : 0;
    }
    return err;
}

static int take_chunk(struct tally *t, struct walk *w)
{
    struct waiting *wait = &t->wait[w->pub.thread];
    for (;;) {
        int ret;
        while ((ret = walk_event(w)) == 1) {
            ret = take_event(t, wait, &w->events.ev);
            ret = ret ? ret : evdec_next(&w->events);
            if (ret) {
                return ret;
            }
        }
        if (ret || !w->more) {
            return ret;
        }
        ret = take_run(t, wait, &w->run);
        ret = ret ? ret : walk_next(w);
        if (ret) {
            return ret;
        }
    }
}

static int from_chunks(struct feed *f, struct tally *t)
{
    struct raw_chunk raw = {.payload = {0}};
    struct walk w;
    if (walk_init(&w)) {
        return ctr_fail_nomem(t->diag);
    }
    f->os = CTR_KIND_SYS | CTR_KIND_MARK | CTR_KIND_INT;
    int ret;
    while ((ret = feed_next(f, &raw, t->diag)) == 1) {
        ret = walk_begin(&w, f, &raw, t->diag);
        ret = ret ? ret : take_chunk(t, &w);
        if (ret) {
            break;
        }
    }
    walk_fini(&w);
    buf_free(&raw.payload);
    return ret;
}

/* Counters of whole runs; memory is only used for blocks that have any. */
static int make_counters(struct tally *t, struct ctr_diag *diag)
{
    const size_t blocks = (size_t)blocktab_known(t->tr->blocks) + 1;
    free(t->full);
    free(t->falls);
    t->full = calloc(blocks, sizeof(t->full[0]));
    t->falls = calloc(blocks, sizeof(t->falls[0]));
    return t->full && t->falls ? 0 : ctr_fail_nomem(diag);
}

/* Resets the tally; nothing was counted yet. */
static int forget(struct tally *t, struct ctr_diag *diag)
{
    memset(t->wait, 0, ((size_t)t->tr->nthreads + 1) * sizeof(t->wait[0]));
    countmap_clear(&t->cuts);
    countmap_clear(&t->cut_falls);
    countmap_clear(&t->unknown);
    return make_counters(t, diag);
}

/* ------------------------------------------------------------------- report */

/* Settles the last runs of the threads. */
static int end_threads(struct tally *t)
{
    int err = 0;
    for (uint32_t i = 0; !err && i < t->tr->nthreads; i++) {
        err = next_unknown(t, &t->wait[i]);
    }
    return err;
}

/* A hostile file must not have more ways than runs. */
static void limit_ways(struct ctr_count *c)
{
    uint64_t runs = c->full + c->partial;
    c->fallthrough = c->fallthrough < runs ? c->fallthrough : runs;
    runs -= c->fallthrough;
    c->unknown = c->unknown < runs ? c->unknown : runs;
}

/* Reports a block, or the part of it with this key. */
struct reporting {
    const struct tally *t;
    int (*fn)(void *arg, const struct ctr_count *count);
    void *arg;
    uint32_t privileges; /* of blocks, a mask */
};

static int report_block(const struct reporting *to, uint32_t id, uint64_t key)
{
    const struct tally *t = to->t;
    const struct block *b;
    int ret = blocktab_hold_one(t->tr->blocks, id, &b, t->diag);
    if (ret) {
        return ret;
    }
    struct ctr_count c = {.block = &b->pub};
    if (key == 0) {
        c.full = t->full[id];
        c.fallthrough = t->falls[id];
        c.unknown = countmap_get(&t->unknown, CUT_KEY(id, 0, 0));
        c.end = b->pub.ninsn;
    } else {
        c.partial = countmap_get(&t->cuts, key);
        c.first = (uint16_t)CUT_FIRST(key);
        c.end = (uint16_t)CUT_END(key);
        if (c.end == b->pub.ninsn) {
            c.fallthrough = countmap_get(&t->cut_falls, key);
            c.unknown = countmap_get(&t->unknown, CUT_KEY(id, c.first, 0));
        }
    }
    limit_ways(&c);
    ret = c.end <= b->pub.ninsn && to->privileges >> b->pub.privilege & 1
              ? to->fn(to->arg, &c)
              : 0;
    blocktab_drop_one(t->tr->blocks, b);
    return ret;
}

/* In the order of the blocks, which is the best one to read definitions. */
static int report_counts(const struct reporting *to)
{
    const struct tally *t = to->t;
    const uint32_t known = blocktab_known(t->tr->blocks);
    uint64_t *key = malloc(((size_t)t->cuts.n + 1) * sizeof(*key));
    uint32_t n = 0;
    int ret = 0;
    if (!key) {
        return ctr_fail_nomem(t->diag);
    }
    for (uint32_t id = 1; !ret && id <= known; id++) {
        ret = t->full[id] ? report_block(to, id, 0) : 0;
    }
    for (uint32_t i = 0; i < t->cuts.cap; i++) {
        if (t->cuts.entry[i].key) {
            key[n++] = t->cuts.entry[i].key - 1;
        }
    }
    qsort(key, n, sizeof(*key), ctr_by_u64);
    for (uint32_t i = 0; !ret && i < n; i++) {
        ret = report_block(to, CUT_BLOCK(key[i]), key[i]);
    }
    free(key);
    return ret;
}

int ctr_trace_counts(struct ctr_trace *tr, const struct ctr_filter *filter,
                     int (*fn)(void *arg, const struct ctr_count *count), void *arg,
                     struct ctr_diag *diag)
{
    if (!tr->src.seekable) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "counts", "not on a stream");
    }
    struct feed f;
    struct ctr_filter threads = {0};
    if (filter) {
        threads.pids = filter->pids;
        threads.npid = filter->npid;
        threads.tids = filter->tids;
        threads.ntid = filter->ntid;
        threads.processes = filter->processes;
        threads.nprocess = filter->nprocess;
        threads.threads = filter->threads;
        threads.nthread = filter->nthread;
    }
    int err = feed_init(&f, tr, &threads, diag);
    if (err) {
        return err;
    }
    struct ctr_diag why = {.off = CTR_NO_OFF};
    struct tally t = {.tr = tr, .diag = &why};
    t.wait = calloc((size_t)tr->nthreads + 1, sizeof(t.wait[0]));
    err = t.wait ? make_counters(&t, diag) : ctr_fail_nomem(diag);
    if (!err) {
        err = tr->has_index ? from_index(&f, &t) : -CTR_E_CORRUPT;
    }
    if (ctr_is_damage(err)) {
        err = forget(&t, diag);
        err = err ? err : from_chunks(&f, &t);
    }
    if (!err) {
        err = end_threads(&t);
    }
    if (!err) {
        err = report_counts(&(struct reporting){
            &t, fn, arg, filter && filter->privileges ? filter->privileges : UINT32_MAX});
    }
    if (err < 0 && diag && why.code) {
        *diag = why;
    }
    free(t.wait);
    free(t.full);
    free(t.falls);
    countmap_fini(&t.cuts);
    countmap_fini(&t.cut_falls);
    countmap_fini(&t.unknown);
    feed_fini(&f);
    return err;
}
