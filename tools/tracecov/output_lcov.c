/* SPDX-License-Identifier: MIT */
/*
 * The tracefile of lcov, as geninfo(1) of lcov 1.x writes it and lcov 2 reads it.
 *
 * Both are stricter than that page says, so:
 *   - names are linkage names (genhtml --demangle-cpp makes them readable), since lcov 1
 *     ends a name at its first comma; other commas become semicolons
 *   - a name belongs to one line: a second function with it gets "@LINE"
 *   - genhtml 2 rejects a function at a line without code: it is moved to the first line
 *     with code at or after its declaration
 *   - lcov 2 rejects a line that ran if none of its branches did, as when a call before
 *     the branch never returned: such branches are left out
 *   - branches of a partial recording are not known, and left out
 *
 * lcov 2 guesses the end of a function, with a warning, unless the function's record has
 * it: "FN:line,end,name".  lcov 1 reads that as a function of another name, so it is a
 * format of its own.
 */
#include "tracecov/output.h"

#include <errno.h>
#include <stdlib.h>

struct fn {
    const char *name;
    const struct report_function *f;
    uint32_t line;
    uint64_t count;
    uint32_t end;      /* lcov 2: its last line */
    uint32_t moved_to; /* NOWHERE: removed */
    bool renamed;      /* "@LINE" after its name */
    bool merged;       /* into another of the same name and line */
};

#define NOWHERE UINT32_MAX

/* lcov 2 recognizes lambdas by this, and does not guess their extent. */
static bool is_lambda(const struct report_function *f)
{
    return strstr(f->name, "{lambda(") != NULL;
}

static int by_name(const void *pa, const void *pb)
{
    const struct fn *a = *(struct fn *const *)pa, *b = *(struct fn *const *)pb;
    int d = strcmp(a->name, b->name);

    d = d ? d : (a->line > b->line) - (a->line < b->line);
    return d ? d : (a > b) - (a < b);
}

/* Makes a name belong to one line: functions with the same name and line are merged, and
 * those at other lines renamed.  `order' is scratch for n pointers. */
static void make_unique(struct fn *v, size_t n, struct fn **order)
{
    for (size_t i = 0; i < n; i++) {
        order[i] = &v[i];
    }
    qsort(order, n, sizeof(*order), by_name);
    for (size_t i = 0, first = 0, last = 0; i < n; i++) {
        struct fn *b = order[i];
        if (strcmp(order[first]->name, b->name)) {
            first = last = i;
        } else if (i != first) {
            b->renamed = b->line != order[first]->line;
            b->merged = b->line == order[last]->line;
            if (b->merged) {
                order[last]->count = sum_u64(order[last]->count, b->count);
            } else {
                last = i;
            }
        }
    }
}

static int by_line(const void *pa, const void *pb)
{
    const struct fn *a = pa, *b = pb;

    return a->line != b->line ? (a->line < b->line ? -1 : 1)
                              : (a->f > b->f) - (a->f < b->f);
}

/* Puts each function at a line with code. */
static void place_functions(const struct report_source *s, struct fn *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = output_line_from(s, v[i].f->line);
        v[i].line = s->lines[at < s->nr_lines ? at : s->nr_lines - 1].line;
    }
    qsort(v, n, sizeof(*v), by_line);
}

/* The nearest line that ran: at or after `line', else before it. */
static uint32_t nearest_run(const struct report_source *s, uint32_t line)
{
    size_t from = output_line_from(s, line), i = from;

    while (i < s->nr_lines && !s->lines[i].count) {
        i++;
    }
    if (i == s->nr_lines) {
        for (i = from; i-- > 0 && !s->lines[i].count;) {
        }
    }
    return i < s->nr_lines ? s->lines[i].line : NOWHERE;
}

/* Moves functions to moved_to; returns the number of functions left. */
static size_t move_functions(struct fn *v, size_t n, bool *moved)
{
    size_t left = 0;

    *moved = false;
    for (size_t i = 0; i < n; i++) {
        *moved |= v[i].moved_to != v[i].line;
        v[i].line = v[i].moved_to;
        if (v[i].line != NOWHERE) {
            v[left++] = v[i];
        }
    }
    qsort(v, left, sizeof(*v), by_line);
    return left;
}

/* Functions that begin at one line, with the lines that lcov 2 assigns to them. */
struct group {
    size_t begin, end; /* functions */
    bool function_ran, line_ran;
};

