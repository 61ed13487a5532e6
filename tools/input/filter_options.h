/* SPDX-License-Identifier: MIT */
/*
 * The options that select a part of a trace, the same in every tool that replays one.
 *
 * A tool puts the rows that it offers into its table, passes each key to
 * filter_options_parse, and calls filter_options_finish at the end.
 */
#ifndef TOOLS_FILTER_OPTIONS_H
#define TOOLS_FILTER_OPTIONS_H

#include "common/options.h"

enum {
    FILTER_OPT_FROM = TOOL_OPT_LONG + 0x100,
    FILTER_OPT_TO,
    FILTER_OPT_PC,
    FILTER_OPT_FROM_TIME,
    FILTER_OPT_TO_TIME,
};

/* Rows of a table of struct tool_option. */
#define FILTER_OPTIONS_ORDINALS                                                          \
    {FILTER_OPT_FROM, "from", "N", "begin with ordinal N of each thread"},               \
        {FILTER_OPT_TO, "to", "N", "stop before ordinal N of each thread"},              \
        {'n', "count", "N", "read N ordinals of each thread, starting at --from"}
#define FILTER_OPTIONS_TIMES                                                             \
    {FILTER_OPT_FROM_TIME, "from-time", "SECONDS",                                       \
     "begin SECONDS after the start of the recording"},                                  \
        {FILTER_OPT_TO_TIME, "to-time", "SECONDS",                                       \
         "stop SECONDS after the start of the recording"}
#define FILTER_OPTIONS_THREADS                                                           \
    {'p', "pid", "LIST", "only these processes"},                                        \
        {'t', "thread", "LIST", "only these threads, by thread id"}
#define FILTER_OPTIONS_PLACES                                                            \
    {FILTER_OPT_PC, "pc", "RANGES",                                                      \
     "only instructions at these addresses:\nA-B (B not included), A+LENGTH or A"},      \
        {'a', "addr", "RANGES", "only accesses that touch these addresses"}

/* The parsed options; must be zeroed first. */
struct filter_options {
    struct tool_ids pids, tids;
    struct tool_ranges pcs, addrs;
    uint64_t from, to, count;
    uint64_t from_ns, to_ns; /* since the start of the recording; to_ns 0: no end */
    bool has_to, has_count;
};

enum tool_parsed filter_options_parse(struct filter_options *o, int key, const char *arg);

/*
 * Completes the filter, which points into `o'; leaves its kinds and times unchanged.
 * Returns TOOL_OK, or TOOL_USAGE after a line on stderr.
 */
int filter_options_finish(const struct filter_options *o, const char *prog,
                          struct ctr_filter *out);

/* Sets the filter's times, which depend on the opened trace. */
void filter_options_times(const struct filter_options *o, const struct ctr_trace *tr,
                          struct ctr_filter *out);

void filter_options_fini(struct filter_options *o);

#endif
