/* SPDX-License-Identifier: MIT */
/* The options that select a part of a trace; see filter_options.h. */
#include "query/filter_options.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/quantity.h"

/* -------------------------------------------------------------------- parsing */

static bool set_option(struct filter_options *o, int key, const char *arg)
{
    switch (key) {
    case FILTER_OPT_FROM:
        return moment_parse(arg, &o->from);
    case FILTER_OPT_TO:
        return moment_parse(arg, &o->to);
    case 'n':
        o->has_count = true;
        return quantity_parse(arg, &o->count);
    case 'p':
        return thread_names_add(&o->pids, arg);
    case 't':
        return thread_names_add(&o->tids, arg);
    case FILTER_OPT_PC:
        return location_list_add(&o->pcs, arg);
    case FILTER_OPT_FROM_TIME:
        return quantity_parse_seconds(arg, &o->from_ns);
    case FILTER_OPT_TO_TIME:
        return quantity_parse_seconds(arg, &o->to_ns) && o->to_ns;
    case FILTER_OPT_USER:
        return o->user = true;
    case FILTER_OPT_KERNEL:
        return o->kernel = true;
    case FILTER_OPT_CPU:
        return thread_names_add_vcpus(&o->tids, arg);
    case FILTER_OPT_TASK:
        return task_names_add(&o->tasks, arg);
    case FILTER_OPT_CONTEXT:
        return context_names_add(&o->contexts, arg);
    default:
        if (!strncmp(arg, FILTER_PHYSICAL, strlen(FILTER_PHYSICAL))) {
            return tool_parse_ranges(arg + strlen(FILTER_PHYSICAL), &o->phys_ranges);
        }
        return location_list_add(&o->addrs, arg);
    }
}

enum tool_parsed filter_options_parse(struct filter_options *o, int key, const char *arg)
{
    switch (key) {
    case FILTER_OPT_FROM:
    case FILTER_OPT_TO:
    case FILTER_OPT_PC:
    case FILTER_OPT_FROM_TIME:
    case FILTER_OPT_TO_TIME:
    case FILTER_OPT_USER:
    case FILTER_OPT_KERNEL:
    case FILTER_OPT_CPU:
    case FILTER_OPT_TASK:
    case FILTER_OPT_CONTEXT:
    case 'n':
    case 'p':
    case 't':
    case 'a':
        return set_option(o, key, arg) ? TOOL_PARSED : TOOL_BAD_ARG;
    default:
        return TOOL_OTHER_GROUP;
    }
}

/* Whether a moment bounds all threads by their ordinals or by time. */
static bool is_plain(const struct moment_text *m)
{
    return m->kind <= MOMENT_TIME && !m->number;
}

int filter_options_check(const struct filter_options *o, const char *prog)
{
    if (o->to.kind && o->has_count) {
        return tool_usage_error(prog, "--to and --count cannot be used together");
    }
    if (o->from.kind == MOMENT_TIME && o->has_count) {
        return tool_usage_error(prog,
                                "--count counts from an instruction: --from=%s is "
                                "a time",
                                o->from.text);
    }
    if (o->from.kind == o->to.kind && o->from.kind && is_plain(&o->from) &&
        is_plain(&o->to) && o->to.value < o->from.value) {
        return tool_usage_error(prog, "--to is below --from");
    }
    if (o->to_ns && o->to_ns <= o->from_ns) {
        return tool_usage_error(prog, "--to-time is not above --from-time");
    }
    if ((o->from_ns && o->from.kind == MOMENT_TIME) ||
        (o->to_ns && o->to.kind == MOMENT_TIME)) {
        return tool_usage_error(prog, "a time in --from or --to does not go with "
                                      "--from-time and --to-time");
    }
    return TOOL_OK;
}

bool filter_options_named(const struct filter_options *o)
{
    return location_list_named(&o->pcs) || location_list_named(&o->addrs) ||
           o->from.kind == MOMENT_CALL || o->to.kind == MOMENT_CALL;
}

unsigned filter_options_symbols(const struct filter_options *o)
{
    unsigned flags =
        locate_flags(&o->pcs, LOCATE_CODE) | locate_flags(&o->addrs, LOCATE_DATA);

    return flags | moment_symbols(&o->from) | moment_symbols(&o->to);
}

/* ------------------------------------------------------------------ resolving */

