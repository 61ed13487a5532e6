/*
 * Execution tracing into shared memory: tasks and address spaces to record
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The gate of a vCPU is open while it runs a task and an address space that
 * were chosen.  Code that may change them goes back to the main loop, which
 * comes here before it looks for the next block.
 */
#include "qemu/osdep.h"
#include "cpu.h"
#include "accel/tcg/cannoli/event.h"
#include "task.h"
#include <fnmatch.h>

static char **tasks; /* pids and globs; NULL: all are recorded */
static bool begun;

bool cannoli_selects(void)
{
    const struct mempipe_control *control = cannoli_control();

    if (!begun) {
        begun = true;
        if (control->tasks[0]) {
            g_autofree char *list =
                g_strndup(control->tasks, MEMPIPE_TASKS_BYTES);

            tasks = g_strsplit(list, ",", -1);
        }
    }
    return tasks || control->nr_contexts;
}

static bool names(const char *item, const CannoliTaskNow *task)
{
    const char *comm = "comm:";
    uint64_t pid;

    if (g_ascii_isdigit(*item)) {
        pid = g_ascii_strtoull(item, NULL, 0);
        return pid == task->pid || pid == task->tgid;
    }
    item += g_str_has_prefix(item, comm) ? strlen(comm) : 0;
    return !fnmatch(item, task->comm, 0);
}

static bool task_is_chosen(CPUState *cpu)
{
    const CannoliTaskNow *now = tasks ? cannoli_task_now(cpu) : NULL;

    for (char **item = tasks; item && *item; item++) {
        if (now->task && names(*item, now)) {
            return true;
        }
    }
    return !tasks;
}

static bool context_is_chosen(CPUState *cpu)
{
    const struct mempipe_control *control = cannoli_control();
    uint32_t n = MIN(control->nr_contexts, MEMPIPE_CONTEXTS);
    uint64_t now = n ? cannoli_page_table(cpu) : 0;

    for (uint32_t i = 0; i < n; i++) {
        if (control->contexts[i] == now) {
            return true;
        }
    }
    return !n;
}

void cannoli_select(CPUState *cpu)
{
    if (cannoli_selects()) {
        cannoli_gate_elsewhere(cpu,
                               !task_is_chosen(cpu) || !context_is_chosen(cpu));
    }
}
