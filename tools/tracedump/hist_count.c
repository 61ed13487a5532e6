/* SPDX-License-Identifier: MIT */
/*
 * Counts for --histogram: from the index how often each block ran, or from a replay runs
 * and accesses.
 *
 * The index knows all that counts of instructions need, unless a part of the trace is
 * chosen by time or place, or the same addresses belonged to several files.  Accesses are
 * always replayed: conditional ones, those of instructions that faulted and those of
 * helpers do not follow from counts of blocks.
 */
#include "hist.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The site of a block at an epoch of its worker; entries replace each other. */
struct recent {
    uint64_t epoch;
    uint32_t id, site;
};
#define NR_RECENT 4096u

/* The state of one worker, on cache lines of its own. */
struct hist_worker {
    struct hist_table runs;
    struct hist_table by[HIST_KINDS];
    struct recent *recent; /* [NR_RECENT] */
    struct ctr_chunk chunk;
    uint32_t process;
    uint64_t time, until; /* for places; it changes at the ordinal `until' */
    uint64_t epoch;       /* counts changes of chunk and time */
} __attribute__((aligned(128)));

struct replay {
    struct hist *h;
    struct hist_worker *workers;
    pthread_mutex_t lock; /* of h->site */
};

static struct hist_worker *worker_of(void *arg, const struct ctr_job *job)
{
    const struct replay *r = arg;

    return &r->workers[ctr_job_worker(job)];
}

static int or_nomem(bool ok)
{
    return ok ? 0 : DUMP_STOP_NOMEM;
}

/* ------------------------------------------------------------------- sites */

/* The number of a site; HIST_SITE_ALWAYS: no memory. */
static uint32_t number_site(struct replay *r, const struct module *module, uint64_t bias)
{
    struct hist *h = r->h;
    uint32_t i = 1;

    pthread_mutex_lock(&r->lock);
    while (i <= h->nr_sites && (h->site[i].module != module || h->site[i].bias != bias)) {
        i++;
    }
    if (i + 1 >= h->cap_sites) {
        uint32_t cap = 2 * h->cap_sites + 64;
        struct hist_site *v = realloc(h->site, cap * sizeof(*v));
        if (v) {
            h->site = v;
            h->cap_sites = cap;
        } else {
            i = HIST_SITE_ALWAYS;
        }
    }
    if (i > h->nr_sites) {
        h->site[i] = (struct hist_site){module, bias};
        h->nr_sites = i;
    }
    pthread_mutex_unlock(&r->lock);
    return i;
}

static bool find(const struct hist *h, const struct hist_worker *w, uint64_t pc,
                 struct place *out)
{
    return h->places &&
           places_find(h->places, w->process, w->time, w->chunk.end_ns, pc, out);
}

static uint32_t find_site(struct replay *r, const struct hist_worker *w,
                          const struct ctr_block *b)
{
    struct place place;

    if (!find(r->h, w, b->pc, &place)) {
        for (unsigned i = 1; i < b->ninsn; i++) {
            if (find(r->h, w, ctr_block_pc(b, i), &place)) {
                return HIST_SITE_MIXED;
            }
        }
        return number_site(r, NULL, 0);
    }
    for (unsigned i = 1; i < b->ninsn; i++) {
        uint64_t pc = ctr_block_pc(b, i);
        if (pc < place.start || pc >= place.end) {
            return HIST_SITE_MIXED;
        }
    }
    return number_site(r, place.module, place.vaddr - b->pc);
}

/* The site of a block that runs at an ordinal; HIST_SITE_ALWAYS: no memory. */
static uint32_t site_of(struct replay *r, struct hist_worker *w,
                        const struct ctr_block *b, uint64_t ordinal)
{
    struct recent *recent = &w->recent[b->id % NR_RECENT];

    if (ordinal >= w->until) {
        w->until = UINT64_MAX;
        w->epoch++;
        if (r->h->places) {
            w->time = places_time(r->h->places, &w->chunk, ordinal, &w->until);
        }
    }
    if (recent->id != b->id || recent->epoch != w->epoch) {
        *recent = (struct recent){w->epoch, b->id, find_site(r, w, b)};
    }
    return recent->site;
}