static void forget(struct filter_options *o)
{
    free(o->processes.v);
    free(o->threads.v);
    free(o->pc_ranges.v);
    free(o->addr_ranges.v);
    free(o->pid_list);
    free(o->tid_list);
    o->processes = o->threads = (struct thread_choice){0};
    o->pc_ranges = o->addr_ranges = (struct tool_ranges){0};
    o->pid_list = o->tid_list = NULL;
}

/* Finds processes or threads: by their ids in a stream, else by indexes. */
static int resolve_threads(const struct thread_names *names, bool processes,
                           bool ids_only, const struct locate_request *r,
                           struct thread_choice *choice, int32_t **ids)
{
    struct ctr_info info;

    ctr_trace_info(r->trace, &info);
    if (!names->n) {
        return TOOL_OK;
    }
    if (info.seekable && !(ids_only && thread_names_ids(names, ids))) {
        return threads_find(names, processes, r->trace, r->prog, r->path, choice);
    }
    if (!*ids && !thread_names_ids(names, ids)) {
        tool_error(r->prog, "%s: %s by name or number needs a file, not a stream",
                   r->path, processes ? "--pid" : "--thread");
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

static int resolve_places(struct filter_options *o, const struct locate_request *r)
{
    struct locate_request code = *r, data = *r;
    int status;

    code.option = "--pc";
    code.want = LOCATE_CODE;
    data.option = o->addr_option ? o->addr_option : "--addr";
    data.want = LOCATE_DATA;
    status = locate(&code, &o->pcs, &o->pc_ranges);
    return status ? status : locate(&data, &o->addrs, &o->addr_ranges);
}

/* One end of the span: its ordinal, time and thread in the filter. */
struct bound {
    uint64_t *ordinal, *ns;
    uint32_t *thread;
};

static int resolve_moment(const struct moment_text *m, const char *option,
                          const struct locate_request *r, unsigned jobs,
                          const struct ctr_filter *threads, const struct bound *out)
{
    struct locate_request request = *r;
    struct ctr_moment found;
    struct ctr_info info;
    int status;

    ctr_trace_info(r->trace, &info);
    switch (m->kind) {
    case MOMENT_NONE:
        return TOOL_OK;
    case MOMENT_ORDINAL:
        if (!m->number) {
            *out->ordinal = m->value;
            return TOOL_OK;
        }
        break;
    case MOMENT_TIME:
        if (!m->number) {
            *out->ns = threads_time(&info, m->value);
            return TOOL_OK;
        }
        break;
    default:
        break;
    }
    request.option = option;
    status = moment_find(m, threads, &request, jobs, &found);
    if (!status) {
        *out->ordinal = found.ordinal;
        *out->thread = found.thread + 1;
        *out->ns = found.time_ns;
    }
    return status;
}

/* --count begins at --from: of the thread of that moment, if it is in one. */
static void add_count(struct filter_options *o, struct ctr_filter *f)
{
    uint64_t end = o->count > UINT64_MAX - f->from ? UINT64_MAX : f->from + o->count;

    f->to = end;
    if (f->from_thread) {
        f->to_thread = f->from_thread;
        f->to_ns = f->from_ns ? f->from_ns : 1; /* nothing of the others */
    }
}

static void set_times(const struct filter_options *o, const struct ctr_info *info,
                      struct ctr_filter *f)
{
    f->from_ns = o->from_ns ? threads_time(info, o->from_ns) : f->from_ns;
    f->to_ns = o->to_ns ? threads_time(info, o->to_ns) : f->to_ns;
}

static int resolve_span(struct filter_options *o, const struct locate_request *r,
                        unsigned jobs, struct ctr_filter *f)
{
    struct bound from = {&f->from, &f->from_ns, &f->from_thread};
    struct bound to = {&f->to, &f->to_ns, &f->to_thread};
    const struct ctr_filter threads = *f;
    struct ctr_info info;
    int status = resolve_moment(&o->from, "--from", r, jobs, &threads, &from);

    status = status ? status : resolve_moment(&o->to, "--to", r, jobs, &threads, &to);
    if (status) {
        return status;
    }
    ctr_trace_info(r->trace, &info);
    set_times(o, &info, f);
    if (o->has_count) {
        add_count(o, f);
    }
    /* 0 would mean no end. */
    if ((o->has_count || o->to.kind == MOMENT_ORDINAL) && !f->to && !f->to_thread) {
        f->from = f->to = UINT64_MAX;
    }
    return TOOL_OK;
}

int filter_options_span(struct filter_options *o, const struct locate_request *request,
                        unsigned jobs, struct ctr_filter *out)
{
    *out = (struct ctr_filter){.kinds = CTR_KIND_EXEC};
    return resolve_span(o, request, jobs, out);
}

static int resolve_privileges(const struct filter_options *o,
                              const struct locate_request *r, struct ctr_filter *out)
{
    struct ctr_info info;

    if (!o->user && !o->kernel) {
        return TOOL_OK;
    }
    ctr_trace_info(r->trace, &info);
    if (!info.machine) {
        tool_error(r->prog, "%s: %s: it is not the trace of a machine", r->path,
                   o->user ? "--user" : "--kernel");
        return TOOL_NOTHING;
    }
    out->privileges =
        (o->user ? CTR_PRIVILEGE_USERS : 0) | (o->kernel ? ~CTR_PRIVILEGE_USERS : 0);
    return TOOL_OK;
}

static int has_task(void *arg, const struct ctr_task *t)
{
    const struct filter_options *o = arg;

    return task_names_have(&o->tasks, t);
}

static int has_context(void *arg, const struct ctr_context *c)
{
    const struct filter_options *o = arg;

    return context_names_have(&o->contexts, c);
}

static int resolve_tasks(struct filter_options *o, const struct locate_request *r,
                         struct ctr_filter *out)
{
    struct ctr_info info;

    ctr_trace_info(r->trace, &info);
    if (o->tasks.n && !(info.events & CTR_HAS_TASK)) {
        tool_error(r->prog, "%s: --task: tasks were not recorded (-e task)", r->path);
        return TOOL_NOTHING;
    }
    if (o->contexts.n && !(info.events & CTR_HAS_CTX)) {
        tool_error(r->prog, "%s: --context: address spaces were not recorded (-e ctx)",
                   r->path);
        return TOOL_NOTHING;
    }
    out->task = o->tasks.n ? has_task : NULL;
    out->context = o->contexts.n ? has_context : NULL;
    out->arg = o;
    return TOOL_OK;
}

int filter_options_need_phys(const struct ctr_trace *tr, const char *option,
                             const char *prog, const char *path)
{
    struct ctr_info info;

    ctr_trace_info(tr, &info);
    if (!(info.events & CTR_HAS_PHYS)) {
        tool_error(prog, "%s: %s: physical addresses were not recorded (-e phys)", path,
                   option);
        return TOOL_NOTHING;
    }
    return TOOL_OK;
}

static int resolve_physical(const struct filter_options *o,
                            const struct locate_request *r, struct ctr_filter *out)
{
    out->phys = o->phys_ranges.v;
    out->nphys = o->phys_ranges.n;
    return out->nphys ? filter_options_need_phys(r->trace, "--addr", r->prog, r->path)
                      : TOOL_OK;
}

int filter_options_resolve(struct filter_options *o, const struct locate_request *r,
                           unsigned jobs, struct ctr_filter *out)
{
    uint32_t kinds = out->kinds;
    int status;

    forget(o);
    *out = (struct ctr_filter){.kinds = kinds};
    status = resolve_threads(&o->pids, true, o->ids_only, r, &o->processes, &o->pid_list);
    status = status ? status
                    : resolve_threads(&o->tids, false, o->ids_only, r, &o->threads,
                                      &o->tid_list);
    if (status) {
        return status;
    }
    out->processes = o->processes.v;
    out->nprocess = o->processes.n;
    out->threads = o->threads.v;
    out->nthread = o->threads.n;
    out->pids = o->pid_list;
    out->npid = o->pid_list ? o->pids.n : 0;
    out->tids = o->tid_list;
    out->ntid = o->tid_list ? o->tids.n : 0;
    status = resolve_privileges(o, r, out);
    status = status ? status : resolve_tasks(o, r, out);
    status = status ? status : resolve_physical(o, r, out);
    status = status ? status : resolve_places(o, r);
    status = status ? status : resolve_span(o, r, jobs, out);
    out->pcs = o->pc_ranges.v;
    out->npc = o->pc_ranges.n;
    out->addrs = o->addr_ranges.v;
    out->naddr = o->addr_ranges.n;
    return status;
}

void filter_options_fini(struct filter_options *o)
{
    forget(o);
    thread_names_free(&o->pids);
    thread_names_free(&o->tids);
    location_list_free(&o->pcs);
    location_list_free(&o->addrs);
    task_names_free(&o->tasks);
    context_names_free(&o->contexts);
    free(o->phys_ranges.v);
    *o = (struct filter_options){0};
}
