/* SPDX-License-Identifier: MIT */
/*
 * Finds locations (location.h) in the programs and libraries of a trace: from names to
 * the addresses in each process.
 *
 *   locate.c        items: ranges, offsets, modules, lines
 *   locate_name.c   functions and objects by name
 *   locate_local.c  local variables, which are not found
 */
#ifndef TOOLS_LOCATE_H
#define TOOLS_LOCATE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options.h"
#include "query/location.h"
#include "symbols/places.h"

/* What an option's locations are for. */
enum locate_want {
    LOCATE_CODE, /* instructions: names are functions, of several kinds of code */
    LOCATE_DATA, /* accesses: names are objects, and functions if there is no such object */
    LOCATE_ENTRY, /* the first instruction of functions */
    LOCATE_BEGIN /* the same; also of PowerPC64's functions the entry for calls from their
                     own file, which is some instructions later */
};

struct locate_request {
    const char *prog;   /* for messages */
    const char *path;   /* of the trace, for messages */
    const char *option; /* "--pc", for messages */
    enum locate_want want;
    struct ctr_trace *trace;
    const struct places *places; /* NULL: only numbers can be found */
};

/* The parts of symbol files that locations need: SYMFILE_* for modset_options.flags. */
unsigned locate_flags(const struct locations *list, enum locate_want want);

/*
 * Adds the addresses of all items to `out', with the process in which each counts.
 * Returns TOOL_OK, then each item has added one range at least (a list without ranges would
 * be no filter); TOOL_NOTHING after a line on stderr if an item is not found anywhere;
 * TOOL_USAGE after one if it can mean several things; or TOOL_FAILED.
 */
int locate(const struct locate_request *request, const struct locations *list,
           struct tool_ranges *out);

#endif
