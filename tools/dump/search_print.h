/* SPDX-License-Identifier: MIT */
/*
 * Prints the events that a search finds, in the order in which they are found.  They wait,
 * so that a chunk is decoded once for all of its events that wait.
 */
#ifndef TOOLS_SEARCH_PRINT_H
#define TOOLS_SEARCH_PRINT_H

#include "dump/dump.h"
#include "dump/search_bytes.h"

/* An instruction with its accesses, or an ordinal's events of the system. */
struct search_event {
    uint64_t chunk; /* index; one that has it */
    uint64_t ordinal;
    uint32_t thread;
    bool system;
    size_t at, len; /* private: in the text */
};

struct search_print {
    uint64_t found; /* events that were added */
    /* private: */
    struct ctr_trace *tr;
    struct dump_options opt;
    uint32_t kind;
    struct search_event last;
    struct search_event *v; /* those that wait */
    size_t n, cap;
    size_t at_once; /* how many are read at most before they are printed */
    struct textbuf text, out;
};

/* kind: CTR_KIND_LOAD or _STORE; of an instruction, those of `addrs' are shown, which must
 * stay as they are until search_print_fini. */
void search_print_init(struct search_print *p, struct ctr_trace *tr,
                       const struct dump_options *opt, uint32_t kind,
                       const struct search_bytes *addrs);
void search_print_fini(struct search_print *p);

/* Adds an event, if it is not the last one again; returns 0 or DUMP_STOP_NOMEM. */
int search_print_add(struct search_print *p, const struct search_event *event);

/* Whether to print before the next one is added, as many wait; whether as many wait as were
 * printed. */
bool search_print_is_full(const struct search_print *p);
bool search_print_is_half(const struct search_print *p);

/* Prints all that wait; returns as dump_events. */
int search_print_flush(struct search_print *p);

#endif
