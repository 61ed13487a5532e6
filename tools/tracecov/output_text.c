/* SPDX-License-Identifier: MIT */
/*
 * For people: totals, then each source annotated as gcov does ("    count:line:text"),
 * with the ways of conditional branches below their line.  What has no source, or all if
 * that is wanted, is shown as disassembly (output_text_code.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracecov/output_text_priv.h"

/* A larger file is not treated as source. */
#define SOURCE_BYTES_MOST (64u << 20)

static bool any_wanted(const struct text *t, const struct report_source *s)
{
    bool any = !t->opt->function;

    for (size_t i = 0; i < s->nr_functions && !any; i++) {
        any = text_wanted(t, s, &s->functions[i]);
    }
    return any;
}

/* ------------------------------------------------------------------ totals */

/* Of the source files. */
static void write_source_files(struct text *t)
{
    const struct report *r = t->r;
    const struct report_totals *n = &r->totals;

    text_ratio(t->o, "lines         ", n->lines_hit, n->lines);
    text_ratio(t->o, "\nfunctions     ", n->functions_hit, n->functions);
    if (r->cover->branches) {
        text_ratio(t->o, "\nbranches      ", n->branches_hit, n->branches);
    } else {
        out_str(t->o, "\nbranches      not known");
    }
    out_printf(t->o,
               "\nsources       %zu file%s of %zu program%s or librar%s with line "
               "information\n",
               r->nr_files, r->nr_files == 1 ? "" : "s", r->nr_lined,
               r->nr_lined == 1 ? "" : "s", r->nr_lined == 1 ? "y" : "ies");
}

/* Of what has no part in those, or of all if there are no source files. */
static void write_bare_functions(struct text *t)
{
    const struct report *r = t->r;

    if (r->bare.functions) {
        text_ratio(t->o, r->nr_files ? "without lines " : "functions     ",
                   r->bare.functions_hit, r->bare.functions);
        out_str(t->o, r->nr_files ? " functions\n" : "\n");
    }
}

static void write_totals(struct text *t)
{
    const struct cover *c = t->r->cover;
    struct out *o = t->o;

    if (t->r->nr_files) {
        write_source_files(t);
    } else {
        out_str(o, "sources       none with line information\n");
    }
    write_bare_functions(t);
    if (!t->r->nr_files && !c->branches) {
        out_str(o, "branches      not known\n");
    }
    out_str(o, "instructions  ");
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

static void write_part(struct out *o, const char *name, uint64_t hit, uint64_t of)
{
    if (of) {
        text_ratio(o, name, hit, of);
    }
}

/* A line for each program and library. */
static void write_modules(struct text *t)
{
    struct out *o = t->o;

    out_str(o, t->r->cover->nr_modules ? "\n" : "");
    for (size_t i = 0; i < t->r->cover->nr_modules; i++) {
        const struct report_module *m = &t->r->modules[i];
        const struct cover_module *c = &t->r->cover->modules[i];

        if (!m->selected) {
            continue;
        }
        listing_safe(o, c->module->path, strlen(c->module->path));
        out_str(o, ": ");
        out_grouped(o, c->total);
        out_str(o, " executed");
        write_part(o, ", lines ", m->totals.lines_hit, m->totals.lines);
        write_part(o, ", functions ", m->totals.functions_hit, m->totals.functions);
        if (t->r->cover->branches) {
            write_part(o, ", branches ", m->totals.branches_hit, m->totals.branches);
        }
        write_part(o, ", functions without lines ", m->bare.functions_hit,
                   m->bare.functions);
        out_str(o, "\n");
    }
}

static void write_source_totals(struct text *t, const struct report_source *s)
{
    text_ratio(t->o, "  lines ", s->totals.lines_hit, s->totals.lines);
    text_ratio(t->o, ", functions ", s->totals.functions_hit, s->totals.functions);
    if (t->r->cover->branches) {
        text_ratio(t->o, ", branches ", s->totals.branches_hit, s->totals.branches);
    }
    out_str(t->o, "\n");
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
        if (line <= end && text_wanted(t, s, f)) {
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
    int ret = read_source(s->path, &text, &n);

    text_title(t, s->path);
    write_source_totals(t, s);
    if (ret) {
        out_printf(t->o, "  source not shown (%s): disassembly instead\n",
                   ret == -EINVAL ? "not a regular file" : strerror(-ret));
        text_disassemble(t, s);
    } else {
        annotate(t, s, text, n);
    }
    free(text);
}

static void write_sources(struct text *t)
{
    for (size_t i = 0; i < t->r->nr_sources && !t->o->error; i++) {
        const struct report_source *s = &t->r->sources[i];

        if (any_wanted(t, s) && s->is_module) {
            text_module(t, s);
        } else if (any_wanted(t, s)) {
            write_source(t, s);
        }
    }
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
        write_modules(&t);
    }
    if (!t.o->error && opt->disassembly) {
        text_disassemble_all(&t);
    } else if (!t.o->error) {
        write_sources(&t);
    }
    listing_fini(&t.listing);
    return out_close(t.o);
}
