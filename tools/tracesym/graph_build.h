/* SPDX-License-Identifier: MIT */
/*
 * Builds a call tree out of paths: a new tree with functions of its own, whose nodes are
 * found or made one by one.
 */
#ifndef TRACESYM_GRAPH_BUILD_H
#define TRACESYM_GRAPH_BUILD_H

#include "calltree/calltree.h"

struct graph_builder {
    struct calltree *tree; /* the caller's after graph_build_finish */
    /* private */
    uint32_t cap_nodes, cap_functions, cap_roots;
    uint32_t *buckets; /* nodes by parent and function */
    uint32_t nr_buckets;
    uint32_t *chains, *last_children; /* by node */
};

/* older: for two traces.  Returns 0 or -ENOMEM; call graph_build_fini in both cases. */
int graph_build_init(struct graph_builder *b, struct ctr_trace *tr, bool older);

/* Adds a function like `like', without costs and calls, with a copy of `name'.  Returns its
 * number, SYM_NONE if there is no memory. */
uint32_t graph_build_function(struct graph_builder *b, const struct call_function *like,
                              const char *name);

/* Adds all functions of a tree, which has one trace or as many as this one, with the same
 * numbers.  False: no memory. */
bool graph_build_functions(struct graph_builder *b, const struct calltree *like);

/* The node of a function below `parent' (SYM_NONE: a root); made if there is none.
 * SYM_NONE: no memory. */
uint32_t graph_build_node(struct graph_builder *b, uint32_t parent, uint32_t function);

/* Whether graph_build_node finds one. */
bool graph_build_has(const struct graph_builder *b, uint32_t parent, uint32_t function);

/* Completes the tree from the self costs of its nodes.  like: the tree that it has all costs
 * of, or a part of them. */
void graph_build_finish(struct graph_builder *b, const struct calltree *like,
                        struct calltree **out);

/* Frees the rest, and the tree if it was not finished. */
void graph_build_fini(struct graph_builder *b);

#endif
