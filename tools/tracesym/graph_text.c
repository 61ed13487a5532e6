/* SPDX-License-Identifier: MIT */
/* Call trees and flat profiles as text, of one trace or of two; see graph.h. */
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

/* ---------------------------------------------------------------- two traces */

/* The columns of a cost in two traces. */
static void write_change(struct graph_amount a, FILE *out)
{
    uint64_t change = a.now > a.older ? a.now - a.older : a.older - a.now;
    char difference[24], percent[24] = "";

    snprintf(difference, sizeof(difference), "%s%" PRIu64,
             a.now > a.older   ? "+"
             : a.now < a.older ? "-"
                               : "",
             change);
    if (a.older && a.now) {
        snprintf(percent, sizeof(percent), "%+.1f%%",
                 a.now < a.older ? -graph_percent(change, a.older)
                                 : graph_percent(change, a.older));
    } else if (a.sum) {
        snprintf(percent, sizeof(percent), "%s", a.now ? "new" : "gone");
    }
    fprintf(out, "%14" PRIu64 " %14" PRIu64 " %15s %9s  ", a.older, a.now, difference,
            percent);
}

static void write_change_head(FILE *out)
{
    fprintf(out, "%14s %14s %15s %9s  ", "before", "after", "difference", "change");
}

/* ------------------------------------------------------------------ a tree */

static void indent(const struct graph_walk *w, FILE *out)
{
    fprintf(out, "%*s", 2 * (int)(w->depth < 1000 ? w->depth : 1000), "");
}

/* Whether a node has enough of the total to get a line. */
static bool shown(const struct calltree *t, const struct graph_options *opt,
                  uint32_t node, uint64_t whole)
{
    uint64_t part = graph_inclusive(t, node, opt->cost).sum;

    return !opt->min_percent || graph_percent(part, whole) >= opt->min_percent;
}

/* An inverted tree's own costs have no column: mostly the whole is the caller's. */
static void write_tree_head(const struct calltree *t, const struct graph_options *opt,
                            FILE *out)
{
    if (t->older) {
        write_change_head(out);
    } else if (opt->inverted) {
        fprintf(out, "%14s %6s %10s  ", "self", "", "calls");
    } else {
        fprintf(out, "%14s %6s %14s %6s %10s  ", "inclusive", "", "self", "", "calls");
    }
    fprintf(out, "%s\n", graph_cost_word(opt->cost));
}

static void write_node(const struct graph_walk *w, const struct graph_options *opt,
                       uint64_t whole, FILE *out)
{
    const struct call_node *n = &w->t->nodes[w->node];
    const struct call_function *f = &w->t->functions[n->function];
    struct graph_amount inclusive = graph_inclusive(w->t, w->node, opt->cost);
    uint64_t self = graph_cost_of(&n->self, opt->cost);

    if (w->t->older) {
        write_change(inclusive, out);
    } else {
        fprintf(out, "%14" PRIu64 " %5.1f%% ", inclusive.now,
                graph_percent(inclusive.now, whole));
        if (!opt->inverted) {
            fprintf(out, "%14" PRIu64 " %5.1f%% ", self, graph_percent(self, whole));
        }
        if (f->kind != CALL_THREAD || opt->inverted) {
            fprintf(out, "%10" PRIu64 "  ", n->calls);
        } else {
            fprintf(out, "%10s  ", "-");
        }
    }
    indent(w, out);
    write_name(f, opt, out);
}

/*
 * Writes one line for a node that is too small and for the siblings after it, which are
 * smaller.  Moves to the last of them.
 */
static void write_rest(struct graph_walk *w, const struct graph_options *opt,
                       uint64_t whole, FILE *out)
{
    struct graph_amount sum;
    uint32_t count = graph_walk_skip(w, opt->cost, &sum);

    if (w->t->older) {
        write_change(sum, out);
    } else {
        fprintf(out, "%14" PRIu64 " %5.1f%% ", sum.now, graph_percent(sum.now, whole));
        fprintf(out, "%*s  ", opt->inverted ? 10 : 32, "");
    }
    indent(w, out);
    fprintf(out, "(%" PRIu32 " more)\n", count);
}

static void write_sum(const struct calltree *t, const struct graph_options *opt,
                      struct graph_amount part, const char *what, FILE *out)
{
    if (t->older) {
        write_change(part, out);
        fprintf(out, "%s\n", what);
    } else {
        fprintf(out, "%14" PRIu64 " %5.1f%% %s\n", part.now,
                graph_percent(part.now, graph_all(t, opt->cost).now), what);
    }
}

/* What all is that the lines before are a part of. */
static void write_all(const struct calltree *t, const struct graph_options *opt,
                      FILE *out)
{
    struct graph_amount all = graph_all(t, opt->cost);

    if (t->older) {
        write_sum(t, opt, all, "in all", out);
    } else {
        fprintf(out, "%14" PRIu64 " 100.0%% in all\n", all.now);
    }
}

int graph_text(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    uint64_t whole = graph_all(t, opt->cost).sum;
    struct graph_walk w;
    int ret = graph_walk_init(&w, t, true, opt->cost);

    if (ret) {
        return ret;
    }
    write_tree_head(t, opt, out);
    while (graph_walk_ok(&w)) {
        bool root = !w.depth && !opt->inverted;

        if (root && opt->roots && !graph_inclusive(t, w.node, opt->cost).sum) {
            graph_walk_next(&w, false); /* a task that runs next to the chosen ones */
        } else if (!root && !shown(t, opt, w.node, whole)) {
            write_rest(&w, opt, whole, out);
            graph_walk_next(&w, false);
        } else {
            write_node(&w, opt, whole, out);
            graph_walk_next(&w, !opt->max_depth || w.depth < opt->max_depth);
        }
    }
    graph_walk_fini(&w);
    if (t->selected) {
        write_sum(t, opt, graph_total(t, opt->cost), "in these calls", out);
    }
    if (t->older || t->selected) {
        write_all(t, opt, out);
    }
    return graph_finish(out);
}

