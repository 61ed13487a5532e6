/* SPDX-License-Identifier: MIT */
/* The table of formats, and the shared parts of their writers; see graph.h,
 * graph_parts.h.
 */
#include "graph_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/textbuf.h"

/* ------------------------------------------------------------------- walks */

struct child {
    uint64_t cost;
    uint32_t node;
};

static int by_cost(const void *va, const void *vb)
{
    const struct child *a = va, *b = vb;

    if (a->cost != b->cost) {
        return a->cost < b->cost ? 1 : -1;
    }
    return a->node < b->node ? -1 : a->node > b->node;
}

static uint32_t sort_children(struct graph_walk *w, uint32_t parent, struct child *v,
                              enum graph_cost cost)
{
    const struct call_node *nodes = w->t->nodes;
    uint32_t n = 0;

    for (uint32_t c = nodes[parent].first_child; c != SYM_NONE; c = nodes[c].next) {
        v[n++] = (struct child){graph_cost_of(&nodes[c].inclusive, cost), c};
    }
    qsort(v, n, sizeof(*v), by_cost);
    for (uint32_t i = 0; i < n; i++) {
        w->next[v[i].node] = i + 1 < n ? v[i + 1].node : SYM_NONE;
    }
    return n ? v[0].node : SYM_NONE;
}

int graph_walk_init(struct graph_walk *w, const struct calltree *t, bool sorted,
                    enum graph_cost cost)
{
    size_t n = t->nr_nodes + (size_t)1;
    struct child *v;

    *w = (struct graph_walk){.t = t};
    w->node = t->nr_threads ? t->threads[0].root : SYM_NONE;
    if (!sorted) {
        return 0;
    }
    v = malloc(n * sizeof(*v));
    w->first = malloc(n * sizeof(*w->first));
    w->next = malloc(n * sizeof(*w->next));
    if (!v || !w->first || !w->next) {
        free(v);
        graph_walk_fini(w);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        w->first[i] = sort_children(w, i, v, cost);
    }
    free(v);
    return 0;
}

void graph_walk_fini(struct graph_walk *w)
{
    free(w->first);
    free(w->next);
    w->first = w->next = NULL;
}

uint32_t graph_walk_child(const struct graph_walk *w, uint32_t node)
{
    return w->first ? w->first[node] : w->t->nodes[node].first_child;
}

uint32_t graph_walk_sibling(const struct graph_walk *w, uint32_t node)
{
    return w->next ? w->next[node] : w->t->nodes[node].next;
}

void graph_walk_next(struct graph_walk *w, bool descend)
{
    uint32_t child = descend ? graph_walk_child(w, w->node) : SYM_NONE;

    if (child != SYM_NONE) {
        w->node = child;
        w->depth++;
        return;
    }
    while (w->depth) {
        uint32_t sibling = graph_walk_sibling(w, w->node);

        if (sibling != SYM_NONE) {
            w->node = sibling;
            return;
        }
        w->node = w->t->nodes[w->node].parent;
        w->depth--;
    }
    w->root++;
    w->node = graph_walk_ok(w) ? w->t->threads[w->root].root : SYM_NONE;
}

/* -------------------------------------------------------------- small parts */

struct ranked {
    uint64_t cost;
    const struct call_function *function;
};

static int by_self(const void *va, const void *vb)
{
    const struct ranked *a = va, *b = vb;

    if (a->cost != b->cost) {
        return a->cost < b->cost ? 1 : -1;
    }
    return a->function->index < b->function->index ? -1 : 1;
}

int graph_by_self(const struct calltree *t, enum graph_cost cost,
                  const struct call_function ***out, size_t *n)
{
    struct ranked *v = malloc((t->nr_functions + (size_t)1) * sizeof(*v));
    const struct call_function **list =
        malloc((t->nr_functions + (size_t)1) * sizeof(*list));
    size_t count = 0;

    if (!v || !list) {
        free(v);
        free(list);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        const struct call_function *f = &t->functions[i];

        if (f->calls || f->self.insns || f->self.loads || f->self.stores) {
            v[count++] = (struct ranked){graph_cost_of(&f->self, cost), f};
        }
    }
    qsort(v, count, sizeof(*v), by_self);
    for (size_t i = 0; i < count; i++) {
        list[i] = v[i].function;
    }
    free(v);
    *out = list;
    *n = count;
    return 0;
}

const char *graph_short_name(const char *name, unsigned max, char *buf)
{
    size_t n = strlen(name);
    unsigned tail, head;

    if (n <= max) {
        return name;
    }
    tail = max / 4;
    head = max - 2 - tail;
    /* do not split UTF-8 sequences */
    while (head && ((unsigned char)name[head] & 0xc0) == 0x80) {
        head--;
    }
    while (tail && ((unsigned char)name[n - tail] & 0xc0) == 0x80) {
        tail--;
    }
    memcpy(buf, name, head);
    memcpy(buf + head, "..", 2);
    memcpy(buf + head + 2, name + n - tail, tail + 1);
    return buf;
}

void graph_write_name(const char *name, FILE *out)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < n; i++) {
        putc(text_steers(name, i, n) ? '?' : name[i], out);
    }
}

int graph_finish(FILE *out)
{
    errno = 0;
    if (fflush(out) || ferror(out)) {
        return errno ? -errno : -EIO;
    }
    return 0;
}

/* ------------------------------------------------------------------ formats */

void graph_wants(const struct graph_options *opt, struct calltree_options *tree)
{
    if (opt->format == GRAPH_CALLGRIND) {
        tree->edges = true;
        tree->lines = true;
    }
}

int graph_write(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    switch (opt->format) {
    case GRAPH_TEXT:
        return opt->functions ? graph_functions(t, opt, out) : graph_text(t, opt, out);
    case GRAPH_FOLDED:
        return graph_folded(t, opt, out);
    case GRAPH_CALLGRIND:
        return graph_callgrind(t, opt, out);
    case GRAPH_SVG:
        return graph_svg(t, opt, out);
    case GRAPH_JSON:
        return graph_json(t, opt, out);
    case GRAPH_CHROME:
        break; /* written while the tree was made */
    }
    return 0;
}