/* The group that begins at function i; a group of only lambdas does not end the one
 * before. */
static struct group group_at(const struct report_source *s, const struct fn *v, size_t n,
                             size_t i)
{
    struct group g = {.begin = i, .end = i};
    uint32_t next = UINT32_MAX;

    for (; g.end < n && v[g.end].line == v[i].line; g.end++) {
        g.function_ran |= v[g.end].count != 0;
    }
    for (size_t k = g.end; k < n && next == UINT32_MAX; k++) {
        next = is_lambda(v[k].f) ? next : v[k].line;
    }
    for (size_t k = output_line_from(s, v[i].line);
         k < s->nr_lines && s->lines[k].line < next && !g.line_ran; k++) {
        g.line_ran = s->lines[k].count != 0;
    }
    return g;
}

/*
 * lcov 2 assumes that a function extends to the start of the next one, and fails if the
 * function ran and none of its lines did, or vice versa.  This happens in optimised code,
 * to functions that were inlined and have no line left.  Such a function is moved to a
 * matching line or function, or removed if there is none.  That may break another
 * function, hence several rounds.
 */
static size_t settle_functions(const struct report_source *s, struct fn *v, size_t n)
{
    bool moved = true;

    for (int round = 0; moved && round < 8; round++) {
        uint32_t ran_at = NOWHERE; /* line of the last function that ran */
        for (size_t i = 0; i < n;) {
            struct group g = group_at(s, v, n, i);
            uint32_t to = v[i].line;
            bool lambda = true;
            for (size_t k = g.begin; k < g.end; k++) {
                lambda &= is_lambda(v[k].f);
            }
            if (lambda || g.function_ran == g.line_ran) {
                ran_at = g.function_ran ? to : ran_at;
            } else {
                to = g.function_ran ? nearest_run(s, to) : ran_at;
            }
            for (; i < g.end; i++) {
                v[i].moved_to = to;
            }
        }
        n = move_functions(v, n, &moved);
    }
    return n;
}

/* Sets a function's begin and end, so that a function that ran contains a line that ran,
 * and one that did not contains none. */
static void end_function(const struct report_source *s, struct fn *f)
{
    uint32_t end = f->f->end_line > f->line ? f->f->end_line : f->line;
    size_t at = output_line_from(s, f->line);

    f->moved_to = f->line;
    f->end = end;
    if (f->count) {
        uint32_t run = nearest_run(s, f->line);
        f->moved_to = run < f->line ? run : run == NOWHERE ? NOWHERE : f->line;
        f->end = run > end ? run : end;
        return;
    }
    while (at < s->nr_lines && s->lines[at].count) {
        at++;
    }
    f->moved_to =
        at < s->nr_lines && s->lines[at].line <= end ? s->lines[at].line : NOWHERE;
    while (at < s->nr_lines && !s->lines[at].count) {
        at++;
    }
    if (at < s->nr_lines && s->lines[at].line <= end) {
        f->end = s->lines[at].line - 1;
    }
}

/* The same for all functions; those at one line get the same end. */
static size_t end_functions(const struct report_source *s, struct fn *v, size_t n)
{
    bool moved;

    for (size_t i = 0; i < n;) {
        struct group g = group_at(s, v, n, i);
        for (; i < g.end; i++) {
            end_function(s, &v[i]);
            if (g.function_ran && !v[i].count) {
                v[i].moved_to = v[i].line; /* for lcov, another name of one that ran */
            }
        }
    }
    n = move_functions(v, n, &moved);
    for (size_t i = 1; i < n; i++) {
        if (v[i].line == v[i - 1].line && v[i].end < v[i - 1].end) {
            v[i].end = v[i - 1].end;
        }
    }
    for (size_t i = n; i-- > 1;) {
        if (v[i].line == v[i - 1].line) {
            v[i - 1].end = v[i].end;
        }
    }
    return n;
}

static void write_name(struct out *o, const struct fn *f)
{
    for (const char *p = f->name; *p; p++) {
        char *q = out_room(o, 1);
        *q = *p == ',' ? ';' : (unsigned char)*p < ' ' ? '?' : *p;
        out_done(o, q + 1);
    }
    if (f->renamed) {
        out_str(o, "@");
        out_u64(o, f->line);
    }
    out_str(o, "\n");
}

