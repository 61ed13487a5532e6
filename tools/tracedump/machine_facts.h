/* SPDX-License-Identifier: MIT */
/*
 * What --info says of a machine: its exceptions and interrupts by name, the instructions
 * in each address space and of each task.
 */
#ifndef TOOLS_MACHINE_FACTS_H
#define TOOLS_MACHINE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/textbuf.h"
#include "ctr.h"

struct machine_facts;

/* NULL: no memory. */
struct machine_facts *machine_facts_new(const struct ctr_info *info);
/* NULL is allowed. */
void machine_facts_free(struct machine_facts *f);

/* Whether it is an event of a machine. */
bool machine_event(const struct ctr_os_event *e);
/*
 * machine_take in the callback `os' appends such an event to the job's data (0 or
 * -CTR_E_NOMEM); machine_put in `ordered' counts it.  It
 * returns the bytes of what is at `data', or 0: no memory.
 */
int machine_take(struct ctr_job *job, const struct ctr_os_event *e);
size_t machine_put(struct machine_facts *f, const struct ctr_thread *t, const void *data);

/* At the end; false: no memory. */
bool machine_facts_end(struct machine_facts *f, const struct ctr_trace *tr);
bool machine_facts_text(struct textbuf *b, const struct machine_facts *f);
bool machine_facts_json(struct textbuf *b, const struct machine_facts *f);

#endif
