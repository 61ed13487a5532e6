/* SPDX-License-Identifier: MIT */
/*
 * The functions of a module: those of its symbols, and where there are none, those of its
 * unwind tables, which strip(1) keeps.  They depend on the file alone, never on what ran.
 */
#include "tracecov/report_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cannoli/isa.h"
#include "symbols/unwind_table.h"

/* "0x" and 16 digits. */
#define NAME_BYTES 19

/* Symbols and unwind tables while they are merged, both ascending. */
struct merge {
    struct report_code *k;
    const struct sym_function *symbols;
    uint32_t nr_symbols, symbol; /* the first one that does not end before here */
    struct unwind_function *unwind;
    size_t nr_unwind, next; /* the first one that was not merged */
    struct sym_function *v;
    uint32_t n;
    char *names; /* room for the next one's */
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

/* Adds the next function of the unwind table, whose code ends at `most' at the latest. */
static void add_unwind(struct merge *x, uint64_t most)
{
    const struct unwind_function *u = &x->unwind[x->next];
    struct sym_function f = {.addr = u->addr, .linkage = "", .source = SYM_UNWIND};

    f.end = u->end && u->end < most ? u->end : most;
    if (x->next + 1 < x->nr_unwind && u[1].addr < f.end) {
        f.end = u[1].addr;
    }
    f.thumb = x->k->thumb;
    f.name = x->names;
    x->names += snprintf(x->names, NAME_BYTES, "0x%llx", (unsigned long long)f.addr) + 1;
    x->v[x->n++] = f;
}

/* Adds what begins in a section, in ascending order. */
static void merge_section(struct merge *x, const struct sym_code *code)
{
    bool plt =
        code->name && !strncmp(code->name, ".plt", 4); /* one frame for all of it */

    while (x->next < x->nr_unwind && x->unwind[x->next].addr < code->end) {
        uint64_t addr = x->unwind[x->next].addr;
        const struct sym_function *s;

        while (x->symbol < x->nr_symbols && x->symbols[x->symbol].end <= addr) {
            x->v[x->n++] = x->symbols[x->symbol++];
        }
        s = x->symbol < x->nr_symbols ? &x->symbols[x->symbol] : NULL;
        if (addr >= code->addr && !plt && !(s && s->addr <= addr)) {
            add_unwind(x, s && s->addr < code->end ? s->addr : code->end);
        }
        x->next++;
    }
}

static int merge(struct merge *x)
{
    struct report_code *k = x->k;
    const struct sym_code *code;
    uint32_t n = symfile_code(k->file, &code);

    x->v = malloc((x->nr_symbols + x->nr_unwind) * sizeof(*x->v));
    x->names = malloc(x->nr_unwind * NAME_BYTES);
    k->made_functions = x->v;
    k->made_names = x->names;
    if (!x->v || !x->names) {
        return -CTR_E_NOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        merge_section(x, &code[i]);
    }
    while (x->symbol < x->nr_symbols) {
        x->v[x->n++] = x->symbols[x->symbol++];
    }
    k->functions = x->v;
    k->nr_functions = x->n;
    return 0;
}

int report_functions(struct report_code *k)
{
    struct merge x = {.k = k};
    int e;

    k->nr_functions = symfile_functions(k->file, &k->functions);
    k->thumb = mostly_thumb(k);
    x.symbols = k->functions;
    x.nr_symbols = k->nr_functions;
    e = unwind_functions(k->file, &x.unwind, &x.nr_unwind);
    if (!e && x.nr_unwind) {
        e = merge(&x);
    }
    free(x.unwind);
    return e;
}

void report_functions_free(struct report_code *k)
{
    free(k->made_functions);
    free(k->made_names);
    k->made_functions = NULL;
    k->made_names = NULL;
}

const struct sym_function *report_function_at(const struct report_code *k, uint64_t addr)
{
    uint32_t n = report_functions_upto(k, addr);

    return n && k->functions[n - 1].addr == addr ? &k->functions[n - 1] : NULL;
}

uint32_t report_functions_upto(const struct report_code *k, uint64_t addr)
{
    uint32_t lo = 0, hi = k->nr_functions;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (k->functions[mid].addr <= addr) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}
