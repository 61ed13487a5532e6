/* SPDX-License-Identifier: MIT */
/*
 * What --info says of the tasks of a machine's Linux: the instructions of each. One thread
 * at a time; events in the order of each vCPU.
 */
#ifndef TOOLS_TASK_FACTS_H
#define TOOLS_TASK_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/textbuf.h"
#include "ctr.h"
#include "rows.h"

struct task_facts {
    struct rows tasks;
    struct running *running; /* by index of the vCPU */
    size_t nr_running;
};

void task_facts_init(struct task_facts *f);
void task_facts_fini(struct task_facts *f);
/* The vCPU begins to run it at this ordinal; false: no memory. */
bool task_facts_put(struct task_facts *f, const struct ctr_thread *vcpu,
                    const struct ctr_task *task, uint64_t ordinal);
/* At the end; false: no memory. */
bool task_facts_end(struct task_facts *f, const struct ctr_trace *tr);
bool task_facts_text(struct textbuf *b, const struct task_facts *f);
bool task_facts_json(struct textbuf *b, const struct task_facts *f);

#endif
