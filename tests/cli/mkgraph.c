/* SPDX-License-Identifier: MIT */
/*
 * Writes a handmade call tree in one of tracesym's formats:
 *   mkgraph KIND TRACE
 * The table in main has the kinds.  TRACE is any trace; its command and threads are named in
 * the output.  Names of the first tree contain whatever a symbol table may contain: markup,
 * separators, bytes that are no valid text.  Those of the second and third are like what two
 * builds of a program have.
 */
#include "tracesym/graph.h"

#include <stdlib.h>
#include <string.h>

static struct module modules[] = {
    {.index = 0, .path = "/opt/a <b>/app", .name = "app", .build_id_bytes = 0, .why = ""},
    {.index = 1,
     .path = "/lib/libx.so.1\nfn=(9) x",
     .name = "libx.so.1\033]0;x\a",
     .why = ""},
};

static struct call_function functions[] = {
    {.index = 0, .kind = CALL_THREAD, .name = "thread 100/100"},
    {.index = 1, .module = &modules[0], .vaddr = 0x1000, .end = 0x1040, .name = "main"},
    {.index = 2,
     .module = &modules[0],
     .vaddr = 0x1100,
     .name = "operator<(std::pair<int, char const*> const&, \"x\"; y)"},
    {.index = 3, .module = &modules[1], .vaddr = 0x400, .name = "sum"},
    {.index = 4, .kind = CALL_SIGNAL, .name = "signal 10"},
    {.index = 5, .name = "0x7f001234"},
    {.index = 6,
     .module = &modules[1],
     .vaddr = 0x900,
     .name = "bad\xff\xc3\xa9\nname\033[2J\xc2\x9b"},
    {.index = 7, .module = &modules[1], .vaddr = 0xa00, .name = "never"},
    {.index = 8, .kind = CALL_THREAD, .name = "thread 100/101"},
};

#define NONE SYM_NONE
static struct call_node nodes[] = {
    /* function, parent, first child, next, calls, self */
    {0, NONE, 1, NONE, 0, .self = {10, 0, 0}},
    {1, 0, 2, NONE, 1, .self = {100, 20, 10}},
    {2, 1, 5, 3, 3, .self = {300, 30, 0}},
    {3, 1, NONE, 4, 7, .self = {7000, 700, 70}},
    {4, 1, 6, NONE, 1, .self = {0, 0, 0}},
    {2, 2, NONE, NONE, 2, .self = {200, 20, 0}}, /* recursion */
    {6, 4, NONE, NONE, 1, .self = {5, 1, 1}},
    {8, NONE, 8, NONE, 0, .self = {0, 0, 0}},
    {5, 7, 9, NONE, 1, .self = {1000, 100, 100}},
    {3, 8, NONE, NONE, 1, .self = {1385, 3, 4}},
};

static struct call_edge edges[] = {
    {0, 1, 0, 1, {0}},          {1, 2, 0x1010, 3, {0}}, {1, 3, 0x1014, 7, {0}},
    {1, 4, 0x1018, 1, {0}},     {2, 2, 0x1110, 2, {0}}, {4, 6, 0, 1, {0}},
    {5, 3, 0x7f001240, 1, {0}}, {8, 5, 0, 1, {0}},
};
static const uint32_t edge_nodes[] = {1, 2, 3, 4, 5, 6, 9, 8};

static struct call_line lines[] = {
    {0, 0, {10, 0, 0}},          {1, 0x1000, {60, 10, 5}},
    {1, 0x1010, {40, 10, 5}},    {2, 0x1100, {500, 50, 0}},
    {3, 0x400, {8385, 703, 74}}, {5, 0x7f001234, {1000, 100, 100}},
    {6, 0x900, {5, 1, 1}},
};

static struct calltree_thread threads[] = {{.thread = 0, .root = 0},
                                           {.thread = 0, .root = 7}};

#define COUNT(v) (uint32_t)(sizeof(v) / sizeof(*(v)))

static struct calltree tree = {
    .functions = functions,
    .nr_functions = COUNT(functions),
    .nodes = nodes,
    .nr_nodes = COUNT(nodes),
    .edges = edges,
    .nr_edges = COUNT(edges),
    .lines = lines,
    .nr_lines = COUNT(lines),
    .threads = threads,
    .nr_threads = COUNT(threads),
};

