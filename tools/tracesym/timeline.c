/* SPDX-License-Identifier: MIT */
/*
 * See timeline.h. Slices begin and end (ph B and E) as on a stack, on two tracks: that of
 * the vCPU has the task, in it exceptions and interrupts, in these a halt; that of the task
 * has the vCPU and the same exceptions. A task that is switched to goes on in the exceptions
 * in which it was left, unless vCPUs ran in parallel: their events come in no one order, so
 * each vCPU has tasks of its own. While nothing is recorded of a vCPU it runs no known task.
 */
#include "timeline.h"
#include "prog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "calltree/calltree.h"
#include "cannoli/events.h"
#include "common/array.h"
#include "common/options.h"
#include "common/progress.h"
#include "dump/dump.h"
#include "guest/guest.h"
#include "input/machine.h"
#include "input/trace.h"
#include "query/tasks.h"
#include "trace_json.h"

/* Above all pids of Linux: the process that has the tracks of the vCPUs. */
#define VCPUS 4194305u
#define MAX_DEPTH 64u /* of exceptions in each other; further ones are not shown */

struct taken {
    uint64_t from, to;
    char name[GUEST_INTERRUPT_MAX];
};

/* A task; or what a vCPU does while it is not known which one it runs (task 0). */
struct task {
    struct line_task id;
    struct taken *stack;
    size_t cap;
    uint32_t depth, hidden; /* hidden: further exceptions, in these */
    uint32_t vcpu;          /* its thread's index, if vCPUs ran in parallel */
    uint64_t seen_ns;       /* when it was switched to last, with this name */
    uint32_t next;          /* of its bucket, number + 1; 0: the last */
};

struct vcpu {
    bool begun, halted;
    uint32_t task, unknown; /* numbers; unknown: its own for what is not known */
    const char *privilege;  /* "": not known */
    uint64_t since_ns;      /* of the first event */
};

struct timeline {
    const struct timeline_options *opt;
    struct ctr_trace *trace;
    struct ctr_info info;
    struct guest guest;
    struct trace_json json;
    struct vcpu *vcpus; /* by index of the thread */
    size_t nr_vcpus;
    struct task *tasks;
    size_t cap_tasks;
    uint32_t nr_tasks;
    uint32_t bucket[4096];
    uint64_t now_ns, last_ns; /* of the event; the last one of all vCPUs */
    struct progress progress;
};

enum { STOP_NOMEM = 1, STOP_OUTPUT = 2 };

struct track {
    uint32_t pid, tid;
};

/* ----------------------------------------------------------------------- output */

static bool put_head(struct timeline *l, const char *phase, struct track at)
{
    const uint64_t ns = l->now_ns > l->info.start_ns ? l->now_ns - l->info.start_ns : 0;

    return textbuf_printf(&l->json.text,
                          "{\"ph\": \"%s\", \"pid\": %u, \"tid\": %u, \"ts\": %" PRIu64
                          ".%03u",
                          phase, at.pid, at.tid, ns / 1000, (unsigned)(ns % 1000));
}

static void begin_slice(struct timeline *l, struct track at, const char *name, size_t n)
{
    trace_json_put(&l->json, put_head(l, "B", at) &&
                                 textbuf_printf(&l->json.text, ", \"name\": ") &&
                                 textbuf_json_string(&l->json.text, name, n) &&
                                 textbuf_printf(&l->json.text, "}"));
}

static void begin_exception(struct timeline *l, struct track at, const struct taken *x)
{
    struct textbuf *b = &l->json.text;

    trace_json_put(&l->json, put_head(l, "B", at) && textbuf_printf(b, ", \"name\": ") &&
                                 textbuf_json_string(b, x->name, strlen(x->name)) &&
                                 textbuf_printf(b,
                                                ", \"args\": {\"from\": \"0x%" PRIx64
                                                "\", \"handler\": \"0x%" PRIx64 "\"}}",
                                                x->from, x->to));
}

static void end_slice(struct timeline *l, struct track at)
{
    trace_json_put(&l->json, put_head(l, "E", at) && textbuf_printf(&l->json.text, "}"));
}

