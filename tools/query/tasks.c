/* SPDX-License-Identifier: MIT */
/* See tasks.h. */
#include "query/tasks.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"

#define COMM "comm:"

/* Calls add for each item of a list with commas. */
static bool each_item(const char *text, bool (*add)(void *list, const char *item),
                      void *list)
{
    char *copy = strdup(text), *rest = copy, *item;
    bool ok = copy != NULL;

    while (ok && (item = strsep(&rest, ","))) {
        ok = add(list, item);
    }
    free(copy);
    return ok;
}

static bool add_task(void *arg, const char *text)
{
    struct task_names *list = arg;
    struct task_name *v = realloc(list->v, (list->n + 1) * sizeof(*v));
    struct task_name one = {.glob = NULL};
    uint64_t pid;

    if (!v) {
        return false;
    }
    list->v = v;
    if (text[0] >= '0' && text[0] <= '9') {
        if (!tool_parse_u64(text, &pid) || pid > INT32_MAX) {
            return false; /* a number that is no pid, not a name */
        }
        one.pid = (uint32_t)pid;
    } else {
        text += strncmp(text, COMM, strlen(COMM)) ? 0 : strlen(COMM);
        one.glob = *text ? strdup(text) : NULL;
        if (!one.glob) {
            return false;
        }
    }
    v[list->n++] = one;
    return true;
}

static bool add_context(void *arg, const char *text)
{
    struct context_names *list = arg;
    uint64_t *v = realloc(list->v, (list->n + 1) * sizeof(*v));

    if (v) {
        list->v = v;
    }
    if (!v || !tool_parse_u64(text, &v[list->n])) {
        return false;
    }
    list->n++;
    return true;
}

bool task_names_add(struct task_names *list, const char *text)
{
    return each_item(text, add_task, list);
}

bool context_names_add(struct context_names *list, const char *text)
{
    return each_item(text, add_context, list);
}

void task_names_free(struct task_names *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        free(list->v[i].glob);
    }
    free(list->v);
    *list = (struct task_names){0};
}

void context_names_free(struct context_names *list)
{
    free(list->v);
    *list = (struct context_names){0};
}

bool task_names_have(const struct task_names *list, const struct ctr_task *task)
{
    char comm[16];
    const size_t n = task->comm.n < sizeof(comm) ? task->comm.n : sizeof(comm) - 1;

    memcpy(comm, task->comm.p, n);
    comm[n] = 0;
    for (uint32_t i = 0; task->task && i < list->n; i++) {
        const struct task_name *t = &list->v[i];
        if (t->glob ? !fnmatch(t->glob, comm, 0)
                    : t->pid == task->pid || t->pid == task->tgid) {
            return true;
        }
    }
    return false;
}

bool context_names_have(const struct context_names *list, const struct ctr_context *c)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->v[i] == c->table) {
            return true;
        }
    }
    return false;
}
