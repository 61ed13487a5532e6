/* SPDX-License-Identifier: MIT */
/* Compares two traces: opens them, pairs their threads and compares each pair. */
#ifndef TRACEDIFF_COMPARE_H
#define TRACEDIFF_COMPARE_H

#include "counts.h"
#include "pair.h"
#include "query/locate.h"
#include "query/threads.h"
#include "report.h"
#include "symbols/places.h"

/* The exit status, as of diff(1). */
enum {
    COMPARE_EQUAL = 0,
    COMPARE_DIFFER = 1,
    COMPARE_TROUBLE = 2,
};

struct compare_options {
    const char *path[2];
    unsigned open_flags;      /* CTR_OPEN_* */
    unsigned ignore;          /* IGNORE_* */
    struct locations ignored; /* code */
    const char *const *ignored_modules;
    unsigned nr_ignored_modules;
    const char *const *ignored_registers; /* globs */
    unsigned nr_ignored_registers;
    struct thread_names threads, with; /* see pairs.h */
    enum counts_of counts;             /* compare these, and nothing else */
    bool has_at;
    uint64_t at[2];
    struct pair_options pair;
    struct report_options report;
    struct site_options site;
    struct modset_options modset;
};

/* Writes the differences to standard output; returns the exit status, after one line on
 * stderr for COMPARE_TROUBLE. */
int compare_traces(struct compare_options *opt);

#endif
