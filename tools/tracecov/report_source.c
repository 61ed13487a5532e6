/* SPDX-License-Identifier: MIT */
/*
 * The sources of a report: found by path, selected or not, and sorted at the end.
 * Several modules, or several instances of a function, add several entries for one line;
 * these are added up here.
 */
#include "tracecov/report_priv.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "symbols/sym_options.h"

/* Allocated sizes of the arrays of a source. */
struct source_caps {
    size_t lines, branches, functions;
    size_t hash_next; /* index of the next source in its bucket, + 1 */
};

#define NR_BUCKETS 4096u

/* The last thing of several modules that was counted in a module. */
struct share {
    uint64_t seen, hit; /* its number, from 1 */
};

struct source_table {
    struct share *shares;     /* by module, in the order of the cover */
    uint64_t things;          /* counted so far */
    struct source_caps *caps; /* by index of source */
    size_t nr_caps, sources_cap;
    size_t buckets[NR_BUCKETS]; /* index of source, + 1 */
};

struct source_table *report_source_table_new(const struct cover *c)
{
    struct source_table *t = calloc(1, sizeof(*t));

    if (t) {
        t->shares = calloc(c->nr_modules + 1, sizeof(*t->shares));
    }
    if (t && !t->shares) {
        free(t);
        t = NULL;
    }
    return t;
}

void report_source_table_free(struct source_table *t)
{
    if (t) {
        free(t->shares);
        free(t->caps);
        free(t);
    }
}

void report_source_fini(struct report_source *s)
{
    for (size_t i = 0; i < s->nr_functions; i++) {
        free((char *)s->functions[i].name);
        free((char *)s->functions[i].linkage);
    }
    free((char *)s->path);
    free(s->lines);
    free(s->branches);
    free(s->functions);
}

bool report_match(const char *const *globs, unsigned n, const char *text)
{
    for (unsigned i = 0; i < n; i++) {
        if (!fnmatch(globs[i], text, 0)) {
            return true;
        }
    }
    return false;
}

static unsigned bucket_of(const char *path)
{
    uint32_t h = 2166136261u;

    for (; *path; path++) {
        h = (h ^ (uint8_t)*path) * 16777619u;
    }
    return (h ^ h >> 16) % NR_BUCKETS;
}

static int add_source(struct report_maker *mk, char *path, bool is_module,
                      uint32_t module, unsigned bucket, uint32_t *index)
{
    struct report *r = mk->report;
    struct source_table *t = mk->table;
    struct report_source *s;

    if (!array_reserve(&r->sources, &t->sources_cap, r->nr_sources + 1, sizeof(*s)) ||
        !array_reserve(&t->caps, &t->nr_caps, r->nr_sources + 1, sizeof(*t->caps))) {
        return -CTR_E_NOMEM;
    }
    s = &r->sources[r->nr_sources];
    *s = (struct report_source){.path = path, .is_module = is_module, .module = module};
    t->caps[r->nr_sources] = (struct source_caps){.hash_next = t->buckets[bucket]};
    *index = (uint32_t)r->nr_sources++;
    t->buckets[bucket] = r->nr_sources;
    return 0;
}

bool report_source_selected(const struct report_options *o, const char *path,
                            bool is_module)
{
    return (!o->nr_include || report_match(o->include, o->nr_include, path)) &&
           !report_match(o->exclude, o->nr_exclude, path) &&
           !(o->existing && !is_module && access(path, R_OK));
}

int report_source_find(struct report_maker *mk, const char *path, bool is_module,
                       uint32_t module, uint32_t *index)
{
    const struct report_options *o = mk->opt;
    const char *to = "", *rest = path;
    size_t a, b;
    char *full;
    unsigned bucket;
    int e;

    *index = NO_INDEX;
    if (!is_module) {
        rest = sym_substitute(o->substitute, o->nr_substitute, path, &to);
    }
    a = strlen(to);
    b = strlen(rest);
    full = malloc(a + b + 1);
    if (!full) {
        return -CTR_E_NOMEM;
    }
    memcpy(full, to, a);
    memcpy(full + a, rest, b + 1);
    bucket = bucket_of(full);
    for (size_t i = mk->table->buckets[bucket]; i; i = mk->table->caps[i - 1].hash_next) {
        const struct report_source *s = &mk->report->sources[i - 1];

        if (s->is_module == is_module && (!is_module || s->module == module) &&
            !strcmp(s->path, full)) {
            *index = (uint32_t)(i - 1);
            free(full);
            return 0;
        }
    }
    if (!report_source_selected(o, full, is_module)) {
        free(full);
        return 0;
    }
    e = add_source(mk, full, is_module, module, bucket, index);
    if (e) {
        free(full);
    }
    return e;
}

