/* SPDX-License-Identifier: MIT */
/*
 * One module's part of a report: the source of each of its files, its branches, the
 * functions of its sources and those that only its symbols have.
 */
#include "tracecov/report_priv.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/isa.h"

/* Functions of the linker's start-up files, which are in every program: left out in a
 * module with line information. */
static bool is_startup(const char *name)
{
    static const char *const names[] = {
        "_start",
        "__start",
        "_init",
        "_fini",
        "__init",
        "frame_dummy",
        "call_weak_fn",
        "deregister_tm_clones",
        "hlt",
        "register_tm_clones",
        "load_gp",
        "__do_global_dtors_aux",
        "_dl_relocate_static_pie",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!strcmp(name, names[i])) {
            return true;
        }
    }
    return false;
}

static int branches(struct report_maker *mk, const struct report_code *k,
                    const uint32_t *file_source)
{
    int e = 0;

    for (size_t i = 0; i < k->nr_sites && !e; i++) {
        const struct site *s = &k->sites[i];
        const struct sym_range *r = s->range != NO_INDEX ? &k->ranges[s->range] : NULL;
        struct site_count n;

        if (!r || !r->line || file_source[r->file] == NO_INDEX ||
            (s->flags & (CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND)) !=
                (CANNOLI_INSN_BRANCH | CANNOLI_INSN_COND)) {
            continue;
        }
        n = report_site_count(k, s);
        e = report_source_branch(mk, file_source[r->file], r->line, s, &n, k->index);
    }
    return e;
}

/* ------------------------------------------------- functions of the source */

/* A source function with all its instances. */
struct origin {
    uint32_t scope; /* the instance that it is named after */
    uint32_t end_line;
    uint64_t count;
    uint64_t insns, insns_hit; /* of its out-of-line code */
    bool ran;                  /* any instruction of an instance */
    bool heading;              /* the line of its declaration has code of an instance */
};

/* The out-of-line function that an instance was inlined into. */
static uint32_t outermost(const struct report_code *k, uint32_t scope)
{
    for (uint32_t n = 0; n < 1000 && k->scopes[scope].parent < k->nr_scopes; n++) {
        scope = k->scopes[scope].parent;
    }
    return scope;
}

/* Orders out-of-line before inlined instances, then by address. */
static bool better(const struct sym_scope *a, const struct sym_scope *b)
{
    bool a_inline = a->parent != SYM_NONE, b_inline = b->parent != SYM_NONE;

    return a_inline != b_inline ? b_inline : a->entry < b->entry;
}

static int count_origins(const struct report_code *k, struct origin *v, uint32_t nr)
{
    uint64_t *inlined = calloc((size_t)k->nr_scopes + 1, sizeof(*inlined));
    int e = inlined ? report_inlined_entries(k, inlined) : -CTR_E_NOMEM;

    for (uint32_t i = 0; i < nr; i++) {
        v[i].scope = SYM_NONE;
    }
    for (uint32_t i = 0; i < k->nr_scopes && !e; i++) {
        const struct sym_scope *s = &k->scopes[i];
        struct origin *o = &v[s->origin];
        size_t at = report_site_at(k, s->entry);
        bool found = at < k->nr_sites && k->sites[at].addr == s->entry;
        uint64_t n = 0;

        if (o->scope == SYM_NONE || better(s, &k->scopes[o->scope])) {
            o->scope = i;
        }
        if (s->parent != SYM_NONE && k->flow) {
            n = inlined[i];
        } else if (found) {
            n = report_entries(k, at, i, NULL);
        }
        o->count = sum_u64(o->count, n);
    }
    free(inlined);
    for (size_t i = 0; i < k->nr_sites; i++) {
        const struct site *s = &k->sites[i];
        const struct sym_range *r = s->range != NO_INDEX ? &k->ranges[s->range] : NULL;
        struct origin *o;

        if (!r || r->scope >= k->nr_scopes) {
            continue;
        }
        o = &v[k->scopes[outermost(k, r->scope)].origin];
        o->insns++;
        o->insns_hit += s->insn != NO_INDEX;
        o = &v[k->scopes[r->scope].origin];
        o->ran |= s->insn != NO_INDEX;
        o->heading |= r->line == k->scopes[r->scope].decl_line &&
                      r->file == k->scopes[r->scope].decl_file;
        if (r->line > o->end_line && r->file == k->scopes[r->scope].decl_file) {
            o->end_line = r->line;
        }
    }
    return e;
}

/* DWARF does not have the linkage name of a function that is local to its unit. */
static const char *linkage_of(const struct report_code *k, const struct sym_scope *s)
{
    const struct sym_function *f;

    if (s->linkage && *s->linkage) {
        return s->linkage;
    }
    f = s->parent == SYM_NONE ? symfile_function(k->file, s->entry) : NULL;
    if (f && f->addr == s->entry && f->linkage && f->linkage[0] == '_' &&
        (f->linkage[1] == 'Z' || f->linkage[1] == 'R')) {
        return f->linkage;
    }
    return s->name ? s->name : "";
}

