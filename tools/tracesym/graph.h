/* SPDX-License-Identifier: MIT */
/*
 * Profiles and call trees as text, and in the formats of drawing programs.
 */
#ifndef TRACESYM_GRAPH_H
#define TRACESYM_GRAPH_H

#include <stdbool.h>
#include <stdio.h>

#include "calltree.h"

enum graph_format {
    GRAPH_TEXT,      /* an indented tree; with functions set, a flat profile */
    GRAPH_FOLDED,    /* "a;b;c COUNT", for flame graph programs */
    GRAPH_CALLGRIND, /* needs calltree_options.edges and .lines */
    GRAPH_CHROME,    /* JSON trace events: a timeline; needs spans, see below */
    GRAPH_SVG,       /* a stand-alone flame graph that can be clicked and searched */
    GRAPH_JSON,      /* the tree, or the flat profile: one object per line */
};

/* The count to show in formats with only one number. */
enum graph_cost { GRAPH_INSNS, GRAPH_LOADS, GRAPH_STORES };

struct graph_options {
    enum graph_format format;
    bool functions; /* a flat profile: by self cost, descending */
    enum graph_cost cost;
    double min_percent; /* text and svg: leave out subtrees below this share */
    uint32_t max_depth; /* 0: no limit */
    bool full_names;    /* not shortened */
    bool color;
    const char *title; /* svg: the recorded command */
};

/* Sets the calltree_options that the format needs (edges, lines, spans). */
void graph_wants(const struct graph_options *opt, struct calltree_options *tree);

/*
 * Writes all formats except GRAPH_CHROME.  Returns 0, or a negated errno.
 */
int graph_write(const struct calltree *t, const struct graph_options *opt, FILE *out);

/*
 * GRAPH_CHROME is written while the tree is made: graph_chrome_begin before
 * calltree_make, to set the span callback in its options; graph_chrome_end after it.
 */
struct graph_chrome;
int graph_chrome_begin(struct graph_chrome **out, FILE *file, struct calltree_options *o);
int graph_chrome_end(struct graph_chrome *c, const struct calltree *t); /* frees it */

#endif
