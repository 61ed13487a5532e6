/* SPDX-License-Identifier: MIT */
/* tracesym --functions and --calls; see profile.h. */
#include "profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/options.h"
#include "common/textbuf.h"
#include "input/trace.h"
#include "nothing.h"
#include "prog.h"

static const char *const format_names[] = {
    [GRAPH_TEXT] = "text",     [GRAPH_FOLDED] = "folded", [GRAPH_CALLGRIND] = "callgrind",
    [GRAPH_CHROME] = "chrome", [GRAPH_SVG] = "svg",       [GRAPH_JSON] = "json"};
const struct words profile_format_words = WORDS_OF_STRINGS("format", format_names);

static const char *const cost_names[] = {
    [GRAPH_INSNS] = "insns", [GRAPH_LOADS] = "loads", [GRAPH_STORES] = "stores"};
const struct words profile_cost_words = WORDS_OF_STRINGS("cost", cost_names);

static const char *const sort_names[] = {[GRAPH_BY_SELF] = "self",
                                         [GRAPH_BY_INCLUSIVE] = "inclusive",
                                         [GRAPH_BY_CALLS] = "calls"};
const struct words profile_sort_words = WORDS_OF_STRINGS("order", sort_names);

enum by { BY_THREAD, BY_CPU, BY_TASK, BY_IRQ };
static const char *const by_names[] = {
    [BY_THREAD] = "thread", [BY_CPU] = "cpu", [BY_TASK] = "task", [BY_IRQ] = "irq"};
const struct words profile_by_words = WORDS_OF_STRINGS("unit", by_names);

bool profile_parse_by(const char *text, struct profile_options *opt)
{
    size_t i = words_find(&profile_by_words, text, strlen(text));

    opt->tree.separate_threads = i == BY_THREAD || i == BY_CPU;
    opt->tree.by_task = i == BY_TASK;
    opt->by_irq = i == BY_IRQ;
    return i < profile_by_words.n;
}

bool profile_parse_format(const char *text, enum graph_format *format)
{
    size_t i = words_find(&profile_format_words, text, strlen(text));

    *format = (enum graph_format)i;
    return i < profile_format_words.n;
}

bool profile_parse_cost(const char *text, enum graph_cost *cost)
{
    size_t i = words_find(&profile_cost_words, text, strlen(text));

    *cost = (enum graph_cost)i;
    return i < profile_cost_words.n;
}

bool profile_parse_sort(const char *text, enum graph_sort *sort)
{
    size_t i = words_find(&profile_sort_words, text, strlen(text));

    *sort = (enum graph_sort)i;
    return i < profile_sort_words.n;
}

/* -------------------------------------------------------------------- trees */

static int out_of_memory(void)
{
    tool_error(PROG, "out of memory");
    return TOOL_FAILED;
}

/* Replaces a tree by one that was made of it; ret: of the function that made it. */
static int replace(struct calltree **t, struct calltree *by, int ret)
{
    calltree_free(*t);
    *t = ret ? NULL : by;
    return ret ? out_of_memory() : TOOL_OK;
}

/* The path of a trace without accesses, of the one or two that are shown; or NULL. */
static const char *without_accesses(const struct ctr_trace *tr,
                                    const struct profile_options *opt)
{
    struct ctr_info info;

    ctr_trace_info(tr, &info);
    if (!(info.events & CTR_HAS_MEM)) {
        return opt->path;
    }
    if (!opt->older) {
        return NULL;
    }
    ctr_trace_info(opt->older->trace, &info);
    return info.events & CTR_HAS_MEM ? NULL : opt->older->path;
}

/* Whether accesses are counted: they are wanted, and recorded in all traces. */
static bool wants_accesses(const struct ctr_trace *tr, const struct profile_options *opt)
{
    struct calltree_options tree = {0};

    graph_wants(&opt->graph, &tree);
    return tree.accesses && !opt->no_accesses && !without_accesses(tr, opt);
}

static void remark_full(const struct calltree *t, const char *path, bool quiet)
{
    if (t && t->full && !quiet) {
        tool_error(
            PROG,
            "%s: the tree has %" PRIu32
            " paths, the most that it can have: calls on others are not counted, and "
            "their instructions are their callers'",
            path, t->nr_nodes);
    }
}

