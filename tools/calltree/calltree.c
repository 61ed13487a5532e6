/* SPDX-License-Identifier: MIT */
/* Call trees: the replay of a trace that makes one.  See calltree.h. */
#include "calltree.h"

#include <stdlib.h>
#include <string.h>

#include "calltree_priv.h"
#include "cannoli/events.h"
#include "common/options.h"
#include "common/progress.h"
#include "input/trace.h"

/* Reasons to stop a replay other than the trace. */
#define STOP_NOMEM 1
#define STOP_SPAN 2 /* options.span returned nonzero */

struct maker {
    struct code code;
    struct fold fold;
    struct digest **digests; /* by worker */
    unsigned nr_digests;
    struct progress progress;
};

static int result(int ret)
{
    return ret == -CTR_E_NOMEM ? STOP_NOMEM : ret ? STOP_SPAN : 0;
}

static struct digest *digest_of(struct maker *m, struct ctr_job *job)
{
    return m->digests[ctr_job_worker(job)];
}

static int on_begin(void *arg, struct ctr_job *job)
{
    struct digest *d = digest_of(arg, job);
    int ret = digest_begin(d, job);

    return result(ret ? ret : digest_task(d));
}

static int on_run(void *arg, struct ctr_job *job, const struct ctr_run *r)
{
    int ret = digest_run(digest_of(arg, job), job, r);

    return __builtin_expect(ret, 0) ? STOP_NOMEM : 0;
}

static int on_mem(void *arg, struct ctr_job *job, const struct ctr_mem *m)
{
    return result(digest_mem(digest_of(arg, job), m));
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    return result(digest_os(digest_of(arg, job), job, e));
}

static int on_end(void *arg, struct ctr_job *job)
{
    return result(digest_end(digest_of(arg, job), job));
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t n)
{
    struct maker *m = arg;

    return result(fold_records(&m->fold, ctr_job_thread(job), data, n));
}

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct maker *m = arg;

    progress_update(&m->progress, p->bytes_done, p->bytes, p->insns_done, "instructions");
    return 0;
}

static int replay(struct maker *m, struct ctr_trace *tr,
                  const struct calltree_options *opt, struct ctr_diag *diag)
{
    struct ctr_replay_ops ops = {.begin = on_begin,
                                 .run = on_run,
                                 .os = on_os,
                                 .end = on_end,
                                 .ordered = on_ordered};
    struct ctr_filter filter = opt->filter;
    struct ctr_replay_opts opts = {
        .workers = m->nr_digests,
        .filter = &filter,
        .run_accesses = opt->accesses,
        .slices =
            m->fold.task_kind != 0, /* a task may have been on another vCPU before */
        .tasks = m->fold.task_kind == CTR_KIND_TASK,
    };
    int ret;

    filter.kinds = CTR_KIND_EXEC | CTR_KIND_SYS | CTR_KIND_THR | CTR_KIND_MARK |
                   CTR_KIND_INT | CTR_KIND_PWR | CTR_KIND_ORDER; /* for its times */
    filter.kinds |= m->fold.task_kind;
    filter.kinds |= opt->accesses ? CTR_KIND_LOAD | CTR_KIND_STORE : 0;
    if (opt->accesses && opt->lines) {
        ops.mem = on_mem;
    }
    if (opt->span) {
        progress_init(&m->progress, opt->prog, opt->quiet);
    } else {
        progress_init_before_output(&m->progress, opt->prog, opt->quiet);
    }
    ops.progress = m->progress.on ? on_progress : NULL;
    ret = ctr_replay(tr, &ops, m, &opts, diag);
    progress_clear(&m->progress);
    if (!ret) {
        ret = result(fold_finish(&m->fold));
    }
    return ret;
}

static int name_on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct ctr_thread_event thread;
    struct ev_name *name;

    (void)arg;
    if (e->type != CTR_EVENT_THREAD || ctr_parse_thread(e, &thread) ||
        thread.op == CTR_THREAD_END) {
        return 0;
    }
    name = ctr_job_reserve(job, sizeof(*name));
    if (!name) {
        return STOP_NOMEM;
    }
    event_name(name, &thread.name);
    ctr_job_commit(job, sizeof(*name));
    return 0;
}

