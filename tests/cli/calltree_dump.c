/* SPDX-License-Identifier: MIT */
/*
 * calltree_dump [-j N] [-aeglnps] [-r SYSROOT] [-m NODES] [-S MIN] TRACE
 *
 * Checks the invariants of a trace's call tree and prints it as lines for tests:
 *
 *   total INSNS unmatched N depth N
 *   call ROOT CALLER CALLEE CALLS     each pair of functions of each process (or thread,
 * -s) edge CALLER CALLEE SITE CALLS INSNS    -e function NAME CALLS SELF INCLUSIVE line
 * FUNCTION ADDRESS INSNS LOADS STORES    -l path A;B;C CALLS SELF             -p spans N
 * SUM                       -S: frames reported, instructions in the outermost
 *
 * -a counts accesses, -n ignores files, -g reads DWARF.  Fails (1) if a sum is wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/options.h"
#include "input/trace.h"
#include "calltree/calltree.h"

static int bad;
static uint64_t spans, span_sum;

static void must(bool ok, const char *what, uint64_t a, uint64_t b)
{
    if (!ok) {
        fprintf(stderr, "calltree_dump: %s: %" PRIu64 ", not %" PRIu64 "\n", what, a, b);
        bad = 1;
    }
}

static int on_span(void *arg, const struct calltree *t, const struct call_span *s)
{
    (void)arg;
    must(s->from <= s->to, "a span ends before it begins", s->from, s->to);
    must(s->function < t->nr_functions, "function of a span", s->function, 0);
    spans++;
    span_sum += s->depth == 0 ? s->to - s->from : 0;
    return 0;
}

/* Without spaces, because they separate fields; valid for the next three calls. */
static const char *name(const struct calltree *t, uint32_t function)
{
    static char text[4][4096];
    static unsigned at;
    char *to = text[at++ & 3];

    snprintf(to, sizeof(text[0]), "%s", t->functions[function].name);
    for (char *p = to; *p; p++) {
        *p = *p == ' ' ? '_' : *p;
    }
    return to;
}

static void path(const struct calltree *t, uint32_t node)
{
    if (t->nodes[node].parent != SYM_NONE) {
        path(t, t->nodes[node].parent);
        putchar(';');
    }
    fputs(name(t, t->nodes[node].function), stdout);
}

static void check(const struct calltree *t, const struct ctr_info *info,
                  const struct calltree_options *opt)
{
    struct cost self = {0, 0, 0}, functions = {0, 0, 0};

    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        const struct call_node *n = &t->nodes[i];
        uint64_t below = n->self.insns;

        for (uint32_t c = n->first_child; c != SYM_NONE; c = t->nodes[c].next) {
            must(t->nodes[c].parent == i, "parent", t->nodes[c].parent, i);
            below += t->nodes[c].inclusive.insns;
        }
        must(below == n->inclusive.insns, "inclusive of a node", n->inclusive.insns,
             below);
        self.insns += n->self.insns;
        self.loads += n->self.loads;
        self.stores += n->self.stores;
    }
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        functions.insns += t->functions[i].self.insns;
        must(t->functions[i].inclusive.insns <= info->insns, "inclusive of a function",
             t->functions[i].inclusive.insns, info->insns);
        must(t->functions[i].inclusive.insns >= t->functions[i].self.insns,
             "inclusive below self", t->functions[i].inclusive.insns,
             t->functions[i].self.insns);
    }
    must(self.insns == info->insns, "sum of self", self.insns, info->insns);
    must(functions.insns == info->insns, "sum of functions", functions.insns,
         info->insns);
    must(t->total.insns == info->insns, "total", t->total.insns, info->insns);
    if (opt->accesses) {
        must(self.loads == info->loads, "loads", self.loads, info->loads);
        must(self.stores == info->stores, "stores", self.stores, info->stores);
    }
    for (uint32_t i = 0; opt->separate_threads && i < t->nr_threads; i++) {
        const struct ctr_thread *th = ctr_trace_thread(t->trace, t->threads[i].thread);

        must(t->threads[i].total.insns == th->insns, "total of a thread",
             t->threads[i].total.insns, th->insns);
    }
    if (opt->lines) {
        uint64_t sum = 0;

        for (size_t i = 0; i < t->nr_lines; i++) {
            sum += t->lines[i].self.insns;
        }
        must(sum == info->insns, "sum of addresses", sum, info->insns);
    }
}

