/* SPDX-License-Identifier: MIT */
/* The names of the marks, system calls or tasks that a trace has. */
#ifndef TOOLS_EVENT_NAMES_H
#define TOOLS_EVENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "ctr.h"
#include "guest/guest.h"

enum event_names_of {
    EVENT_SYSCALLS, /* their names */
    EVENT_MARKS,    /* their texts */
    EVENT_TASKS     /* the names that they had when they were switched to, or got then */
};

/* The name that an event has.  False: the event is something else. */
bool event_names_text(const struct ctr_os_event *e, enum event_names_of of,
                      const struct guest *g, struct ctr_str *name);

/* Each name once, in the order of the trace. */
struct event_names {
    char **v; /* allocated */
    size_t n, cap;
    void *tree; /* of tsearch; the strings of v */
};

/*
 * Adds the names of the events that a filter selects, whatever its kinds are; stops at `max'
 * names.  Reads the events of the trace, no instruction.  Returns 0, 1 without memory, or an error of
 * ctr_replay with *diag; the names until then are there in any case.
 */
int event_names_load(struct event_names *names, struct ctr_trace *tr,
                     enum event_names_of of, const struct ctr_filter *filter, size_t max,
                     struct ctr_diag *diag);
void event_names_fini(struct event_names *names);

#endif