static int name_on_ordered(void *arg, const struct ctr_job *job, const void *data,
                           size_t n)
{
    const struct ctr_thread *t = ctr_job_thread(job);
    struct maker *m = arg;
    bool by_thread = m->fold.opt->separate_threads;
    struct fn *fn = code_numbered(&m->code, FN_THREAD, by_thread ? t->index : t->process);

    if (!fn || n < sizeof(struct ev_name)) {
        return fn ? 0 : STOP_NOMEM;
    }
    n -= n % sizeof(struct ev_name);
    free(fn->name); /* the last one counts */
    fn->name = strdup((const char *)data + n - sizeof(struct ev_name));
    return fn->name ? 0 : STOP_NOMEM;
}

/* Reads the names that threads got before the selected part.  Damage there only loses
 * names. */
static int read_names(struct maker *m, struct ctr_trace *tr,
                      const struct calltree_options *opt)
{
    struct ctr_replay_ops ops = {.os = name_on_os, .ordered = name_on_ordered};
    struct ctr_filter filter = {
        .kinds = CTR_KIND_THR,
        .to = opt->filter.from,
        .to_ns = opt->filter.from && !opt->filter.from_thread ? 0 : opt->filter.from_ns,
        .pids = opt->filter.pids,
        .npid = opt->filter.npid,
        .tids = opt->filter.tids,
        .ntid = opt->filter.ntid,
        .processes = opt->filter.processes,
        .nprocess = opt->filter.nprocess,
        .threads = opt->filter.threads,
        .nthread = opt->filter.nthread,
        .to_thread = opt->filter.from_thread};
    struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct ctr_info info;
    int ret;

    ctr_trace_info(tr, &info);
    if (!info.seekable || !(info.events & CTR_HAS_THR) || (!filter.to && !filter.to_ns)) {
        return 0;
    }
    ret = ctr_replay(tr, &ops, m, &opts, &diag);
    return ret == -CTR_E_NOMEM || ret == STOP_NOMEM ? STOP_NOMEM : 0;
}

static int add_lines(struct maker *m, const struct calltree_options *opt)
{
    struct lines *v[256];

    if (!opt->lines) {
        return 0;
    }
    for (unsigned i = 0; i < m->nr_digests; i++) {
        v[i] = digest_lines(m->digests[i]);
    }
    return lines_sum(&m->fold, v, m->nr_digests);
}

static int run(struct maker *m, struct calltree *t, struct ctr_trace *tr,
               const char *path, const struct places *places,
               const struct calltree_options *opt)
{
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret;

    m->nr_digests = opt->jobs ? opt->jobs : tool_default_jobs();
    m->nr_digests = m->nr_digests < 256 ? m->nr_digests : 256;
    m->digests = calloc(m->nr_digests, sizeof(struct digest *));
    ret = code_init(&m->code, tr, places);
    if (fold_init(&m->fold, t, &m->code, opt) || ret || !m->digests) {
        ret = STOP_NOMEM;
    }
    for (unsigned i = 0; !ret && i < m->nr_digests; i++) {
        m->digests[i] = digest_new(&m->code, opt);
        ret = m->digests[i] ? 0 : STOP_NOMEM;
    }
    if (!ret) {
        ret = read_names(m, tr, opt);
    }
    if (!ret) {
        ret = replay(m, tr, opt, &diag);
    }
    /* The part before the damage counts. */
    if (ret != STOP_NOMEM && (add_lines(m, opt) || calltree_sum(&m->fold))) {
        ret = STOP_NOMEM;
    }
    if (ret == STOP_NOMEM) {
        tool_error(opt->prog, "%s: out of memory", path);
        return TOOL_FAILED;
    }
    if (ret < 0) {
        tool_trace_error(opt->prog, path, ret, &diag);
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

int calltree_make(struct calltree **out, struct ctr_trace *tr, const char *path,
                  const struct places *places, const struct calltree_options *opt)
{
    struct maker *m = calloc(1, sizeof(*m));
    struct calltree *t = calloc(1, sizeof(*t));
    int ret = TOOL_FAILED;

    *out = NULL;
    if (!m || !t) {
        tool_error(opt->prog, "%s: out of memory", path);
    } else {
        t->trace = tr;
        ret = run(m, t, tr, path, places, opt);
        fold_fini(&m->fold);
        for (unsigned i = 0; m->digests && i < m->nr_digests; i++) {
            digest_free(m->digests[i]);
        }
        free(m->digests);
        code_fini(&m->code);
    }
    free(m);
    if (ret == TOOL_FAILED) {
        calltree_free(t);
        return ret;
    }
    *out = t;
    return TOOL_OK;
}
