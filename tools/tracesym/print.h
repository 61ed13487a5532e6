/* SPDX-License-Identifier: MIT */
/*
 * Prints the events of a trace, or those that a search finds, with symbols for
 * instructions.
 */
#ifndef TRACESYM_PRINT_H
#define TRACESYM_PRINT_H

#include "dump/dump.h"
#include "dump/find.h"
#include "dump/search.h"
#include "query/site.h"

/* Prints as dump_events does, and returns the same. */
int print_trace(struct ctr_trace *tr, const struct places *places,
                const struct dump_options *opt, const struct site_options *site);

/* The same for dump_search. */
int print_found(struct ctr_trace *tr, const struct places *places,
                const struct dump_options *opt, const struct site_options *site,
                const struct search_request *search, const struct ctr_moment *at);

/* The same for dump_find; site selects no modules or functions. */
int print_places(struct ctr_trace *tr, const struct places *places,
                 const struct dump_options *opt, const struct site_options *site,
                 const struct find_request *find);

#endif