static void put_name(struct timeline *l, const char *what, struct track at,
                     const char *name, size_t n)
{
    struct textbuf *b = &l->json.text;

    trace_json_put(&l->json, textbuf_printf(b,
                                            "{\"ph\": \"M\", \"pid\": %u, \"tid\": %u, "
                                            "\"name\": \"%s\", \"args\": {\"name\": ",
                                            at.pid, at.tid, what) &&
                                 textbuf_json_string(b, name, n) &&
                                 textbuf_printf(b, "}}"));
}

/* ----------------------------------------------------------------------- tracks */

static unsigned number_of(const struct ctr_thread *t)
{
    return (unsigned)(t->tid - t->pid);
}

static struct track vcpu_track(const struct ctr_thread *t)
{
    return (struct track){VCPUS, VCPUS + 2 * number_of(t)};
}

static struct track privilege_track(const struct ctr_thread *t)
{
    return (struct track){VCPUS, VCPUS + 2 * number_of(t) + 1};
}

/* Idle tasks have none: a vCPU has one of its own. */
static bool has_track(const struct task *k)
{
    return k->id.task && k->id.pid;
}

static struct track task_track(const struct task *k)
{
    return (struct track){k->id.tgid, k->id.pid};
}

/* An exception begins, or the innermost one ends, on both tracks. */
static void begin_taken(struct timeline *l, const struct ctr_thread *t,
                        const struct task *k, const struct taken *x)
{
    begin_exception(l, vcpu_track(t), x);
    if (has_track(k)) {
        begin_exception(l, task_track(k), x);
    }
}

static void end_taken(struct timeline *l, const struct ctr_thread *t, struct task *k)
{
    k->depth--;
    end_slice(l, vcpu_track(t));
    if (has_track(k)) {
        end_slice(l, task_track(k));
    }
}

static void end_halt(struct timeline *l, const struct ctr_thread *t)
{
    struct vcpu *v = &l->vcpus[t->index];

    if (v->halted) {
        end_slice(l, vcpu_track(t));
        v->halted = false;
    }
}

/* The task's slices end, or begin, on the tracks. */
static void leave_task(struct timeline *l, const struct ctr_thread *t)
{
    const struct task *k = &l->tasks[l->vcpus[t->index].task];
    const uint32_t slices = k->depth + (k->id.task != 0);

    end_halt(l, t);
    for (uint32_t i = 0; i < slices; i++) {
        end_slice(l, vcpu_track(t));
    }
    for (uint32_t i = 0; has_track(k) && i < slices; i++) {
        end_slice(l, task_track(k));
    }
}

static void enter_task(struct timeline *l, const struct ctr_thread *t)
{
    const struct task *k = &l->tasks[l->vcpus[t->index].task];
    char cpu[THREAD_TEXT], name[sizeof(k->id.comm) + 12];

    if (k->id.task) {
        snprintf(name, sizeof(name), "%.*s-%u", (int)k->id.comm_bytes, k->id.comm,
                 k->id.pid);
        begin_slice(l, vcpu_track(t), name, strlen(name));
    }
    if (has_track(k)) {
        tool_thread_text(&l->info, t->pid, t->tid, cpu);
        begin_slice(l, task_track(k), cpu, strlen(cpu));
    }
    for (uint32_t i = 0; i < k->depth; i++) {
        begin_taken(l, t, k, &k->stack[i]);
    }
}

/* ------------------------------------------------------------------------ state */

/* The number of a new task; UINT32_MAX: no memory. */
static uint32_t add_task(struct timeline *l)
{
    if (!array_reserve(&l->tasks, &l->cap_tasks, l->nr_tasks + (size_t)1,
                       sizeof(*l->tasks))) {
        return UINT32_MAX;
    }
    l->tasks[l->nr_tasks] = (struct task){.depth = 0};
    return l->nr_tasks++;
}

/* Whether vCPUs ran in parallel. */
static bool parallel(const struct timeline *l)
{
    return !(l->info.events & CTR_HAS_ORDER);
}

static uint32_t *bucket_of(struct timeline *l, uint64_t task, uint32_t pid)
{
    return &l->bucket[(task >> 6 ^ pid) % 4096];
}

