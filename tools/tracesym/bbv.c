/* SPDX-License-Identifier: MIT */
/*
 * Basic-block vectors; see bbv.h.
 *
 * Workers add up the runs of blocks in their chunk, for each interval that overlaps the
 * chunk.  The results are merged in order: an interval with parts in several chunks is
 * written when the thread reaches the next interval.
 */
#include "bbv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bbv_blocks.h"
#include "bbv_vectors.h"
#include "common/options.h"
#include "query/threads.h"
#include "common/progress.h"
#include "common/textbuf.h"
#include "input/trace.h"
#include "graph_priv.h"
#include "nothing.h"

/* The output of workers: an interval, or a part of one; n pairs follow. */
struct part {
    uint64_t interval;
    uint64_t n;
};
struct pair {
    uint64_t block; /* id */
    uint64_t insns;
    uint64_t ordinal; /* of the first instruction */
};

struct worker {
    uint64_t end;   /* ordinal at which the current interval ends */
    uint64_t start; /* ordinal at which the thread's first one begins */
    uint64_t interval;
    uint64_t *insns; /* in the current interval, by block id */
    uint32_t nr_ids;
    struct pair *touched; /* blocks in the current interval, insns not set yet */
    size_t nr_touched, cap;
} __attribute__((aligned(128)));

struct bbv {
    const struct bbv_options *opt;
    struct ctr_trace *trace;
    const struct places *places;
    struct worker *workers;
    struct progress progress;
    /* Used by the ordered callback only. */
    struct bbv_blocks blocks;
    struct place *where; /* of blocks, by number, with --bbv-pcs; module NULL: none */
    uint32_t nr_where;
    struct vectors vectors;
    uint32_t only; /* thread written to standard output, UINT32_MAX: none yet */
};

static void init_progress(struct bbv *v)
{
    if (v->opt->out) {
        progress_init_before_output(&v->progress, v->opt->prog, v->opt->quiet);
    } else {
        progress_init(&v->progress, v->opt->prog, v->opt->quiet);
    }
}

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct bbv *v = arg;

    progress_update(&v->progress, p->bytes_done, p->bytes, p->insns_done, "instructions");
    return 0;
}

/* -------------------------------------------------------------------- map */

static struct worker *worker_of(struct bbv *v, const struct ctr_job *job)
{
    return &v->workers[ctr_job_worker(job)];
}

static int on_begin(void *arg, struct ctr_job *job)
{
    struct bbv *v = arg;
    struct worker *w = worker_of(v, job);
    uint64_t first = ctr_job_thread(job)->first;

    w->start = v->opt->filter.from > first ? v->opt->filter.from : first;
    w->end = 0;
    return 0;
}

/* Outputs the current interval. */
static int output_interval(struct worker *w, struct ctr_job *job)
{
    size_t bytes = sizeof(struct part) + w->nr_touched * sizeof(struct pair);
    struct part part = {w->interval, w->nr_touched};
    char *p;

    if (!w->nr_touched) {
        return 0;
    }
    p = ctr_job_reserve(job, bytes);
    if (!p) {
        return BBV_STOP_NOMEM;
    }
    p = fmt_mem(p, (const char *)&part, sizeof(part));
    for (size_t i = 0; i < w->nr_touched; i++) {
        struct pair *pair = &w->touched[i];
        pair->insns = w->insns[pair->block];
        p = fmt_mem(p, (const char *)pair, sizeof(*pair));
        w->insns[pair->block] = 0;
    }
    ctr_job_commit(job, bytes);
    w->nr_touched = 0;
    return 0;
}

static bool room_for_id(struct worker *w, uint32_t id)
{
    uint32_t n = 2 * id + 1024;
    uint64_t *v = realloc(w->insns, n * sizeof(*v));

    if (!v) {
        return false;
    }
    memset(v + w->nr_ids, 0, (n - w->nr_ids) * sizeof(*v));
    w->insns = v;
    w->nr_ids = n;
    return true;
}