/* Makes *t, the tree of the newer trace, that of both. */
static int compare(struct calltree **t, const struct profile_options *opt,
                   struct calltree_options *tree)
{
    const struct profile_older *o = opt->older;
    struct calltree *older, *both = NULL;
    int status, ret;

    tree->filter = o->filter;
    status = calltree_make(&older, o->trace, o->path, o->places, tree);
    remark_full(older, o->path, opt->tree.quiet);
    if (older) {
        ret = graph_compare(&both, *t, older);
        calltree_free(older);
        status = replace(t, both, ret);
    }
    status =
        status ? status : tool_trace_status(PROG, o->path, o->trace, opt->tree.quiet);
    if (status == TOOL_PARTIAL) { /* else the caller reports it */
        tool_trace_status(PROG, opt->path, (*t)->trace, opt->tree.quiet);
    }
    return status;
}

/* Makes the tree; a format with the times of frames is written at the same time. */
static int make(struct calltree **t, struct ctr_trace *tr, const struct places *places,
                const struct profile_options *opt, struct calltree_options *tree,
                int *error)
{
    struct graph_chrome *chrome = NULL;
    int status;

    if (opt->graph.format == GRAPH_CHROME) {
        *error = graph_chrome_begin(&chrome, stdout, tree);
        if (*error) {
            return TOOL_OK;
        }
    }
    status = calltree_make(t, tr, opt->path, places, tree);
    if (!chrome) { /* which has all calls, one after the other */
        remark_full(*t, opt->path, opt->tree.quiet);
    }
    if (chrome) {
        *error = graph_chrome_end(chrome, *t);
    }
    if (!status && opt->older) {
        status = compare(t, opt, tree);
    }
    return status;
}

/* ------------------------------------------------------------- what is shown */

static uint64_t count_of(const struct calltree *t, enum graph_cost cost)
{
    const struct cost *a = &t->total, *b = &t->older_total;

    return cost == GRAPH_LOADS    ? a->loads + b->loads
           : cost == GRAPH_STORES ? a->stores + b->stores
                                  : a->insns + b->insns;
}

/* TOOL_OK, or after one line on stderr TOOL_NOTHING if there is no cost to show. */
static int check_cost(const struct calltree *t, const struct profile_options *opt)
{
    const char *without = without_accesses(t->trace, opt);
    enum graph_cost cost = opt->graph.cost;

    if (opt->tree.by_task && !t->nr_tasks) {
        tool_error(PROG, "%s: --by=task: the trace does not say which task ran",
                   opt->path);
        return TOOL_NOTHING;
    }
    if (!count_of(t, GRAPH_INSNS)) {
        return nothing_ran(PROG, opt->path, t->trace, &opt->tree.filter);
    }
    if (count_of(t, cost) || opt->graph.format == GRAPH_JSON) {
        return TOOL_OK;
    }
    tool_error(PROG, "%s: no %s%s", without ? without : opt->path, cost_names[cost],
               without ? ": the trace was recorded without 'mem'"
                       : " in the selected part");
    return TOOL_NOTHING;
}

/* Exceptions that have several numbers, such as Data Abort of either level, but one name are
 * one: the first of them.  False: no memory. */
static bool join_irqs(struct calltree *t, const bool *irqs)
{
    uint32_t *first = calloc(t->nr_functions + (size_t)1, sizeof(*first)), n = 0;

    if (!first) {
        return false;
    }
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        uint32_t k = 0;
        while (irqs[i] && k < n &&
               strcmp(t->functions[first[k]].name, t->functions[i].name)) {
            k++;
        }
        if (irqs[i] && k == n) {
            first[n++] = i;
        }
    }
    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        struct call_node *node = &t->nodes[i];
        for (uint32_t k = 0; irqs[node->function] && k < n; k++) {
            if (!strcmp(t->functions[first[k]].name, t->functions[node->function].name)) {
                node->function = first[k];
                break;
            }
        }
    }
    free(first);
    return true;
}