int report_source_line(struct report_maker *mk, uint32_t source, uint32_t line,
                       uint32_t module, uint64_t count)
{
    struct report_source *s = &mk->report->sources[source];

    if (!array_reserve(&s->lines, &mk->table->caps[source].lines, s->nr_lines + 1,
                       sizeof(*s->lines))) {
        return -CTR_E_NOMEM;
    }
    s->lines[s->nr_lines++] =
        (struct report_line){.line = line, .module = module, .count = count};
    return 0;
}

int report_source_branch(struct report_maker *mk, uint32_t source, uint32_t line,
                         const struct site *site, const struct site_count *n,
                         uint32_t module)
{
    struct report_source *s = &mk->report->sources[source];
    struct report_branch b = {.line = line, .addr = site->addr, .module = module};

    if (!array_reserve(&s->branches, &mk->table->caps[source].branches,
                       s->nr_branches + 2, sizeof(*s->branches))) {
        return -CTR_E_NOMEM;
    }
    b.reached = mk->cover->branches && n->count;
    for (b.branch = 0; b.branch < 2; b.branch++) {
        b.count = b.branch ? n->not_taken : n->taken;
        s->branches[s->nr_branches++] = b;
    }
    return 0;
}

int report_source_function(struct report_maker *mk, uint32_t source,
                           const struct report_function *f)
{
    struct report_source *s = &mk->report->sources[source];
    struct report_function *to;
    char *name, *linkage;

    if (!array_reserve(&s->functions, &mk->table->caps[source].functions,
                       s->nr_functions + 1, sizeof(*s->functions))) {
        return -CTR_E_NOMEM;
    }
    name = strdup(f->name);
    linkage = strdup(f->linkage);
    if (!name || !linkage) {
        free(name);
        free(linkage);
        return -CTR_E_NOMEM;
    }
    to = &s->functions[s->nr_functions];
    *to = *f;
    to->name = name;
    to->linkage = linkage;
    s->nr_functions++;
    return 0;
}

/* -------------------------------------------------------------- in the end */