static int source_functions(struct report_maker *mk, const struct report_code *k,
                            const uint32_t *file_source)
{
    uint32_t nr = symfile_nr_origins(k->file), nr_files = symfile_nr_files(k->file);
    struct origin *v = nr ? calloc(nr, sizeof(*v)) : NULL;
    int e = 0;

    if (nr && !v) {
        return -CTR_E_NOMEM;
    }
    e = count_origins(k, v, nr);
    for (uint32_t i = 0; i < nr && !e; i++) {
        const struct sym_scope *s;
        struct report_function f = {.module = k->index};
        const struct sym_range *r;
        uint32_t file;

        if (v[i].scope == SYM_NONE) {
            continue;
        }
        s = &k->scopes[v[i].scope];
        file = s->decl_file;
        f.line = s->decl_line;
        if (!f.line) { /* made by the compiler: line of its first code */
            r = symfile_range(k->file, s->entry);
            file = r ? r->file : NO_INDEX;
            f.line = r ? r->line : 0;
        }
        if (file >= nr_files || file_source[file] == NO_INDEX) {
            continue;
        }
        f.name = s->name ? s->name : "";
        f.linkage = linkage_of(k, s);
        f.end_line = v[i].end_line;
        /* Its first instruction did not run, but others did: in a recording of a part. */
        f.count = v[i].count || !v[i].ran ? v[i].count : 1;
        f.addr = s->entry;
        f.insns_total = v[i].insns;
        f.insns_hit = v[i].insns_hit;
        e = report_source_function(mk, file_source[file], &f);
        /* The line of its declaration gets the function's count, even if debug
         * information has the first instructions on the line of the brace after it. */
        if (!e && s->decl_line && !v[i].heading) {
            e = report_source_line(mk, file_source[file], f.line, k->index, f.count);
        }
    }
    free(v);
    return e;
}

/* ------------------------------------------- functions that symbols know */

/* Functions without lines. */
static int symbol_functions(struct report_maker *mk, const struct report_code *k,
                            uint32_t *source)
{
    size_t site = 0;
    bool has_lines = k->nr_ranges > 0;
    int e = 0;

    for (uint32_t i = 0; i < k->nr_functions && !e; i++) {
        const struct sym_function *s = &k->functions[i];
        struct report_function f = {.module = k->index, .addr = s->addr};
        bool lines = false;

        while (site < k->nr_sites && k->sites[site].addr < s->addr) {
            site++;
        }
        for (size_t j = site; j < k->nr_sites && k->sites[j].addr < s->end; j++) {
            lines |= k->sites[j].range != NO_INDEX;
            f.insns_total++;
            f.insns_hit += k->sites[j].insn != NO_INDEX;
        }
        if (lines || s->source == SYM_PLT || !f.insns_total ||
            (has_lines && is_startup(s->name))) {
            continue;
        }
        if (*source == NO_INDEX) {
            e = report_source_find(mk, k->module->module->path, true, k->index, source);
            if (e || *source == NO_INDEX) {
                return e;
            }
        }
        f.name = s->name;
        f.linkage = s->linkage && *s->linkage ? s->linkage : s->name;
        if (k->sites[site].addr == s->addr) {
            f.count = report_entries(k, site, SYM_NONE, s);
        }
        f.count = f.count || !f.insns_hit ? f.count : 1;
        e = report_source_function(mk, *source, &f);
    }
    return e;
}

/* ------------------------------------------------------------------ module */

static int find_sources(struct report_maker *mk, const struct report_code *k, uint32_t *v,
                        uint32_t nr)
{
    int e = 0;

    memset(v, 0xff, nr * sizeof(*v)); /* NO_INDEX */
    /* Only files with code. */
    for (uint32_t i = 0; i < k->nr_ranges; i++) {
        if (k->ranges[i].line) {
            v[k->ranges[i].file] = 0;
        }
    }
    for (uint32_t i = 0; i < nr && !e; i++) {
        if (v[i] != NO_INDEX) {
            e = report_source_find(mk, symfile_file(k->file, i), false, 0, &v[i]);
        }
    }
    mk->module->files = calloc((size_t)nr + 1, sizeof(bool));
    if (!mk->module->files) {
        return -CTR_E_NOMEM;
    }
    mk->module->nr_files = nr;
    for (uint32_t i = 0; i < nr && !e; i++) {
        mk->module->files[i] = v[i] != NO_INDEX;
    }
    return e;
}

int report_module(struct report_maker *mk, const struct cover_module *m)
{
    struct report_code k;
    uint32_t source = NO_INDEX, nr_files;
    uint32_t *file_source = NULL;
    int e;

    mk->module->rest = report_source_selected(mk->opt, m->module->path, true);
    if (!m->module->file) {
        return report_source_find(mk, m->module->path, true, m->module->index, &source);
    }
    e = report_code_init(&k, mk->cover, m, mk->scan);
    if (e) {
        goto out;
    }
    e = report_jumps(&k);
    if (e) {
        goto out;
    }
    if (k.nr_ranges) {
        nr_files = symfile_nr_files(k.file);
        file_source = calloc((size_t)nr_files + 1, sizeof(*file_source));
        if (!file_source) {
            e = -CTR_E_NOMEM;
            goto out;
        }
        e = find_sources(mk, &k, file_source, nr_files);
        e = e ? e : report_lines(mk, &k, file_source);
        e = e ? e : branches(mk, &k, file_source);
        e = e ? e : source_functions(mk, &k, file_source);
    } else if (mk->opt->listing_dir && !m->module->generated) {
        e = report_listing(mk, &k);
    } else {
        e = report_source_find(mk, m->module->path, true, m->module->index, &source);
    }
    if (!e && (k.nr_ranges || source != NO_INDEX)) {
        e = symbol_functions(mk, &k, &source);
    }
out:
    free(file_source);
    report_code_fini(&k);
    return e;
}
