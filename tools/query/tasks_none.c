/* SPDX-License-Identifier: MIT */
/* Why --task or --context selects nothing: the trace has no such task or page table. */
#include "common/options.h"
#include "query/tasks.h"

struct search {
    const struct ctr_filter *filter;
    bool task, context; /* one that is selected was found */
};

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct search *s = arg;
    const struct ctr_filter *f = s->filter;
    struct ctr_context context;
    struct ctr_task task;

    if (f->task && ctr_job_task(job, &task) == 1) {
        s->task |= f->task(f->arg, &task) != 0;
    }
    if (f->context && ctr_parse_context(e, &context) == 0) {
        s->context |= f->context(f->arg, &context) != 0;
    }
    return 0;
}

bool tasks_none(struct ctr_trace *tr, const struct ctr_filter *f, const char *prog,
                const char *path)
{
    const struct ctr_context first = {0};
    struct search s = {.filter = f,
                       .task = !f->task,
                       .context = !f->context || f->context(f->arg, &first)};
    const struct ctr_filter events = {.kinds = CTR_KIND_TASK | CTR_KIND_CTX};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &events, .tasks = 1};
    const struct ctr_replay_ops ops = {.os = on_os};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    struct ctr_info info;

    ctr_trace_info(tr, &info);
    if ((s.task && s.context) || !info.seekable ||
        ctr_replay(tr, &ops, &s, &opts, &diag) != 0 || (s.task && s.context)) {
        return false;
    }
    tool_error(prog, "%s: no such %s lists those that there are", path,
               s.task ? "page table (--context); tracedump --info"
                      : "task (--task); tracesym --list=tasks");
    return true;
}
