/* SPDX-License-Identifier: MIT */
/*
 * For people: totals, then each source annotated as gcov does ("    count:line:text"),
 * with the ways of conditional branches below their line.  If there is no source, or it
 * is not wanted, the functions that ran are shown as disassembly.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracecov/listing.h"

/* A larger file is not treated as source. */
#define SOURCE_BYTES_MOST (64u << 20)

struct text {
    struct out *o;
    const struct report *r;
    const struct text_options *opt;
    struct listing listing;
};

static bool wanted(const struct text *t, const struct report_function *f)
{
    return !t->opt->function || fnmatch(t->opt->function, f->name, 0) == 0 ||
           fnmatch(t->opt->function, f->linkage, 0) == 0;
}

static bool any_wanted(const struct text *t, const struct report_source *s)
{
    bool any = !t->opt->function;

    for (size_t i = 0; i < s->nr_functions && !any; i++) {
        any = wanted(t, &s->functions[i]);
    }
    return any;
}

/* The module that code ran in, NULL if none did. */
static const struct cover_module *module_of(const struct text *t, uint32_t index)
{
    const struct cover *c = t->r->cover;

    for (size_t i = 0; i < c->nr_modules; i++) {
        if (c->modules[i].module->index == index) {
            return &c->modules[i];
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------ totals */

static void write_ratio(struct out *o, const char *name, uint64_t hit, uint64_t of)
{
    out_str(o, name);
    out_percent(o, hit, of);
    out_str(o, " (");
    out_u64(o, hit);
    out_str(o, " of ");
    out_u64(o, of);
    out_str(o, ")");
}

static void write_totals(struct text *t)
{
    const struct report_totals *n = &t->r->totals;
    const struct cover *c = t->r->cover;
    struct out *o = t->o;

    write_ratio(o, "lines         ", n->lines_hit, n->lines);
    write_ratio(o, "\nfunctions     ", n->functions_hit, n->functions);
    if (c->branches) {
        write_ratio(o, "\nbranches      ", n->branches_hit, n->branches);
    } else {
        out_str(o, "\nbranches      not known");
    }
    out_str(o, "\ninstructions  ");
    out_grouped(o, c->total);
    out_printf(o, " executed, %s, %llu trace%s", c->target, (unsigned long long)c->traces,
               c->traces == 1 ? "" : "s");
    if (c->elsewhere) {
        out_str(o, "; ");
        out_grouped(o, c->elsewhere);
        out_str(o, " of them in no file");
    }
    out_str(o, "\n");
}

static void write_title(struct text *t, const char *title)
{
    out_str(t->o, t->opt->color ? "\n" LISTING_BOLD : "\n");
    listing_safe(t->o, title, strlen(title));
    out_str(t->o, t->opt->color ? LISTING_PLAIN "\n" : "\n");
}

static void write_source_totals(struct text *t, const struct report_source *s)
{
    write_ratio(t->o, "  lines ", s->totals.lines_hit, s->totals.lines);
    write_ratio(t->o, ", functions ", s->totals.functions_hit, s->totals.functions);
    if (t->r->cover->branches) {
        write_ratio(t->o, ", branches ", s->totals.branches_hit, s->totals.branches);
    }
    out_str(t->o, "\n");
}

/* ------------------------------------------------------------- disassembly */

static void write_function_line(struct out *o, const struct report_function *f)
{
    listing_safe(o, f->name, strlen(f->name));
    out_str(o, ": count ");
    out_u64(o, f->count);
    if (f->insns_total) {
        write_ratio(o, ", instructions ", f->insns_hit, f->insns_total);
    } else {
        out_str(o, ", inlined only");
    }
    out_str(o, "\n");
}

static void disassemble(struct text *t, const struct report_function *f)
{
    const struct cover_module *m = module_of(t, f->module);
    const struct sym_function *s =
        m && m->module->file ? symfile_function(m->module->file, f->addr) : NULL;
    uint64_t end = s && s->addr == f->addr ? s->end : f->addr;

    out_str(t->o, "\n");
    write_function_line(t->o, f);
    if (m && m->module->file && f->insns_total) {
        if (!listing_module(&t->listing, m)) {
            t->o->error = t->o->error ? t->o->error : -ENOMEM;
            return;
        }
        listing_range(&t->listing, f->addr, end);
    }
}

/* Writes functions that ran, and others selected by name. */
static void disassemble_all(struct text *t, const struct report_source *s)
{
    for (size_t i = 0; i < s->nr_functions; i++) {
        const struct report_function *f = &s->functions[i];
        if (wanted(t, f) && (t->opt->function || f->count || f->insns_hit)) {
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

/* Writes the functions of a module without lines, by count, descending. */
static void write_function_table(struct text *t, const struct report_source *s)
{
    const struct report_function **v = malloc((s->nr_functions + 1) * sizeof(*v));
    uint64_t insns = 0, insns_hit = 0;
    size_t n = 0, never = 0;

    if (!v) {
        t->o->error = t->o->error ? t->o->error : -ENOMEM;
        return;
    }
    for (size_t i = 0; i < s->nr_functions; i++) {
        const struct report_function *f = &s->functions[i];
        insns += f->insns_total;
        insns_hit += f->insns_hit;
        if (!f->count && !f->insns_hit && !t->opt->function) {
            never++;
        } else if (wanted(t, f)) {
            v[n++] = f;
        }
    }
    qsort(v, n, sizeof(*v), by_count);
    write_ratio(t->o, "  functions ", s->totals.functions_hit, s->totals.functions);
    write_ratio(t->o, ", instructions of them ", insns_hit, insns);
    out_str(t->o, "\n\n        count   instructions  function\n");
    for (size_t i = 0; i < n; i++) {
        const struct report_function *f = v[i];
        out_u64_width(t->o, f->count, 13);
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
    if (never) {
        out_printf(t->o, "            0                 (%zu function%s never ran)\n",
                   never, never == 1 ? "" : "s");
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

static void write_module(struct text *t, const struct report_source *s)
{
    const struct cover_module *m = module_of(t, s->module);

    write_title(t, s->path);
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
    disassemble_all(t, s);
    if (!t->opt->function && listing_module(&t->listing, m)) {
        listing_rest(&t->listing);
    }
}

/* ------------------------------------------------------------------ source */

/* Reads a whole file into *text (free it).  Returns 0 or a negated errno. */
static int read_source(const char *path, char **text, size_t *n)
{
    /* The path is from an untrusted file: it may name a pipe or a device. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), ret = 0;
    struct stat st;
    ssize_t got = 0;

    *n = 0;
    *text = NULL;
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &st)) {
        ret = -errno;
    } else if (!S_ISREG(st.st_mode)) {
        ret = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
    } else if (st.st_size > (off_t)SOURCE_BYTES_MOST) {
        ret = -EFBIG;
    } else if (!(*text = malloc((size_t)st.st_size + 1))) {
        ret = -ENOMEM;
    }
    while (!ret && *n < (size_t)st.st_size &&
           (got = read(fd, *text + *n, (size_t)st.st_size - *n)) > 0) {
        *n += (size_t)got;
    }
    if (!ret && got < 0) {
        ret = -errno;
    }
    close(fd);
    if (ret) {
        free(*text);
        *text = NULL;
    }
    return ret;
}

static void write_ways(struct text *t, const struct output_branches *b)
{
    for (size_t i = 0; i + 1 < b->n; i += 2) {
        const struct report_branch *v = &b->v[i];
        bool half = !v[0].reached || !v[0].count || !v[1].count;

        out_str(t->o, half && t->opt->color ? LISTING_YELLOW "branch " : "branch ");
        out_u64_width(t->o, v[0].block, 2);
        if (v[0].reached) {
            out_str(t->o, " taken ");
            out_u64(t->o, v[0].count);
            out_str(t->o, ", not taken ");
            out_u64(t->o, v[1].count);
        } else {
            out_str(t->o, " never reached");
        }
        out_str(t->o, half && t->opt->color ? LISTING_PLAIN "\n" : "\n");
    }
}

static bool line_wanted(const struct text *t, const struct report_source *s,
                        uint32_t line)
{
    if (!t->opt->function) {
        return true;
    }
    for (size_t i = 0; i < s->nr_functions && s->functions[i].line <= line; i++) {
        const struct report_function *f = &s->functions[i];
        uint32_t end = f->end_line ? f->end_line : f->line;
        if (line <= end && wanted(t, f)) {
            return true;
        }
    }
    return false;
}

static void annotate(struct text *t, const struct report_source *s, const char *text,
                     size_t n)
{
    const char *p = text, *end = text + n;
    size_t next = 0, at = 0;

    out_str(t->o, "        -:    0:Source:");
    listing_safe(t->o, s->path, strlen(s->path));
    out_str(t->o, "\n");
    for (uint32_t line = 1; p < end || next < s->nr_lines; line++) {
        const char *eol = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        size_t len = (size_t)((eol ? eol : end) - p);
        bool code;
        while (next < s->nr_lines && s->lines[next].line < line) {
            next++;
        }
        code = next < s->nr_lines && s->lines[next].line == line;
        if (p >= end && !code) {
            /* Lines past the file's end: it is not the file that was compiled. */
            if (next == s->nr_lines) {
                break;
            }
            line = s->lines[next].line - 1;
            continue;
        }
        if (line_wanted(t, s, line)) {
            if (code) {
                listing_count(t->o, t->opt->color, s->lines[next].count);
            } else {
                out_str(t->o, "        -");
            }
            out_str(t->o, ":");
            out_u64_width(t->o, line, 5);
            out_str(t->o, ":");
            if (p < end) {
                listing_safe(t->o, p, len && p[len - 1] == '\r' ? len - 1 : len);
            } else {
                out_str(t->o, "/*EOF*/");
            }
            out_str(t->o, "\n");
            if (code && t->r->cover->branches) {
                struct output_branches b = output_branches_of(s, line, &at);
                write_ways(t, &b);
            }
        }
        next += code;
        p = eol ? eol + 1 : end;
    }
}

static void write_source(struct text *t, const struct report_source *s)
{
    char *text = NULL;
    size_t n = 0;
    int ret = t->opt->disassembly ? 0 : read_source(s->path, &text, &n);

    write_title(t, s->path);
    write_source_totals(t, s);
    if (ret) {
        out_printf(t->o, "  source not shown (%s): disassembly instead\n",
                   ret == -EINVAL ? "not a regular file" : strerror(-ret));
    }
    if (ret || t->opt->disassembly) {
        disassemble_all(t, s);
    } else {
        annotate(t, s, text, n);
    }
    free(text);
}

int output_text(const struct report *r, const struct text_options *opt, FILE *file)
{
    struct text t = {.o = out_open(file), .r = r, .opt = opt};

    if (!t.o) {
        return -ENOMEM;
    }
    if (!listing_init(&t.listing, t.o, r->cover, opt->color)) {
        t.o->error = -ENOMEM;
    }
    t.listing.places = true;
    if (!t.o->error) {
        write_totals(&t);
    }
    for (size_t i = 0; i < r->nr_sources && !t.o->error; i++) {
        const struct report_source *s = &r->sources[i];
        if (!any_wanted(&t, s)) {
            continue;
        }
        if (s->is_module) {
            write_module(&t, s);
        } else {
            write_source(&t, s);
        }
    }
    listing_fini(&t.listing);
    return out_close(t.o);
}