/* --------------------------------------------------------- a flat profile */

static void write_functions_head(const struct calltree *t,
                                 const struct graph_options *opt, FILE *out)
{
    if (t->older) {
        write_change_head(out);
        fprintf(out, "self, by %s\n", graph_cost_word(opt->cost));
        return;
    }
    fprintf(out, "%14s %6s %14s %6s %10s", "self", "", "inclusive", "", "calls");
    if (graph_has_accesses(t)) {
        fprintf(out, " %12s %12s", "loads", "stores");
    }
    fprintf(out, "  by %s\n", graph_cost_word(opt->cost));
}

static void write_function(const struct calltree *t, const struct call_function *f,
                           const struct graph_options *opt, uint64_t whole, FILE *out)
{
    uint64_t self = graph_cost_of(&f->self, opt->cost);
    uint64_t inclusive = graph_cost_of(&f->inclusive, opt->cost);

    if (t->older) {
        write_change(graph_function_self(t, f, opt->cost), out);
        write_name(f, opt, out);
        return;
    }
    fprintf(out, "%14" PRIu64 " %5.1f%% %14" PRIu64 " %5.1f%% %10" PRIu64, self,
            graph_percent(self, whole), inclusive, graph_percent(inclusive, whole),
            f->calls);
    if (graph_has_accesses(t)) {
        fprintf(out, " %12" PRIu64 " %12" PRIu64, f->self.loads, f->self.stores);
    }
    fputs("  ", out);
    write_name(f, opt, out);
}

/* What the lines before have together, if functions were chosen. */
static void write_chosen(const struct calltree *t, const struct graph_options *opt,
                         struct graph_amount part, size_t shown_count, FILE *out)
{
    uint32_t ran = 0;
    char what[80];

    if (!opt->wanted) {
        return;
    }
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        ran += graph_ran(t, i);
    }
    snprintf(what, sizeof(what), "in these %zu of %" PRIu32 " functions", shown_count,
             ran);
    write_sum(t, opt, part, what, out);
}

static void write_more_functions(const struct calltree *t, struct graph_amount rest,
                                 uint64_t count, uint64_t whole, FILE *out)
{
    if (t->older) {
        write_change(rest, out);
    } else {
        fprintf(out, "%14" PRIu64 " %5.1f%% ", rest.now, graph_percent(rest.now, whole));
    }
    fprintf(out, "(%" PRIu64 " more functions)\n", count);
}

static void amount_add(struct graph_amount *to, struct graph_amount a)
{
    to->now += a.now;
    to->older += a.older;
    to->sum += a.sum;
}

/* Writes the lines of functions, and what they have together. */
static void write_list(const struct calltree *t, const struct graph_options *opt,
                       const struct call_function *const *list, size_t n, FILE *out)
{
    uint64_t whole = graph_all(t, opt->cost).sum, count = 0;
    struct graph_amount rest = {0}, sum = {0};

    for (size_t i = 0; i < n; i++) {
        struct graph_amount a = graph_function_self(t, list[i], opt->cost);

        amount_add(&sum, a);
        if (opt->min_percent && graph_percent(a.sum, whole) < opt->min_percent) {
            amount_add(&rest, a);
            count++;
        } else {
            write_function(t, list[i], opt, whole, out);
        }
    }
    if (count) {
        write_more_functions(t, rest, count, whole, out);
    }
    write_chosen(t, opt, sum, n, out);
}

/* Writes the functions of all roots of the tree. */
static int write_profile(const struct calltree *t, const struct graph_options *opt,
                         FILE *out)
{
    const struct call_function **list;
    size_t n;
    int ret = graph_by_self(t, opt, &list, &n);

    if (!ret) {
        write_list(t, opt, list, n, out);
        free(list);
    }
    return ret;
}

/* Writes the functions of one root under its name; nothing if there are none. */
static int write_thread(const struct calltree *t, const struct graph_options *opt,
                        uint32_t i, FILE *out)
{
    const struct call_function **list;
    struct calltree one;
    char where[40];
    size_t n;
    int ret = graph_thread_init(&one, t, i);

    if (ret) {
        return ret;
    }
    ret = graph_by_self(&one, opt, &list, &n);
    if (!ret && n) {
        fputc('\n', out);
        graph_write_name(graph_thread_name(t, i), out);
        fputs(":\n", out);
        write_list(&one, opt, list, n, out);
        snprintf(where, sizeof(where), t->older ? "in %ss of this name" : "in this %s",
                 opt->roots ? opt->roots : "thread");
        write_sum(t, opt, graph_inclusive(t, t->threads[i].root, opt->cost), where, out);
    }
    if (!ret) {
        free(list);
    }
    graph_thread_fini(&one);
    return ret;
}

int graph_functions(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    int ret = 0;

    write_functions_head(t, opt, out);
    if (opt->by_thread) {
        for (uint32_t i = 0; !ret && i < t->nr_threads; i++) {
            ret = write_thread(t, opt, i, out);
        }
        fputc('\n', out);
    } else {
        ret = write_profile(t, opt, out);
    }
    if (ret) {
        return ret;
    }
    write_all(t, opt, out);
    return graph_finish(out);
}
