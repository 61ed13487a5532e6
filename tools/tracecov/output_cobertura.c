/* SPDX-License-Identifier: MIT */
/*
 * Cobertura's XML (coverage-04.dtd), laid out as gcovr does: a package for each folder, a
 * class for each source file, a method for each function with the lines between its first
 * and its last.  Each conditional branch instruction of a line is a condition.
 *
 * <source> is the common folder of all sources, and file names are relative to it.  The
 * time stamp is 0, so that the same coverage gives the same file.
 */
#include "tracecov/output.h"

#include <errno.h>
#include <stdlib.h>

/* A source by folder and name, relative to the common folder. */
struct file {
    const struct report_source *s;
    const char *dir; /* dir_len bytes, "" or with no '/' at its end */
    size_t dir_len;
    const char *name; /* after the last '/' */
    const char *path; /* after the common folder */
};

static int compare_files(const void *pa, const void *pb)
{
    const struct file *a = pa, *b = pb;
    size_t n = a->dir_len < b->dir_len ? a->dir_len : b->dir_len;
    int d = memcmp(a->dir, b->dir, n);

    d = d ? d : (a->dir_len > b->dir_len) - (a->dir_len < b->dir_len);
    return d ? d : strcmp(a->name, b->name);
}

/* The length of the common prefix of all paths, up to and including a '/'. */
static size_t common_folder(const struct file *v, size_t n)
{
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        const char *path = v[i].s->path, *slash = strrchr(path, '/');
        size_t k = 0, most = slash ? (size_t)(slash - path) + 1 : 0;
        if (i == 0) {
            len = most;
            continue;
        }
        while (k < len && k < most && path[k] == v[0].s->path[k]) {
            k++;
        }
        while (k > 0 && path[k - 1] != '/') {
            k--;
        }
        len = k;
    }
    return len;
}

/* 0.0 to 1.0; 0.0 only for none and 1.0 only for all. */
static void write_rate(struct out *o, const char *name, uint64_t hit, uint64_t of)
{
    unsigned v;

    if (hit >= of || hit == 0) {
        out_printf(o, " %s=\"%s\"", name, hit >= of ? "1.0" : "0.0");
        return;
    }
    v = (unsigned)((double)hit * 10000 / (double)of + 0.5);
    v = v < 1 ? 1 : v > 9999 ? 9999 : v;
    out_printf(o, " %s=\"0.%04u\"", name, v);
}

/* branches: they are known, else there are none */
static void write_rates(struct out *o, const struct report_totals *t, bool branches)
{
    write_rate(o, "line-rate", t->lines_hit, t->lines);
    write_rate(o, "branch-rate", branches ? t->branches_hit : 0,
               branches ? t->branches : 0);
}

static void write_conditions(struct out *o, const struct output_branches *b)
{
    unsigned percent = output_permille(b->hit, b->n) / 10;

    out_printf(o, " branch=\"true\" condition-coverage=\"%u%% (%zu/%zu)\"><conditions>",
               b->hit && !percent ? 1 : percent, b->hit, b->n);
    for (size_t i = 0; i < b->n;) {
        size_t n = 0, hit = 0;
        uint32_t block = b->v[i].block;
        for (; i < b->n && b->v[i].block == block; i++, n++) {
            hit += b->v[i].reached && b->v[i].count != 0;
        }
        out_printf(o, "<condition number=\"%u\" type=\"jump\" coverage=\"%u%%\"/>", block,
                   output_permille(hit, n) / 10);
    }
    out_str(o, "</conditions></line>\n");
}

static void write_lines(struct out *o, const struct report_source *s, uint32_t from,
                        uint32_t to, bool branches, const char *indent)
{
    size_t at = output_branch_from(s, from);

    out_str(o, indent);
    out_str(o, "<lines>\n");
    for (size_t i = output_line_from(s, from); i < s->nr_lines && s->lines[i].line <= to;
         i++) {
        const struct report_line *l = &s->lines[i];
        struct output_branches b = output_branches_of(s, l->line, &at);
        char *p;
        out_str(o, indent);
        p = out_room(o, 64);
        p = FMT_LIT(p, "  <line number=\"");
        p = fmt_u64(p, l->line);
        p = FMT_LIT(p, "\" hits=\"");
        p = fmt_u64(p, l->count);
        *p++ = '"';
        out_done(o, p);
        if (branches && b.n) {
            write_conditions(o, &b);
        } else {
            out_str(o, " branch=\"false\"/>\n");
        }
    }
    out_str(o, indent);
    out_str(o, "</lines>\n");
}

static void totals_of_lines(const struct report_source *s, uint32_t from, uint32_t to,
                            struct report_totals *t)
{
    *t = (struct report_totals){0};
    for (size_t i = output_line_from(s, from); i < s->nr_lines && s->lines[i].line <= to;
         i++) {
        t->lines++;
        t->lines_hit += s->lines[i].count != 0;
    }
    for (size_t i = output_branch_from(s, from);
         i < s->nr_branches && s->branches[i].line <= to; i++) {
        t->branches++;
        t->branches_hit += s->branches[i].reached && s->branches[i].count != 0;
    }
}

static void write_markup_n(struct out *o, const char *s, size_t n)
{
    char *copy = strndup(s, n);

    if (copy) {
        out_markup(o, copy);
    } else {
        o->error = o->error ? o->error : -ENOMEM;
    }
    free(copy);
}

/* The '(' before the parameters of a demangled name, NULL if it has none; *close is its
 * closing one.  Other parentheses: "(anonymous namespace)::f", "operator()(int) const".
 */
