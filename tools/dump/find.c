/* SPDX-License-Identifier: MIT */
/*
 * tracedump --find: where was a pattern of bytes loaded, stored, read or written?
 *
 * Workers look through the accesses of their chunks.  A pattern that one access has whole
 * is printed at once.  Pieces of it go to the ordered callback, which joins them
 * (find_answer.c), and with them the accesses that can end what pieces began: those near a
 * piece of the chunk, and all of the first instructions of a chunk, because a worker does not
 * know what the chunk before has.
 */
#include "dump/find_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/options.h"
#include "input/trace.h"

#define NEAR 1024u    /* lines of addresses by their lowest bits */
#define NEAR_SPAN 16u /* a longer access is near without a look */
#define OTHERS 128u

/* Of a search in one access, besides 0 and enum dump_stop. */
#define FIND_NO_PIECE (-1)

struct find_worker {
    struct line_task task;           /* of the run */
    uint64_t loads, stores, unknown; /* accesses searched; without a value */
    uint64_t buffers, cut;           /* of the system; known in part only */
    uint64_t found;
    uint64_t begin;       /* before this ordinal every access is handed over, */
    uint64_t watch;       /* and up to this one those near a piece */
    uint64_t others_from; /* ordinal of the first of: */
    unsigned nothers;
    struct find_other others[OTHERS];
    uint64_t near[2][NEAR]; /* by flow: ordinal of the latest piece there, plus 1 */
    struct hits hits;
    struct access_printer *printer;
} __attribute__((aligned(128)));

static struct find_worker *worker_of(const struct find *f, const struct ctr_job *job)
{
    return &f->workers[ctr_job_worker(job)];
}

/* ------------------------------------------------------------------ records */

/* Room for a record, after its header; NULL: no memory. */
static uint8_t *put_record(struct ctr_job *job, enum record_kind kind, uint64_t ordinal,
                           uint64_t bytes)
{
    const struct find_record r = {.ordinal = ordinal, .bytes = bytes, .kind = kind};
    const uint64_t all = sizeof(r) + bytes + (-bytes & 7);
    uint8_t *p = ctr_job_reserve(job, all);

    if (!p) {
        return NULL;
    }
    memcpy(p, &r, sizeof(r));
    memset(p + sizeof(r) + bytes, 0, -bytes & 7);
    ctr_job_commit(job, all);
    return p + sizeof(r);
}

static int put_others(struct find_worker *w, struct ctr_job *job)
{
    const size_t bytes = w->nothers * sizeof(w->others[0]);
    uint8_t *p;

    if (!w->nothers) {
        return 0;
    }
    p = put_record(job, RECORD_OTHERS, w->others_from, bytes);
    if (!p) {
        return DUMP_STOP_NOMEM;
    }
    memcpy(p, w->others, bytes);
    w->nothers = 0;
    return 0;
}

/* An access with what it has of the pattern, in w->hits. */
static int put_access(struct find_worker *w, struct ctr_job *job, uint64_t ordinal,
                      struct find_access *a, const uint8_t *data)
{
    const struct hits *h = &w->hits;
    const size_t first = a->flow == FLOW_LOAD || a->flow == FLOW_STORE ? h->nwhole : 0;
    const size_t hits = (h->n - first) * sizeof(h->at[0]);
    const size_t bytes = a->has_data ? a->kept : 0;
    int ret = put_others(w, job);
    uint8_t *p;

    a->nwhole = h->nwhole - first;
    a->nhits = h->n - first;
    p = ret ? NULL : put_record(job, RECORD_ACCESS, ordinal, sizeof(*a) + hits + bytes);
    if (!p) {
        return DUMP_STOP_NOMEM;
    }
    p = memcpy(p, a, sizeof(*a));
    p += sizeof(*a);
    if (hits) {
        memcpy(p, h->at + first, hits);
    }
    if (bytes) {
        memcpy(p + hits, data, bytes);
    }
    return 0;
}

/* --------------------------------------------------------------- near pieces */

