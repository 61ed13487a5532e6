/* SPDX-License-Identifier: MIT */
/* tracesym --trace-calls: the calls of functions, one line each, as ltrace prints them. */
#ifndef TRACESYM_TRACE_CALLS_H
#define TRACESYM_TRACE_CALLS_H

#include "calltree/calltree.h"
#include "common/options.h"
#include "dump/dump.h"
#include "query/site.h"

struct trace_calls_options {
    const char *const *patterns; /* NAME, a glob, or MODULE!NAME */
    unsigned nr_patterns;
    struct ctr_filter filter;
    const struct dump_options
        *dump; /* path, jobs, json, color, times, string_max, quiet */
    const struct site_options *site;
};

/* Prints to standard output.  Returns a TOOL_* status, after a message on stderr if it is
 * not TOOL_OK; or DUMP_CUT_SHORT. */
int trace_calls(struct ctr_trace *tr, const struct places *places,
                const struct trace_calls_options *opt);

#endif