/* The same of the one that an event of a vCPU names. */
static uint32_t task_of(struct timeline *l, const struct ctr_task *task, uint32_t index)
{
    uint32_t *head = bucket_of(l, task->task, task->pid), n;
    const uint32_t vcpu = parallel(l) ? index : 0;

    for (n = *head; n; n = l->tasks[n - 1].next) {
        const struct task *k = &l->tasks[n - 1];
        if (k->id.task == task->task && k->id.pid == task->pid && k->vcpu == vcpu) {
            return n - 1;
        }
    }
    n = add_task(l);
    if (n != UINT32_MAX) {
        l->tasks[n].vcpu = vcpu;
        l->tasks[n].next = *head;
        *head = n + 1;
    }
    return n;
}

static struct vcpu *vcpu_of(struct timeline *l, const struct ctr_thread *t)
{
    char name[THREAD_TEXT + 16];
    struct vcpu *v;
    size_t n;

    if (!array_reserve_zeroed(&l->vcpus, &l->nr_vcpus, t->index + (size_t)1,
                              sizeof(*l->vcpus))) {
        return NULL;
    }
    v = &l->vcpus[t->index];
    if (!v->begun) {
        v->task = v->unknown = add_task(l);
        if (v->task == UINT32_MAX) {
            return NULL;
        }
        v->begun = true;
        v->privilege = "";
        tool_thread_text(&l->info, t->pid, t->tid, name);
        n = strlen(name);
        put_name(l, "thread_name", vcpu_track(t), name, n);
        strcpy(name + n, " privilege");
        put_name(l, "thread_name", privilege_track(t), name, strlen(name));
    }
    return v;
}

static void set_privilege(struct timeline *l, const struct ctr_thread *t,
                          uint32_t privilege)
{
    struct vcpu *v = &l->vcpus[t->index];
    const char *now = guest_privilege_name(&l->guest, privilege);

    if (strcmp(now, v->privilege)) {
        if (*v->privilege) {
            end_slice(l, privilege_track(t));
        }
        if (*now) {
            begin_slice(l, privilege_track(t), now, strlen(now));
        }
        v->privilege = now;
    }
}

/* Only events have a vCPU's privilege: the first one has that of the code before it, too. */
static void change_privilege(struct timeline *l, const struct ctr_thread *t,
                             uint32_t before, uint32_t privilege)
{
    const uint64_t now_ns = l->now_ns;

    if (!*l->vcpus[t->index].privilege) {
        l->now_ns = l->vcpus[t->index].since_ns;
        set_privilege(l, t, before);
        l->now_ns = now_ns;
    }
    set_privilege(l, t, privilege);
}

/* ----------------------------------------------------------------------- events */

static void to_unknown(struct timeline *l, const struct ctr_thread *t)
{
    struct vcpu *v = &l->vcpus[t->index];

    leave_task(l, t);
    v->task = v->unknown;
    l->tasks[v->task].depth = l->tasks[v->task].hidden = 0;
}

/* Another vCPU that was not recorded when it left the task leaves it now. */
static void take_task(struct timeline *l, const struct ctr_thread *t, uint32_t task)
{
    for (uint32_t i = 0; i < l->nr_vcpus; i++) {
        if (i != t->index && l->vcpus[i].begun && l->vcpus[i].task == task) {
            to_unknown(l, ctr_trace_thread(l->trace, i));
        }
    }
}

static int on_task(struct timeline *l, const struct ctr_thread *t,
                   const struct ctr_task *task)
{
    struct vcpu *v = &l->vcpus[t->index];
    const struct ctr_filter *f = &l->opt->filter;
    uint32_t n;

    if (!task->task || (f->task && !f->task(f->arg, task))) {
        to_unknown(l, t);
        return 0;
    }
    n = task_of(l, task, t->index);
    if (n == UINT32_MAX) {
        return STOP_NOMEM;
    }
    take_task(l, t, n);
    leave_task(l, t);
    if (parallel(l)) {
        l->tasks[n].depth = l->tasks[n].hidden = 0;
    }
    line_task_set(&l->tasks[n].id, task);
    l->tasks[n].seen_ns = l->now_ns;
    v->task = n;
    enter_task(l, t);
    return 0;
}

