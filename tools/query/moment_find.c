/* SPDX-License-Identifier: MIT */
/* Finds moments in a trace; see moment.h. */
#include "query/moment.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "cannoli/events.h"
#include "common/options.h"
#include "input/machine.h"
#include "input/trace.h"
#include "query/event_names.h"
#include "query/moment_known.h"
#include "query/threads.h"

/* A search. */
struct finding {
    const struct moment_text *text;
    const struct ctr_filter *filter;
    const struct locate_request *locate;
    unsigned jobs;
    struct ctr_moment *out;
};

/* A place in a thread that may be the moment. */
struct candidate {
    uint64_t time_ns, ordinal;
    uint32_t thread;
    uint32_t seq; /* in recorded order */
};

struct candidates {
    struct candidate *v;
    size_t n, cap;
};

#define STOP_NOMEM 1
#define STOP_FOUND 2

static int nothing(const struct finding *f, const char *why)
{
    tool_error(f->locate->prog, "%s: %s=%s: %s", f->locate->path, f->locate->option,
               f->text->text, why);
    return TOOL_NOTHING;
}

static int failed(const struct finding *f, int ret, const struct ctr_diag *diag)
{
    if (ret == STOP_NOMEM) {
        tool_error(f->locate->prog, "out of memory");
    } else {
        tool_trace_error(f->locate->prog, f->locate->path, ret, diag);
    }
    return TOOL_FAILED;
}

/* Completes a moment by its time. */
static int at_ordinal(const struct finding *f, uint32_t thread, uint64_t ordinal)
{
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret = ctr_moment_at(f->locate->trace, thread, ordinal, f->out, &diag);

    return ret ? failed(f, ret, &diag) : TOOL_OK;
}

/* ------------------------------------------------------- places in a thread */

