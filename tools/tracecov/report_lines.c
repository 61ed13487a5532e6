/* SPDX-License-Identifier: MIT */
/*
 * Converts counts of instructions to counts of lines.
 *
 * This is done for a line within one instance of a function (compiled out of line, or
 * inlined somewhere); then instances are added up.  If all instructions of the line are
 * contiguous, each runs as often as the line, except those of a part that may be skipped
 * (`a && b'): the largest count is the line's.  If the compiler made copies (the test of
 * a loop before it and at its end, clean-up on several paths), the copies must be added.
 * So the count of a line is the number of times that control came to it
 *
 *   from code of other lines, and by a jump back within code of the line only (a loop
 *   on one line)
 *
 * and at least the count of its most frequent instruction.  It does not include returns
 * from a function that was called or inlined on that line; nor control that comes back to
 * a line within a stretch of code without jumps into it, as there the compiler
 * interleaves instructions of several lines for speed; nor the jumps of a table.  Code
 * that leaves a function is counted separately: with a clean-up before it on the same
 * line, the line did not run twice.
 */
#include "tracecov/report_priv.h"

#include <stdlib.h>

#include "common/array.h"
#include "cannoli/isa.h"

/* Consecutive sites of one line of one instance. */
struct run {
    uint32_t source, line, instance;
    uint32_t first, n; /* sites */
    uint32_t place;    /* number of (source, line, instance) */
};

/* A line of an instance. */
struct place_count {
    uint64_t entries, most;
    uint64_t leaving; /* entries to code that ends with a return */
    uint32_t stretch; /* the last stretch of code that has it */
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
        } else if (!array_reserve(&l->runs, &l->runs_cap, l->nr_runs + 1, sizeof(x))) {
            return -CTR_E_NOMEM;
        } else {
            l->runs[l->nr_runs++] = x;
        }
        l->run_of[i] = (uint32_t)(l->nr_runs - 1);
    }
    return 0;
}

/* Numbers the places in the order of the report. */
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

/* Whether a site belongs to the run's place: to its line, or inlined from there. */
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

/* The count of jumps to site i from the same place, except loops. */
static uint64_t from_place(const struct lines *l, size_t i, const struct run *r)
{
    const struct report_code *k = l->k;
    uint64_t n = 0;

    for (size_t j = report_jump_at(k, i); j < k->nr_jumps && k->jumps[j].to == i; j++) {
        uint32_t from = k->jumps[j].from;
        bool loop = from >= i && from < r->first + r->n;

        if (!loop && of_place(l, from, r)) {
            n = sum_u64(n, k->jumps[j].count);
        }
    }
    return n;
}

static uint64_t indirect_jumps(const struct report_code *k, const struct site *s)
{
    struct site_count n;

    if ((s->flags & (CANNOLI_INSN_INDIRECT | CANNOLI_INSN_CALL | CANNOLI_INSN_RETURN)) !=
        CANNOLI_INSN_INDIRECT) {
        return 0;
    }
    n = report_site_count(k, s);
    return s->flags & CANNOLI_INSN_COND ? n.taken : n.count;
}

static void count_run(struct lines *l, const struct run *r)
{
    const struct report_code *k = l->k;
    struct place_count *p = &l->places[r->place];
    uint64_t most = 0, cap = UINT64_MAX, entries = 0;
    uint64_t indirect = 0,
             unknown =
                 0; /* counts of leaving, and entering, by jumps with unknown targets */
    bool leaves = false;

    for (uint32_t i = r->first; i < r->first + r->n; i++) {
        uint64_t count = report_site_count(k, &k->sites[i]).count;
        uint64_t fall = report_fall(k, i), jump = count - fall, own;

        if (i > r->first && (k->sites[i - 1].flags & CANNOLI_INSN_CALL)) {
            /* A call that returns twice (setjmp) counts once. */
            uint64_t calls = report_site_count(k, &k->sites[i - 1]).count;

            cap = calls < cap ? calls : cap;
        }
        if (jump) {
            l->stretch++;
            cap = UINT64_MAX;
        }
        if (k->flow && count) {
            own = jump ? from_place(l, i, r) : 0;
            entries = sum_u64(entries, jump - (own < jump ? own : jump));
            if (i == r->first && fall && p->stretch != l->stretch &&
                !of_place(l, i - 1, r)) {
                entries = sum_u64(entries, fall);
            }
        }
        if (i > r->first && jump) {
            unknown = sum_u64(unknown, report_without_jumps(k, i, jump));
        }
        indirect = sum_u64(indirect, indirect_jumps(k, &k->sites[i]));
        leaves |= (k->sites[i].flags & CANNOLI_INSN_RETURN) != 0;
        p->stretch = l->stretch;
        count = count < cap ? count : cap;
        most = count > most ? count : most;
    }
    /* A table of branches directly after the jump into it is one switch. */
    unknown = unknown < indirect ? unknown : indirect;
    entries -= unknown < entries ? unknown : entries;
    p->most = most > p->most ? most : p->most;
    if (leaves) {
        p->leaving = sum_u64(p->leaving, entries);
    } else {
        p->entries = sum_u64(p->entries, entries);
    }
}

static void count_runs(struct lines *l)
{
    for (size_t i = 0, next = 0; i < l->nr_runs; i++) {
        const struct run *r = &l->runs[i];

        for (; next < r->first; next++) { /* code without a line in between */
            l->stretch += report_fall(l->k, next) == 0;
        }
        next = r->first + r->n;
        count_run(l, r);
    }
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
    if (!e) {
        count_runs(&l);
    }
    for (size_t i = 0; i < l.nr_runs && !e; i++) {
        const struct run *r = sorted[i];
        const struct place_count *p = &l.places[r->place];

        if (i == 0 || sorted[i - 1]->place != r->place) {
            uint64_t n = p->entries > p->leaving ? p->entries : p->leaving;

            e = report_source_line(mk, r->source, r->line, k->index,
                                   n > p->most ? n : p->most);
        }
    }
out:
    free(l.run_of);
    free(l.runs);
    free(l.places);
    free(sorted);
    return e;
}