static const char *parameters(const char *name, const char **close)
{
    const char *p = strrchr(name, ')');
    int depth = 0;

    *close = p;
    for (; p && p > name; p--) {
        depth += (*p == ')') - (*p == '(');
        if (depth == 0) {
            return strstr(*close, "::") ? NULL : p;
        }
    }
    return NULL;
}

static void write_method(struct out *o, const struct report_source *s,
                         const struct report_function *f, bool branches)
{
    uint32_t to = f->end_line ? f->end_line : f->line;
    const char *close, *open = parameters(f->name, &close);
    struct report_totals t;

    out_str(o, "            <method name=\"");
    write_markup_n(o, f->name, open ? (size_t)(open - f->name) : strlen(f->name));
    out_str(o, "\" signature=\"");
    if (open) {
        write_markup_n(o, open, (size_t)(close - open) + 1);
    } else {
        out_str(o, "()");
    }
    out_str(o, "\"");
    totals_of_lines(s, f->line, to, &t);
    if (!t.lines) {
        t.lines = 1;
        t.lines_hit = f->count != 0;
    }
    write_rates(o, &t, branches);
    out_str(o, " complexity=\"0.0\">\n");
    write_lines(o, s, f->line, to, branches, "              ");
    out_str(o, "            </method>\n");
}

static void write_class(struct out *o, const struct file *f, bool branches)
{
    const struct report_source *s = f->s;

    out_str(o, "        <class name=\"");
    for (const char *p = f->name; *p;) {
        size_t n = strcspn(p, ".");
        write_markup_n(o, p, n);
        p += n;
        if (*p) {
            out_str(o, "_");
            p++;
        }
    }
    out_str(o, "\" filename=\"");
    out_markup(o, f->path);
    out_str(o, "\"");
    write_rates(o, &s->totals, branches);
    out_str(o, " complexity=\"0.0\">\n          <methods>\n");
    for (size_t i = 0; i < s->nr_functions; i++) {
        write_method(o, s, &s->functions[i], branches);
    }
    out_str(o, "          </methods>\n");
    write_lines(o, s, 0, UINT32_MAX, branches, "          ");
    out_str(o, "        </class>\n");
}

static void add_totals(struct report_totals *sum, const struct report_totals *t)
{
    sum->lines += t->lines;
    sum->lines_hit += t->lines_hit;
    sum->branches += t->branches;
    sum->branches_hit += t->branches_hit;
}

/* Writes the files from v on that are in the same folder; returns their number. */
static size_t write_package(struct out *o, const struct file *v, size_t n, bool branches)
{
    struct report_totals t = {0};
    size_t k = 0;

    for (; k < n && v[k].dir_len == v->dir_len && !memcmp(v[k].dir, v->dir, v->dir_len);
         k++) {
        add_totals(&t, &v[k].s->totals);
    }
    out_str(o, "    <package name=\"");
    for (size_t i = 0; i < v->dir_len;) {
        const char *slash = memchr(v->dir + i, '/', v->dir_len - i);
        size_t len = slash ? (size_t)(slash - v->dir) - i : v->dir_len - i;
        write_markup_n(o, v->dir + i, len);
        out_str(o, slash ? "." : "");
        i += len + 1;
    }
    out_str(o, "\"");
    write_rates(o, &t, branches);
    out_str(o, " complexity=\"0.0\">\n      <classes>\n");
    for (size_t i = 0; i < k; i++) {
        write_class(o, &v[i], branches);
    }
    out_str(o, "      </classes>\n    </package>\n");
    return k;
}

static void write_report(struct out *o, const struct report *r, struct file *v)
{
    struct report_totals t = {0};
    size_t n = 0, common;

    for (size_t i = 0; i < r->nr_sources; i++) {
        if (!r->sources[i].is_module) {
            v[n++].s = &r->sources[i];
            add_totals(&t, &r->sources[i].totals);
        }
    }
    if (!r->cover->branches) {
        t.branches = t.branches_hit = 0;
    }
    common = common_folder(v, n);
    for (size_t i = 0; i < n; i++) {
        const char *slash;
        v[i].path = v[i].dir = v[i].s->path + common;
        slash = strrchr(v[i].path, '/');
        v[i].name = slash ? slash + 1 : v[i].path;
        v[i].dir_len = slash ? (size_t)(slash - v[i].path) : 0;
    }
    qsort(v, n, sizeof(*v), compare_files);

    out_str(o, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<!DOCTYPE coverage SYSTEM "
               "'http://cobertura.sourceforge.net/xml/coverage-04.dtd'>\n<coverage");
    write_rates(o, &t, r->cover->branches);
    out_printf(o,
               " lines-covered=\"%llu\" lines-valid=\"%llu\" branches-covered=\"%llu\" "
               "branches-valid=\"%llu\" complexity=\"0.0\" timestamp=\"0\" "
               "version=\"tracecov " CANNOLI_VERSION "\">\n  <sources>\n    <source>",
               (unsigned long long)t.lines_hit, (unsigned long long)t.lines,
               (unsigned long long)t.branches_hit, (unsigned long long)t.branches);
    if (n) {
        write_markup_n(o, v[0].s->path, common > 1 ? common - 1 : common);
    }
    out_str(o, "</source>\n  </sources>\n  <packages>\n");
    for (size_t i = 0; i < n;) {
        i += write_package(o, v + i, n - i, r->cover->branches);
    }
    out_str(o, "  </packages>\n</coverage>\n");
}

int output_cobertura(const struct report *r, FILE *file)
{
    struct out *o = out_open(file);
    struct file *v = calloc(r->nr_sources + 1, sizeof(*v));

    if (!o) {
        free(v);
        return -ENOMEM;
    }
    if (v) {
        write_report(o, r, v);
    } else {
        o->error = -ENOMEM;
    }
    free(v);
    return out_close(o);
}
