/* SPDX-License-Identifier: MIT */
/*
 * A timeline of calls as JSON trace events ("complete" events, ph X), which Perfetto and
 * chrome://tracing draw.  It is written while the tree is made, so that no call has to be
 * kept in memory.
 *
 * Times are instructions: one is shown as a nanosecond, counted from the first of each
 * thread, or of each task of a machine, which other tasks do not interrupt then.
 * Real times are known at system calls only, so short calls would all have the same time;
 * args contains known times.
 */
#include "graph_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "input/machine.h"
#include "trace_json.h"

struct graph_chrome {
    struct trace_json json;
    struct call_task *tasks; /* by number; thread NO_TASK: none was seen */
    size_t nr_tasks;
};

#define NO_TASK UINT32_MAX

/* Remembers the task for its track's name.  False: no memory. */
static bool see_task(struct graph_chrome *c, const struct call_task *k)
{
    const size_t old = c->nr_tasks;

    if (!array_reserve_zeroed(&c->tasks, &c->nr_tasks, k->number + (size_t)1,
                              sizeof(*c->tasks))) {
        return false;
    }
    for (size_t i = old; i < c->nr_tasks; i++) {
        c->tasks[i].thread = NO_TASK;
    }
    c->tasks[k->number] = *k;
    return true;
}

/* Where a task ran, as the ordinals are those of vCPUs. */
static bool put_vcpus(struct graph_chrome *c, const struct calltree *t,
                      const struct call_span *s)
{
    const struct ctr_thread *from = ctr_trace_thread(t->trace, s->from_thread);
    const struct ctr_thread *to = ctr_trace_thread(t->trace, s->thread);

    return textbuf_printf(&c->json.text,
                          ", \"from_cpu\": %" PRId32 ", \"to_cpu\": %" PRId32,
                          from->tid - from->pid, to->tid - to->pid);
}

static int on_span(void *arg, const struct calltree *t, const struct call_span *s)
{
    struct graph_chrome *c = arg;
    struct textbuf *text = &c->json.text;
    const struct call_function *f = &t->functions[s->function];
    const struct ctr_thread *thread = ctr_trace_thread(t->trace, s->thread);
    const int32_t track = s->task ? (int32_t)s->task->number + 1 : thread->tid;
    bool ok;

    ok = (!s->task || see_task(c, s->task)) && textbuf_printf(text, "{\"name\": ") &&
         textbuf_json_string(text, f->name, strlen(f->name)) &&
         textbuf_printf(text, ", \"cat\": ") &&
         textbuf_json_string(text, f->module ? f->module->name : "",
                             f->module ? strlen(f->module->name) : 0) &&
         textbuf_printf(text,
                        ", \"ph\": \"X\", \"ts\": %" PRIu64 ".%03u, \"dur\": %" PRIu64
                        ".%03u, \"pid\": %" PRId32 ", \"tid\": %" PRId32
                        ", \"args\": {\"from\": %" PRIu64 ", \"to\": %" PRIu64,
                        s->at / 1000, (unsigned)(s->at % 1000), s->insns / 1000,
                        (unsigned)(s->insns % 1000), thread->pid, track, s->from, s->to);
    if (s->task) {
        ok = ok && put_vcpus(c, t, s);
    }
    if (s->to_ns > s->from_ns) {
        ok = ok && textbuf_printf(text, ", \"ns\": %" PRIu64, s->to_ns - s->from_ns);
    }
    trace_json_put(&c->json, ok && textbuf_printf(text, "}}"));
    return trace_json_failed(&c->json);
}

int graph_chrome_begin(struct graph_chrome **out, FILE *file, struct calltree_options *o)
{
    struct graph_chrome *c = calloc(1, sizeof(*c));

    if (!c) {
        return -ENOMEM;
    }
    trace_json_begin(&c->json, file);
    o->span = on_span;
    o->span_arg = c;
    *out = c;
    return 0;
}

static void write_name(struct trace_json *json, const char *what, int32_t pid,
                       int32_t tid, const char *name)
{
    struct textbuf *b = &json->text;

    trace_json_put(
        json, textbuf_printf(b,
                             "{\"name\": \"%s\", \"ph\": \"M\", \"pid\": "
                             "%" PRId32 ", \"tid\": %" PRId32 ", \"args\": {\"name\": ",
                             what, pid, tid) &&
                  textbuf_json_string(b, name, strlen(name)) && textbuf_printf(b, "}}"));
}

/* The names of tasks; of vCPUs that ran in parallel, each has a track for a task. */
static void write_tasks(struct graph_chrome *c, const struct ctr_trace *tr,
                        const struct ctr_info *info)
{
    const struct ctr_thread *t;
    char text[CALL_TASK_TEXT], name[CALL_TASK_TEXT + THREAD_TEXT], cpu[THREAD_TEXT];

    for (size_t i = 0; i < c->nr_tasks; i++) {
        const struct call_task *k = &c->tasks[i];

        if (k->thread == NO_TASK || !(t = ctr_trace_thread(tr, k->thread))) {
            continue;
        }
        call_task_text(tr, k, text);
        if (k->pid && !(info->events & CTR_HAS_ORDER)) {
            snprintf(name, sizeof(name), "%s %s", text,
                     tool_thread_text(info, t->pid, t->tid, cpu));
        } else {
            snprintf(name, sizeof(name), "%s", text);
        }
        write_name(&c->json, "thread_name", t->pid, (int32_t)i + 1, name);
    }
}

/* Names of processes, and of the threads of a machine: its vCPUs, or the tasks. */
static void write_names(struct graph_chrome *c, const struct ctr_trace *tr)
{
    struct trace_json *json = &c->json;
    const struct ctr_process *p;
    const struct ctr_thread *t;
    struct ctr_info info;
    char cpu[THREAD_TEXT];
    const char *name;

    ctr_trace_info(tr, &info);
    name = info.machine    ? "machine"
           : info.argc > 1 ? info.argv[1]
           : info.argc     ? info.argv[0]
                           : "";
    for (uint32_t i = 0; (p = ctr_trace_process(tr, i)) != NULL; i++) {
        write_name(json, "process_name", p->pid, p->pid, name);
    }
    write_tasks(c, tr, &info);
    for (uint32_t i = 0;
         info.machine && !c->nr_tasks && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        write_name(json, "thread_name", t->pid, t->tid,
                   tool_thread_text(&info, t->pid, t->tid, cpu));
    }
}

int graph_chrome_end(struct graph_chrome *c, const struct calltree *t)
{
    int ret;

    if (t) {
        write_names(c, t->trace);
    }
    ret = trace_json_end(&c->json);
    free(c->tasks);
    free(c);
    return ret;
}
