/* SPDX-License-Identifier: MIT */
/*
 * tracesym without --functions, --calls or --bbv: the events of a trace, the instructions
 * with their symbols.
 */
#ifndef TRACESYM_PRINT_H
#define TRACESYM_PRINT_H

#include "dump/dump.h"
#include "site.h"

/* Prints like dump_events of `opt', and returns what that does. */
int print_trace(struct ctr_trace *tr, const struct places *places,
                const struct dump_options *opt, const struct site_options *site);

#endif
