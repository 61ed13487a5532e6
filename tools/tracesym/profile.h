/* SPDX-License-Identifier: MIT */
/*
 * tracesym --functions and --calls: makes the call tree and writes it.
 */
#ifndef TRACESYM_PROFILE_H
#define TRACESYM_PROFILE_H

#include "calltree/calltree.h"
#include "common/words.h"
#include "graph.h"
#include "profile_select.h"

/* The older trace of --diff. */
struct profile_older {
    struct ctr_trace *trace;
    struct places *places;
    const char *path;
    struct ctr_filter filter;
};

struct profile_options {
    const char *path;
    const char *out; /* what standard output is, for messages; NULL: just that */
    struct graph_options graph;
    struct calltree_options tree; /* filter, jobs, quiet, separate_threads, span_min;
                                     the rest is set here */
    bool no_accesses;             /* do not count accesses, which is faster */
    struct profile_selection selection;
    bool by_irq; /* each exception and interrupt of a machine by itself */
    const struct profile_older *older; /* to compare with, or NULL */
};

/* The words of --format, --cost, --sort and --by, and their values. */
extern const struct words profile_format_words, profile_cost_words, profile_sort_words,
    profile_by_words;
bool profile_parse_format(const char *text, enum graph_format *format);
bool profile_parse_cost(const char *text, enum graph_cost *cost);
bool profile_parse_by(const char *text, struct profile_options *opt);
bool profile_parse_sort(const char *text, enum graph_sort *sort);

/* The reader of the output is gone. */
#define PROFILE_CUT_SHORT (-1)

/* Writes to standard output.  Returns an exit status that does not include the status of
 * the trace, or PROFILE_CUT_SHORT; TOOL_NOTHING, after one line on stderr, if nothing that is
 * selected was executed. */
int profile_write(struct ctr_trace *tr, const struct places *places,
                  const struct profile_options *opt);

#endif