/* ------------------------------------------------- a program, and its older build */

static struct module app_modules[] = {
    {.index = 0, .path = "/opt/new/app", .name = "app", .why = ""},
    {.index = 1, .path = "/lib/libx.so.1", .name = "libx.so.1", .why = ""},
    {.index = 2, .path = "/opt/old/app", .name = "app", .why = ""},
};

static struct call_function app_functions[] = {
    {.index = 0, .kind = CALL_THREAD, .name = "app-77"},
    {.index = 1, .module = &app_modules[0], .vaddr = 0x1000, .name = "_start"},
    {.index = 2, .module = &app_modules[1], .vaddr = 0x400, .name = "__libc_start_main"},
    {.index = 3, .module = &app_modules[0], .vaddr = 0x1100, .name = "main"},
    {.index = 4, .module = &app_modules[0], .vaddr = 0x1200, .name = "parse"},
    {.index = 5, .module = &app_modules[0], .vaddr = 0x1300, .name = "eval"},
    {.index = 6, .module = &app_modules[1], .vaddr = 0x900, .name = "tiny"},
    {.index = 7, .module = &app_modules[1], .vaddr = 0xa00, .name = "exit"},
    {.index = 8, .module = &app_modules[1], .vaddr = 0xb00, .name = "small"},
};

static struct call_node app_nodes[] = {
    {0, NONE, 1, NONE, 0, .self = {0, 0, 0}},
    {1, 0, 2, NONE, 1, .self = {6, 0, 0}},
    {2, 1, 3, NONE, 1, .self = {20, 5, 5}},
    {3, 2, 5, 4, 1, .self = {1000, 100, 100}},
    {7, 2, NONE, NONE, 1, .self = {900, 90, 0}},
    {4, 3, 10, 6, 3, .self = {40000, 4000, 0}},
    {5, 3, 7, 8, 9, .self = {50000, 0, 500}},
    {4, 6, NONE, NONE, 2, .self = {8000, 800, 0}},
    {6, 3, NONE, 9, 1, .self = {2, 0, 0}},
    {8, 3, NONE, NONE, 1, .self = {3, 0, 0}},
    {8, 5, NONE, NONE, 1, .self = {1, 0, 0}},
};

static struct call_function old_functions[] = {
    {.index = 0, .kind = CALL_THREAD, .name = "app-55"},
    {.index = 1, .module = &app_modules[2], .vaddr = 0x900, .name = "_start"},
    {.index = 2, .module = &app_modules[1], .vaddr = 0x400, .name = "__libc_start_main"},
    {.index = 3, .module = &app_modules[2], .vaddr = 0x960, .name = "main"},
    {.index = 4, .module = &app_modules[2], .vaddr = 0xf00, .name = "gone"},
    {.index = 5, .module = &app_modules[2], .vaddr = 0xa00, .name = "eval"},
    {.index = 6, .module = &app_modules[2], .vaddr = 0xb00, .name = "parse"},
    {.index = 7, .module = &app_modules[1], .vaddr = 0xa00, .name = "exit"},
};

static struct call_node old_nodes[] = {
    {0, NONE, 1, NONE, 0, .self = {0, 0, 0}},
    {1, 0, 2, NONE, 1, .self = {6, 0, 0}},
    {2, 1, 3, NONE, 1, .self = {20, 5, 5}},
    {3, 2, 5, 4, 1, .self = {1100, 100, 100}},
    {7, 2, NONE, NONE, 1, .self = {900, 90, 0}},
    {6, 3, NONE, 6, 3, .self = {20000, 2000, 0}},
    {5, 3, NONE, 7, 9, .self = {62500, 0, 500}},
    {4, 3, NONE, NONE, 4, .self = {700, 70, 0}},
};

static struct calltree_thread app_threads[] = {{.thread = 0, .root = 0}},
                              old_threads[] = {{.thread = 0, .root = 0}};

static struct calltree app = {
    .functions = app_functions,
    .nr_functions = COUNT(app_functions),
    .nodes = app_nodes,
    .nr_nodes = COUNT(app_nodes),
    .threads = app_threads,
    .nr_threads = COUNT(app_threads),
};
static struct calltree old = {
    .functions = old_functions,
    .nr_functions = COUNT(old_functions),
    .nodes = old_nodes,
    .nr_nodes = COUNT(old_nodes),
    .threads = old_threads,
    .nr_threads = COUNT(old_threads),
};

