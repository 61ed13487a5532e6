/* SPDX-License-Identifier: MIT */
/*
 * How often each block ran, from the index where there is one.  Without it
 * the word columns are decoded.
 */
#include "countmap.h"
#include "feed.h"

#include <string.h>

struct tally {
    uint64_t *full;  /* by id */
    uint64_t *falls; /* by id: fall-throughs */
    struct countmap cuts;
    struct ctr_diag *diag;
};

static int add_cut(struct tally *t, uint32_t id, unsigned first, unsigned end,
                   uint64_t count)
{
    return countmap_add(&t->cuts, CUT_KEY(id, first, end), count)
               ? ctr_fail_nomem(t->diag)
               : 0;
}

static int add_row(void *arg, uint32_t id, unsigned first, unsigned end, uint64_t count,
                   uint64_t falls)
{
    struct tally *t = arg;
    if (end) {
        return add_cut(t, id, first, end, count);
    }
    t->full[id] += count;
    t->falls[id] += falls;
    return 0;
}

/* last: the block whose whole run ended the thread's chunks so far, or 0. */
static int join_chunk(const struct ctr_trace *tr, struct tally *t, uint64_t i,
                      uint32_t *last, struct ctr_diag *diag)
{
    const struct ctr_chunk *c = &tr->chunks[i];
    const struct chunk_ends *e = &tr->ends[i];
    if (e->from > tr->nblocks_known || e->to > tr->nblocks_known) {
        return ctr_fail(diag, CTR_E_CORRUPT, c->off, "chunk",
                        "its first or last block has no definition");
    }
    if (c->runs == 0) {
        return 0;
    }
    if (*last && e->from) {
        t->falls[*last] +=
            ctr_trace_block(tr, e->from)->pc == block_end(ctr_trace_block(tr, *last));
    }
    *last = e->to;
    return 0;
}

static int from_index(struct feed *f, struct tally *t, uint32_t *last,
                      struct ctr_diag *diag)
{
    const struct ctr_trace *tr = f->tr;
    for (uint64_t i = 0; i < tr->nchunks; i++) {
        if (!feed_thread(f, ctr_trace_thread(tr, tr->chunks[i].thread))) {
            continue;
        }
        int err = part_reader_chunk(&f->index, i, add_row, t, NULL, 0, NULL, NULL, diag);
        if (!err) {
            err = join_chunk(tr, t, i, &last[tr->chunks[i].thread], diag);
        }
        if (err) {
            return err;
        }
    }
    return 0;
}

static int from_chunks(struct feed *f, struct tally *t, uint32_t *last,
                       struct ctr_diag *diag)
{
    struct raw_chunk raw = {.payload = {0}};
    struct decoder dec;
    if (decoder_init(&dec)) {
        return ctr_fail_nomem(diag);
    }
    int ret;
    while ((ret = feed_next(f, &raw, diag)) == 1) {
        ret = decoder_begin(&dec, f->tr, &raw, 0, diag);
        while (!ret) {
            struct run r;
            ret = decoder_next(&dec, &r);
            if (ret != 1) {
                break;
            }
            ret = 0;
            uint32_t *prev = &last[raw.pub.thread];
            const struct ctr_block *b = &r.block->pub;
            if (*prev && r.first == 0) {
                t->falls[*prev] += b->pc == block_end(ctr_trace_block(f->tr, *prev));
            }
            *prev = r.first == 0 && r.end == b->ninsn ? b->id : 0;
            if (*prev) {
                t->full[b->id]++;
            } else if (r.end > r.first) {
                ret = add_cut(t, r.block->pub.id, r.first, r.end, 1);
            }
        }
        if (ret) {
            break;
        }
    }
    decoder_fini(&dec);
    buf_free(&raw.payload);
    return ret;
}

static int tell_counts(const struct ctr_trace *tr, const struct tally *t,
                       int (*fn)(void *arg, const struct ctr_count *count), void *arg)
{
    for (uint32_t id = 1; id <= tr->nblocks_known; id++) {
        struct ctr_count c = {.block = ctr_trace_block(tr, id),
                              .full = t->full[id],
                              .fallthrough = t->falls[id]};
        c.end = c.block->ninsn;
        int ret = c.full ? fn(arg, &c) : 0;
        if (ret) {
            return ret;
        }
    }
    for (uint32_t i = 0; i < t->cuts.cap; i++) {
        const struct countmap_entry *e = &t->cuts.entry[i];
        if (e->key) {
            struct ctr_count c = {
                .block = ctr_trace_block(tr, CUT_BLOCK(e->key - 1)),
                .partial = e->count,
                .first = (uint16_t)CUT_FIRST(e->key - 1),
                .end = (uint16_t)CUT_END(e->key - 1),
            };
            int ret = c.end <= c.block->ninsn ? fn(arg, &c) : 0;
            if (ret) {
                return ret;
            }
        }
    }
    return 0;
}

int ctr_trace_counts(struct ctr_trace *tr, const struct ctr_filter *filter,
                     int (*fn)(void *arg, const struct ctr_count *count), void *arg,
                     struct ctr_diag *diag)
{
    if (!tr->src.seekable) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "counts", "not on a stream");
    }
    int err = ctr_trace_blocks(tr, diag);
    if (err) {
        return err;
    }
    struct feed f;
    struct ctr_filter threads = {0};
    if (filter) {
        threads.pids = filter->pids;
        threads.npid = filter->npid;
        threads.tids = filter->tids;
        threads.ntid = filter->ntid;
    }
    err = feed_init(&f, tr, &threads, diag);
    if (err) {
        return err;
    }
    struct tally t = {.diag = diag};
    uint32_t *last = calloc((size_t)tr->nthreads + 1, sizeof(last[0]));
    t.full = calloc((size_t)tr->nblocks_known + 1, sizeof(t.full[0]));
    t.falls = calloc((size_t)tr->nblocks_known + 1, sizeof(t.falls[0]));
    if (!t.full || !t.falls || !last) {
        err = ctr_fail_nomem(diag);
    } else {
        err = tr->has_index ? from_index(&f, &t, last, diag)
                            : from_chunks(&f, &t, last, diag);
    }
    if (!err) {
        err = tell_counts(tr, &t, fn, arg);
    }
    free(last);
    free(t.full);
    free(t.falls);
    countmap_fini(&t.cuts);
    feed_fini(&f);
    return err;
}