/* Adds a block that had no instructions in this interval. */
static bool touch(struct worker *w, uint32_t id, uint64_t ordinal)
{
    if (id >= w->nr_ids && !room_for_id(w, id)) {
        return false;
    }
    if (w->nr_touched == w->cap) {
        size_t cap = w->cap ? 2 * w->cap : 1024;
        struct pair *t = realloc(w->touched, cap * sizeof(*t));
        if (!t) {
            return false;
        }
        w->touched = t;
        w->cap = cap;
    }
    w->touched[w->nr_touched++] = (struct pair){.block = id, .ordinal = ordinal};
    return true;
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct bbv *v = arg;
    struct worker *w = worker_of(v, job);
    uint64_t ordinal = r->ordinal, left = r->end - r->first;
    uint32_t id = r->block->id;

    while (left) {
        uint64_t n;
        if (ordinal >= w->end) {
            if (output_interval(w, job)) {
                return BBV_STOP_NOMEM;
            }
            w->interval = (ordinal - w->start) / v->opt->interval;
            if (__builtin_mul_overflow(w->interval + 1, v->opt->interval, &w->end) ||
                __builtin_add_overflow(w->end, w->start, &w->end)) {
                w->end = UINT64_MAX;
            }
        }
        n = w->end - ordinal < left ? w->end - ordinal : left;
        if ((id >= w->nr_ids || !w->insns[id]) && !touch(w, id, ordinal)) {
            return BBV_STOP_NOMEM;
        }
        w->insns[id] += n;
        ordinal += n;
        left -= n;
    }
    return 0;
}

static int on_end(void *arg, struct ctr_job *job)
{
    return output_interval(worker_of(arg, job), job);
}

/* ------------------------------------------------------------------ reduce */

/* Stores the place of a new block. */
static bool note_place(struct bbv *v, uint32_t number, const struct ctr_block *b,
                       uint64_t ordinal, const struct ctr_job *job)
{
    const struct ctr_chunk *c = ctr_job_chunk(job);
    uint64_t until, time = places_time(v->places, c, ordinal, &until);
    struct place *where;

    if (number >= v->nr_where) {
        uint32_t n = 2 * number + 1024;
        where = realloc(v->where, n * sizeof(*where));
        if (!where) {
            return false;
        }
        v->where = where;
        v->nr_where = n;
    }
    where = &v->where[number];
    if (!places_find(v->places, ctr_job_thread(job)->process, time, c->end_ns, b->pc,
                     where)) {
        *where = (struct place){0};
    }
    return true;
}

static int several(const struct bbv *v)
{
    struct ctr_info info;

    ctr_trace_info(v->trace, &info);
    tool_error(v->opt->prog,
               "%s: several %s, or give files for the vectors of each with --output",
               v->opt->path,
               info.machine ? "vCPUs: choose one with --cpu"
                            : "threads: choose one with --thread");
    return BBV_STOP_REPORTED;
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct bbv *v = arg;
    uint32_t thread = ctr_job_thread(job)->index;
    const char *p = data, *end = p + n;
    int ret = 0;

    if (!v->opt->out && v->only != UINT32_MAX && v->only != thread) {
        return several(v);
    }
    v->only = thread;
    while (!ret && p < end) {
        struct part part;
        memcpy(&part, p, sizeof(part));
        p += sizeof(part);
        ret = vectors_interval(&v->vectors, thread, part.interval);
        for (uint64_t i = 0; !ret && i < part.n; i++) {
            const struct ctr_block *b;
            struct pair pair;
            bool fresh;
            uint32_t number;
            memcpy(&pair, p, sizeof(pair));
            p += sizeof(pair);
            b = ctr_trace_block(v->trace, (uint32_t)pair.block);
            number = bbv_blocks_number(&v->blocks, b, &fresh);
            if (!number || !vectors_add(&v->vectors, thread, number, pair.insns) ||
                (fresh && v->opt->pcs && !note_place(v, number, b, pair.ordinal, job))) {
                ret = BBV_STOP_NOMEM;
            }
        }
    }
    return ret;
}

/* --------------------------------------------------------------------- pcs */

