/* SPDX-License-Identifier: MIT */
/*
 * Divides the code of a file for listings: by symbols, where there are none by unwind
 * tables (unwind.h), and what is between.  Reports of several runs are added up line by
 * line, so nothing here may depend on what ran.
 */
#include "tracecov/report_priv.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "cannoli/isa.h"
#include "symbols/unwind_table.h"

struct divide {
    const struct report_code *k;
    struct unwind_function *unwind;
    size_t nr_unwind;
    struct piece *v;
    size_t n, cap;
    uint32_t function; /* first one that does not end before here */
    size_t found;      /* first one of unwind that does not begin before here */
    bool thumb;        /* arm: of code without symbols */
};

/* Whether code without symbols is T32: as the entry point, or else as most functions. */
static bool mostly_thumb(const struct report_code *k)
{
    uint64_t entry = unwind_entry(k->file);
    uint32_t thumb = 0, n = 0;

    if (k->cover->machine != CANNOLI_EM_ARM || entry) {
        return k->cover->machine == CANNOLI_EM_ARM && entry & 1;
    }
    for (uint32_t i = 0; i < k->nr_functions; i++) {
        n += k->functions[i].source != SYM_PLT;
        thumb += k->functions[i].source != SYM_PLT && k->functions[i].thumb;
    }
    return 2 * thumb > n;
}

static bool is_plt(const char *section)
{
    return !strncmp(section, ".plt", 4);
}

/* Sets what the piece at p->addr is, and its end, at most p->end, by unwind tables. */
static void find_unwind(struct divide *d, struct piece *p)
{
    const struct unwind_function *u, *end = d->unwind + d->nr_unwind;

    while (d->found < d->nr_unwind && d->unwind[d->found].addr < p->addr) {
        d->found++;
    }
    u = d->unwind + d->found;
    if (u < end && u->addr == p->addr) {
        p->function = !is_plt(p->section); /* one frame for all entries */
        if (u->end && u->end < p->end) {
            p->end = u->end;
        }
        u++;
    }
    if (u < end && u->addr < p->end) {
        p->end = u->addr;
    }
}

/* Makes the piece that begins at addr in its section and ends at most at end. */
static void fill_piece(struct divide *d, struct piece *p, uint64_t addr, uint64_t end)
{
    const struct report_code *k = d->k;
    const struct sym_function *f;

    while (d->function < k->nr_functions && k->functions[d->function].end <= addr) {
        d->function++;
    }
    f = d->function < k->nr_functions ? &k->functions[d->function] : NULL;
    p->addr = addr;
    p->end = end;
    if (f && f->addr <= addr) {
        p->symbol = f;
        p->function = true;
        p->thumb = f->thumb;
        p->end = f->end < end ? f->end : end;
        return;
    }
    if (f && f->addr < end) {
        p->end = f->addr;
    }
    p->thumb = d->thumb && !is_plt(p->section);
    if (d->nr_unwind) {
        find_unwind(d, p);
    }
}

int report_pieces(const struct report_code *k, struct piece **v, size_t *n)
{
    struct divide d = {.k = k, .thumb = mostly_thumb(k)};
    const struct sym_code *code;
    uint32_t nr_code = symfile_code(k->file, &code);
    int e = unwind_functions(k->file, &d.unwind, &d.nr_unwind);

    for (uint32_t i = 0; i < nr_code && !e; i++) {
        for (uint64_t at = code[i].addr; at < code[i].end && !e;) {
            struct piece p = {.section = code[i].name ? code[i].name : "",
                              .section_number = i};

            fill_piece(&d, &p, at, code[i].end);
            at = p.end;
            if (array_reserve(&d.v, &d.cap, d.n + 1, sizeof(p))) {
                d.v[d.n++] = p;
            } else {
                e = -CTR_E_NOMEM;
            }
        }
    }
    free(d.unwind);
    *v = d.v;
    *n = d.n;
    return e;
}
