/* SPDX-License-Identifier: MIT */
/*
 * From counts of instructions to counts of lines.
 *
 * All is done for a line within one instance of a function (compiled out of line, or
 * inlined somewhere), and then added up.  Where every instruction of the line stands
 * together, each runs as often as the line does, but for those of a part that is
 * passed over (`a && b'): the largest count is the line's.  Where the compiler made
 * copies (the test of a loop before it and at its end, cleaning up on several paths), the
 * copies have to be added.  So what counts is how often control came to the line:
 *
 *   from code of other lines, and by a jump back within the line (a turn of a loop)
 *
 * and at least as often as its most frequent instruction.  Not counted is coming back
 * from a function that was called or inlined on that line, nor what only returns to a
 * line in a stretch of code into which nobody jumps: instructions of several lines are
 * interleaved there for speed.  Copies that no statement begins in (is_stmt in
 * DWARF) are such as well.
 */
#include "tracecov/report_private.h"

#include <stdlib.h>

#include "cannoli/isa.h"

/* Sites in a row that belong to one line of one instance. */
struct run {
    uint32_t source, line, instance;
    uint32_t first, n; /* sites */
    uint32_t place;    /* number of (source, line, instance) */
};

/* A line of an instance. */
struct place_count {
    uint64_t entries, most;
    uint32_t stretch; /* the last stretch of code that it was seen in */
};

struct lines {
    struct report_maker *mk;
    const struct report_code *k;
    const uint32_t *file_source;
    struct run *runs; /* in order of addresses */
    size_t nr_runs, runs_cap;
    struct place_count *places;
    uint32_t nr_places;
    uint32_t *run_of; /* of a site, NO_INDEX: none */
    uint32_t stretch;
};