static int on_interrupt(struct timeline *l, const struct ctr_thread *t,
                        const struct ctr_interrupt *i)
{
    struct task *k = &l->tasks[l->vcpus[t->index].task];
    char buf[GUEST_INTERRUPT_MAX];
    struct taken *x;

    end_halt(l, t);
    if (i->flags & CTR_INT_EMULATED) {
        return 0;
    }
    if (k->depth == MAX_DEPTH) {
        k->hidden++;
        change_privilege(l, t, i->old_privilege, i->privilege);
        return 0;
    }
    if (!array_reserve(&k->stack, &k->cap, k->depth + (size_t)1, sizeof(*k->stack))) {
        return STOP_NOMEM;
    }
    x = &k->stack[k->depth++];
    *x = (struct taken){.from = i->from, .to = i->to};
    snprintf(x->name, sizeof(x->name), "%s", guest_interrupt_name(&l->guest, i, buf));
    begin_taken(l, t, k, x);
    change_privilege(l, t, i->old_privilege, i->privilege);
    return 0;
}

static void on_return(struct timeline *l, const struct ctr_thread *t,
                      const struct ctr_intret *r)
{
    struct task *k = &l->tasks[l->vcpus[t->index].task];

    if (k->hidden) {
        k->hidden--;
    } else if (k->depth) {
        end_taken(l, t, k);
    }
    change_privilege(l, t, r->old_privilege, r->privilege);
}

static void on_power(struct timeline *l, const struct ctr_thread *t,
                     const struct ctr_power *p)
{
    struct vcpu *v = &l->vcpus[t->index];
    struct task *k = &l->tasks[v->task];
    const char *name = p->op == CTR_POWER_OFF ? "off" : "halted";

    if (p->op == CTR_POWER_SAVED) {
        return;
    }
    if (p->op != CTR_POWER_LOADED) {
        end_halt(l, t);
    }
    if (p->op == CTR_POWER_RESET || p->op == CTR_POWER_LOADED) {
        k->hidden = 0;
        while (k->depth) {
            end_taken(l, t, k);
        }
    } else if (p->op != CTR_POWER_WAKE) {
        begin_slice(l, vcpu_track(t), name, strlen(name));
        v->halted = true;
    }
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    const struct ctr_thread *t = ctr_job_thread(job);
    struct timeline *l = arg;
    struct ctr_interrupt interrupt;
    struct ctr_intret intret;
    struct ctr_power power;
    struct ctr_task task;
    struct ctr_gate gate;
    const bool begun = t->index < l->nr_vcpus && l->vcpus[t->index].begun;
    int ret = vcpu_of(l, t) ? 0 : STOP_NOMEM;

    l->now_ns = e->time_ns ? e->time_ns : l->now_ns;
    l->last_ns = l->now_ns > l->last_ns ? l->now_ns : l->last_ns;
    if (!ret && !begun) {
        l->vcpus[t->index].since_ns = l->now_ns;
    }
    if (!ret && !begun && ctr_job_task(job, &task) == 1) {
        ret = on_task(l, t, &task);
    }
    if (ret) {
        return ret;
    }
    if (ctr_parse_task(e, &task) == 0) {
        ret = on_task(l, t, &task);
    } else if (ctr_parse_interrupt(e, &interrupt) == 0) {
        ret = on_interrupt(l, t, &interrupt);
    } else if (ctr_parse_intret(e, &intret) == 0) {
        on_return(l, t, &intret);
    } else if (ctr_parse_power(e, &power) == 0) {
        on_power(l, t, &power);
    } else if (ctr_parse_gate(e, &gate) == 0 && !gate.open) {
        to_unknown(l, t);
    }
    return ret ? ret : trace_json_failed(&l->json) ? STOP_OUTPUT : 0;
}

static int on_progress(void *arg, const struct ctr_progress *p)
{
    struct timeline *l = arg;

    progress_update(&l->progress, p->bytes_done, p->bytes, p->insns_done, "instructions");
    return 0;
}

/* --------------------------------------------------------------------- the whole */

/* Whether this is the newest of those that vCPUs which ran in parallel have of a task. */
static bool is_newest(struct timeline *l, const struct task *k)
{
    for (uint32_t n = *bucket_of(l, k->id.task, k->id.pid); n;) {
        const struct task *other = &l->tasks[n - 1];
        if (other->id.task == k->id.task && other->id.pid == k->id.pid &&
            other->seen_ns > k->seen_ns) {
            return false;
        }
        n = other->next;
    }
    return true;
}

