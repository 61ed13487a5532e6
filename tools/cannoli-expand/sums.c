/* SPDX-License-Identifier: MIT */
/*
 * The same program is not cut into the same blocks and chunks where other kinds of events are
 * recorded, so a sum must not depend on them, and workers must be able to add to it in any
 * order.  With the hash h(i) of instruction i it is the sum of (2 i + 1) h(i), modulo 2^64: a
 * run from instruction i on adds (2 i + 1) S + 2 T, with S the sum of its hashes and T that of
 * their products with 0, 1, 2 ..., which are differences of sums that each block has once.
 */
#include "sums.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/hash.h"
#include "common/options.h"

/* Of a block's first k instructions: sums of their hashes, and of hashes by numbers. */
struct block_sums {
    uint64_t hashes, products;
};

struct worker {
    struct block_sums **block; /* by id */
    _Atomic uint64_t *sum;     /* where it adds now; NULL: nowhere yet */
    uint64_t pending;
};

struct summing {
    struct sums *sums;
    struct worker *worker;
    unsigned nr_workers;
    uint32_t nr_blocks;
    struct progress *progress;
};

/* FNV-1a moves few bits up: this spreads them (the finalizer of splitmix64). */
static uint64_t spread(uint64_t h)
{
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

static struct block_sums *block_sums_make(const struct ctr_block *b)
{
    struct block_sums *s = malloc(((size_t)b->ninsn + 1) * sizeof(*s));

    if (s) {
        s[0] = (struct block_sums){0, 0};
    }
    for (unsigned i = 0; s && i < b->ninsn; i++) {
        const uint64_t pc = ctr_block_pc(b, i);
        uint64_t h = hash_bytes(HASH_START, &pc, sizeof(pc));

        h = spread(hash_bytes(h, ctr_block_bytes(b, i), ctr_block_len(b, i)));
        s[i + 1].hashes = s[i].hashes + h;
        s[i + 1].products = s[i].products + i * h;
    }
    return s;
}

/* Adds what is pending.  The counterpart is another worker that adds to the same sum; what
 * they all added is read after the replay. */
static void flush(struct worker *w)
{
    if (w->sum) {
        atomic_fetch_add_explicit(w->sum, w->pending, memory_order_relaxed);
    }
    w->sum = NULL;
    w->pending = 0;
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct summing *s = arg;
    struct worker *w = &s->worker[ctr_job_worker(job)];
    struct block_sums **block = &w->block[r->block->id];
    const size_t first_sum = s->sums->first[r->thread->index];
    uint64_t ordinal = r->ordinal;

    if (!*block && !(*block = block_sums_make(r->block))) {
        return -CTR_E_NOMEM;
    }
    for (unsigned first = r->first; first < r->end;) {
        const uint64_t left = SUM_INSNS - ordinal % SUM_INSNS;
        const unsigned n = r->end - first < left ? r->end - first : (unsigned)left;
        const struct block_sums *a = *block + first, *b = a + n;
        const uint64_t hashes = b->hashes - a->hashes;

        if (w->sum != &s->sums->v[first_sum + ordinal / SUM_INSNS]) {
            flush(w);
            w->sum = &s->sums->v[first_sum + ordinal / SUM_INSNS];
        }
        w->pending +=
            (2 * (ordinal - first) + 1) * hashes + 2 * (b->products - a->products);
        ordinal += n;
        first += n;
    }
    return 0;
}

static int on_end(void *arg, struct ctr_job *job)
{
    struct summing *s = arg;

    flush(&s->worker[ctr_job_worker(job)]);
    return 0;
}

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct summing *s = arg;

    progress_update(s->progress, p->bytes_done, p->bytes, p->insns_done,
                    "instructions compared");
    return 0;
}

static void free_workers(struct summing *s)
{
    for (unsigned i = 0; s->worker && i < s->nr_workers; i++) {
        for (uint32_t k = 0; s->worker[i].block && k < s->nr_blocks; k++) {
            free(s->worker[i].block[k]);
        }
        free(s->worker[i].block);
    }
    free(s->worker);
}

/* Room for the sums of all threads. */
static int prepare(struct sums *s, const struct ctr_trace *tr, uint32_t threads)
{
    s->first = calloc((size_t)threads + 1, sizeof(*s->first));
    for (uint32_t i = 0; s->first && i < threads; i++) {
        const struct ctr_thread *t = ctr_trace_thread(tr, i);
        const uint64_t insns = t->first + t->insns;

        s->first[i + 1] = s->first[i] + (size_t)(insns / SUM_INSNS) + 1;
    }
    s->v = s->first ? calloc(s->first[threads] + 1, sizeof(*s->v)) : NULL;
    return s->v ? 0 : -CTR_E_NOMEM;
}

int sums_make(struct sums *s, struct ctr_trace *tr, uint64_t from, uint64_t to,
              struct progress *progress, struct ctr_diag *diag)
{
    static const struct ctr_replay_ops ops = {
        .run = on_run, .end = on_end, .progress = on_progress};
    const struct ctr_filter filter = {.kinds = CTR_KIND_EXEC, .from = from, .to = to};
    struct summing all = {
        .sums = s, .progress = progress, .nr_workers = tool_default_jobs()};
    const struct ctr_replay_opts opts = {.workers = all.nr_workers, .filter = &filter};
    struct ctr_info info;
    int ret = -CTR_E_NOMEM;

    ctr_trace_info(tr, &info);
    all.nr_blocks = info.blocks + 1;
    all.worker = calloc(all.nr_workers, sizeof(*all.worker));
    for (unsigned i = 0; all.worker && i < all.nr_workers; i++) {
        all.worker[i].block = calloc(all.nr_blocks, sizeof(*all.worker[i].block));
        if (!all.worker[i].block) {
            goto out;
        }
    }
    if (all.worker && !prepare(s, tr, info.threads)) {
        ret = ctr_replay(tr, &ops, &all, &opts, diag);
    }
out:
    free_workers(&all);
    return ret;
}

void sums_free(struct sums *s)
{
    free((void *)s->v);
    free(s->first);
}