/* The thread that is meant: the K-th selected one, or the only one. */
static int choose_thread(const struct finding *f, const struct ctr_thread **thread)
{
    const struct ctr_thread *t, *found = NULL;
    int64_t n = 0, want = f->text->number;
    struct ctr_info info;

    for (uint32_t i = 0; (t = ctr_trace_thread(f->locate->trace, i)) != NULL; i++) {
        if (threads_selected(f->filter, t)) {
            n++;
            found = n == (want ? want : 1) ? t : found;
        }
    }
    *thread = found;
    if (!found) {
        tool_error(f->locate->prog, "%s: no such thread", f->locate->path);
        return TOOL_NOTHING;
    }
    if (n > 1 && !want) {
        ctr_trace_info(f->locate->trace, &info);
        tool_error(f->locate->prog,
                   info.machine ? "%s: %" PRId64 " vCPUs: choose one with --cpu, or the "
                                  "K-th with %s=%s/K"
                                : "%s: %" PRId64 " threads: choose one with --pid and "
                                  "--thread, or the K-th with %s=%s/K",
                   f->locate->path, n, f->locate->option, f->text->text);
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

static int find_ordinal(const struct finding *f)
{
    const struct ctr_thread *t;
    uint64_t n = f->text->value;
    int status = choose_thread(f, &t);
    char name[THREAD_TEXT];
    struct ctr_info info;

    if (status) {
        return status;
    }
    ctr_trace_info(f->locate->trace, &info);
    if (n < t->first) {
        tool_error(f->locate->prog,
                   "%s: events of thread %s before ordinal %" PRIu64 " were dropped",
                   f->locate->path, tool_thread_text(&info, t->pid, t->tid, name),
                   t->first);
        return TOOL_NOTHING;
    }
    if (n - t->first > t->insns) {
        tool_error(f->locate->prog, "%s: thread %s has %" PRIu64 " instructions only",
                   f->locate->path, tool_thread_text(&info, t->pid, t->tid, name),
                   t->first + t->insns);
        return TOOL_NOTHING;
    }
    return at_ordinal(f, t->index, n);
}

/* The first instruction that a filter selects: 1 and *e, 0: none, or an error. */
static int first_exec(struct ctr_trace *tr, const struct ctr_filter *filter,
                      uint64_t *ordinal, unsigned *flags, struct ctr_diag *diag)
{
    struct ctr_cursor *c;
    struct ctr_event ev;
    int ret = ctr_cursor_open(&c, tr, filter, diag);

    if (ret) {
        return ret;
    }
    ret = ctr_cursor_next(c, &ev, diag);
    if (ret > 0) {
        *ordinal = ev.exec.ordinal;
        *flags = ev.exec.flags;
    }
    ctr_cursor_close(c);
    return ret;
}

static int find_time(const struct finding *f)
{
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    const struct ctr_thread *t;
    struct ctr_info info;
    int ret = choose_thread(f, &t);

    if (ret) {
        return ret;
    }
    ctr_trace_info(f->locate->trace, &info);
    ret = ctr_moment_time(f->locate->trace, t->index, threads_time(&info, f->text->value),
                          f->out, &diag);
    return ret ? failed(f, ret, &diag) : TOOL_OK;
}

/* When a thread ran last: where threads take turns, its end is later. */
static int find_last_run(const struct finding *f, const struct ctr_thread *t,
                         uint64_t *last_ns)
{
    struct ctr_trace *tr = f->locate->trace;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct ctr_chunk chunk;
    struct ctr_info info;
    int ret;

    *last_ns = t->end_ns;
    ctr_trace_info(tr, &info);
    if (!(info.events & CTR_HAS_ORDER)) {
        return TOOL_OK;
    }
    ret = ctr_trace_find(tr, t->index, t->first + t->insns, &chunk, &diag);
    if (!ret) {
        *last_ns = chunk.end_ns;
    }
    return !ret || ret == -CTR_E_INVAL ? TOOL_OK : failed(f, ret, &diag); /* no chunk */
}

static int find_end(const struct finding *f)
{
    const struct ctr_thread *t, *last = NULL;
    uint64_t ran_ns, last_ns = 0;
    int status;

    if (f->text->number) {
        status = choose_thread(f, &t);
        return status ? status : at_ordinal(f, t->index, t->first + t->insns);
    }
    for (uint32_t i = 0; (t = ctr_trace_thread(f->locate->trace, i)) != NULL; i++) {
        if (!threads_selected(f->filter, t)) {
            continue;
        }
        status = find_last_run(f, t, &ran_ns);
        if (status) {
            return status;
        }
        if (!last || ran_ns >= last_ns) {
            last = t;
            last_ns = ran_ns;
        }
    }
    return last ? at_ordinal(f, last->index, last->first + last->insns)
                : nothing(f, "no thread is selected");
}

/* ------------------------------------------------------------------- a crash */

/* Whether the thread's last instruction raised a signal: 1 or 0, or an error. */
static int has_faulted(const struct finding *f, const struct ctr_thread *t,
                       struct ctr_diag *diag)
{
    uint64_t ordinal = t->first + t->insns - 1;
    struct ctr_filter filter = {.kinds = CTR_KIND_EXEC,
                                .nthread = 1,
                                .threads = &t->index,
                                .from = ordinal,
                                .to = ordinal + 1};
    unsigned flags = 0;
    int ret =
        t->insns ? first_exec(f->locate->trace, &filter, &ordinal, &flags, diag) : 0;

    return ret < 0 ? ret : (flags & CTR_EV_FAULTED) != 0;
}

/* Whether a signal ended the thread's process, and the thread is selected. */
static bool has_crashed(const struct finding *f, const struct ctr_thread *t)
{
    const struct ctr_process *p = ctr_trace_process(f->locate->trace, t->process);

    return threads_selected(f->filter, t) && p && p->end_reason == CTR_END_SIGNAL;
}

/* Whether the process is the K-th that crashed. */
static bool is_wanted(const struct finding *f, uint32_t process)
{
    const struct ctr_thread *t;
    uint32_t last = UINT32_MAX;
    int64_t n = 0;

    for (uint32_t p = 0; p <= process; p++) {
        for (uint32_t i = 0; (t = ctr_trace_thread(f->locate->trace, i)) != NULL; i++) {
            if (t->process == p && last != p && has_crashed(f, t)) {
                last = p;
                n++;
            }
        }
    }
    return n == f->text->number;
}

/* Whether t is rather the crash than `best': a thread whose instruction raised the signal,
 * in the process that ended first, the one that ended last there. */
static bool is_rather(const struct ctr_trace *tr, const struct ctr_thread *t, bool fault,
                      const struct ctr_thread *best, bool best_fault)
{
    if (!best || fault != best_fault) {
        return !best || fault;
    }
    if (t->process != best->process) {
        return ctr_trace_process(tr, t->process)->end_ns - 1 <
               ctr_trace_process(tr, best->process)->end_ns - 1; /* 0: not known */
    }
    return t->end_ns > best->end_ns;
}

static int find_crash(const struct finding *f)
{
    struct ctr_trace *tr = f->locate->trace;
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    const struct ctr_thread *t, *best = NULL;
    bool faulted = false, any = false;

    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        int fault;
        if (!has_crashed(f, t)) {
            continue;
        }
        any = true;
        if (f->text->number && !is_wanted(f, t->process)) {
            continue;
        }
        fault = has_faulted(f, t, &diag);
        if (fault < 0) {
            return failed(f, fault, &diag);
        }
        if (is_rather(tr, t, fault, best, faulted)) {
            best = t;
            faulted = fault;
        }
    }
    return best  ? at_ordinal(f, best->index, best->first + best->insns - faulted)
           : any ? nothing(f, "a signal ended fewer processes")
                 : nothing(f, "no process was ended by a signal");
}

/* -------------------------------------------------------- events and calls */

struct collector {
    const struct finding *f;
    struct candidates *list;
    char *glob;
    struct guest guest;
};

static int append(struct ctr_job *job, uint64_t ordinal, uint64_t time_ns)
{
    struct candidate c = {
        .ordinal = ordinal, .time_ns = time_ns, .thread = ctr_job_thread(job)->index};

    return ctr_job_append(job, &c, sizeof(c)) ? STOP_NOMEM : 0;
}

/* Whether a text of the trace matches the glob. */
static bool fits(const char *glob, struct ctr_str text)
{
    char copy[256];

    if (text.n >= sizeof(copy)) {
        return false;
    }
    if (text.n) {
        memcpy(copy, text.p, text.n);
    }
    copy[text.n] = 0;
    return !fnmatch(glob, copy, 0);
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct collector *c = arg;
    struct ctr_str name;
    bool hit = event_names_text(
                   e, c->f->text->kind == MOMENT_MARK ? EVENT_MARKS : EVENT_SYSCALLS,
                   &c->guest, &name) &&
               fits(c->glob, name);

    return hit ? append(job, e->ordinal, e->time_ns) : 0;
}

static int on_exec(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    (void)arg;
    return append(job, e->ordinal, 0);
}

static int on_ordered(void *arg, const struct ctr_job *job, const void *data, size_t size)
{
    struct collector *c = arg;
    struct candidates *l = c->list;
    const struct candidate *in = data;

    (void)job;
    for (size_t n = size / sizeof(*in); n; n--, in++) {
        if (!array_reserve(&l->v, &l->cap, l->n + 1, sizeof(*l->v))) {
            return STOP_NOMEM;
        }
        l->v[l->n] = *in;
        l->v[l->n].seq = (uint32_t)l->n;
        l->n++;
        /* The order of calls is that of the trace: no later one comes before it. */
        if (c->f->text->kind == MOMENT_CALL && c->f->text->number >= 0 &&
            l->n >= (uint64_t)(c->f->text->number ? c->f->text->number : 1)) {
            return STOP_FOUND;
        }
    }
    return 0;
}

static int by_time(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->time_ns != y->time_ns && x->thread != y->thread) {
        return x->time_ns < y->time_ns ? -1 : 1;
    }
    return x->thread == y->thread ? (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal)
                                  : (x->seq > y->seq) - (x->seq < y->seq);
}

