/* SPDX-License-Identifier: MIT */
/*
 * The options that select a part of a trace, the same in every tool that replays one.
 *
 * A tool puts the rows that it offers into its table and passes each key to
 * filter_options_parse; after the last one it calls filter_options_check.  When a trace is
 * open, filter_options_resolve makes the filter for it.
 */
#ifndef TOOLS_FILTER_OPTIONS_H
#define TOOLS_FILTER_OPTIONS_H

#include "common/options.h"
#include "query/locate.h"
#include "query/moment.h"
#include "query/tasks.h"
#include "query/threads.h"

enum {
    FILTER_OPT_FROM = TOOL_OPT_LONG + 0x100,
    FILTER_OPT_TO,
    FILTER_OPT_PC,
    FILTER_OPT_FROM_TIME,
    FILTER_OPT_TO_TIME,
    FILTER_OPT_USER,
    FILTER_OPT_KERNEL,
    FILTER_OPT_CPU,
    FILTER_OPT_TASK,
    FILTER_OPT_CONTEXT,
};

/* Before a list of physical addresses. */
#define FILTER_PHYSICAL "phys:"

/* Rows of a table of struct tool_option. */
#define FILTER_OPTIONS_ORDINALS                                                          \
    {FILTER_OPT_FROM, "from", "MOMENT",                                                  \
     "begin there: ordinal N of each thread, 1.5s, 30ms,\nsyscall:NAME/N, call:NAME/N, " \
     "mark:TEXT, crash"},                                                                \
        {FILTER_OPT_TO, "to", "MOMENT", "stop before it"},                               \
        {'n', "count", "N", "read N ordinals of each thread, starting at --from"}
#define FILTER_OPTIONS_TIMES                                                             \
    {FILTER_OPT_FROM_TIME, "from-time", "SECONDS",                                       \
     "begin SECONDS after the start of the recording"},                                  \
        {FILTER_OPT_TO_TIME, "to-time", "SECONDS",                                       \
         "stop SECONDS after the start of the recording"}
#define FILTER_OPTIONS_THREADS                                                           \
    {'p', "pid", "LIST", "only these processes: 4242, 4242/2 (the second), NAME"},       \
        {'t', "thread", "LIST", "only these threads: 4242, 4242/2, NAME"}
#define FILTER_OPTIONS_MACHINES                                                          \
    {FILTER_OPT_USER, "user", NULL, "of a machine: only code without privileges"},       \
        {FILTER_OPT_KERNEL, "kernel", NULL, "of a machine: only all other code"},        \
        {FILTER_OPT_CPU, "cpu", "LIST", "of a machine: only these vCPUs: 0, 2"},         \
        {FILTER_OPT_TASK, "task", "LIST",                                                \
         "of a machine's Linux: only these tasks: pids, NAME,\nkworker*"},               \
        {FILTER_OPT_CONTEXT, "context", "LIST",                                          \
         "of a machine: only address spaces with these page\ntables: 0x40b3f000"}
#define FILTER_OPTIONS_PLACES                                                            \
    {FILTER_OPT_PC, "pc", "PLACES",                                                      \
     "only instructions there: FUNCTION, parse.c:120,\nMODULE!FUNCTION, MODULE+0x1234, " \
     "A, A-B, A+LENGTH"},                                                                \
        {'a', "addr", "PLACES",                                                          \
         "only accesses that touch these: VARIABLE,\nVARIABLE.field, VARIABLE+8, A, "    \
         "A-B, A+LENGTH;\nphys:A-B: physical addresses of a machine"}

/* The parsed options; must be zeroed first. */
struct filter_options {
    struct thread_names pids, tids;
    struct locations pcs, addrs;
    const char *addr_option; /* that gave `addrs', for messages; NULL: --addr */
    struct moment_text from, to;
    uint64_t count;
    uint64_t from_ns, to_ns; /* since the start of the recording; to_ns 0: no end */
    bool has_count;
    bool user, kernel;
    struct task_names tasks;
    struct context_names contexts;
    struct tool_ranges phys_ranges;
    bool ids_only; /* ids of processes and threads need not exist: for sums over traces */
    /* private: what filter_options_resolve found */
    struct thread_choice processes, threads;
    struct tool_ranges pc_ranges, addr_ranges;
    int32_t *pid_list, *tid_list;
};

enum tool_parsed filter_options_parse(struct filter_options *o, int key, const char *arg);

/* Whether accesses are selected by their addresses. */
static inline bool filter_by_addr(const struct ctr_filter *f)
{
    return f->naddr || f->nphys;
}

/* TOOL_OK if a trace has physical addresses, or TOOL_NOTHING after a line on stderr: the
 * option needs them. */
int filter_options_need_phys(const struct ctr_trace *tr, const char *option,
                             const char *prog, const char *path);

/* Rejects options that exclude each other: TOOL_OK, or TOOL_USAGE after a line on
 * stderr. */
int filter_options_check(const struct filter_options *o, const char *prog);

/* Whether names of code or data have to be found, so that `places' is needed ... */
bool filter_options_named(const struct filter_options *o);
/* ... and what of symbol files: SYMFILE_* for modset_options.flags. */
unsigned filter_options_symbols(const struct filter_options *o);

/*
 * Makes the filter for a trace, with pointers into `o' that are valid until the next call;
 * leaves its kinds unchanged.  `request' has prog, path, trace and places (NULL unless
 * filter_options_named).  jobs: workers for searches.  Returns TOOL_OK; or, after a line
 * on stderr, TOOL_NOTHING if something that is named does not exist, TOOL_USAGE or
 * TOOL_FAILED.
 */
int filter_options_resolve(struct filter_options *o, const struct locate_request *request,
                           unsigned jobs, struct ctr_filter *out);

/* Only --from, --to and what else limits time, of a trace with one thread, as
 * filter_options_resolve does; all else of *out is zero. */
int filter_options_span(struct filter_options *o, const struct locate_request *request,
                        unsigned jobs, struct ctr_filter *out);

void filter_options_fini(struct filter_options *o);

#endif