static void write_functions(struct out *o, const struct report_source *s, bool ends)
{
    size_t n = s->nr_functions, found = 0, hit = 0;
    struct fn *v = calloc(n + 1, sizeof(*v));
    struct fn **order = malloc((n + 1) * sizeof(*order));

    if (!v || !order) {
        o->error = o->error ? o->error : -ENOMEM;
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const struct report_function *f = &s->functions[i];
        v[i] = (struct fn){.name = is_lambda(f) || !*f->linkage ? f->name : f->linkage,
                           .f = f,
                           .count = f->count};
    }
    place_functions(s, v, n);
    n = ends ? end_functions(s, v, n) : settle_functions(s, v, n);
    make_unique(v, n, order);
    for (size_t i = 0; i < n; i++) {
        if (!v[i].merged) {
            out_str(o, "FN:");
            out_u64(o, v[i].line);
            out_str(o, ",");
            if (ends) {
                out_u64(o, v[i].end);
                out_str(o, ",");
            }
            write_name(o, &v[i]);
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!v[i].merged) {
            out_str(o, "FNDA:");
            out_u64(o, v[i].count);
            out_str(o, ",");
            write_name(o, &v[i]);
            found++;
            hit += v[i].count != 0;
        }
    }
    out_str(o, "FNF:");
    out_u64(o, found);
    out_str(o, "\nFNH:");
    out_u64(o, hit);
    out_str(o, "\n");
out:
    free(order);
    free(v);
}

static void write_branch(struct out *o, const struct report_branch *b)
{
    char *p = out_room(o, 5 * FMT_U64_MAX);

    p = FMT_LIT(p, "BRDA:");
    p = fmt_u64(p, b->line);
    *p++ = ',';
    p = fmt_u64(p, b->block);
    *p++ = ',';
    p = fmt_u64(p, b->branch);
    *p++ = ',';
    if (b->reached) {
        p = fmt_u64(p, b->count);
    } else {
        *p++ = '-';
    }
    *p++ = '\n';
    out_done(o, p);
}

static void write_branches(struct out *o, const struct report_source *s)
{
    size_t at = 0, found = 0, hit = 0;

    for (size_t i = 0; i < s->nr_lines && at < s->nr_branches; i++) {
        const struct report_line *l = &s->lines[i];
        struct output_branches b = output_branches_of(s, l->line, &at);
        if ((l->count != 0) != (b.hit != 0)) {
            continue;
        }
        for (size_t k = 0; k < b.n; k++) {
            write_branch(o, &b.v[k]);
        }
        found += b.n;
        hit += b.hit;
    }
    if (found) {
        out_str(o, "BRF:");
        out_u64(o, found);
        out_str(o, "\nBRH:");
        out_u64(o, hit);
        out_str(o, "\n");
    }
}

static void write_lines(struct out *o, const struct report_source *s)
{
    size_t hit = 0;

    for (size_t i = 0; i < s->nr_lines; i++) {
        const struct report_line *l = &s->lines[i];
        char *p = out_room(o, 3 * FMT_U64_MAX);
        p = FMT_LIT(p, "DA:");
        p = fmt_u64(p, l->line);
        *p++ = ',';
        p = fmt_u64(p, l->count);
        *p++ = '\n';
        out_done(o, p);
        hit += l->count != 0;
    }
    out_str(o, "LF:");
    out_u64(o, s->nr_lines);
    out_str(o, "\nLH:");
    out_u64(o, hit);
    out_str(o, "\n");
}

/* A line break in a path would begin another record. */
static void write_path(struct out *o, const char *path)
{
    for (; *path; path++) {
        char *q = out_room(o, 1);
        *q = *path == '\n' || *path == '\r' ? '?' : *path;
        out_done(o, q + 1);
    }
}

static int output(const struct report *r, FILE *file, bool ends)
{
    struct out *o = out_open(file);

    if (!o) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < r->nr_sources; i++) {
        const struct report_source *s = &r->sources[i];
        if (s->is_module || s->nr_lines == 0) {
            continue;
        }
        out_str(o, "TN:\nSF:");
        write_path(o, s->path);
        out_str(o, "\n");
        write_functions(o, s, ends);
        if (r->cover->branches) {
            write_branches(o, s);
        }
        write_lines(o, s);
        out_str(o, "end_of_record\n");
    }
    return out_close(o);
}

int output_lcov(const struct report *r, FILE *file)
{
    return output(r, file, false);
}

int output_lcov2(const struct report *r, FILE *file)
{
    return output(r, file, true);
}