/* The addresses of the function's entries, for the filter. */
static int entries_of(const struct finding *f, struct tool_ranges *entries)
{
    struct locate_request request = *f->locate;
    struct locations list = {0};
    char *name = strndup(f->text->name, f->text->name_len);
    int status;

    if (!name || !location_list_add(&list, name)) {
        free(name);
        return tool_usage_error(request.prog, "%s=%s: no function's name", request.option,
                                f->text->text);
    }
    request.want = LOCATE_ENTRY;
    status = locate(&request, &list, entries);
    location_list_free(&list);
    free(name);
    return status;
}

/* The candidate that is meant; NULL: there are not so many. */
static const struct candidate *choose(const struct finding *f, struct candidates *l)
{
    int64_t number = f->text->number ? f->text->number : 1;
    uint64_t back = number < 0 ? (uint64_t)-number : 0;

    if (f->text->kind != MOMENT_CALL && l->n > 1) {
        qsort(l->v, l->n, sizeof(*l->v), by_time);
    }
    if (back ? back > l->n : (uint64_t)number > l->n) {
        return NULL;
    }
    return back ? &l->v[l->n - back] : &l->v[number - 1];
}

/* A system call begins before what the system does for it. */
static int at_event(const struct finding *f, const struct candidate *found)
{
    int status = at_ordinal(f, found->thread, found->ordinal);

    if (f->text->kind == MOMENT_SYSCALL) {
        f->out->before_system = true;
        f->out->time_ns = found->time_ns ? found->time_ns : f->out->time_ns;
    }
    return status;
}