static int by_place(const void *va, const void *vb)
{
    const struct run *a = *(const struct run *const *)va,
                     *b = *(const struct run *const *)vb;

    if (a->source != b->source) {
        return a->source < b->source ? -1 : 1;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return a->instance < b->instance ? -1 : a->instance > b->instance;
}

static int make_runs(struct lines *l)
{
    const struct report_code *k = l->k;

    for (size_t i = 0; i < k->nr_sites; i++) {
        const struct site *s = &k->sites[i];
        const struct sym_range *r = s->range != NO_INDEX ? &k->ranges[s->range] : NULL;
        struct run x = {.first = (uint32_t)i, .n = 1}, *last;

        l->run_of[i] = NO_INDEX;
        if (!r || !r->line || l->file_source[r->file] == NO_INDEX) {
            continue;
        }
        x.source = l->file_source[r->file];
        x.line = r->line;
        x.instance = report_instance(k, s);
        last = l->nr_runs ? &l->runs[l->nr_runs - 1] : NULL;
        if (last && last->first + last->n == i && last->source == x.source &&
            last->line == x.line && last->instance == x.instance) {
            last->n++;
        } else if (!report_grow(&l->runs, &l->runs_cap, l->nr_runs + 1, sizeof(x))) {
            return -CTR_E_NOMEM;
        } else {
            l->runs[l->nr_runs++] = x;
        }
        l->run_of[i] = (uint32_t)(l->nr_runs - 1);
    }
    return 0;
}

/* Numbers the places in the order in which they will be reported. */
static int make_places(struct lines *l, struct run ***sorted)
{
    struct run **v = calloc(l->nr_runs + 1, sizeof(struct run *));

    *sorted = v;
    if (!v) {
        return -CTR_E_NOMEM;
    }
    for (size_t i = 0; i < l->nr_runs; i++) {
        v[i] = &l->runs[i];
    }
    if (l->nr_runs) {
        qsort(v, l->nr_runs, sizeof(struct run *), by_place);
    }
    for (size_t i = 0; i < l->nr_runs; i++) {
        l->nr_places += i && by_place(&v[i - 1], &v[i]);
        v[i]->place = l->nr_places;
    }
    l->nr_places++;
    l->places = calloc(l->nr_places, sizeof(*l->places));
    return l->places ? 0 : -CTR_E_NOMEM;
}

/* Whether a site is of the run's place: of its line, or inlined from there. */
static bool of_place(const struct lines *l, size_t site, const struct run *r)
{
    const struct report_code *k = l->k;
    const struct site *s = &k->sites[site];
    uint32_t at;

    if (l->run_of[site] != NO_INDEX && l->runs[l->run_of[site]].place == r->place) {
        return true;
    }
    at = s->range != NO_INDEX ? k->ranges[s->range].scope : SYM_NONE;
    while (at < k->nr_scopes && k->scopes[at].parent != at) {
        const struct sym_scope *c = &k->scopes[at];

        if (c->parent == r->instance) {
            return c->call_line == r->line && c->call_file < symfile_nr_files(k->file) &&
                   l->file_source[c->call_file] == r->source;
        }
        at = c->parent;
    }
    return false;
}

/* Of what jumped to site i, how much came from before it in the same place. */
static uint64_t forward(const struct lines *l, size_t i, const struct run *r)
{
    const struct report_code *k = l->k;
    uint64_t n = 0;

    for (size_t j = report_jump_at(k, i); j < k->nr_jumps && k->jumps[j].to == i; j++) {
        if (k->jumps[j].from < i && of_place(l, k->jumps[j].from, r)) {
            n = report_sum(n, k->jumps[j].count);
        }
    }
    return n;
}

static void count_run(struct lines *l, const struct run *r)
{
    const struct report_code *k = l->k;
    struct place_count *p = &l->places[r->place];
    uint64_t most = 0, cap = UINT64_MAX;

    for (uint32_t i = r->first; i < r->first + r->n; i++) {
        uint64_t count = report_site_count(k, &k->sites[i]).count;
        uint64_t fall = report_fall(k, i), jump = count - fall, own;
        bool stmt = k->ranges[k->sites[i].range].stmt;

        if (i > r->first && (k->sites[i - 1].flags & CANNOLI_INSN_CALL)) {
            /* A call that returns twice (setjmp) is one. */
            uint64_t calls = report_site_count(k, &k->sites[i - 1]).count;

            cap = calls < cap ? calls : cap;
        }
        if (jump) {
            l->stretch++;
            cap = UINT64_MAX;
        }
        if (k->flow && count) {
            own = jump ? forward(l, i, r) : 0;
            if (stmt) {
                p->entries = report_sum(p->entries, jump - (own < jump ? own : jump));
            }
            if (stmt && i == r->first && fall && p->stretch != l->stretch &&
                !of_place(l, i - 1, r)) {
                p->entries = report_sum(p->entries, fall);
            }
        }
        p->stretch = l->stretch;
        count = count < cap ? count : cap;
        most = count > most ? count : most;
    }
    p->most = most > p->most ? most : p->most;
}

static int count_runs(struct lines *l)
{
    for (size_t i = 0, next = 0; i < l->nr_runs; i++) {
        const struct run *r = &l->runs[i];

        for (; next < r->first; next++) { /* code of no line in between */
            l->stretch += report_fall(l->k, next) == 0;
        }
        next = r->first + r->n;
        count_run(l, r);
    }
    return 0;
}

/* The line that declares a function counts how often it was entered, also if the brace
 * behind it, on which debug information has its first instructions, is on another. */
static int count_headings(struct lines *l)
{
    const struct report_code *k = l->k;
    int e = 0;

    for (uint32_t i = 0; i < k->nr_scopes && !e; i++) {
        const struct sym_scope *s = &k->scopes[i];
        size_t at = report_site_at(k, s->entry);
        const struct sym_range *r;

        if (s->parent != SYM_NONE || !s->decl_line || at >= k->nr_sites ||
            k->sites[at].addr != s->entry || k->sites[at].range == NO_INDEX) {
            continue;
        }
        r = &k->ranges[k->sites[at].range];
        if (r->file == s->decl_file && r->line > s->decl_line &&
            l->file_source[r->file] != NO_INDEX) {
            e = report_source_line(l->mk, l->file_source[r->file], s->decl_line,
                                   report_entries(k, at, i, NULL));
        }
    }
    return e;
}

int report_lines(struct report_maker *mk, const struct report_code *k,
                 const uint32_t *file_source)
{
    struct lines l = {.mk = mk, .k = k, .file_source = file_source, .stretch = 1};
    struct run **sorted = NULL;
    int e = -CTR_E_NOMEM;

    l.run_of = malloc((k->nr_sites + 1) * sizeof(*l.run_of));
    if (!l.run_of) {
        goto out;
    }
    e = make_runs(&l);
    e = e ? e : make_places(&l, &sorted);
    e = e ? e : count_runs(&l);
    for (size_t i = 0; i < l.nr_runs && !e; i++) {
        const struct run *r = sorted[i];
        const struct place_count *p = &l.places[r->place];

        if (i == 0 || sorted[i - 1]->place != r->place) {
            e = report_source_line(mk, r->source, r->line,
                                   p->entries > p->most ? p->entries : p->most);
        }
    }
    e = e ? e : count_headings(&l);
out:
    free(l.run_of);
    free(l.runs);
    free(l.places);
    free(sorted);
    return e;
}
