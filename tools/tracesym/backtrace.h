/* SPDX-License-Identifier: MIT */
/* tracesym --backtrace: the calls that a thread is in at a moment, as gdb prints them. */
#ifndef TRACESYM_BACKTRACE_H
#define TRACESYM_BACKTRACE_H

#include "calltree/calltree.h"
#include "dump/dump.h"
#include "query/moment.h"
#include "query/site.h"

struct backtrace_options {
    const struct ctr_moment *at;
    bool locals; /* the variables of each frame, too */
    const struct dump_options *dump;
    const struct site_options *site;
};

/* Prints to standard output.  Returns a TOOL_* status, after a message on stderr if it is
 * not TOOL_OK; or DUMP_CUT_SHORT. */
int backtrace(struct ctr_trace *tr, const struct places *places,
              const struct backtrace_options *opt);

#endif
