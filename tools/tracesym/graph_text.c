/* SPDX-License-Identifier: MIT */
/* Call trees and flat profiles as text; see graph.h. */
#include "graph_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define COLOR_DIM "\033[2m"
#define COLOR_OFF "\033[0m"

/* Characters of a name that fit on an ordinary terminal. */
#define NAME_MAX_SHOWN 100

static void write_name(const struct call_function *f, const struct graph_options *opt,
                       FILE *out)
{
    char buf[NAME_MAX_SHOWN + 1];

    graph_write_name(
        opt->full_names ? f->name : graph_short_name(f->name, NAME_MAX_SHOWN, buf), out);
    if (f->kind == CALL_FUNCTION && f->module) {
        fprintf(out, "%s  [", opt->color ? COLOR_DIM : "");
        graph_write_name(f->module->name, out);
        fprintf(out, "]%s", opt->color ? COLOR_OFF : "");
    }
    fputc('\n', out);
}

static const char *cost_word(enum graph_cost cost)
{
    return cost == GRAPH_LOADS    ? "loads"
           : cost == GRAPH_STORES ? "stores"
                                  : "instructions";
}

/* ------------------------------------------------------------------ a tree */

/* Whether a node has enough of the total to get a line. */
static bool shown(const struct calltree *t, const struct graph_options *opt,
                  uint32_t node, uint64_t whole)
{
    uint64_t part = graph_cost_of(&t->nodes[node].inclusive, opt->cost);

    return !opt->min_percent || graph_percent(part, whole) >= opt->min_percent;
}

static void write_node(const struct graph_walk *w, const struct graph_options *opt,
                       uint64_t whole, FILE *out)
{
    const struct call_node *n = &w->t->nodes[w->node];
    uint64_t inclusive = graph_cost_of(&n->inclusive, opt->cost);
    uint64_t self = graph_cost_of(&n->self, opt->cost);

    fprintf(out, "%14" PRIu64 " %5.1f%% %14" PRIu64 " %5.1f%% ", inclusive,
            graph_percent(inclusive, whole), self, graph_percent(self, whole));
    if (w->depth) {
        fprintf(out, "%10" PRIu64 "  ", n->calls);
    } else {
        fprintf(out, "%10s  ", "-");
    }
    fprintf(out, "%*s", 2 * (int)(w->depth < 1000 ? w->depth : 1000), "");
    write_name(&w->t->functions[n->function], opt, out);
}

/*
 * Writes one line for a node that is too small and for the siblings after it, which are
 * smaller.  Moves to the last of them.
 */
static void write_rest(struct graph_walk *w, const struct graph_options *opt,
                       uint64_t whole, FILE *out)
{
    uint64_t sum = 0;
    uint32_t count = 0;
    uint32_t last = w->node;

    for (uint32_t i = w->node; i != SYM_NONE; i = graph_walk_sibling(w, i)) {
        sum += graph_cost_of(&w->t->nodes[i].inclusive, opt->cost);
        count++;
        last = i;
    }
    w->node = last;
    fprintf(out, "%14" PRIu64 " %5.1f%% %14s %6s %10s  %*s(%" PRIu32 " more)\n", sum,
            graph_percent(sum, whole), "", "", "",
            2 * (int)(w->depth < 1000 ? w->depth : 1000), "", count);
}

int graph_text(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    struct graph_walk w;
    int ret = graph_walk_init(&w, t, true, opt->cost);

    if (ret) {
        return ret;
    }
    fprintf(out, "%14s %6s %14s %6s %10s  %s\n", "inclusive", "", "self", "", "calls",
            cost_word(opt->cost));
    while (graph_walk_ok(&w)) {
        uint64_t whole = graph_cost_of(&t->total, opt->cost);

        if (w.depth && !shown(t, opt, w.node, whole)) {
            write_rest(&w, opt, whole, out);
            graph_walk_next(&w, false);
        } else {
            write_node(&w, opt, whole, out);
            graph_walk_next(&w, !opt->max_depth || w.depth < opt->max_depth);
        }
    }
    graph_walk_fini(&w);
    return graph_finish(out);
}

/* --------------------------------------------------------- a flat profile */

int graph_functions(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    bool accesses = graph_has_accesses(t);
    uint64_t whole = graph_cost_of(&t->total, opt->cost), rest = 0, count = 0;
    const struct call_function **list;
    size_t n;
    int ret = graph_by_self(t, opt->cost, &list, &n);

    if (ret) {
        return ret;
    }
    fprintf(out, "%14s %6s %14s %6s %10s", "self", "", "inclusive", "", "calls");
    if (accesses) {
        fprintf(out, " %12s %12s", "loads", "stores");
    }
    fprintf(out, "  by %s\n", cost_word(opt->cost));
    for (size_t i = 0; i < n; i++) {
        const struct call_function *f = list[i];
        uint64_t self = graph_cost_of(&f->self, opt->cost);
        uint64_t inclusive = graph_cost_of(&f->inclusive, opt->cost);

        if (opt->min_percent && graph_percent(self, whole) < opt->min_percent) {
            rest += self;
            count++;
            continue;
        }
        fprintf(out, "%14" PRIu64 " %5.1f%% %14" PRIu64 " %5.1f%% %10" PRIu64, self,
                graph_percent(self, whole), inclusive, graph_percent(inclusive, whole),
                f->calls);
        if (accesses) {
            fprintf(out, " %12" PRIu64 " %12" PRIu64, f->self.loads, f->self.stores);
        }
        fputs("  ", out);
        write_name(f, opt, out);
    }
    free(list);
    if (count) {
        fprintf(out, "%14" PRIu64 " %5.1f%% (%" PRIu64 " more functions)\n", rest,
                graph_percent(rest, whole), count);
    }
    fprintf(out, "%14" PRIu64 " 100.0%% in all\n", whole);
    return graph_finish(out);
}
