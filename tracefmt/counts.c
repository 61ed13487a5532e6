/* SPDX-License-Identifier: MIT */
/*
 * How often each block ran, from the index where there is one.  Without it
 * the word columns are decoded.
 */
#include "countmap.h"
#include "feed.h"

#include <string.h>

struct tally {
    uint64_t *full; /* by id */
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

static int add_row(void *arg, uint32_t id, unsigned first, unsigned end, uint64_t count)
{
    struct tally *t = arg;
    if (end) {
        return add_cut(t, id, first, end, count);
    }
    t->full[id] += count;
    return 0;
}

static int from_index(struct feed *f, struct tally *t, struct ctr_diag *diag)
{
    const struct ctr_trace *tr = f->tr;
    for (uint64_t i = 0; i < tr->nchunks; i++) {
        if (!feed_thread(f, ctr_trace_thread(tr, tr->chunks[i].thread))) {
            continue;
        }
        int err = part_reader_chunk(&f->index, i, add_row, t, NULL, 0, NULL, NULL, diag);
        if (err) {
            return err;
        }
    }
    return 0;
}

static int from_chunks(struct feed *f, struct tally *t, struct ctr_diag *diag)
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
            if (r.first == 0 && r.end == r.block->pub.ninsn) {
                t->full[r.block->pub.id]++;
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
        struct ctr_count c = {.block = ctr_trace_block(tr, id), .full = t->full[id]};
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
    t.full = calloc((size_t)tr->nblocks_known + 1, sizeof(t.full[0]));
    if (!t.full) {
        err = ctr_fail_nomem(diag);
    } else {
        err = tr->has_index ? from_index(&f, &t, diag) : from_chunks(&f, &t, diag);
    }
    if (!err) {
        err = tell_counts(tr, &t, fn, arg);
    }
    free(t.full);
    countmap_fini(&t.cuts);
    feed_fini(&f);
    return err;
}