/* Counts instructions of a block that is in several files. */
static bool add_mixed(const struct hist *h, struct hist_worker *w,
                      const struct ctr_block *b, unsigned first, unsigned end)
{
    struct place place;

    for (unsigned i = first; i < end; i++) {
        bool found = find(h, w, ctr_block_pc(b, i), &place);
        if (!hist_add_place(h, w->by, found ? &place : NULL, 1)) {
            return false;
        }
    }
    return true;
}

static int add_run(struct replay *r, struct hist_worker *w, const struct ctr_block *b,
                   unsigned first, unsigned end, uint64_t ordinal)
{
    uint32_t site = HIST_SITE_ALWAYS;

    if (r->h->sites) {
        site = site_of(r, w, b, ordinal);
        if (site == HIST_SITE_ALWAYS ||
            (site == HIST_SITE_MIXED && !add_mixed(r->h, w, b, first, end))) {
            return DUMP_STOP_NOMEM;
        }
    }
    return or_nomem(
        hist_add(&w->runs, HIST_RUN_A(b->id, site), HIST_RUN_B(first, end), 0, 1));
}

/* --------------------------------------------------------------- callbacks */

static int on_begin(void *arg, struct ctr_job *job)
{
    struct hist_worker *w = worker_of(arg, job);

    if (!w->recent && !(w->recent = calloc(NR_RECENT, sizeof(*w->recent)))) {
        return DUMP_STOP_NOMEM;
    }
    w->chunk = *ctr_job_chunk(job);
    w->process = ctr_job_thread(job)->process;
    w->until = 0;
    return 0;
}

static bool add_access(const struct hist *h, struct hist_worker *w, uint64_t addr,
                       uint64_t size, bool store)
{
    if (!(h->opt->kinds & (store ? CTR_KIND_STORE : CTR_KIND_LOAD))) {
        return true;
    }
    return (!h->want[HIST_PAGE] ||
            hist_add(&w->by[HIST_PAGE], addr >> 12, 0, store, 1)) &&
           (!h->want[HIST_SIZE] || hist_add(&w->by[HIST_SIZE], size, 0, store, 1));
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *run)
{
    struct replay *r = arg;
    struct hist_worker *w = worker_of(arg, job);
    const struct ctr_access *a = run->access;
    int ret = 0;

    if (r->h->ordered && run->first < run->end) {
        ret = add_run(r, w, run->block, run->first, run->end, run->ordinal);
    }
    for (uint32_t i = 0; !ret && r->h->accesses && i < run->naccess; i++) {
        ret = or_nomem(add_access(r->h, w, a[i].addr, a[i].size, a[i].store));
    }
    return ret;
}

static int on_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    return add_run(arg, worker_of(arg, job), e->block, e->insn, e->insn + 1u, e->ordinal);
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct replay *r = arg;

    return or_nomem(add_access(r->h, worker_of(arg, job), m->addr, m->size, m->store));
}

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct replay *r = arg;

    progress_update(&r->h->progress, p->bytes_done, p->bytes, p->insns_done,
                    "instructions");
    return 0;
}

/* ------------------------------------------------------------------ replay */

/* As for printing: if no kind of access is shown, any makes its instruction count. */
static uint32_t kinds_of(const struct hist *h)
{
    const uint32_t both = CTR_KIND_LOAD | CTR_KIND_STORE;
    uint32_t accesses = h->opt->kinds & both;

    return CTR_KIND_EXEC | (accesses ? accesses : both);
}

