/* SPDX-License-Identifier: MIT */
/*
 * The disassembly of the text format: of one source's functions, of a module without
 * lines, or of everything that ran.
 *
 * Sources have functions as the debug information knows them, one for several modules and
 * without start-up code.  So to show everything, code is divided by the functions of the
 * symbol tables, which are disjoint, and the gaps between them.
 */
#include <errno.h>
#include <stdlib.h>

#include "tracecov/function_choice.h"
#include "tracecov/output_text_priv.h"

static void write_function_line(struct out *o, const struct report_function *f)
{
    listing_safe(o, f->name, strlen(f->name));
    out_str(o, ": count ");
    out_u64(o, f->count);
    if (f->insns_total) {
        text_ratio(o, ", instructions ", f->insns_hit, f->insns_total);
    } else {
        out_str(o, ", inlined only");
    }
    out_str(o, "\n");
}

/* Chooses the module for the listing; false: no memory. */
static bool choose(struct text *t, const struct cover_module *m)
{
    if (listing_module(&t->listing, m)) {
        return true;
    }
    t->o->error = t->o->error ? t->o->error : -ENOMEM;
    return false;
}

/* Whether the source file is selected; arg NULL: all are. */
static bool file_selected(const void *arg, uint32_t file)
{
    const struct report_module *m = arg;

    return !m || (file < m->nr_files ? m->files[file] : m->rest);
}

static void disassemble(struct text *t, const struct report_function *f)
{
    const struct cover_module *m = text_module_of(t, f->module);
    const struct sym_function *s;

    out_str(t->o, "\n");
    write_function_line(t->o, f);
    if (m && m->module->file && f->insns_total && choose(t, m)) {
        s = report_function_at(t->listing.code, f->addr);
        listing_range(&t->listing, f->addr, s ? s->end : f->addr);
    }
}

void text_disassemble(struct text *t, const struct report_source *s)
{
    for (size_t i = 0; i < s->nr_functions; i++) {
        const struct report_function *f = &s->functions[i];
        if (text_wanted(t, s, f) && (t->opt->function || f->count || f->insns_hit)) {
            disassemble(t, f);
        }
    }
}

static int by_count(const void *pa, const void *pb)
{
    const struct report_function *a = *(const struct report_function *const *)pa;
    const struct report_function *b = *(const struct report_function *const *)pb;

    return a->count != b->count ? (a->count < b->count ? 1 : -1)
                                : (a->addr > b->addr) - (a->addr < b->addr);
}

static void write_function_row(struct text *t, const struct report_function *f)
{
    if (f->count) {
        out_u64_width(t->o, f->count, 13);
    } else {
        out_str(t->o, "    ");
        listing_count(t->o, t->opt->color, 0);
    }
    out_u64_width(t->o, f->insns_hit, 8);
    out_str(t->o, "/");
    out_u64(t->o, f->insns_total);
    for (unsigned d = fmt_dec_digits(f->insns_total); d < 6; d++) {
        out_str(t->o, " ");
    }
    out_str(t->o, "  ");
    listing_safe(t->o, f->name, strlen(f->name));
    out_str(t->o, "\n");
}

/* Writes the functions of a module without lines, by count, descending: those that never
 * ran are last. */
static void write_function_table(struct text *t, const struct report_source *s)
{
    const struct report_function **v = malloc((s->nr_functions + 1) * sizeof(*v));
    uint64_t insns = 0, insns_hit = 0;
    size_t n = 0;

    if (!v) {
        t->o->error = t->o->error ? t->o->error : -ENOMEM;
        return;
    }
    for (size_t i = 0; i < s->nr_functions; i++) {
        const struct report_function *f = &s->functions[i];
        insns += f->insns_total;
        insns_hit += f->insns_hit;
        if (text_wanted(t, s, f)) {
            v[n++] = f;
        }
    }
    qsort(v, n, sizeof(*v), by_count);
    text_ratio(t->o, "  functions ", s->totals.functions_hit, s->totals.functions);
    text_ratio(t->o, ", instructions of them ", insns_hit, insns);
    out_str(t->o, "\n\n        count   instructions  function\n");
    for (size_t i = 0; i < n; i++) {
        write_function_row(t, v[i]);
    }
    free(v);
}

/* Writes a module without known functions. */
static void write_ran(struct text *t, const struct cover_module *m)
{
    out_u64(t->o, m->nr_insns);
    out_str(t->o, " instructions ran, ");
    out_grouped(t->o, m->total);
    out_str(t->o, " times in all\n");
}

/* What is before, between and after the functions of the chosen module. */
static void between_functions(struct text *t, const struct report_module *selected)
{
    const struct report_code *k = t->listing.code;
    uint64_t from = 0;

    for (uint32_t i = 0; i < k->nr_functions; i++) {
        listing_between(&t->listing, from, k->functions[i].addr, file_selected, selected);
        from = k->functions[i].end;
    }
    listing_between(&t->listing, from, UINT64_MAX, file_selected, selected);
}

