/* SPDX-License-Identifier: MIT */
/* The names of the marks, system calls or tasks of a trace; see event_names.h. */
#include "query/event_names.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/array.h"
#include "syscall/syscall_text.h"

#define STOP_NOMEM 1
#define STOP_ENOUGH 2

struct collector {
    struct event_names *names;
    struct guest guest;
    enum event_names_of of;
    size_t max;
};

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Takes an allocated name; frees it if it is there already. */
static int add(struct collector *c, char *name)
{
    struct event_names *l = c->names;
    char *const *node = tsearch(name, &l->tree, compare);

    if (!node) {
        free(name);
        return STOP_NOMEM;
    }
    if (*node != name) {
        free(name);
        return 0;
    }
    l->v[l->n++] = name;
    return l->n >= c->max ? STOP_ENOUGH : 0;
}

bool event_names_text(const struct ctr_os_event *e, enum event_names_of of,
                      const struct guest *g, struct ctr_str *name)
{
    struct ctr_syscall call;
    struct ctr_mark mark;
    struct ctr_task task;

    if (of == EVENT_TASKS) {
        if (ctr_parse_task(e, &task) || !task.task) {
            return false;
        }
        *name = task.comm;
        return true;
    }
    if (of == EVENT_MARKS) {
        if (ctr_parse_mark(e, &mark)) {
            return false;
        }
        *name = mark.text;
        return true;
    }
    if (e->type != CTR_EVENT_SYSCALL || ctr_parse_syscall(e, &call)) {
        return false;
    }
    *name = syscall_name(g, &call);
    return true;
}

static int on_os(void *arg, struct ctr_job *job, const struct ctr_os_event *e)
{
    struct collector *c = arg;
    struct event_names *l = c->names;
    struct ctr_str text;
    char *name;

    (void)job;
    if (!event_names_text(e, c->of, &c->guest, &text) || !text.n ||
        memchr(text.p, 0, text.n)) {
        return 0;
    }
    if (!array_reserve(&l->v, &l->cap, l->n + 1, sizeof(*l->v)) ||
        !(name = strndup(text.p, text.n))) {
        return STOP_NOMEM;
    }
    return add(c, name);
}

int event_names_load(struct event_names *names, struct ctr_trace *tr,
                     enum event_names_of of, const struct ctr_filter *filter, size_t max,
                     struct ctr_diag *diag)
{
    struct collector c = {.names = names, .of = of, .max = max};
    struct ctr_info info;
    struct ctr_filter kinds = *filter;
    const struct ctr_replay_ops ops = {.os = on_os};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &kinds};
    int ret;

    ctr_trace_info(tr, &info);
    guest_init(&c.guest, &info);
    kinds.kinds = of == EVENT_TASKS   ? CTR_KIND_TASK
                  : of == EVENT_MARKS ? CTR_KIND_MARK
                                      : CTR_KIND_SYS;
    ret = ctr_replay(tr, &ops, &c, &opts, diag);
    return ret == STOP_ENOUGH ? 0 : ret;
}

void event_names_fini(struct event_names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        tdelete(names->v[i], &names->tree, compare);
        free(names->v[i]);
    }
    free(names->v);
}
