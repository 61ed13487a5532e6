/* SPDX-License-Identifier: MIT */
/*
 * The text of the events at some ordinals of one thread, kept instead of printed.  All that
 * are in one chunk cost one decoding of it, in whatever order they are printed.
 *
 * Not for several threads at a time.
 */
#ifndef TOOLS_DUMP_PICKED_H
#define TOOLS_DUMP_PICKED_H

#include "dump/dump.h"

struct picked_text {
    uint64_t ordinal;
    size_t at, len; /* in the text; len 0: nothing is shown */
};

/* The caller sets all members and frees them; `next' begins as 0. */
struct picked {
    const struct ctr_thread *thread;
    struct picked_text *v; /* by ordinal, each once; not empty */
    size_t n;
    struct textbuf *text; /* to which the text is appended ... */
    size_t max;           /* ... until it is longer than that */
    size_t next;          /* private: 1 + the last one that has text, or 0 */
};

/*
 * Adds the text that dump_events would print of the ordinals alone, for loads or stores
 * (opt->kinds), or for events of the system (CTR_KIND_SYS alone).  opt->picked is p.
 * Returns as dump_events, or DUMP_FULL if the text became longer than p->max.
 */
int picked_read(struct ctr_trace *tr, const struct dump_options *opt, struct picked *p);

/* ------------------------------- private, for events.c and picked_read.c */

/* No mark, see picked_mark. */
#define PICKED_NONE UINT64_MAX

/* Whether the ordinal is one of p. */
bool picked_has(const struct picked *p, uint64_t ordinal);

/* What is added from now on is the text of an ordinal, if it is one of p. */
void picked_begin(struct picked *p, uint64_t ordinal);

/* Adds text; 0 or an enum dump_stop. */
int picked_add(struct picked *p, const char *text, size_t n);

/* Begins the ordinal's text in a worker's output; 0 or DUMP_STOP_NOMEM. */
int picked_mark(struct ctr_job *job, uint64_t ordinal);

/* Takes output with marks from ctr_replay's ordered callback; 0 or an enum dump_stop. */
int picked_take(struct picked *p, const char *data, size_t n);

#endif
