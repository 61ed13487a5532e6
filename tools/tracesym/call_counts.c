/* SPDX-License-Identifier: MIT */
/* Counts of calls by caller, place and function called; see call_counts.h. */
#include "call_counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "call_list.h"
#include "prog.h"
#include "common/options.h"
#include "input/trace.h"

struct counter {
    const struct calltree *tree;
    const struct call_counts_options *opt;
    const struct call_edge **rows;
    size_t n;
    struct textbuf out;
};

static const struct call_function *function(const struct counter *c, uint32_t i)
{
    return &c->tree->functions[i];
}

static bool is_chosen(const struct counter *c, uint32_t index)
{
    for (unsigned i = 0; i < c->opt->nr_patterns; i++) {
        if (call_match(c->opt->patterns[i], function(c, index)) != CALL_OTHER) {
            return true;
        }
    }
    return false;
}

/* Whether a chosen function was called from the same place: what a stub jumped to. */
static bool has_target(const struct counter *c, size_t edge)
{
    const struct call_edge *e = &c->tree->edges[edge], *first = e, *v;
    const struct call_edge *end = c->tree->edges + c->tree->nr_edges;

    while (first > c->tree->edges && first[-1].caller == e->caller &&
           first[-1].site == e->site) {
        first--;
    }
    for (v = first; v < end && v->caller == e->caller && v->site == e->site; v++) {
        if (!call_is_stub(function(c, v->callee)) &&
            (c->opt->callees || is_chosen(c, v->callee))) {
            return true;
        }
    }
    return false;
}

/* The most calls first; then by name and place, so that the order is always the same. */
static int by_calls(const void *a, const void *b)
{
    const struct call_edge *x = *(const struct call_edge *const *)a;
    const struct call_edge *y = *(const struct call_edge *const *)b;

    if (x->calls != y->calls) {
        return x->calls > y->calls ? -1 : 1;
    }
    if (x->caller != y->caller) {
        return x->caller < y->caller ? -1 : 1;
    }
    if (x->site != y->site) {
        return x->site < y->site ? -1 : 1;
    }
    return (x->callee > y->callee) - (x->callee < y->callee);
}

/* Whether the caller is in what --module and --function select. */
static bool is_wanted(const struct counter *c, const struct call_edge *e)
{
    const struct site_options *o = c->opt->site;
    const struct call_function *caller = function(c, e->caller);
    struct place place = {.module = caller->module,
                          .vaddr = e->site ? e->site : caller->vaddr};
    struct site site;

    if (!o->nr_modules && !o->nr_functions) {
        return true;
    }
    site_find(&site, place.module ? &place : NULL);
    return site_wanted(&site, o);
}

static bool choose(struct counter *c)
{
    c->rows = calloc(c->tree->nr_edges + 1, sizeof(struct call_edge *));
    for (size_t i = 0; c->rows && i < c->tree->nr_edges; i++) {
        const struct call_edge *e = &c->tree->edges[i];
        bool stub = call_is_stub(function(c, e->callee));
        if (e->calls && is_chosen(c, c->opt->callees ? e->caller : e->callee) &&
            !(stub && has_target(c, i)) && is_wanted(c, e)) {
            c->rows[c->n++] = e;
        }
    }
    if (c->n > 1) {
        qsort(c->rows, c->n, sizeof(struct call_edge *), by_calls);
    }
    return c->rows != NULL;
}

/* The place of a call. */
static void find_site(const struct counter *c, const struct call_edge *e,
                      struct site *out)
{
    struct place place = {.module = function(c, e->caller)->module, .vaddr = e->site};

    site_find(out, place.module && e->site ? &place : NULL);
}

static bool put_name(struct textbuf *b, const struct call_function *f)
{
    return textbuf_printable(b, f->name, site_called_length(f->name));
}

static bool put_text(struct counter *c, const struct call_edge *e)
{
    struct textbuf *b = &c->out;
    struct site site;
    bool ok = textbuf_printf(b, "%12" PRIu64 " %14" PRIu64 "  ", e->calls,
                             e->inclusive.insns) &&
              put_name(b, function(c, e->callee)) && textbuf_printf(b, " from");

    find_site(c, e, &site);
    return ok &&
           (site.module
                ? site_text(b, &site, c->opt->site)
                : textbuf_printf(b, " ") && put_name(b, function(c, e->caller))) &&
           textbuf_printf(b, "\n");
}

static bool put_json(struct counter *c, const struct call_edge *e)
{
    const struct call_function *caller = function(c, e->caller);
    const struct call_function *callee = function(c, e->callee);
    struct textbuf *b = &c->out;
    struct site site;
    bool ok = textbuf_printf(b,
                             "{\"kind\":\"calls\",\"calls\":%" PRIu64
                             ",\"instructions\":%" PRIu64 ",\"callee\":",
                             e->calls, e->inclusive.insns) &&
              textbuf_json_string(b, callee->name, strlen(callee->name)) &&
              textbuf_printf(b, ",\"caller\":") &&
              textbuf_json_string(b, caller->name, strlen(caller->name));

    find_site(c, e, &site);
    return ok && site_json(b, &site, c->opt->site) && textbuf_printf(b, "}\n");
}

static int print(struct counter *c)
{
    const struct dump_options *d = c->opt->dump;
    int ret = 0, sys_errno = 0;

    if (!d->json && !textbuf_printf(&c->out, "%12s %14s  %s\n", "calls", "instructions",
                                    "function and place of the call")) {
        ret = DUMP_STOP_NOMEM;
    }
    for (size_t i = 0; !ret && i < c->n; i++) {
        bool ok = d->json ? put_json(c, c->rows[i]) : put_text(c, c->rows[i]);
        ret = ok ? 0 : DUMP_STOP_NOMEM;
    }
    ret = ret ? ret : dump_write(c->out.data, c->out.len, &sys_errno);
    return dump_replay_status(d, ret, sys_errno, NULL);
}

int call_counts(struct ctr_trace *tr, const struct places *places,
                const struct call_counts_options *opt)
{
    struct counter c = {.opt = opt};
    struct calltree_options tree = {.prog = PROG,
                                    .filter = opt->filter,
                                    .jobs = opt->dump->jobs,
                                    .quiet = opt->dump->quiet,
                                    .edges = true};
    struct calltree *made;
    int status = calltree_make(&made, tr, opt->dump->path, places, &tree);

    c.tree = made;
    if (!status && !choose(&c)) {
        status = dump_replay_status(opt->dump, DUMP_STOP_NOMEM, 0, NULL);
    }
    if (!status && (!c.n || !opt->dump->quiet) &&
        call_list_unmatched(made, opt->dump->path, places, opt->patterns,
                            opt->nr_patterns) < opt->nr_patterns &&
        !c.n) {
        tool_error(PROG, "%s: no call %s '%s' in what is selected", opt->dump->path,
                   opt->callees ? "by" : "of", opt->patterns[0]);
    }
    status = status ? status : c.n ? TOOL_OK : TOOL_NOTHING;
    status = status ? status : print(&c);
    free(c.rows);
    textbuf_fini(&c.out);
    calltree_free(made);
    return status;
}