static int merge(struct replay *r)
{
    struct hist *h = r->h;
    bool ok = true;

    for (unsigned i = 0; i < h->opt->jobs; i++) {
        ok = ok && hist_add_all(&h->runs, &r->workers[i].runs);
        for (unsigned k = 0; k < HIST_KINDS; k++) {
            ok = ok && hist_add_all(&h->by[k], &r->workers[i].by[k]);
        }
    }
    return or_nomem(ok);
}

static void free_workers(struct replay *r)
{
    for (unsigned i = 0; i < r->h->opt->jobs; i++) {
        struct hist_worker *w = &r->workers[i];
        hist_fini(&w->runs);
        for (unsigned k = 0; k < HIST_KINDS; k++) {
            hist_fini(&w->by[k]);
        }
        free(w->recent);
    }
    free(r->workers);
}

int hist_count_replay(struct hist *h, struct ctr_trace *tr, struct ctr_diag *diag)
{
    struct replay r = {.h = h};
    struct ctr_filter filter = h->opt->filter;
    struct ctr_replay_ops ops = {.begin = on_begin};
    struct ctr_replay_opts ropts = {.workers = h->opt->jobs, .filter = &filter};
    int ret, last;

    if (h->narrow) {
        filter.kinds = kinds_of(h);
        ops.exec = h->ordered ? on_exec : NULL;
        ops.mem = h->accesses ? on_mem : NULL;
    } else {
        filter.kinds = CTR_KIND_EXEC;
        ops.run = on_run;
        ropts.run_accesses = h->accesses ? CTR_RUN_ACCESSES : 0;
    }
    r.workers =
        aligned_alloc(_Alignof(struct hist_worker), h->opt->jobs * sizeof(*r.workers));
    if (!r.workers) {
        return DUMP_STOP_NOMEM;
    }
    memset(r.workers, 0, h->opt->jobs * sizeof(*r.workers));
    pthread_mutex_init(&r.lock, NULL);
    progress_init(&h->progress, PROG, h->opt->quiet);
    ops.progress = h->progress.on ? on_progress : NULL;
    ret = ctr_replay(tr, &ops, &r, &ropts, diag);
    progress_clear(&h->progress);
    /* What was read is shown, also before an error. */
    last = ret <= 0 ? merge(&r) : 0;
    pthread_mutex_destroy(&r.lock);
    free_workers(&r);
    return ret ? ret : last;
}

/* ------------------------------------------------------------------- index */

/* Whether the place of an instruction depends on process or time. */
static bool is_ambiguous(const struct hist *h, const struct ctr_count *c)
{
    unsigned first = c->full ? 0 : c->first, end = c->full ? c->block->ninsn : c->end;
    struct place place;

    for (unsigned i = first; h->places && i < end; i++) {
        if (places_find_always(h->places, ctr_block_pc(c->block, i), &place) < 0) {
            return true;
        }
    }
    return false;
}

#define STOP_AMBIGUOUS 100 /* no enum dump_stop */

static int on_count(void *arg, const struct ctr_count *c)
{
    struct hist *h = arg;
    const struct ctr_block *b = c->block;

    if (h->sites && is_ambiguous(h, c)) {
        return STOP_AMBIGUOUS;
    }
    return or_nomem(hist_add(&h->runs, HIST_RUN_A(b->id, HIST_SITE_ALWAYS),
                             HIST_RUN_B(0, b->ninsn), 0, c->full) &&
                    hist_add(&h->runs, HIST_RUN_A(b->id, HIST_SITE_ALWAYS),
                             HIST_RUN_B(c->first, c->end), 0, c->partial));
}

int hist_count_index(struct hist *h, struct ctr_trace *tr, struct ctr_diag *diag)
{
    int ret = ctr_trace_counts(tr, &h->opt->filter, on_count, h, diag);

    h->ordered = ret == STOP_AMBIGUOUS;
    if (h->ordered) {
        hist_fini(&h->runs);
        return 0;
    }
    return ret;
}