static void note_near(const struct find *f, struct find_worker *w, uint64_t ordinal,
                      const struct ctr_access *a)
{
    const unsigned shift = pieces_shift(&f->pattern);

    for (size_t i = w->hits.nwhole; i < w->hits.n; i++) {
        const uint64_t place = a->addr + (uint64_t)w->hits.at[i];

        w->near[a->store][place >> shift & (NEAR - 1)] = ordinal + 1;
        w->near[a->store][(place + f->pattern.n - 1) >> shift & (NEAR - 1)] = ordinal + 1;
    }
    if (ordinal + f->request->within > w->watch) {
        w->watch = ordinal + f->request->within;
    }
}

static bool is_near(const struct find *f, const struct find_worker *w, uint64_t ordinal,
                    const struct ctr_access *a)
{
    const unsigned shift = pieces_shift(&f->pattern);
    const uint64_t from = a->addr >> shift, to = (a->addr + a->size - 1) >> shift;

    if (to - from >= NEAR_SPAN) {
        return true;
    }
    for (uint64_t line = from; line <= to; line++) {
        uint64_t at = w->near[a->store][line & (NEAR - 1)];

        if (at && at + f->request->within > ordinal) {
            return true;
        }
    }
    return false;
}

/* An access that is no piece. */
static int take_other(struct find_worker *w, struct ctr_job *job, uint64_t ordinal,
                      const struct ctr_access *a)
{
    if (w->nothers == OTHERS) {
        int ret = put_others(w, job);

        if (ret) {
            return ret;
        }
    }
    w->others_from = w->nothers ? w->others_from : ordinal;
    w->others[w->nothers++] = (struct find_other){
        .addr = a->addr, .size = a->size, .flow = a->store ? FLOW_STORE : FLOW_LOAD};
    return 0;
}

/* ----------------------------------------------------------------- accesses */

/* Prints the patterns that an access has whole. */
static int put_whole(const struct find *f, struct find_worker *w, struct ctr_job *job,
                     const struct ctr_run *r, uint64_t ordinal,
                     const struct ctr_access *a)
{
    const struct ctr_mem m = {
        .ordinal = ordinal,
        .pc = ctr_block_pc(r->block, a->insn),
        .addr = a->addr,
        .size = a->size,
        .store = a->store,
        .big_endian = (a->flags & CTR_ACC_BE) != 0,
        .insn = a->insn,
        .data = a->data,
        .block = r->block,
        .thread = r->thread,
    };
    int ret = put_others(w, job);

    for (size_t i = 0; i < w->hits.nwhole && !ret; i++) {
        const uint64_t place = a->addr + (uint64_t)w->hits.at[i];
        const struct textbuf *line;
        uint8_t *p;

        if (!find_selected(f, r->thread->process, place)) {
            continue;
        }
        line = access_printer_put(w->printer, &m, place, &w->task);
        p = line ? put_record(job, RECORD_TEXT, ordinal, line->len) : NULL;
        if (!p) {
            return DUMP_STOP_NOMEM;
        }
        memcpy(p, line->data, line->len);
        w->found++;
    }
    return ret;
}

/* An access that may have something of the pattern; FIND_NO_PIECE, 0 or an
 * enum dump_stop. */
static int search_access(const struct find *f, struct find_worker *w, struct ctr_job *job,
                         const struct ctr_run *r, uint64_t ordinal,
                         const struct ctr_access *a, bool watch)
{
    struct find_access access;
    int ret;

    if (!pattern_search(&f->pattern, a->data, a->size, &w->hits)) {
        return DUMP_STOP_NOMEM;
    }
    if (w->hits.nwhole) {
        ret = put_whole(f, w, job, r, ordinal, a);
        if (ret) {
            return ret;
        }
    }
    if (w->hits.n == w->hits.nwhole) {
        return FIND_NO_PIECE;
    }
    if (!w->hits.strong && !watch) {
        return 0;
    }
    access = (struct find_access){
        .addr = a->addr,
        .size = a->size,
        .kept = a->size,
        .flow = a->store ? FLOW_STORE : FLOW_LOAD,
        .block = r->block->id,
        .insn = a->insn,
        .big_endian = (a->flags & CTR_ACC_BE) != 0,
        .has_data = true,
        .task = w->task,
    };
    note_near(f, w, ordinal, a);
    return put_access(w, job, ordinal, &access, a->data);
}