/* Each task has its last name; its process that of its first task. */
static void name_tasks(struct timeline *l)
{
    for (uint32_t i = 0; i < l->nr_tasks; i++) {
        const struct task *k = &l->tasks[i];
        if (!has_track(k) || !is_newest(l, k)) {
            continue;
        }
        put_name(l, "thread_name", task_track(k), k->id.comm, k->id.comm_bytes);
        if (k->id.pid == k->id.tgid) {
            put_name(l, "process_name", task_track(k), k->id.comm, k->id.comm_bytes);
        }
    }
}

static void end_all(struct timeline *l, const struct ctr_trace *tr)
{
    const struct ctr_filter *f = &l->opt->filter;
    const uint64_t to_ns = f->to ? l->last_ns : f->to_ns ? f->to_ns : UINT64_MAX;
    const struct ctr_thread *t;

    for (uint32_t i = 0; (t = ctr_trace_thread(tr, i)) && i < l->nr_vcpus; i++) {
        if (l->vcpus[i].begun) {
            l->now_ns = t->end_ns < to_ns ? t->end_ns : to_ns;
            l->now_ns = l->now_ns > l->last_ns ? l->now_ns : l->last_ns;
            leave_task(l, t);
            if (*l->vcpus[i].privilege) {
                end_slice(l, privilege_track(t));
            }
        }
    }
    name_tasks(l);
    put_name(l, "process_name", (struct track){VCPUS, VCPUS}, "vCPUs", strlen("vCPUs"));
}

static void timeline_fini(struct timeline *l)
{
    for (uint32_t i = 0; i < l->nr_tasks; i++) {
        free(l->tasks[i].stack);
    }
    free(l->tasks);
    free(l->vcpus);
}

/* TOOL_OK, or TOOL_NOTHING after a line on stderr. */
static int check(const struct timeline *l)
{
    const struct ctr_info *info = &l->info;

    if (!info->machine) {
        tool_error(PROG, "%s: --timeline: it is not the trace of a machine",
                   l->opt->path);
    } else if (!(info->events & (CTR_HAS_TASK | CTR_HAS_INT | CTR_HAS_PWR))) {
        tool_error(PROG,
                   "%s: --timeline: neither tasks nor exceptions nor halts were "
                   "recorded (-e task,int,pwr)",
                   l->opt->path);
    } else if (!l->opt->filter.task ||
               !tasks_none(l->trace, &l->opt->filter, PROG, l->opt->path)) {
        return TOOL_OK;
    }
    return TOOL_NOTHING;
}

int timeline_write(struct ctr_trace *tr, const struct timeline_options *opt)
{
    struct timeline *l = calloc(1, sizeof(*l));
    struct ctr_filter filter = opt->filter;
    const struct ctr_replay_opts ropts = {
        .workers = 1, .filter = &filter, .slices = 1, .tasks = 1};
    struct ctr_replay_ops ops = {.os = on_os};
    struct ctr_diag diag = {.off = CTR_NO_OFF};
    int ret, error, status;

    if (!l) {
        tool_error(PROG, "out of memory");
        return TOOL_FAILED;
    }
    l->opt = opt;
    l->trace = tr;
    ctr_trace_info(tr, &l->info);
    guest_init(&l->guest, &l->info);
    status = check(l);
    if (status) {
        free(l);
        return status;
    }
    filter.kinds = CTR_KIND_TASK | CTR_KIND_INT | CTR_KIND_PWR | CTR_KIND_MARK;
    progress_init_before_output(&l->progress, PROG, opt->quiet);
    ops.progress = l->progress.on ? on_progress : NULL;
    trace_json_begin(&l->json, stdout);
    ret = ctr_replay(tr, &ops, l, &ropts, &diag);
    progress_clear(&l->progress);
    if (ret <= 0) { /* what was read before an error is shown, too */
        end_all(l, tr);
    }
    error = trace_json_end(&l->json);
    timeline_fini(l);
    free(l);
    if (error == -EPIPE) {
        return TIMELINE_CUT_SHORT;
    }
    if (ret < 0) {
        tool_trace_error(PROG, opt->path, ret, &diag);
    } else if (ret == STOP_NOMEM || error == -ENOMEM) {
        tool_error(PROG, "out of memory");
    } else if (error) {
        tool_error(PROG, "%s: %s", opt->out ? opt->out : "standard output",
                   strerror(-error));
    }
    return ret || error ? TOOL_FAILED : TOOL_OK;
}
