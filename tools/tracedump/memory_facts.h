/* SPDX-License-Identifier: MIT */
/*
 * What --info says of a machine's memory: its blocks of RAM, what wrote there other than by
 * accesses, and the accesses to each device.
 */
#ifndef TOOLS_MEMORY_FACTS_H
#define TOOLS_MEMORY_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/textbuf.h"
#include "ctr.h"

struct memory_facts;

/* NULL: no memory. */
struct memory_facts *memory_facts_new(const struct ctr_info *info);
/* NULL is allowed. */
void memory_facts_free(struct memory_facts *f);

/* Whether it is an event of a machine's memory that counts. */
bool memory_event(const struct ctr_os_event *e);
/*
 * memory_take in the callback `os' appends what counts of such an event, which is none of
 * its bytes, to the job's data (0 or -CTR_E_NOMEM); memory_put in `ordered' counts it. It
 * returns the bytes of what is at `data', or 0: no memory.
 */
int memory_take(struct ctr_job *job, const struct ctr_os_event *e);
size_t memory_put(struct memory_facts *f, const void *data);

/* At the end: sorts the tables. */
void memory_facts_end(struct memory_facts *f);
bool memory_facts_text(struct textbuf *b, const struct memory_facts *f);
bool memory_facts_json(struct textbuf *b, const struct memory_facts *f);

#endif