/* There is none: what there is, as a filter selects it. */
static int report_none(const struct finding *f, const struct ctr_filter *filter)
{
    struct textbuf b = {0};
    bool ok = textbuf_printf(&b, "there is none among the threads selected");

    if (ok && f->text->kind != MOMENT_CALL) {
        ok = moment_put_known(&b, f->locate->trace, f->text, filter);
    }
    ok = ok && textbuf_printf(&b, "%c", 0);
    nothing(f, ok ? b.data : "there is none among the threads selected");
    textbuf_fini(&b);
    return TOOL_NOTHING;
}

static int report_missing(const struct finding *f, const struct ctr_filter *filter,
                          size_t n)
{
    char why[80];

    if (!n) {
        return report_none(f, filter);
    }
    snprintf(why, sizeof(why), "there %s only %zu", n == 1 ? "is" : "are", n);
    return nothing(f, why);
}

/* Whether the trace has such events; else a line on stderr says so. */
static bool recorded(const struct finding *f)
{
    struct ctr_info info;

    ctr_trace_info(f->locate->trace, &info);
    if (f->text->kind == MOMENT_SYSCALL && !(info.events & CTR_HAS_SYS)) {
        nothing(f, "no system calls were recorded (-e sys)");
        return false;
    }
    return true;
}

static int find_event(const struct finding *f)
{
    struct candidates list = {0};
    struct collector c = {
        .f = f, .list = &list, .glob = strndup(f->text->name, f->text->name_len)};
    struct ctr_info info;
    struct ctr_replay_ops ops = {.ordered = on_ordered};
    struct ctr_filter filter = *f->filter;
    struct ctr_replay_opts opts = {.workers = f->jobs, .filter = &filter, .slices = 1};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct tool_ranges entries = {0};
    const struct candidate *found;
    int status = recorded(f) ? TOOL_OK : TOOL_NOTHING, ret = 0;

    ctr_trace_info(f->locate->trace, &info);
    guest_init(&c.guest, &info);
    filter.from = filter.to = filter.from_ns = filter.to_ns = 0;
    filter.from_thread = filter.to_thread = 0;
    filter.npc = filter.naddr = filter.nphys = 0;
    if (f->text->kind == MOMENT_CALL) {
        status = status ? status : entries_of(f, &entries);
        filter.kinds = CTR_KIND_EXEC;
        filter.pcs = entries.v;
        filter.npc = entries.n;
        ops.exec = on_exec;
    } else {
        filter.kinds = f->text->kind == MOMENT_MARK ? CTR_KIND_MARK : CTR_KIND_SYS;
        ops.os = on_os;
    }
    if (!status) {
        ret = c.glob ? ctr_replay(f->locate->trace, &ops, &c, &opts, &diag) : STOP_NOMEM;
        if (ret && ret != STOP_FOUND) {
            status = failed(f, ret, &diag);
        }
    }
    if (!status) {
        found = choose(f, &list);
        status = found ? at_event(f, found) : report_missing(f, &filter, list.n);
    }
    free(entries.v);
    free(c.glob);
    free(list.v);
    return status;
}

int moment_find(const struct moment_text *text, const struct ctr_filter *filter,
                const struct locate_request *locate, unsigned jobs,
                struct ctr_moment *out)
{
    struct finding f = {text, filter, locate, jobs, out};
    struct ctr_info info;

    ctr_trace_info(locate->trace, &info);
    if (!info.seekable) {
        tool_error(locate->prog, "%s=%s needs a file, not a stream", locate->option,
                   text->text);
        return TOOL_FAILED;
    }
    switch (text->kind) {
    case MOMENT_ORDINAL:
        return find_ordinal(&f);
    case MOMENT_TIME:
        return find_time(&f);
    case MOMENT_END:
        return find_end(&f);
    case MOMENT_CRASH:
        return find_crash(&f);
    default:
        return find_event(&f);
    }
}
