/* SPDX-License-Identifier: MIT */
/*
 * Tasks of a machine's Linux, and address spaces, as a user names them:
 *
 *   123           the task with this pid, or all tasks of the process with it; 0: idle
 *   kworker*      those that have this name; a glob
 *   comm:123      those that have this name, also of digits
 *
 *   0x40b3f000    the address space with this page table
 */
#ifndef TOOLS_TASKS_H
#define TOOLS_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

/* A list that grows with each option given; zeroed: empty. */
struct task_names {
    struct task_name {
        char *glob; /* owned; NULL: */
        uint32_t pid;
    } *v;
    uint32_t n;
};

/* Adds the items of a list with commas; false: not such a list, or no memory. */
bool task_names_add(struct task_names *list, const char *text);
void task_names_free(struct task_names *list);
/* Whether an item names the task. Any thread. */
bool task_names_have(const struct task_names *list, const struct ctr_task *task);

/* Page tables: the same. */
struct context_names {
    uint64_t *v;
    uint32_t n;
};

bool context_names_add(struct context_names *list, const char *text);
void context_names_free(struct context_names *list);
bool context_names_have(const struct context_names *list, const struct ctr_context *c);

/*
 * After a filter has selected nothing: whether that is because the trace has no such task,
 * or page table, which a line on stderr then says. Not of streams.
 */
bool tasks_none(struct ctr_trace *tr, const struct ctr_filter *f, const char *prog,
                const char *path);

#endif
