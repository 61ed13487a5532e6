/* SPDX-License-Identifier: MIT */
/* tracesym --list: the names that a trace has, for people and for completion. */
#ifndef TRACESYM_LIST_H
#define TRACESYM_LIST_H

#include "common/words.h"
#include "dump/dump.h"
#include "symbols/places.h"

enum list_what {
    LIST_FUNCTIONS,
    LIST_MARKS, /* their texts */
    LIST_MODULES,
    LIST_MOMENTS, /* words of moments, then those with the names of a mark, system call or
                     function */
    LIST_OBJECTS, /* global ones, and those that debug information declares */
    LIST_PROCESSES,
    LIST_SYSCALLS, /* the names of those that were made */
    LIST_TASKS,
    LIST_THREADS
};

/* The words of --list, and their values. */
extern const struct words list_words;
bool list_parse(const char *text, enum list_what *what);

/* Whether the list is of modules or of what is in them. */
bool list_needs_modules(enum list_what what);

struct list_request {
    enum list_what what;
    const struct modset *modset; /* after places_load; NULL: not needed */
    const char *const *modules;  /* globs, as for module_matches; 0: all */
    unsigned nr_modules;
};

/*
 * Writes one name a line to standard output, none twice, sorted by bytes: functions are
 * without parameters, objects of system libraries come after the others, and ids, sorted by
 * value, before the names of these processes or threads.  Returns an exit status as
 * dump_events does; TOOL_NOTHING after a line on stderr.
 */
int list_write(struct ctr_trace *tr, const struct list_request *r,
               const struct dump_options *opt);

#endif
