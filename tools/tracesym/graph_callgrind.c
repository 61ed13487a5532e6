/* SPDX-License-Identifier: MIT */
/*
 * A profile for callgrind_annotate and KCachegrind: "Callgrind Profile Format" of
 * Valgrind's manual.  Costs have instruction addresses and lines; fi= and fe= mark code
 * inlined from another file.
 */
#include "graph_priv.h"
#include "prog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct writer {
    const struct calltree *t;
    FILE *out;
    bool accesses;
    bool *named;         /* by function: its name has been written */
    const char *file;    /* current: of fl=, fi= or fe= */
    const char *fn_file; /* of the function */
};

static const char no_name[] = "???";

/* Source place of an address; *file is no_name if it is not known. */
static uint32_t source_of(const struct call_function *f, uint64_t vaddr,
                          const char **file)
{
    const struct sym_range *r = f->kind == CALL_FUNCTION && f->module && f->module->file
                                    ? symfile_range(f->module->file, vaddr)
                                    : NULL;
    const char *path = r && r->line ? symfile_file(f->module->file, r->file) : NULL;

    *file = path ? path : no_name;
    return path ? r->line : 0;
}

static const char *object_of(const struct call_function *f)
{
    return f->module ? f->module->path : no_name;
}

static void write_path(struct writer *w, const char *key, const char *path)
{
    fprintf(w->out, "%s=", key);
    graph_write_name(path, w->out);
    fputc('\n', w->out);
}

/* "(number) name" the first time, "(number)" afterwards. */
static void write_function_name(struct writer *w, const char *key, uint32_t function)
{
    fprintf(w->out, "%s=(%" PRIu32 ")", key, function + 1);
    if (!w->named[function]) {
        w->named[function] = true;
        fputc(' ', w->out);
        graph_write_name(w->t->functions[function].name, w->out);
    }
    fputc('\n', w->out);
}

static void write_cost(struct writer *w, uint64_t vaddr, uint32_t line,
                       const struct cost *c)
{
    fprintf(w->out, "0x%" PRIx64 " %" PRIu32 " %" PRIu64, vaddr, line, c->insns);
    if (w->accesses) {
        fprintf(w->out, " %" PRIu64 " %" PRIu64, c->loads, c->stores);
    }
    fputc('\n', w->out);
}

/* Writes the place of an address, with fi= or fe= if it is in another file. */
static uint32_t go_to(struct writer *w, const struct call_function *f, uint64_t vaddr)
{
    const char *file;
    uint32_t line = source_of(f, vaddr, &file);

    if (!line) {
        file = w->fn_file;
    }
    if (strcmp(file, w->file) != 0) {
        write_path(w, strcmp(file, w->fn_file) ? "fi" : "fe", file);
        w->file = file;
    }
    return line;
}

static void write_edge(struct writer *w, const struct call_edge *e)
{
    const struct call_function *caller = &w->t->functions[e->caller];
    const struct call_function *callee = &w->t->functions[e->callee];
    const char *file;
    uint32_t target_line = source_of(callee, callee->vaddr, &file);
    uint32_t line = go_to(w, caller, e->site);

    if (strcmp(object_of(callee), object_of(caller)) != 0) {
        write_path(w, "cob", object_of(callee));
    }
    write_path(w, "cfi", file);
    write_function_name(w, "cfn", e->callee);
    /* Frames that existed before the first instruction were never entered; but
     * callgrind_annotate counts the cost after calls=0 as the caller's own. */
    fprintf(w->out, "calls=%" PRIu64 " 0x%" PRIx64 " %" PRIu32 "\n",
            e->calls ? e->calls : 1, callee->vaddr, target_line);
    write_cost(w, e->site, line, &e->inclusive);
}

static void write_begin(struct writer *w, const struct call_function *f)
{
    source_of(f, f->vaddr, &w->fn_file);
    w->file = w->fn_file;
    fputc('\n', w->out);
    write_path(w, "ob", object_of(f));
    write_path(w, "fl", w->fn_file);
    write_function_name(w, "fn", f->index);
}

static void write_header(const struct writer *w)
{
    struct ctr_info info;

    ctr_trace_info(w->t->trace, &info);
    fprintf(w->out, "# callgrind format\nversion: 1\ncreator: " PROG " " CANNOLI_VERSION
                    "\ncmd:");
    for (int i = 0; i < info.argc; i++) {
        fputc(' ', w->out);
        graph_write_name(info.argv[i], w->out);
    }
    fprintf(w->out, "\ndesc: Target: %s\npositions: instr line\n", info.target);
    if (w->accesses) {
        fprintf(w->out,
                "event: Ir : Instructions\nevent: Dr : Loads\nevent: Dw : Stores\n"
                "events: Ir Dr Dw\nsummary: %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                w->t->total.insns, w->t->total.loads, w->t->total.stores);
    } else {
        fprintf(w->out, "event: Ir : Instructions\nevents: Ir\nsummary: %" PRIu64 "\n",
                w->t->total.insns);
    }
}

int graph_callgrind(const struct calltree *t, const struct graph_options *opt, FILE *out)
{
    struct writer w = {.t = t, .out = out, .accesses = graph_has_accesses(t)};
    size_t edge = 0, line = 0;

    (void)opt;
    w.named = calloc(t->nr_functions + (size_t)1, sizeof(*w.named));
    if (!w.named) {
        return -ENOMEM;
    }
    write_header(&w);
    for (uint32_t i = 0; i < t->nr_functions; i++) {
        const struct call_function *f = &t->functions[i];

        if ((line == t->nr_lines || t->lines[line].function != i) &&
            (edge == t->nr_edges || t->edges[edge].caller != i)) {
            continue;
        }
        write_begin(&w, f);
        for (; line < t->nr_lines && t->lines[line].function == i; line++) {
            const struct call_line *l = &t->lines[line];

            write_cost(&w, l->vaddr, go_to(&w, f, l->vaddr), &l->self);
        }
        for (; edge < t->nr_edges && t->edges[edge].caller == i; edge++) {
            write_edge(&w, &t->edges[edge]);
        }
    }
    free(w.named);
    return graph_finish(out);
}