void text_module(struct text *t, const struct report_source *s)
{
    const struct cover_module *m = text_module_of(t, s->module);

    text_title(t, s->path);
    if (!m) {
        return;
    }
    if (!m->module->file) {
        out_str(t->o, "  no file: ");
        listing_safe(t->o, m->module->why, strlen(m->module->why));
        out_str(t->o, "; ");
        write_ran(t, m);
        listing_ran(&t->listing, m);
        return;
    }
    out_str(t->o, s->nr_functions ? "  " : "  no functions known; ");
    write_ran(t, m);
    if (s->nr_functions) {
        write_function_table(t, s);
    }
    text_disassemble(t, s);
    if (!t->opt->function && choose(t, m)) {
        between_functions(t, NULL);
    }
}

/* ------------------------------------------------------------- all that ran */

/* The source function at the start of a symbol's code, or NULL. */
static const struct sym_scope *scope_at(const struct report_code *k, size_t site)
{
    const struct site *s = site < k->nr_sites ? &k->sites[site] : NULL;
    uint32_t scope = s && s->range != NO_INDEX ? k->ranges[s->range].scope : SYM_NONE;

    while (scope < k->nr_scopes && k->scopes[scope].parent < scope) {
        scope = k->scopes[scope].parent;
    }
    return scope < k->nr_scopes ? &k->scopes[scope] : NULL;
}

/* Whether --function and the choice of sources select a symbol's code. */
static bool symbol_wanted(const struct text *t, const struct report_module *m,
                          const struct sym_function *f)
{
    const struct report_code *k = t->listing.code;
    size_t at = report_site_at(k, f->addr);
    const struct sym_scope *scope = scope_at(k, at);
    uint32_t file = SYM_NONE;
    const char *path, *pattern = t->opt->function;

    if (scope && scope->decl_line) {
        file = scope->decl_file;
    } else if (at < k->nr_sites && k->sites[at].addr < f->end &&
               k->sites[at].range != NO_INDEX) {
        file = k->ranges[k->sites[at].range].file;
    }
    path = symfile_file(k->file, file);
    return file_selected(m, file) &&
           (function_chosen(pattern, k->module->module, path, f->name, f->linkage) ||
            (scope &&
             function_chosen(pattern, k->module->module, path, scope->name, f->linkage)));
}

/* Writes the function of a symbol, if it ran or --function selects it. */
static void write_symbol(struct text *t, const struct sym_function *s)
{
    const struct report_code *k = t->listing.code;
    struct report_function f = {.name = s->name};
    size_t at = report_site_at(k, s->addr);

    if (!t->opt->function && !listing_ran_at(&t->listing, s->addr, s->end)) {
        return;
    }
    if (at < k->nr_sites && k->sites[at].addr == s->addr) {
        f.count = report_entries(k, at, SYM_NONE, s);
    }
    for (; at < k->nr_sites && k->sites[at].addr < s->end; at++) {
        f.insns_total++;
        f.insns_hit += k->sites[at].insn != NO_INDEX;
    }
    if (!f.insns_total) {
        return;
    }
    f.count = f.count || !f.insns_hit ? f.count : 1;
    out_str(t->o, "\n");
    write_function_line(t->o, &f);
    listing_range(&t->listing, s->addr, s->end);
}

static void write_symbols(struct text *t, const struct report_module *m)
{
    const struct report_code *k = t->listing.code;
    uint64_t from = 0;

    for (uint32_t i = 0; i < k->nr_functions && !t->o->error; i++) {
        const struct sym_function *f = &k->functions[i];

        if (!t->opt->function) {
            listing_between(&t->listing, from, f->addr, file_selected, m);
        }
        if (symbol_wanted(t, m, f)) {
            write_symbol(t, f);
        }
        from = f->end;
    }
    if (!t->opt->function) {
        listing_between(&t->listing, from, UINT64_MAX, file_selected, m);
    }
}

/* Functions of a module that have no code of their own. */
static void write_inlined(struct text *t, uint32_t module)
{
    for (size_t i = 0; i < t->r->nr_sources; i++) {
        const struct report_source *s = &t->r->sources[i];

        for (size_t j = 0; j < s->nr_functions; j++) {
            const struct report_function *f = &s->functions[j];

            if (f->module == module && !f->insns_total && text_wanted(t, s, f) &&
                (t->opt->function || f->count)) {
                out_str(t->o, "\n");
                write_function_line(t->o, f);
            }
        }
    }
}

static void write_all_of(struct text *t, const struct report_module *m,
                         const struct cover_module *c)
{
    if (!c->module->file && (!m->rest || t->opt->function)) {
        return;
    }
    text_title(t, c->module->path);
    out_str(t->o, "  ");
    if (!c->module->file) {
        out_str(t->o, "no file: ");
        listing_safe(t->o, c->module->why, strlen(c->module->why));
        out_str(t->o, "; ");
    }
    write_ran(t, c);
    if (!c->module->file) {
        listing_ran(&t->listing, c);
    } else if (choose(t, c)) {
        write_symbols(t, m);
        write_inlined(t, c->module->index);
    }
}

void text_disassemble_all(struct text *t)
{
    const struct cover *c = t->r->cover;

    for (size_t i = 0; i < c->nr_modules && !t->o->error; i++) {
        const struct report_module *m = &t->r->modules[i];

        if (m->selected) {
            write_all_of(t, m, &c->modules[i]);
        }
    }
    if (c->elsewhere_code.nr_insns) {
        text_title(t, "in no file (made at run time, rewritten, or the system's)");
        out_str(t->o, "  ");
        write_ran(t, &c->elsewhere_code);
        listing_ran(&t->listing, &c->elsewhere_code);
    }
}
