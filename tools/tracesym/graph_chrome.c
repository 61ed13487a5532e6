/* SPDX-License-Identifier: MIT */
/*
 * A timeline of calls as JSON trace events ("complete" events, ph X), which Perfetto and
 * chrome://tracing draw.  It is written while the tree is made, so that no call has to be
 * kept in memory.
 *
 * Times are instructions: one is shown as a nanosecond, counted from each thread's first.
 * Real times are known at system calls only, so short calls would all have the same time;
 * args contains known times.
 */
#include "graph_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/machine.h"
#include "trace_json.h"

struct graph_chrome {
    struct trace_json json;
};

static int on_span(void *arg, const struct calltree *t, const struct call_span *s)
{
    struct graph_chrome *c = arg;
    struct textbuf *text = &c->json.text;
    const struct call_function *f = &t->functions[s->function];
    const struct ctr_thread *thread = ctr_trace_thread(t->trace, s->thread);
    uint64_t length = s->to - s->from;
    bool ok;

    ok = textbuf_printf(text, "{\"name\": ") &&
         textbuf_json_string(text, f->name, strlen(f->name)) &&
         textbuf_printf(text, ", \"cat\": ") &&
         textbuf_json_string(text, f->module ? f->module->name : "",
                             f->module ? strlen(f->module->name) : 0) &&
         textbuf_printf(text,
                        ", \"ph\": \"X\", \"ts\": %" PRIu64 ".%03u, \"dur\": %" PRIu64
                        ".%03u, \"pid\": %" PRId32 ", \"tid\": %" PRId32
                        ", \"args\": {\"from\": %" PRIu64 ", \"to\": %" PRIu64,
                        s->from / 1000, (unsigned)(s->from % 1000), length / 1000,
                        (unsigned)(length % 1000), thread->pid, thread->tid, s->from,
                        s->to);
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

/* Names of processes, and of the threads of a machine, its vCPUs. */
static void write_names(struct trace_json *json, const struct ctr_trace *tr)
{
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
    for (uint32_t i = 0; info.machine && (t = ctr_trace_thread(tr, i)) != NULL; i++) {
        write_name(json, "thread_name", t->pid, t->tid,
                   tool_thread_text(&info, t->pid, t->tid, cpu));
    }
}

int graph_chrome_end(struct graph_chrome *c, const struct calltree *t)
{
    int ret;

    if (t) {
        write_names(&c->json, t->trace);
    }
    ret = trace_json_end(&c->json);
    free(c);
    return ret;
}
