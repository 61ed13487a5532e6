/* SPDX-License-Identifier: MIT */
/*
 * --last-write-before and similar: which events accessed these addresses last, or next?
 * Shared by tracedump and tracesym.
 */
#ifndef TOOLS_SEARCH_H
#define TOOLS_SEARCH_H

#include "common/options.h"
#include "dump/dump.h"
#include "query/filter_options.h"

enum {
    SEARCH_OPT_LAST_WRITE = TOOL_OPT_LONG + 0x500,
    SEARCH_OPT_LAST_READ,
    SEARCH_OPT_FIRST_WRITE,
    SEARCH_OPT_FIRST_READ,
};

/* Rows of a table of struct tool_option. */
#define SEARCH_OPTIONS                                                                   \
    {SEARCH_OPT_LAST_WRITE, "last-write-before", "MOMENT",                               \
     "the last write to each of these bytes before ordinal\nN, N/K (of the K-th thread " \
     "selected), crash, end,\ncall:NAME/N ...; searches all threads selected"},          \
        {SEARCH_OPT_LAST_READ, "last-read-before", "MOMENT", "the last reads there"},    \
        {SEARCH_OPT_FIRST_WRITE, "first-write-after", "MOMENT",                          \
         "the next writes there"},                                                       \
        {SEARCH_OPT_FIRST_READ, "first-read-after", "MOMENT", "the next reads there"}

struct search_request {
    const char *option; /* NULL: no search */
    struct moment_text moment;
    bool back;
    uint32_t kind; /* CTR_KIND_LOAD or _STORE */
};

/* TOOL_OTHER_GROUP: the key is not one of these. */
enum tool_parsed search_parse(struct search_request *r, int key, const char *arg);

/* Rejects selections that do not go with the search, or with --find: TOOL_OK, or
 * TOOL_USAGE after a line on stderr. */
int search_check(const struct search_request *r, bool find,
                 const struct filter_options *filter, const char *prog);

/*
 * Prints the events that opt->filter's addrs were accessed by, the one that is closest to
 * the moment first, until each byte has one.  It is about the memory of the moment's
 * process: its own accesses, and backward, before its fork, those of its parent, and so on.
 * Returns as dump_events; TOOL_NOTHING after a line on stderr if there is none.
 */
int dump_search(struct ctr_trace *tr, const struct dump_options *opt,
                const struct search_request *request, const struct ctr_moment *at);

#endif