static void add(struct cost *to, const struct cost *c)
{
    to->insns += c->insns;
    to->loads += c->loads;
    to->stores += c->stores;
}

/* Everything that the nodes of the first tree imply. */
static void complete(void)
{
    for (uint32_t i = 0; i < COUNT(nodes); i++) {
        const struct cost *self = &nodes[i].self;
        bool seen[COUNT(functions)] = {false};

        add(&tree.total, self);
        add(&functions[nodes[i].function].self, self);
        functions[nodes[i].function].calls += nodes[i].calls;
        for (uint32_t n = i; n != NONE; n = nodes[n].parent) {
            add(&nodes[n].inclusive, self);
            if (!seen[nodes[n].function]) {
                add(&functions[nodes[n].function].inclusive, self);
            }
            seen[nodes[n].function] = true;
        }
    }
    for (uint32_t i = 0; i < COUNT(edges); i++) {
        edges[i].inclusive = nodes[edge_nodes[i]].inclusive;
    }
    for (uint32_t i = 0; i < COUNT(threads); i++) {
        threads[i].total = nodes[threads[i].root].inclusive;
    }
}

static int write_chrome(const struct graph_options *opt)
{
    static const struct call_span spans[] = {
        {0, 2, 2, 1100, 1600, 5, 5, .at = 1100, .insns = 500},
        {0, 6, 3, 1700, 1705, 5, 5, .at = 1700, .insns = 5},
        {0, 1, 1, 10, 7615, 1, 3000, .at = 10, .insns = 7605},
    };
    struct calltree_options o = {0};
    struct graph_chrome *c;
    int ret;

    graph_wants(opt, &o);
    ret = graph_chrome_begin(&c, stdout, &o);
    for (uint32_t i = 0; !ret && i < COUNT(spans); i++) {
        ret = o.span(o.span_arg, &tree, &spans[i]);
    }
    return graph_chrome_end(c, &tree) || ret;
}

/* What is made of the trees before one is written. */
enum step { INVERT = 1, SELECT = 2, COMPARE = 4, SAME = 8, APP = 16, OLD = 32 };

/* Selects eval, and parse where eval does not call it. */
static const bool *wanted_of(const struct calltree *t)
{
    static bool wanted[64];

    for (uint32_t i = 0; i < t->nr_functions && i < 64; i++) {
        wanted[i] = !strcmp(t->functions[i].name, "eval") ||
                    !strcmp(t->functions[i].name, "parse");
    }
    return wanted;
}

static int write_made(unsigned steps, struct graph_options opt)
{
    struct calltree *v[3] = {NULL};
    const struct calltree *t = steps & APP ? &app : steps & OLD ? &old : &tree;
    struct cost cut;
    int ret = 0;

    if (steps & COMPARE) {
        ret = graph_compare(&v[0], t, steps & SAME ? t : &old);
        t = v[0];
    }
    if (!ret && steps & SELECT && opt.functions) {
        opt.wanted = wanted_of(t);
    } else if (!ret && steps & SELECT) {
        ret = graph_select(&v[1], t, wanted_of(t), false, opt.cost);
        t = v[1];
    }
    if (!ret && steps & INVERT) {
        ret = graph_invert(&v[2], t, opt.cost, &cut);
        t = v[2];
    }
    ret = ret ? ret : graph_write(t, &opt, stdout);
    for (unsigned i = 0; i < 3; i++) {
        calltree_free(v[i]);
    }
    return ret;
}

