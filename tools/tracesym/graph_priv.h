/* SPDX-License-Identifier: MIT */
/*
 * Shared by the writers of graph.h: walking a tree of any depth without recursion, and
 * names.
 */
#ifndef TRACESYM_GRAPH_PRIV_H
#define TRACESYM_GRAPH_PRIV_H

#include "graph.h"

static inline uint64_t graph_cost_of(const struct cost *c, enum graph_cost which)
{
    return which == GRAPH_LOADS ? c->loads : which == GRAPH_STORES ? c->stores : c->insns;
}

/* Whether there are loads or stores to show. */
static inline bool graph_has_accesses(const struct calltree *t)
{
    return t->total.loads || t->total.stores;
}

static inline double graph_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/*
 * The nodes under the roots of the threads in order, parents before children; children by
 * inclusive cost, descending (then in order of first call), if `sorted', else in order of
 * first call.
 *
 *   struct graph_walk w;
 *   ret = graph_walk_init(&w, t, sorted, cost);
 *   for (; graph_walk_ok(&w); graph_walk_next(&w, descend)) { ... w.node, w.depth ... }
 *   graph_walk_fini(&w);
 */
struct graph_walk {
    const struct calltree *t;
    uint32_t *first, *next; /* by node; NULL: the tree's own order */
    uint32_t root;          /* index in t->threads */
    uint32_t node;
    uint32_t depth; /* of node; a root's is 0 */
};

/* Returns 0 or -ENOMEM. */
int graph_walk_init(struct graph_walk *w, const struct calltree *t, bool sorted,
                    enum graph_cost cost);
void graph_walk_fini(struct graph_walk *w);

static inline bool graph_walk_ok(const struct graph_walk *w)
{
    return w->root < w->t->nr_threads;
}

uint32_t graph_walk_child(const struct graph_walk *w, uint32_t node);
uint32_t graph_walk_sibling(const struct graph_walk *w, uint32_t node);
/* Moves to the next node; descend: to the first child, if there is one. */
void graph_walk_next(struct graph_walk *w, bool descend);

/* Call after the last write: 0, or a negated errno if one failed. */
int graph_finish(FILE *out);

/* A name in at most `max' bytes, the middle left out; buf has room for max + 1. */
const char *graph_short_name(const char *name, unsigned max, char *buf);

/* Writes a name from a file, with control characters and line ends escaped. */
void graph_write_name(const char *name, FILE *out);

int graph_text(const struct calltree *t, const struct graph_options *opt, FILE *out);
int graph_functions(const struct calltree *t, const struct graph_options *opt, FILE *out);
int graph_folded(const struct calltree *t, const struct graph_options *opt, FILE *out);
int graph_callgrind(const struct calltree *t, const struct graph_options *opt, FILE *out);
int graph_svg(const struct calltree *t, const struct graph_options *opt, FILE *out);
int graph_json(const struct calltree *t, const struct graph_options *opt, FILE *out);

/*
 * Functions that were entered or have self cost, by self cost, descending, then by
 * number.  The caller frees *out with free(3).  Returns 0 or -ENOMEM.
 */
int graph_by_self(const struct calltree *t, enum graph_cost cost,
                  const struct call_function ***out, size_t *n);

#endif