static void print(const struct calltree *t, bool paths)
{
    uint32_t *root = malloc((t->nr_nodes + 1) * sizeof(*root)); /* parents come first */

    if (!root) {
        exit(1);
    }
    printf("total %" PRIu64 " unmatched %" PRIu64 " depth %u\n", t->total.insns,
           t->unmatched, t->max_depth);
    for (uint32_t i = 0; i < t->nr_nodes; i++) {
        const struct call_node *n = &t->nodes[i];

        root[i] = n->parent == SYM_NONE ? i : root[n->parent];
        if (n->parent != SYM_NONE && n->calls) {
            printf("call %s %s %s %" PRIu64 "\n", name(t, t->nodes[root[i]].function),
                   name(t, t->nodes[n->parent].function), name(t, n->function), n->calls);
        }
        if (paths) {
            printf("path ");
            path(t, i);
            printf(" %" PRIu64 " %" PRIu64 "\n", n->calls, n->self.insns);
        }
    }
    for (size_t i = 0; i < t->nr_edges; i++) {
        const struct call_edge *e = &t->edges[i];

        printf("edge %s %s 0x%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", name(t, e->caller),
               name(t, e->callee), e->site, e->calls, e->inclusive.insns);
    }
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        const struct call_function *f = &t->functions[i];

        printf("function %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name(t, i), f->calls,
               f->self.insns, f->inclusive.insns);
    }
    for (size_t i = 0; i < t->nr_lines; i++) {
        printf("line %s 0x%" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               name(t, t->lines[i].function), t->lines[i].vaddr, t->lines[i].self.insns,
               t->lines[i].self.loads, t->lines[i].self.stores);
    }
    free(root);
}

int main(int argc, char **argv)
{
    struct calltree_options opt = {.prog = "calltree_dump", .jobs = 1};
    struct modset_options mods = {.prog = "calltree_dump", .quiet = true};
    struct modset *set;
    struct places *places = NULL;
    struct ctr_trace *tr;
    struct ctr_info info;
    struct calltree *t;
    bool paths = false, files = true;
    int c;

    while ((c = getopt(argc, argv, "j:aeglnspr:m:S:")) != -1) {
        switch (c) {
        case 'j':
            opt.jobs = (unsigned)atoi(optarg);
            break;
        case 'a':
            opt.accesses = true;
            break;
        case 'e':
            opt.edges = true;
            break;
        case 'g':
            mods.flags = SYMFILE_LINES;
            break;
        case 'l':
            opt.lines = true;
            break;
        case 'n':
            files = false;
            break;
        case 's':
            opt.separate_threads = true;
            break;
        case 'p':
            paths = true;
            break;
        case 'r':
            mods.sysroot = optarg;
            break;
        case 'm':
            opt.max_nodes = (uint32_t)atoi(optarg);
            break;
        case 'S':
            opt.span = on_span;
            opt.span_min = (uint64_t)atoll(optarg);
            break;
        default:
            return 2;
        }
    }
    if (optind + 1 != argc || tool_trace_open("calltree_dump", argv[optind], 0, &tr) ||
        modset_open(&set, &mods) ||
        (files && places_load(&places, set, tr, argv[optind])) ||
        calltree_make(&t, tr, argv[optind], places, &opt) == TOOL_FAILED) {
        return 1;
    }
    ctr_trace_info(tr, &info);
    check(t, &info, &opt);
    print(t, paths);
    if (opt.span) {
        printf("spans %" PRIu64 " %" PRIu64 "\n", spans, span_sum);
    }
    calltree_free(t);
    places_free(places);
    modset_close(set);
    ctr_close(tr);
    return bad;
}