static int by_number(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_line(const void *va, const void *vb)
{
    const struct report_line *a = va, *b = vb;

    return by_number(a->line, b->line);
}

static int by_branch(const void *va, const void *vb)
{
    const struct report_branch *a = va, *b = vb;
    int c = by_number(a->line, b->line);

    c = c ? c : by_number(a->module, b->module);
    c = c ? c : by_number(a->addr, b->addr);
    return c ? c : by_number(a->branch, b->branch);
}

static int by_function(const void *va, const void *vb)
{
    const struct report_function *a = va, *b = vb;
    int c = by_number(a->line, b->line);

    c = c ? c : strcmp(a->name, b->name);
    c = c ? c : strcmp(a->linkage, b->linkage);
    c = c ? c : by_number(a->module, b->module);
    return c ? c : by_number(a->addr, b->addr);
}

static int by_function_addr(const void *va, const void *vb)
{
    const struct report_function *a = va, *b = vb;

    return by_number(a->addr, b->addr);
}

static void sort(void *v, size_t n, size_t size,
                 int (*compare)(const void *, const void *))
{
    if (n) {
        qsort(v, n, size, compare);
    }
}

/*
 * Counts a line or function in the totals of a module that has it, once however often it
 * is called for the same thing; table->things is the thing's number.
 */
static void count_share(struct report_maker *mk, uint32_t module, bool hit, uint64_t *all,
                        uint64_t *all_hit)
{
    struct share *s =
        &mk->table->shares[report_module_of(mk->report, module) - mk->report->modules];

    if (s->seen != mk->table->things) {
        s->seen = mk->table->things;
        ++*all;
    }
    if (hit && s->hit != mk->table->things) {
        s->hit = mk->table->things;
        ++*all_hit;
    }
}

static void finish_lines(struct report_maker *mk, struct report_source *s)
{
    size_t n = 0;

    sort(s->lines, s->nr_lines, sizeof(*s->lines), by_line);
    for (size_t i = 0; i < s->nr_lines; i++) {
        struct report_totals *t =
            &report_module_of(mk->report, s->lines[i].module)->totals;

        mk->table->things += n == 0 || s->lines[n - 1].line != s->lines[i].line;
        count_share(mk, s->lines[i].module, s->lines[i].count != 0, &t->lines,
                    &t->lines_hit);
        if (n && s->lines[n - 1].line == s->lines[i].line) {
            s->lines[n - 1].count = sum_u64(s->lines[n - 1].count, s->lines[i].count);
        } else {
            s->lines[n++] = s->lines[i];
        }
    }
    s->nr_lines = n;
    s->totals.lines = n;
    for (size_t i = 0; i < n; i++) {
        s->lines[i].count = cover_shown(mk->cover, s->lines[i].count);
        s->totals.lines_hit += s->lines[i].count > 0;
    }
}

static void finish_branches(struct report_maker *mk, struct report_source *s)
{
    uint32_t block = 0;

    sort(s->branches, s->nr_branches, sizeof(*s->branches), by_branch);
    for (size_t i = 0; i < s->nr_branches; i++) {
        struct report_branch *b = &s->branches[i];
        struct report_totals *t = &report_module_of(mk->report, b->module)->totals;

        block = i == 0 || b[-1].line != b->line ? 0 : block + (b->branch == 0);
        b->block = block;
        s->totals.branches_hit += b->reached && b->count;
        t->branches++;
        t->branches_hit += b->reached && b->count;
    }
    s->totals.branches = s->nr_branches;
}

/* Merges equal functions of several modules or units (static inline ones of a header),
 * and the variants of a constructor. */
static bool same_function(const struct report_function *a,
                          const struct report_function *b)
{
    return a->line && a->line == b->line && !strcmp(a->name, b->name);
}

static void finish_functions(struct report_maker *mk, struct report_source *s)
{
    size_t n = 0;

    sort(s->functions, s->nr_functions, sizeof(*s->functions),
         s->is_module ? by_function_addr : by_function);
    for (size_t i = 0; i < s->nr_functions; i++) {
        struct report_function *f = &s->functions[i];
        struct report_function *to = n ? &s->functions[n - 1] : NULL;
        struct report_module *m = report_module_of(mk->report, f->module);
        struct report_totals *t = s->is_module ? &m->bare : &m->totals;
        bool same = to && same_function(to, f);

        m->insns += f->insns_total;
        m->insns_hit += f->insns_hit;
        mk->table->things += !same;
        count_share(mk, f->module, f->count != 0, &t->functions, &t->functions_hit);
        if (same) {
            to->count = sum_u64(to->count, f->count);
            to->insns_total += f->insns_total;
            to->insns_hit += f->insns_hit;
            to->end_line = f->end_line > to->end_line ? f->end_line : to->end_line;
            free((char *)f->name);
            free((char *)f->linkage);
        } else {
            s->functions[n++] = *f;
        }
    }
    s->nr_functions = n;
    s->totals.functions = n;
    for (size_t i = 0; i < n; i++) {
        s->functions[i].count = cover_shown(mk->cover, s->functions[i].count);
        s->totals.functions_hit += s->functions[i].count > 0;
    }
}

static int by_source(const void *va, const void *vb)
{
    const struct report_source *a = va, *b = vb;
    int c = (int)a->is_module - (int)b->is_module;

    c = c ? c : strcmp(a->path, b->path);
    return c ? c : by_number(a->module, b->module);
}

static void add_totals(struct report_totals *to, const struct report_totals *t)
{
    to->lines += t->lines;
    to->lines_hit += t->lines_hit;
    to->functions += t->functions;
    to->functions_hit += t->functions_hit;
    to->branches += t->branches;
    to->branches_hit += t->branches_hit;
}

void report_sources_finish(struct report_maker *mk)
{
    struct report *r = mk->report;
    size_t n = 0;

    for (size_t i = 0; i < r->nr_sources; i++) {
        struct report_source *s = &r->sources[i];

        finish_lines(mk, s);
        finish_branches(mk, s);
        finish_functions(mk, s);
        if (!s->nr_lines && !s->nr_functions && !s->is_module) {
            report_source_fini(s);
            continue;
        }
        add_totals(s->is_module ? &r->bare : &r->totals, &s->totals);
        r->nr_files += !s->is_module;
        r->sources[n++] = *s;
    }
    r->nr_sources = n;
    for (size_t i = 0; i < r->cover->nr_modules; i++) {
        const struct report_totals *t = &r->modules[i].totals;

        r->nr_lined += t->lines || t->functions;
    }
    sort(r->sources, n, sizeof(*r->sources), by_source);
}
