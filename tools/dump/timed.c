/* SPDX-License-Identifier: MIT */
/*
 * Events between instructions in order of time: what workers do, see timed.h.  The
 * events at the begin of a piece may belong to a call of an earlier one, as in events.c.
 */
#include "timed.h"

#include <string.h>

#include "cannoli/events.h"
#include "common/options.h"

/* Whether a program begins, which replaced another one in its process. */
static bool replaces(const struct ctr_os_event *e)
{
    struct ctr_thread_event t;

    return e->type == CTR_EVENT_THREAD && ctr_parse_thread(e, &t) == 0 &&
           t.op == CTR_THREAD_EXEC;
}

static struct worker *worker_of(struct dump *d, const struct ctr_job *job)
{
    return &d->workers[ctr_job_worker(job)];
}

/* Appends a record; 0 or DUMP_STOP_NOMEM. */
static int put_record(struct ctr_job *job, const struct record *r, const char *data)
{
    char *p = ctr_job_reserve(job, sizeof(*r) + r->len);

    if (!p) {
        return DUMP_STOP_NOMEM;
    }
    p = fmt_mem(p, (const char *)r, sizeof(*r));
    if (r->len) {
        memcpy(p, data, r->len);
    }
    ctr_job_commit(job, sizeof(*r) + r->len);
    return 0;
}

/* Appends what the worker's printer has, if anything; a call ends at end_ns.  A hidden
 * line counts, too: what has no time of its own has that of the line before. */
static int put_lines(const struct dump *d, struct worker *w, struct ctr_job *job,
                     uint64_t end_ns, bool hidden)
{
    struct textbuf *out = &w->printer.out;
    bool is_long = !w->call.depth && timed_is_long(d, w->begun_ns, end_ns);
    struct record r = {.kind = RECORD_LINES,
                       .time_ns = is_long ? end_ns : w->begun_ns,
                       .len = out->len,
                       .creates = w->creates};
    int ret = out->len || hidden ? put_record(job, &r, out->data) : 0;

    out->len = 0;
    return ret;
}

static int timed_begin(void *arg, struct ctr_job *job)
{
    struct dump *d = arg;

    worker_of(d, job)->fresh = d->calls;
    return 0;
}

static int timed_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct dump *d = arg;
    struct worker *w = worker_of(d, job);
    struct open_call *c = &w->call;
    int ret = 0;

    if (w->fresh && call_may_hold(e)) {
        struct record r = {.kind = RECORD_EVENT};
        ret = call_store(&c->raw, e) ? 0 : DUMP_STOP_NOMEM;
        r.len = c->raw.len;
        ret = ret ? ret : put_record(job, &r, c->raw.data);
        c->raw.len = 0;
        return ret;
    }
    if (w->fresh) {
        w->fresh = false;
        ret = put_record(job, &(struct record){.kind = RECORD_END, .time_ns = e->time_ns},
                         NULL);
    }
    if (!ret && replaces(e)) {
        ret = put_record(job, &(struct record){.kind = RECORD_EXEC}, NULL);
    }
    if (!ret && call_is_over(c, e)) {
        ret = call_flush(&w->printer, c) ? put_lines(d, w, job, e->time_ns, false)
                                         : DUMP_STOP_NOMEM;
    }
    if (!c->depth) {
        w->begun_ns = e->time_ns;
        w->seen = 0;
        w->creates = false;
    }
    w->seen++;
    w->creates |= d->stream && timed_creates(e);
    line_task_of(&w->printer.task, job, e);
    ret = ret || timed_step(d, &w->printer, c, e) ? ret : DUMP_STOP_NOMEM;
    return ret ? ret
               : put_lines(d, w, job, e->time_ns,
                           d->hide_threads && e->type == CTR_EVENT_THREAD);
}

/* A call that is still open may continue in the thread's next piece. */
static int timed_end(void *arg, struct ctr_job *job)
{
    struct worker *w = worker_of(arg, job);
    struct record r = {.kind = RECORD_EVENT, .seen = w->seen};
    struct ctr_os_event e = {0};
    size_t pos = 0, at = 0;
    int ret = 0;

    while (!ret && call_load(w->call.raw.data, w->call.raw.len, &pos, &e)) {
        r.len = pos - at;
        ret = put_record(job, &r, w->call.raw.data + at);
        at = pos;
    }
    w->call.raw.len = 0;
    w->call.depth = 0;
    return ret;
}

int timed_choose(struct dump *d, struct ctr_replay_ops *ops, struct ctr_filter *filter)
{
    const struct dump_options *opt = d->opt;

    if (!ops->os || ops->exec || ops->mem || ops->reg || opt->group || opt->picked) {
        return 0;
    }
    /* Of system calls times may be left out, other events have them. */
    d->timeless = d->info.events & CTR_HAS_SYS && !(d->info.events & CTR_HAS_TIME);
    d->ordered = d->info.events & CTR_HAS_ORDER;
    if (d->timeless) {
        return 0;
    }
    d->stream = !d->info.seekable;
    d->hide_threads = d->calls && !(d->kinds & CTR_KIND_THR);
    d->kinds |= d->hide_threads ? CTR_KIND_THR : 0;
    filter->kinds = d->kinds;
    ops->begin = timed_begin;
    ops->os = timed_os;
    ops->end = timed_end;
    ops->ordered = order_take;
    d->order = order_new(d);
    return d->order ? 0 : DUMP_STOP_NOMEM;
}

void timed_remark(const struct dump *d)
{
    struct ctr_info info;

    ctr_trace_info(d->trace, &info);
    if (d->order) {
        order_remark(d->order);
    } else if (d->timeless && !d->ordered && info.threads > 1 && !d->opt->quiet) {
        tool_error(d->opt->prog, "the recording has no times: events of threads are "
                                 "shown chunk by chunk, as with --group");
    }
}