/* Makes exceptions and interrupts the roots; TOOL_OK or a status after a line on stderr. */
static int only_irqs(struct calltree **t, const struct profile_options *opt)
{
    const uint32_t n = (*t)->nr_functions;
    bool *irqs = calloc(n + (size_t)1, sizeof(*irqs)), any = false;
    struct calltree *other = NULL;
    int status = TOOL_NOTHING;

    for (uint32_t i = 0; irqs && i < n; i++) {
        irqs[i] = (*t)->functions[i].kind == CALL_EXCEPTION;
        any |= irqs[i];
    }
    if (!irqs || !join_irqs(*t, irqs)) {
        status = out_of_memory();
    } else if (any) {
        int ret = graph_select(&other, *t, irqs, true, opt->graph.cost);
        status = replace(t, other, ret);
    } else {
        tool_error(PROG, "%s: --by=irq: no exception or interrupt in the selected part",
                   opt->path);
    }
    free(irqs);
    return status;
}

/* Leaves only what is selected, and turns the tree over; TOOL_OK or a status after a line on
 * stderr.  *wanted: for graph_options. */
static int derive(struct calltree **t, const struct places *places,
                  const struct profile_options *opt, bool **wanted)
{
    const struct profile_selection *s = &opt->selection;
    struct calltree *other = NULL;
    struct cost cut = {0};
    int status = check_cost(*t, opt);

    if (!status && opt->by_irq) {
        status = only_irqs(t, opt);
    }
    if (!status && (s->nr_modules || s->nr_functions)) {
        status = profile_select(wanted, *t, opt->path, places, s);
    }
    if (!status && *wanted && !opt->graph.functions) {
        int ret = graph_select(&other, *t, *wanted, false, opt->graph.cost);
        status = replace(t, other, ret);
    }
    if (!status && opt->graph.inverted) {
        int ret = graph_invert(&other, *t, opt->graph.cost, &cut);
        status = replace(t, other, ret);
    }
    if (!status && cut.insns && !opt->tree.quiet) {
        tool_error(PROG,
                   "%s: the tree is too large: %" PRIu64
                   " instructions have more callers than it shows",
                   opt->path, cut.insns);
    }
    return status;
}

/* Writes a format that needs the whole tree.  Frees it. */
static int show(struct calltree *t, const struct places *places,
                const struct profile_options *opt, int status, int *error)
{
    struct graph_options graph = opt->graph;
    bool *wanted = NULL;
    int nothing = derive(&t, places, opt, &wanted);

    if (!nothing && !*error) {
        graph.wanted = graph.functions ? wanted : NULL;
        *error = graph_write(t, &graph, stdout);
    }
    free(wanted);
    calltree_free(t);
    return nothing ? nothing : status;
}

/* The recorded command, for a title; of two traces with the names of both files. */
static bool title_of(const struct ctr_trace *tr, const struct profile_options *opt,
                     struct textbuf *b)
{
    struct ctr_info info;
    bool ok = true;

    ctr_trace_info(tr, &info);
    for (int i = 0; ok && i < info.argc; i++) {
        ok = textbuf_printf(b, i ? " %s" : "%s", info.argv[i]);
    }
    if (ok && opt->older) {
        ok = textbuf_printf(b, ": %s, before: %s", opt->path, opt->older->path);
    }
    return ok && textbuf_printf(b, "%c", 0);
}

int profile_write(struct ctr_trace *tr, const struct places *places,
                  const struct profile_options *opt)
{
    struct calltree_options tree = opt->tree;
    struct profile_options o = *opt;
    struct calltree *t = NULL;
    struct textbuf title = {0};
    int error = 0, status;

    if (!title_of(tr, opt, &title)) {
        return out_of_memory();
    }
    o.graph.title = title.data;
    graph_wants(&o.graph, &tree);
    tree.accesses = wants_accesses(tr, opt);
    status = make(&t, tr, places, &o, &tree, &error);
    if (t && status != TOOL_FAILED) {
        status = show(t, places, &o, status, &error);
    } else {
        calltree_free(t);
    }
    textbuf_fini(&title);
    if (!error && fflush(stdout)) {
        error = -errno;
    }
    if (error == -EPIPE) {
        return PROFILE_CUT_SHORT;
    }
    if (error) {
        tool_error(PROG, "%s: %s", o.out ? o.out : "standard output", strerror(-error));
        return TOOL_FAILED;
    }
    return status;
}
