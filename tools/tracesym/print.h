/* SPDX-License-Identifier: MIT */
/*
 * tracesym without --functions, --calls or --bbv: prints the events of a trace, with
 * symbols for instructions.
 */
#ifndef TRACESYM_PRINT_H
#define TRACESYM_PRINT_H

#include "dump/dump.h"
#include "site.h"

/* Prints as dump_events does, and returns the same. */
int print_trace(struct ctr_trace *tr, const struct places *places,
                const struct dump_options *opt, const struct site_options *site);

#endif
