/* SPDX-License-Identifier: MIT */
/* Reports differences, as text for people or as JSON. */
#ifndef TRACEDIFF_REPORT_H
#define TRACEDIFF_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/outfile.h"
#include "common/progress.h"
#include "lines.h"
#include "pair.h"

struct report_options {
    const char *prog;
    const char *html; /* write a page to this file instead */
    bool json, quiet, color;
    uint64_t max;   /* differences that are reported */
    uint64_t data;  /* those of accesses that are reported before each other one */
    unsigned lines; /* instructions before, after, and of each side of a difference */
    unsigned width; /* columns of a line */
};

struct report {
    const struct report_options *opt;
    const struct side *side[2];
    struct liner liner[2];
    struct lines lines[2]; /* before and at the difference ... */
    struct lines after[2]; /* ... and where both are alike again */
    struct textbuf out;
    struct outfile file;
    bool in_table; /* see rows.c */
    struct progress *progress;
    uint64_t n;        /* differences reported */
    uint64_t repeated; /* that repeat one, of accesses and calls */
    uint64_t more;     /* of accesses, that are not reported, because of opt->data ... */
    uint64_t gap, gap_more; /* reported and not, since the last other difference */
    uint64_t compared, skipped;
    uint32_t pairs;
    int status; /* TOOL_FAILED after a line on stderr: nothing more can be reported */
};

/* False after a line on stderr: no memory, or opt->html cannot be written. */
bool report_init(struct report *r, const struct report_options *opt, const struct side *a,
                 const struct side *b, const struct site_options *site,
                 struct progress *progress);
void report_fini(struct report *r);

/* For struct pair; arg: the report. */
bool report_difference(void *arg, struct pair *p, const struct difference *d);
void report_repeated(void *arg);

/* A thread of one side (0 or 1) that the other one has not; false: no more are wanted. */
bool report_alone(struct report *r, unsigned side, const struct ctr_thread *t);

/* Adds what a pair compared. */
void report_pair(struct report *r, const struct pair *p);
bool report_full(const struct report *r);
/* At the end: what was compared. */
void report_end(struct report *r);

/* ------------------------------------------------------------ private parts */

/* Append to r->out; 0 or an error of libctr (of side *failed) and *diag. */
int report_text(struct report *r, struct pair *p, const struct difference *d,
                unsigned *failed, struct ctr_diag *diag);
int report_json(struct report *r, struct pair *p, const struct difference *d,
                unsigned *failed, struct ctr_diag *diag);

#endif
