/* SPDX-License-Identifier: MIT */
/*
 * Divides the code of a file for listings: by functions, and what is between.  Reports of
 * several runs are added up line by line, so nothing here may depend on what ran.
 */
#include "tracecov/report_priv.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

struct divide {
    const struct report_code *k;
    struct piece *v;
    size_t n, cap;
    uint32_t function; /* first one that does not end before here */
};

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
        p->symbol = f->source != SYM_UNWIND ? f : NULL;
        p->function = true;
        p->thumb = f->thumb;
        p->end = f->end < end ? f->end : end;
        return;
    }
    if (f && f->addr < end) {
        p->end = f->addr;
    }
    p->thumb = k->thumb && strncmp(p->section, ".plt", 4);
}

int report_pieces(const struct report_code *k, struct piece **v, size_t *n)
{
    struct divide d = {.k = k};
    const struct sym_code *code;
    uint32_t nr_code = symfile_code(k->file, &code);
    int e = 0;

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
    *v = d.v;
    *n = d.n;
    return e;
}