/* Whether the options select an access. */
static bool is_selected(const struct find *f, const struct ctr_run *r,
                        const struct ctr_access *a)
{
    const struct ctr_filter *filter = &f->opt->filter;

    return f->flows[a->store ? FLOW_STORE : FLOW_LOAD] &&
           find_wide(f, r->thread, a->addr, a->size) &&
           (!filter->npc || find_in_ranges(filter->pcs, filter->npc, r->thread->process,
                                           ctr_block_pc(r->block, a->insn), 1));
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    const struct find *f = arg;
    struct find_worker *w = worker_of(f, job);
    const bool narrow = f->narrow, joins = f->pattern.joins;

    line_task_take(&w->task, job);
    for (const struct ctr_access *a = r->access, *end = a + r->naccess; a < end; a++) {
        const uint64_t ordinal = r->ordinal + a->insn - r->first;
        bool watch;
        int ret = FIND_NO_PIECE;

        if (narrow && !is_selected(f, r, a)) {
            continue;
        }
        w->loads += !a->store;
        w->stores += a->store;
        /* It may be to a place that pieces have begun. */
        watch = joins && r->ordinal <= w->watch &&
                (ordinal < w->begin || is_near(f, w, ordinal, a));
        if (!a->data) {
            w->unknown++;
        } else if (pattern_may_be(&f->pattern, a->data, a->size, watch)) {
            ret = search_access(f, w, job, r, ordinal, a, watch);
        }
        if (ret == FIND_NO_PIECE) {
            ret = watch ? take_other(w, job, ordinal, a) : 0;
        }
        if (ret) {
            return ret;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------- system */

static int on_buffer(const struct find *f, struct find_worker *w, struct ctr_job *job,
                     const struct ctr_os_event *e, const struct ctr_usermem *m)
{
    const uint32_t flow = m->flags & CTR_USERMEM_WRITE ? FLOW_SYS_WRITE : FLOW_SYS_READ;
    struct find_access access = {
        .addr = m->addr,
        .size = m->size,
        .kept = m->n < m->size ? m->n : m->size,
        .time_ns = e->time_ns,
        .flow = flow,
    };

    if (!f->flows[flow] || !m->size || !find_wide(f, e->thread, m->addr, m->size)) {
        return 0;
    }
    w->buffers++;
    w->cut += access.kept < m->size;
    w->hits.n = w->hits.nwhole = 0;
    if (access.kept && !pattern_search(&f->pattern, m->data, access.kept, &w->hits)) {
        return DUMP_STOP_NOMEM;
    }
    return w->hits.n || f->pattern.joins ? put_access(w, job, e->ordinal, &access, NULL)
                                         : 0;
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct find *f = arg;
    struct find_worker *w = worker_of(f, job);
    struct ctr_syscall call;
    struct ctr_usermem m;
    uint8_t *p;

    if (!ctr_parse_usermem(e, &m)) {
        return on_buffer(f, w, job, e, &m);
    }
    if (ctr_parse_syscall(e, &call)) {
        return 0;
    }
    if (e->type == CTR_EVENT_SYSRET) {
        call.name.n = 0;
    }
    p = put_record(job, RECORD_CALL, e->ordinal, call.name.n);
    if (p && call.name.n) {
        memcpy(p, call.name.p, call.name.n);
    }
    return p ? 0 : DUMP_STOP_NOMEM;
}

/* ------------------------------------------------------------------- replay */

static int on_begin(void *arg, struct ctr_job *job)
{
    const struct find *f = arg;
    struct find_worker *w = worker_of(f, job);
    const struct ctr_chunk *chunk = ctr_job_chunk(job);
    const struct ctr_thread *t = ctr_job_thread(job);

    if (!w->printer && !(w->printer = access_printer_new(&f->info, f->opt))) {
        return DUMP_STOP_NOMEM;
    }
    access_printer_chunk(w->printer, chunk, t);
    memset(w->near, 0, sizeof(w->near));
    w->nothers = 0;
    /* Before the first chunk of a thread there is no piece. */
    w->begin = chunk->first == t->first ? 0 : chunk->first + f->request->within;
    w->watch = w->begin;
    return 0;
}

static int on_end(void *arg, struct ctr_job *job)
{
    return put_others(worker_of(arg, job), job);
}

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct find *f = arg;

    progress_update(&f->progress, p->bytes_done, p->bytes, p->insns_done, "instructions");
    return 0;
}

/* Reads accesses, buffers or both.  Chunks are skipped by address if there are no
 * buffers among what is read, since these have none in the index. */
static int replay(struct find *f, bool accesses, bool buffers, struct ctr_diag *diag)
{
    struct ctr_filter filter = f->opt->filter;
    const struct ctr_replay_opts opts = {
        .workers = f->opt->jobs,
        .filter = &filter,
        .run_accesses = CTR_RUN_VALUES,
        .tasks = 1,
    };
    const struct ctr_replay_ops ops = {
        .begin = on_begin,
        .run = accesses ? on_run : NULL,
        .os = buffers ? on_os : NULL,
        .end = on_end,
        .ordered = answer_ordered,
        .progress = f->progress.on ? on_progress : NULL,
    };

    filter.kinds = (accesses && f->flows[FLOW_LOAD] ? CTR_KIND_LOAD : 0) |
                   (accesses && f->flows[FLOW_STORE] ? CTR_KIND_STORE : 0) |
                   (buffers ? CTR_KIND_SYS : 0);
    filter.addrs = f->wide;
    filter.naddr = buffers ? 0 : filter.naddr;
    return ctr_replay(f->tr, &ops, f, &opts, diag);
}

static int replay_all(struct find *f, struct ctr_diag *diag)
{
    const bool accesses = f->flows[FLOW_LOAD] || f->flows[FLOW_STORE];
    const bool buffers = f->flows[FLOW_SYS_READ] || f->flows[FLOW_SYS_WRITE];
    int ret;

    if (!accesses || !buffers || !f->wide || !f->info.has_index) {
        return replay(f, accesses, buffers, diag);
    }
    f->keep = true;
    ret = replay(f, false, true, diag);
    f->keep = false;
    return ret ? ret : replay(f, true, false, diag);
}

/* -------------------------------------------------------------------- setup */

/* Which flows the options choose and the trace has. */
static void choose_flows(struct find *f)
{
    const uint32_t kinds = f->opt->kinds;
    const bool load = kinds & CTR_KIND_LOAD, store = kinds & CTR_KIND_STORE;
    const bool val = f->info.events & CTR_HAS_VAL;
    /* Buffers have no pc. */
    const bool sys =
        kinds & CTR_KIND_SYS && f->info.events & CTR_HAS_SYS && !f->opt->filter.npc;

    f->flows[FLOW_LOAD] = load && val;
    f->flows[FLOW_STORE] = store && val;
    f->flows[FLOW_SYS_READ] = sys && (load || !store);
    f->flows[FLOW_SYS_WRITE] = sys && (store || !load);
    f->narrow = f->opt->filter.npc || f->opt->filter.naddr || load != store;
}

static int set_up(struct find *f)
{
    const struct dump_options *opt = f->opt;

    os_printer_init(&f->os, f->tr, opt);
    f->workers = aligned_alloc(_Alignof(struct find_worker),
                               opt->jobs * sizeof(struct find_worker));
    if (!f->workers) {
        return DUMP_STOP_NOMEM;
    }
    memset(f->workers, 0, opt->jobs * sizeof(struct find_worker));
    if (!find_widen(f)) {
        return DUMP_STOP_NOMEM;
    }
    return 0;
}

static void free_find(struct find *f)
{
    for (unsigned i = 0; f->workers && i < f->opt->jobs; i++) {
        hits_fini(&f->workers[i].hits);
        access_printer_free(f->workers[i].printer);
    }
    free(f->workers);
    free(f->wide);
    answer_fini(f);
}

/* ------------------------------------------------------------------ summary */

static void add_up(const struct find *f, struct find_worker *sum)
{
    for (unsigned i = 0; i < f->opt->jobs; i++) {
        const struct find_worker *w = &f->workers[i];

        sum->loads += w->loads;
        sum->stores += w->stores;
        sum->unknown += w->unknown;
        sum->buffers += w->buffers;
        sum->cut += w->cut;
        sum->found += w->found;
    }
}

/* "5 loads", after a comma if it is not the first; false: no memory. */
static bool put_count(struct textbuf *b, bool searched, uint64_t n, const char *what)
{
    return !searched ||
           textbuf_printf(b, "%s%" PRIu64 " %s", b->len ? ", " : "", n, what);
}

/* Nothing was found: says among what. */
static void report_nothing(const struct find *f, const struct find_worker *sum)
{
    struct textbuf b = {0};
    bool ok = put_count(&b, f->flows[FLOW_LOAD], sum->loads, "loads") &&
              put_count(&b, f->flows[FLOW_STORE], sum->stores, "stores") &&
              put_count(&b, f->flows[FLOW_SYS_READ] || f->flows[FLOW_SYS_WRITE],
                        sum->buffers, "buffers of the system");

    if (ok && sum->unknown) {
        ok = textbuf_printf(&b, "; the values of %" PRIu64 " accesses were not recorded",
                            sum->unknown);
    }
    if (ok && sum->cut) {
        ok = textbuf_printf(&b,
                            "; %" PRIu64 " buffers were recorded in part only, see "
                            "--data-limit of cannoli-record",
                            sum->cut);
    }
    if (ok) {
        tool_error(f->opt->prog, "%s: not found in %.*s", f->opt->path, (int)b.len,
                   b.data);
    }
    textbuf_fini(&b);
}

/* Says what the trace cannot answer; false if it is all of the question. */
static bool report_missing(const struct find *f)
{
    const bool want = f->opt->kinds & (CTR_KIND_LOAD | CTR_KIND_STORE);
    const bool val = f->info.events & CTR_HAS_VAL;
    const bool buffers = f->flows[FLOW_SYS_READ] || f->flows[FLOW_SYS_WRITE];

    if (want && !val) {
        tool_error(f->opt->prog,
                   "%s: values of accesses were not recorded (cannoli-record -e "
                   "val)%s",
                   f->opt->path, buffers ? "; searching buffers of the system" : "");
    } else if (!f->flows[FLOW_LOAD] && !f->flows[FLOW_STORE] && !buffers) {
        tool_error(f->opt->prog, "%s: buffers of the system %s", f->opt->path,
                   f->opt->filter.npc ? "have no pc" : "were not recorded");
    }
    if (!f->pattern.joins && f->pattern.n > 1 && !f->opt->quiet) {
        tool_error(f->opt->prog,
                   "the pattern repeats itself: it is searched in single accesses "
                   "only");
    }
    return f->flows[FLOW_LOAD] || f->flows[FLOW_STORE] || buffers;
}

int dump_find(struct ctr_trace *tr, const struct dump_options *opt,
              const struct find_request *request)
{
    struct find f = {.tr = tr, .opt = opt, .request = request};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct find_worker sum = {0};
    int ret, status;

    ctr_trace_info(tr, &f.info);
    pattern_init(&f.pattern, request, f.info.big_endian);
    choose_flows(&f);
    if (!report_missing(&f)) {
        return TOOL_NOTHING;
    }
    progress_init(&f.progress, opt->prog, opt->quiet);
    ret = set_up(&f);
    if (!ret) {
        ret = replay_all(&f, &diag);
        progress_clear(&f.progress);
        /* What was found is shown, also before an error. */
        if (ret <= 0) {
            int last = answer_end(&f);
            ret = ret ? ret : last;
        }
        add_up(&f, &sum);
    }
    status = dump_replay_status(opt, ret, f.sys_errno, &diag);
    if (status == TOOL_OK) {
        status = places_status(opt->places);
    }
    if (status == TOOL_OK && f.found + sum.found == 0) {
        report_nothing(&f, &sum);
        status = TOOL_NOTHING;
    }
    free_find(&f);
    return status;
}