static const struct {
    const char *name;
    struct graph_options opt;
    unsigned steps;
} kinds[] = {
    {"text", {.format = GRAPH_TEXT}},
    {"loads", {.format = GRAPH_TEXT, .cost = GRAPH_LOADS}},
    {"pruned", {.format = GRAPH_TEXT, .min_percent = 6}},
    {"shallow", {.format = GRAPH_TEXT, .max_depth = 1}},
    {"functions", {.format = GRAPH_TEXT, .functions = true}},
    {"folded", {.format = GRAPH_FOLDED}},
    {"callgrind", {.format = GRAPH_CALLGRIND}},
    {"svg", {.format = GRAPH_SVG, .title = "qemu-arm ./app <in.txt & \"more\""}},
    {"json", {.format = GRAPH_JSON}},
    {"json-functions", {.format = GRAPH_JSON, .functions = true}},
    {"by-thread", {.functions = true, .by_thread = true}},
    {"by-thread-pruned", {.functions = true, .by_thread = true, .min_percent = 6}},
    {"by-thread-json", {.format = GRAPH_JSON, .functions = true, .by_thread = true}},
    {"chrome", {.format = GRAPH_CHROME}},
    {"inverted", {.inverted = true}, INVERT},
    {"inverted-pruned", {.inverted = true, .min_percent = 3}, INVERT},
    {"inverted-loads", {.inverted = true, .cost = GRAPH_LOADS}, INVERT},
    {"inverted-folded", {.format = GRAPH_FOLDED, .inverted = true}, INVERT},
    {"inverted-json", {.format = GRAPH_JSON, .inverted = true}, INVERT},
    {"inverted-svg", {.format = GRAPH_SVG, .inverted = true, .icicle = true}, INVERT},
    {"app-text", {.format = GRAPH_TEXT}, APP},
    {"app-json", {.format = GRAPH_JSON}, APP},
    {"old-json", {.format = GRAPH_JSON}, OLD},
    {"app-folded", {.format = GRAPH_FOLDED}, APP},
    {"app-svg", {.format = GRAPH_SVG}, APP},
    {"app-icicle", {.format = GRAPH_SVG, .icicle = true}, APP},
    {"app-percent", {.format = GRAPH_SVG, .min_percent = 10}, APP},
    {"select", {.format = GRAPH_TEXT}, APP | SELECT},
    {"select-functions", {.functions = true}, APP | SELECT},
    {"select-json", {.format = GRAPH_JSON}, APP | SELECT},
    {"select-svg", {.format = GRAPH_SVG}, APP | SELECT},
    {"diff", {.format = GRAPH_TEXT}, APP | COMPARE},
    {"diff-functions", {.functions = true}, APP | COMPARE},
    {"select-by-thread", {.functions = true, .by_thread = true}, APP | SELECT},
    {"diff-by-thread", {.functions = true, .by_thread = true}, APP | COMPARE},
    {"diff-pruned", {.min_percent = 1}, APP | COMPARE},
    {"diff-folded", {.format = GRAPH_FOLDED}, APP | COMPARE},
    {"diff-json", {.format = GRAPH_JSON}, APP | COMPARE},
    {"diff-json-functions", {.format = GRAPH_JSON, .functions = true}, APP | COMPARE},
    {"diff-svg",
     {.format = GRAPH_SVG, .title = "./app: new, before: old"},
     APP | COMPARE},
    {"diff-inverted", {.inverted = true}, APP | COMPARE | INVERT},
    {"diff-inverted-folded", {.format = GRAPH_FOLDED}, APP | COMPARE | INVERT},
    {"diff-select", {.format = GRAPH_TEXT}, APP | COMPARE | SELECT},
    {"same-folded", {.format = GRAPH_FOLDED}, APP | COMPARE | SAME},
    {"same-text", {.format = GRAPH_TEXT}, APP | COMPARE | SAME},
};

int main(int argc, char **argv)
{
    struct ctr_trace *tr;
    int ret = 2;

    if (argc != 3 || ctr_open(&tr, argv[2], 0, NULL)) {
        return 2;
    }
    tree.trace = app.trace = old.trace = tr;
    complete();
    calltree_sum_nodes(&app);
    calltree_sum_nodes(&old);
    ret = calltree_sum_functions(&app) || calltree_sum_functions(&old) ? 1 : ret;
    for (uint32_t i = 0; i < COUNT(kinds); i++) {
        if (strcmp(kinds[i].name, argv[1]) == 0) {
            ret = kinds[i].opt.format == GRAPH_CHROME
                      ? write_chrome(&kinds[i].opt)
                      : write_made(kinds[i].steps, kinds[i].opt);
        }
    }
    ctr_close(tr);
    return ret ? 1 : 0;
}
