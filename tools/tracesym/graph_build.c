/* SPDX-License-Identifier: MIT */
/* Call trees out of paths; see graph_build.h. */
#include "graph_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int graph_build_init(struct graph_builder *b, struct ctr_trace *tr, bool older)
{
    *b = (struct graph_builder){.nr_buckets = 1024};
    b->tree = calloc(1, sizeof(*b->tree));
    b->buckets = malloc(b->nr_buckets * sizeof(*b->buckets));
    if (!b->tree || !b->buckets) {
        return -ENOMEM;
    }
    memset(b->buckets, 0xff, b->nr_buckets * sizeof(*b->buckets));
    b->tree->trace = tr;
    if (older) { /* not NULL, which means that only one trace is shown */
        b->tree->older = calloc(1, sizeof(*b->tree->older));
        b->tree->older_functions = calloc(1, sizeof(*b->tree->older_functions));
        return b->tree->older && b->tree->older_functions ? 0 : -ENOMEM;
    }
    return 0;
}

/* Makes an array of n elements larger, with zeros; false: no memory. */
static bool grow(void *array, uint32_t from, uint32_t to, size_t size)
{
    char *v;

    memcpy(&v, array, sizeof(v));
    v = realloc(v, to * size);
    if (!v) {
        return false;
    }
    memset(v + from * size, 0, (to - from) * size);
    memcpy(array, &v, sizeof(v));
    return true;
}

static uint32_t larger(uint32_t cap)
{
    return cap ? 2 * cap : 256;
}

uint32_t graph_build_function(struct graph_builder *b, const struct call_function *like,
                              const char *name)
{
    struct calltree *t = b->tree;
    uint32_t cap = larger(b->cap_functions);
    struct call_function *f;

    if (t->nr_functions == b->cap_functions) {
        if (!grow(&t->functions, b->cap_functions, cap, sizeof(*t->functions)) ||
            (t->older && !grow(&t->older_functions, b->cap_functions, cap,
                               sizeof(*t->older_functions)))) {
            return SYM_NONE;
        }
        b->cap_functions = cap;
    }
    f = &t->functions[t->nr_functions];
    *f = *like;
    f->index = t->nr_functions;
    f->name = strdup(name);
    f->calls = 0;
    f->self = f->inclusive = (struct cost){0};
    if (!f->name) {
        return SYM_NONE;
    }
    return t->nr_functions++;
}

bool graph_build_functions(struct graph_builder *b, const struct calltree *like)
{
    for (uint32_t i = 0; i < like->nr_functions; i++) {
        const struct call_function *f = &like->functions[i];

        if (graph_build_function(b, f, f->name) == SYM_NONE) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ nodes */

static uint32_t bucket_of(const struct graph_builder *b, uint32_t parent,
                          uint32_t function)
{
    uint64_t h = ((uint64_t)parent << 32 | function) * 0x9e3779b97f4a7c15u;

    return (uint32_t)(h >> 32) & (b->nr_buckets - 1);
}

static uint32_t find(const struct graph_builder *b, uint32_t parent, uint32_t function)
{
    uint32_t i = b->buckets[bucket_of(b, parent, function)];

    while (i != SYM_NONE && (b->tree->nodes[i].parent != parent ||
                             b->tree->nodes[i].function != function)) {
        i = b->chains[i];
    }
    return i;
}

static bool more_buckets(struct graph_builder *b)
{
    uint32_t n = 2 * b->nr_buckets;
    uint32_t *v = malloc(n * sizeof(*v));

    if (!v) {
        return false;
    }
    memset(v, 0xff, n * sizeof(*v));
    free(b->buckets);
    b->buckets = v;
    b->nr_buckets = n;
    for (uint32_t i = 0; i < b->tree->nr_nodes; i++) {
        const struct call_node *node = &b->tree->nodes[i];
        uint32_t *bucket = &v[bucket_of(b, node->parent, node->function)];

        b->chains[i] = *bucket;
        *bucket = i;
    }
    return true;
}

static bool room_for_node(struct graph_builder *b)
{
    struct calltree *t = b->tree;
    uint32_t cap = larger(b->cap_nodes);

    if (t->nr_nodes == b->nr_buckets && !more_buckets(b)) {
        return false;
    }
    if (t->nr_nodes < b->cap_nodes) {
        return true;
    }
    if (!grow(&t->nodes, b->cap_nodes, cap, sizeof(*t->nodes)) ||
        !grow(&b->chains, b->cap_nodes, cap, sizeof(*b->chains)) ||
        !grow(&b->last_children, b->cap_nodes, cap, sizeof(*b->last_children)) ||
        (t->older && !grow(&t->older, b->cap_nodes, cap, sizeof(*t->older)))) {
        return false;
    }
    b->cap_nodes = cap;
    return true;
}

static bool add_root(struct graph_builder *b, uint32_t node)
{
    struct calltree *t = b->tree;

    if (t->nr_threads == b->cap_roots) {
        uint32_t cap = larger(b->cap_roots);
        if (!grow(&t->threads, b->cap_roots, cap, sizeof(*t->threads))) {
            return false;
        }
        b->cap_roots = cap;
    }
    t->threads[t->nr_threads++].root = node;
    return true;
}

uint32_t graph_build_node(struct graph_builder *b, uint32_t parent, uint32_t function)
{
    struct calltree *t = b->tree;
    uint32_t i = find(b, parent, function), *bucket;

    if (i != SYM_NONE) {
        return i;
    }
    i = t->nr_nodes;
    if (!room_for_node(b) || (parent == SYM_NONE && !add_root(b, i))) {
        return SYM_NONE;
    }
    t->nodes[i] = (struct call_node){.function = function,
                                     .parent = parent,
                                     .first_child = SYM_NONE,
                                     .next = SYM_NONE};
    bucket = &b->buckets[bucket_of(b, parent, function)];
    b->chains[i] = *bucket;
    *bucket = i;
    if (parent != SYM_NONE && t->nodes[parent].first_child == SYM_NONE) {
        t->nodes[parent].first_child = i;
    } else if (parent != SYM_NONE) {
        t->nodes[b->last_children[parent]].next = i;
    }
    if (parent != SYM_NONE) {
        b->last_children[parent] = i;
    }
    t->nr_nodes++;
    return i;
}

bool graph_build_has(const struct graph_builder *b, uint32_t parent, uint32_t function)
{
    return find(b, parent, function) != SYM_NONE;
}

void graph_build_finish(struct graph_builder *b, const struct calltree *like,
                        struct calltree **out)
{
    b->tree->selected = like->selected;
    b->tree->all = like->all;
    b->tree->older_all = like->older_all;
    calltree_sum_nodes(b->tree);
    *out = b->tree;
    b->tree = NULL;
}

void graph_build_fini(struct graph_builder *b)
{
    calltree_free(b->tree);
    free(b->buckets);
    free(b->chains);
    free(b->last_children);
    *b = (struct graph_builder){0};
}
