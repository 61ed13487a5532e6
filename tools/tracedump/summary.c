/* SPDX-License-Identifier: MIT */
/*
 * tracedump --summary: counts what the options select, per thread and in total.
 *
 * It does not read counts from the index; workers replay the chunks.  Runs of blocks
 * contain their numbers of instructions and accesses, which is fast; with --pc and --addr
 * each instruction and access has to be checked.
 */
#include "tracedump.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "query/filter_options.h"
#include "input/machine.h"

struct count {
    uint64_t insns, loads, stores, runs;
};

/* The state of one worker, on cache lines of its own. */
struct counter {
    struct count *threads; /* by index in the thread table */
    uint32_t nr_threads;
    struct count *at; /* of the current piece */
} __attribute__((aligned(128)));

struct summary {
    const struct dump_options *opt;
    struct counter *workers;
    struct progress progress;
};

static int on_begin(void *arg, struct ctr_job *job)
{
    struct summary *s = arg;
    struct counter *w = &s->workers[ctr_job_worker(job)];
    uint32_t i = ctr_job_thread(job)->index;

    if (i >= w->nr_threads) {
        uint32_t n = 2 * i + 16;
        struct count *v = realloc(w->threads, n * sizeof(*v));
        if (!v) {
            return DUMP_STOP_NOMEM;
        }
        memset(v + w->nr_threads, 0, (n - w->nr_threads) * sizeof(*v));
        w->threads = v;
        w->nr_threads = n;
    }
    w->at = &w->threads[i];
    return 0;
}

static struct count *count_of(void *arg, const struct ctr_job *job)
{
    const struct summary *s = arg;

    return s->workers[ctr_job_worker(job)].at;
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    struct count *c = count_of(arg, job);

    c->insns += (uint64_t)(r->end - r->first);
    c->loads += r->loads;
    c->stores += r->stores;
    c->runs++;
    return 0;
}

static int on_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)e;
    count_of(arg, job)->insns++;
    return 0;
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    struct count *c = count_of(arg, job);

    c->loads += !m->store;
    c->stores += m->store;
    return 0;
}

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct summary *s = arg;

    progress_update(&s->progress, p->bytes_done, p->bytes, p->insns_done, "instructions");
    return 0;
}

/* ------------------------------------------------------------------ output */

/* Prints one thread, or the total if t is NULL. */
static bool put_count(struct textbuf *b, const struct ctr_info *info,
                      const struct dump_options *opt, const struct count *c,
                      const struct ctr_thread *t)
{
    char id[THREAD_TEXT];
    const bool in_runs = !opt->filter.npc && !filter_by_addr(&opt->filter);
    bool ok = true;

    if (opt->json) {
        ok = t ? textbuf_printf(b, "{\"kind\":\"summary\",\"pid\":%d,\"tid\":%d", t->pid,
                                t->tid)
               : textbuf_printf(b, "{\"kind\":\"summary\"");
        ok = ok && textbuf_printf(b,
                                  ",\"instructions\":%" PRIu64 ",\"loads\":%" PRIu64
                                  ",\"stores\":%" PRIu64,
                                  c->insns, c->loads, c->stores);
        ok = ok && (!in_runs || textbuf_printf(b, ",\"runs\":%" PRIu64, c->runs));
        return ok && textbuf_printf(b, "}\n");
    }
    ok = textbuf_printf(b, "%16" PRIu64 " %16" PRIu64 " %16" PRIu64, c->insns, c->loads,
                        c->stores);
    ok = ok && (!in_runs || textbuf_printf(b, " %16" PRIu64, c->runs));
    return ok && textbuf_printf(b, "  %s\n",
                                t ? tool_thread_text(info, t->pid, t->tid, id) : "total");
}

/* Leaves out threads of which nothing was selected. */
static bool put_summary(struct textbuf *b, const struct summary *s,
                        const struct ctr_trace *tr, bool *any)
{
    const struct dump_options *opt = s->opt;
    const struct ctr_thread *t;
    struct ctr_info info;
    struct count all = {0};
    bool ok = opt->json || textbuf_printf(b, "%16s %16s %16s%s  thread\n", "instructions",
                                          "loads", "stores",
                                          opt->filter.npc || filter_by_addr(&opt->filter)
                                              ? ""
                                              : "             runs");

    ctr_trace_info(tr, &info);
    for (uint32_t i = 0; ok && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        struct count c = {0};
        for (unsigned k = 0; k < opt->jobs; k++) {
            const struct counter *w = &s->workers[k];
            if (i < w->nr_threads) {
                c.insns += opt->kinds & CTR_KIND_EXEC ? w->threads[i].insns : 0;
                c.loads += opt->kinds & CTR_KIND_LOAD ? w->threads[i].loads : 0;
                c.stores += opt->kinds & CTR_KIND_STORE ? w->threads[i].stores : 0;
                c.runs += w->threads[i].runs;
            }
        }
        all.insns += c.insns;
        all.loads += c.loads;
        all.stores += c.stores;
        all.runs += c.runs;
        if (c.insns || c.loads || c.stores) {
            ok = put_count(b, &info, opt, &c, t);
        }
    }
    *any = all.insns || all.loads || all.stores;
    return ok && put_count(b, &info, opt, &all, NULL);
}

int dump_summary(struct ctr_trace *tr, const struct dump_options *opt)
{
    struct summary s = {.opt = opt};
    struct ctr_filter filter = opt->filter;
    struct ctr_replay_ops ops = {.begin = on_begin};
    struct ctr_replay_opts ropts = {
        .workers = opt->jobs, .filter = &filter, .run_accesses = 1};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct textbuf out = {0};
    int ret, sys_errno = 0, status;
    bool any = true;

    if (!(opt->kinds & (CTR_KIND_EXEC | CTR_KIND_LOAD | CTR_KIND_STORE))) {
        return tool_usage_error(PROG, "--summary counts instructions, loads and stores: "
                                      "--events has none of them");
    }
    if (filter.npc || filter_by_addr(&filter)) {
        const uint32_t accesses = opt->kinds & (CTR_KIND_LOAD | CTR_KIND_STORE);
        /* As for printing: if no kind of access is selected, each kind makes its
         * instruction count. */
        filter.kinds =
            CTR_KIND_EXEC | (accesses ? accesses : CTR_KIND_LOAD | CTR_KIND_STORE);
        ops.exec = on_exec;
        ops.mem = on_mem;
    } else {
        filter.kinds = CTR_KIND_EXEC;
        ops.run = on_run;
    }
    s.workers = aligned_alloc(_Alignof(struct counter), opt->jobs * sizeof(*s.workers));
    if (!s.workers) {
        return dump_replay_status(opt, DUMP_STOP_NOMEM, 0, NULL);
    }
    memset(s.workers, 0, opt->jobs * sizeof(*s.workers));
    progress_init(&s.progress, PROG, opt->quiet);
    ops.progress = s.progress.on ? on_progress : NULL;
    ret = ctr_replay(tr, &ops, &s, &ropts, &diag);
    progress_clear(&s.progress);
    /* What was read before an error is shown, too. */
    if (ret <= 0) {
        int last = put_summary(&out, &s, tr, &any)
                       ? dump_write(out.data, out.len, &sys_errno)
                       : DUMP_STOP_NOMEM;
        ret = ret ? ret : last;
    }
    status = dump_replay_status(opt, ret, sys_errno, &diag);
    if (status == TOOL_OK && !any) {
        status = dump_nothing(tr, opt);
    }
    for (unsigned i = 0; i < opt->jobs; i++) {
        free(s.workers[i].threads);
    }
    free(s.workers);
    textbuf_fini(&out);
    return status;
}
