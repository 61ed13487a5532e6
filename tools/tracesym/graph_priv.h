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

/* A cost in the trace shown, in the older one (0 if none is compared), and in both. */
struct graph_amount {
    uint64_t now, older, sum;
};

static inline struct graph_amount
graph_amount(const struct cost *now, const struct cost *older, enum graph_cost which)
{
    uint64_t a = graph_cost_of(now, which), b = older ? graph_cost_of(older, which) : 0;

    return (struct graph_amount){a, b, a + b};
}

static inline struct graph_amount graph_self(const struct calltree *t, uint32_t node,
                                             enum graph_cost which)
{
    return graph_amount(&t->nodes[node].self, t->older ? &t->older[node].self : NULL,
                        which);
}

static inline struct graph_amount graph_inclusive(const struct calltree *t, uint32_t node,
                                                  enum graph_cost which)
{
    return graph_amount(&t->nodes[node].inclusive,
                        t->older ? &t->older[node].inclusive : NULL, which);
}

static inline struct graph_amount graph_function_self(const struct calltree *t,
                                                      const struct call_function *f,
                                                      enum graph_cost which)
{
    return graph_amount(&f->self, t->older ? &t->older_functions[f->index].self : NULL,
                        which);
}

static inline struct graph_amount graph_function_inclusive(const struct calltree *t,
                                                           const struct call_function *f,
                                                           enum graph_cost which)
{
    return graph_amount(&f->inclusive,
                        t->older ? &t->older_functions[f->index].inclusive : NULL, which);
}

/* Of the nodes of the tree. */
static inline struct graph_amount graph_total(const struct calltree *t,
                                              enum graph_cost which)
{
    return graph_amount(&t->total, &t->older_total, which);
}

/* Of all of which the tree may be a part: percentages are of that. */
static inline struct graph_amount graph_all(const struct calltree *t,
                                            enum graph_cost which)
{
    return t->selected ? graph_amount(&t->all, &t->older_all, which)
                       : graph_total(t, which);
}

/* Whether there are loads or stores to show. */
static inline bool graph_has_accesses(const struct calltree *t)
{
    return t->total.loads || t->total.stores || t->older_total.loads ||
           t->older_total.stores;
}

static inline double graph_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/*
 * The nodes under the roots of the threads in order, parents before children; children by
 * inclusive cost, descending (then in order of first call), if `sorted', else in order of
 * first call.  With two traces, cost is that in both.
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
/* Moves to the last sibling of the node, or the last root; adds up the node and those up to
 * there.  Returns their number. */
uint32_t graph_walk_skip(struct graph_walk *w, enum graph_cost cost,
                         struct graph_amount *sum);

/* Sorts t->threads by cost, descending, then by node.  Returns 0 or -ENOMEM. */
int graph_sort_roots(struct calltree *t, enum graph_cost cost);

/*
 * *out is the tree t with root i of t->threads alone: functions have its costs and calls.
 * The totals, of which percentages are, remain those of all; nodes and names remain t's,
 * which must live as long.  Returns 0, or -ENOMEM and nothing to free.
 */
int graph_thread_init(struct calltree *out, const struct calltree *t, uint32_t i);
void graph_thread_fini(struct calltree *t);

/* The name of a root: of a thread, or of those of one name in two traces. */
static inline const char *graph_thread_name(const struct calltree *t, uint32_t i)
{
    return t->functions[t->nodes[t->threads[i].root].function].name;
}

/* "instructions", "loads", "stores" */
const char *graph_cost_word(enum graph_cost cost);

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
 * Functions that were entered or have self cost, and that are wanted, by self cost, or of
 * two traces by the change of it, descending, then by number.  The caller frees *out with
 * free(3).  Returns 0 or -ENOMEM.
 */
int graph_by_self(const struct calltree *t, const struct graph_options *opt,
                  const struct call_function ***out, size_t *n);
/* Whether it is one of those, wanted or not. */
bool graph_ran(const struct calltree *t, uint32_t function);

#endif
