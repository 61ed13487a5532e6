/* SPDX-License-Identifier: MIT */
/*
 * Profiles and call trees as text, and in the formats of drawing programs.
 */
#ifndef TRACESYM_GRAPH_H
#define TRACESYM_GRAPH_H

#include <stdbool.h>
#include <stdio.h>

#include "calltree/calltree.h"

enum graph_format {
    GRAPH_TEXT,      /* an indented tree; with functions set, a flat profile */
    GRAPH_FOLDED,    /* "a;b;c COUNT", for flame graph programs; of two traces
                        "a;b;c OLDER COUNT" */
    GRAPH_CALLGRIND, /* needs calltree_options.edges and .lines */
    GRAPH_CHROME,    /* JSON trace events: a timeline; needs spans, see below */
    GRAPH_SVG,       /* a stand-alone flame graph that can be clicked and searched */
    GRAPH_JSON,      /* the tree, or the flat profile: one object per line */
};

/* The count to show in formats with only one number. */
enum graph_cost { GRAPH_INSNS, GRAPH_LOADS, GRAPH_STORES };

/* The order of a flat profile, all descending. */
enum graph_sort { GRAPH_BY_SELF, GRAPH_BY_INCLUSIVE, GRAPH_BY_CALLS };

struct graph_options {
    enum graph_format format;
    bool functions; /* a flat profile */
    enum graph_cost cost;
    enum graph_sort sort;
    bool by_thread;     /* flat profile: of each root by itself */
    const char *roots;  /* ... what they are, if not threads */
    const bool *wanted; /* flat profile: by function, those to show; NULL: all */
    bool inverted;      /* the tree is one of graph_invert */
    bool icicle;        /* svg: callers above their callees */
    double min_percent; /* text and svg: leave out subtrees below this share */
    uint32_t max_depth; /* 0: no limit */
    bool full_names;    /* not shortened */
    bool color;
    const char *title; /* svg: the recorded command */
};

/* Sets the calltree_options that the format needs (accesses, edges, lines). */
void graph_wants(const struct graph_options *opt, struct calltree_options *tree);

/*
 * Trees made of others, which they do not need any more.  calltree_free frees them.  Each
 * returns 0 or -ENOMEM.
 *
 * graph_select: what is below calls of functions with wanted[function]; these are its roots.
 * A call within such a call does not begin a tree of its own, but with all_roots.
 *
 * graph_compare: the nodes of both trees, with the costs of `older' in calltree.older.
 * Functions are the same if their module's and their own name are; processes, and
 * threads, if their command's name is, so that their roots are one.  If the first ones have
 * different names, these and the files named so are taken for the same.  Both trees are
 * those of calltree_make.
 *
 * graph_invert: the roots are the functions with self cost, by `cost'; the children of a
 * node are its callers.  A node's inclusive cost is the root's self cost with these
 * callers, and its self cost what has no further caller.  calls: how often the root was
 * entered so.  *cut: what has further callers for which there is no room.
 */
int graph_select(struct calltree **out, const struct calltree *t, const bool *wanted,
                 bool all_roots, enum graph_cost cost);
int graph_compare(struct calltree **out, const struct calltree *now,
                  const struct calltree *older);
int graph_invert(struct calltree **out, const struct calltree *t, enum graph_cost cost,
                 struct cost *cut);

/*
 * Writes all formats except GRAPH_CHROME; trees made of others not as GRAPH_CALLGRIND.  Returns 0, or a negated errno.
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
