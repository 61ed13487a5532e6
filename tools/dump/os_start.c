/* SPDX-License-Identifier: MIT */
/* How a line about the system begins, the bytes of one, words that several kinds have. */
#include "dump.h"
#include "input/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAINT "\033[2m"
#define PLAIN "\033[0m"

void os_printer_init(struct os_printer *p, const struct ctr_trace *tr,
                     const struct dump_options *opt)
{
    *p = (struct os_printer){.opt = opt, .touching = os_by_memory(opt)};
    ctr_trace_info(tr, &p->info);
    guest_init(&p->guest, &p->info);
}

void os_printer_fini(struct os_printer *p)
{
    textbuf_fini(&p->out);
    textbuf_fini(&p->args);
    textbuf_fini(&p->label);
    free(p->mem);
}

double seconds_of(const struct ctr_info *info, uint64_t ns)
{
    return ns > info->start_ns ? (double)(ns - info->start_ns) / 1e9 : 0;
}

const char *end_name(uint32_t reason)
{
    static const char *const names[] = {"unknown", "exit", "exit_group",
                                        "signal",  "exec", "killed"};

    return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : "unknown";
}

void line_task_set(struct line_task *t, const struct ctr_task *task)
{
    *t = (struct line_task){.task = task->task, .pid = task->pid, .tgid = task->tgid};
    if (task->task) {
        t->comm_bytes = task->comm.n;
        fmt_mem(t->comm, task->comm.p, task->comm.n);
    }
}

bool line_task_take(struct line_task *t, const struct ctr_job *job)
{
    struct ctr_task now = {.task = 0};

    if (!ctr_job_task(job, &now)) {
        now.task = 0;
    }
    if (now.task == t->task &&
        (!now.task ||
         (now.pid == t->pid && now.tgid == t->tgid && now.comm.n == t->comm_bytes &&
          !memcmp(now.comm.p, t->comm, t->comm_bytes)))) {
        return false;
    }
    line_task_set(t, &now);
    return true;
}

void line_task_of(struct line_task *t, const struct ctr_job *job,
                  const struct ctr_os_event *e)
{
    struct ctr_task now;

    if (ctr_parse_task(e, &now) == 0) {
        line_task_set(t, &now);
    } else {
        line_task_take(t, job);
    }
}

/* "bash-1977", as ftrace has it */
static bool task_text(struct textbuf *to, const struct line_task *task)
{
    const size_t before = to->len;
    bool ok = task->task ? textbuf_printable(to, task->comm, task->comm_bytes) &&
                               textbuf_printf(to, "-%u", task->pid)
                         : textbuf_printf(to, "-");
    const int written = (int)(to->len - before);

    return ok &&
           textbuf_printf(to, "%*s", written < TASK_WIDTH ? TASK_WIDTH - written : 1, "");
}

static bool task_json(struct textbuf *to, const struct line_task *task)
{
    return !task->task ||
           (textbuf_printf(to, ",\"task\":{\"pid\":%u,\"tgid\":%u,\"comm\":", task->pid,
                           task->tgid) &&
            textbuf_json_string(to, task->comm, task->comm_bytes) &&
            textbuf_printf(to, "}"));
}

bool thread_label(struct textbuf *to, const struct ctr_info *info, bool json,
                  const struct ctr_thread *t, const struct line_task *task)
{
    const bool tasks = task && info->events & CTR_HAS_TASK;
    char id[THREAD_TEXT];

    to->len = 0;
    if (json) {
        return textbuf_printf(to, ",\"pid\":%d,\"tid\":%d", t->pid, t->tid) &&
               (!tasks || task_json(to, task));
    }
    return textbuf_printf(to, info->machine ? " %-7s " : " %-13s ",
                          tool_thread_text(info, t->pid, t->tid, id)) &&
           (!tasks || task_text(to, task));
}

bool os_put_start(struct os_printer *p, const char *kind, const struct ctr_os_event *e)
{
    const struct dump_options *opt = p->opt;
    const struct textbuf *label = &p->label;
    bool ok = thread_label(&p->label, &p->info, opt->json, e->thread, &p->task);

    if (ok && opt->json) {
        ok = textbuf_printf(&p->out, "{\"kind\":\"%s\",\"ordinal\":%" PRIu64 "%.*s", kind,
                            e->ordinal, (int)label->len, label->data);
        if (ok && opt->times && e->time_ns) {
            ok = textbuf_printf(&p->out, ",\"time\":%.9f",
                                seconds_of(&p->info, e->time_ns));
        }
        return ok;
    }
    ok = ok && textbuf_printf(&p->out, "%s%10" PRIu64 "%.*s%*s%s",
                              opt->color ? FAINT : "", e->ordinal, (int)label->len,
                              label->data, p->info.machine ? PRIVILEGE_WIDTH : 0, "",
                              opt->color ? PLAIN : "");
    if (ok && opt->times && e->time_ns) {
        ok = textbuf_printf(&p->out, "[%.6f] ", seconds_of(&p->info, e->time_ns));
    }
    return ok;
}

bool os_put_data(struct os_printer *p, const uint8_t *data, uint32_t n)
{
    char *at;

    if (!textbuf_printf(&p->out, ",\"data\":\"") ||
        !(at = textbuf_reserve(&p->out, 2 * (size_t)n + 1))) {
        return false;
    }
    textbuf_commit(&p->out, fmt_bytes(at, data, n));
    return textbuf_printf(&p->out, "\"");
}
