/* SPDX-License-Identifier: MIT */
/* tracesym --callers-of and --calls-of: how often functions were called, and from where. */
#ifndef TRACESYM_CALL_COUNTS_H
#define TRACESYM_CALL_COUNTS_H

#include "calltree/calltree.h"
#include "dump/dump.h"
#include "query/site.h"

struct call_counts_options {
    const char *const *patterns; /* as of call_list.h */
    unsigned nr_patterns;
    bool callees; /* what the functions called, not who called them */
    struct ctr_filter filter;
    const struct dump_options *dump;
    const struct site_options *site;
};

/* Prints to standard output.  Returns a TOOL_* status, after a message on stderr if it is
 * not TOOL_OK; or DUMP_CUT_SHORT. */
int call_counts(struct ctr_trace *tr, const struct places *places,
                const struct call_counts_options *opt);

#endif