/* F:id:pc:function, the pc without 0x */
static int write_pcs(struct bbv *v)
{
    FILE *f = fopen(v->opt->pcs, "we");
    int error = 0;

    if (!f) {
        return vectors_said(v->opt, v->opt->pcs, errno);
    }
    for (uint32_t i = 1; i <= v->blocks.n; i++) {
        const struct place *w = &v->where[i];
        const struct sym_function *s = w->module && w->module->file
                                           ? symfile_function(w->module->file, w->vaddr)
                                           : NULL;
        fprintf(f, "F:%" PRIu32 ":%" PRIx64 ":", i, v->blocks.blocks[i]->pc);
        if (s) {
            graph_write_name(s->name, f);
            fputc('\n', f);
        } else if (w->module) {
            graph_write_name(w->module->name, f);
            fprintf(f, "+0x%" PRIx64 "\n", w->vaddr);
        } else {
            fprintf(f, "?\n");
        }
    }
    if (ferror(f)) {
        error = errno ? errno : EIO;
    }
    if (fclose(f)) {
        error = errno;
    }
    return error ? vectors_said(v->opt, v->opt->pcs, error) : 0;
}

/* ------------------------------------------------------------------ replay */

static bool chosen(const struct ctr_filter *f, const struct ctr_thread *t)
{
    bool from = !f->from_thread || f->from_thread - 1 == t->index;
    bool to = f->to && (!f->to_thread || f->to_thread - 1 == t->index);

    return threads_selected(f, t) && (!from || t->first + t->insns > f->from) &&
           (!to || t->first < f->to) && t->insns;
}

/* For a file, checks before any output that only one thread is chosen. */
static int check_threads(const struct bbv *v)
{
    struct ctr_info info;
    const struct ctr_thread *t;
    unsigned n = 0;

    ctr_trace_info(v->trace, &info);
    for (uint32_t i = 0; info.seekable && (t = ctr_trace_thread(v->trace, i)); i++) {
        n += chosen(&v->opt->filter, t);
    }
    return !v->opt->out && n > 1 ? several(v) : 0;
}

static int finish(struct bbv *v)
{
    int ret = vectors_finish(&v->vectors);

    return ret || !v->opt->pcs ? ret : write_pcs(v);
}

static void free_bbv(struct bbv *v)
{
    for (unsigned i = 0; v->workers && i < v->opt->jobs; i++) {
        free(v->workers[i].insns);
        free(v->workers[i].touched);
    }
    free(v->workers);
    vectors_fini(&v->vectors);
    free(v->where);
    bbv_blocks_fini(&v->blocks);
}

static int status_of(const struct bbv_options *opt, int ret, const struct ctr_diag *diag)
{
    switch (ret) {
    case 0:
        return TOOL_OK;
    case BBV_STOP_EPIPE:
        return BBV_CUT_SHORT;
    case BBV_STOP_REPORTED:
        return TOOL_FAILED;
    case BBV_STOP_NOMEM:
        tool_error(opt->prog, "out of memory");
        return TOOL_FAILED;
    default:
        tool_trace_error(opt->prog, opt->path, ret, diag);
        return TOOL_FAILED;
    }
}

int bbv_write(struct ctr_trace *tr, const struct places *places,
              const struct bbv_options *opt)
{
    struct ctr_replay_ops ops = {
        .begin = on_begin,
        .run = on_run,
        .end = on_end,
        .ordered = on_ordered,
    };
    struct bbv v = {
        .opt = opt,
        .trace = tr,
        .places = places,
        .vectors = {.opt = opt, .trace = tr},
        .only = UINT32_MAX,
    };
    struct ctr_filter filter = opt->filter;
    struct ctr_replay_opts ropts = {.workers = opt->jobs, .filter = &filter};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret, last;

    filter.kinds = CTR_KIND_EXEC;
    ret = check_threads(&v);
    if (ret) {
        return status_of(opt, ret, NULL);
    }
    v.workers = aligned_alloc(_Alignof(struct worker), opt->jobs * sizeof(*v.workers));
    if (!v.workers) {
        return status_of(opt, BBV_STOP_NOMEM, NULL);
    }
    memset(v.workers, 0, opt->jobs * sizeof(*v.workers));
    init_progress(&v);
    ops.progress = v.progress.on ? on_progress : NULL;
    ret = ctr_trace_blocks(tr, &diag); /* bbv_blocks keeps them */
    ret = ret ? ret : ctr_replay(tr, &ops, &v, &ropts, &diag);
    if (ret <= 0) { /* what was read before an error is written, too */
        last = finish(&v);
        ret = ret ? ret : last;
    }
    progress_clear(&v.progress);
    free_bbv(&v);
    if (!ret && v.only == UINT32_MAX) {
        return nothing_ran(opt->prog, opt->path, tr, &opt->filter);
    }
    return status_of(opt, ret, &diag);
}
