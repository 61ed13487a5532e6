/* SPDX-License-Identifier: MIT */
/*
 * Where functions without a symbol begin and end: the entries of a file's unwind table,
 * which strip(1) keeps.  Only of files without a full symbol table.
 */
#include "calltree_priv.h"

#include <stdlib.h>

#include "symbols/unwind_table.h"

struct extents {
    size_t n;
    struct unwind_function
        *v; /* ascending, disjoint, with an end; outside of functions */
};

/* Removes what has no end or a symbol, and cuts what overlaps. */
static void clean(struct extents *x, const struct symfile *file)
{
    const struct sym_function *fn;
    uint32_t nr = symfile_functions(file, &fn);
    size_t n = 0;

    for (size_t i = 0; i < x->n; i++) {
        struct unwind_function u = x->v[i];
        uint32_t after = symfile_functions_upto(file, u.addr);

        if (symfile_function(file, u.addr)) {
            continue;
        }
        if (after < nr && u.end > fn[after].addr) {
            u.end = fn[after].addr;
        }
        if (i + 1 < x->n && u.end > x->v[i + 1].addr) {
            u.end = x->v[i + 1].addr;
        }
        if (u.end > u.addr) {
            x->v[n++] = u;
        }
    }
    x->n = n;
}

static struct extents *make(const struct symfile *file)
{
    struct extents *x = calloc(1, sizeof(*x));
    struct symfile_info info;

    symfile_info(file, &info);
    if (x && !info.has_symtab && !unwind_functions(file, &x->v, &x->n)) {
        clean(x, file);
    }
    return x;
}

static void drop(struct extents *x)
{
    if (x) {
        free(x->v);
        free(x);
    }
}

void extents_resolve(struct code *c, const struct module *m)
{
    struct extents *new, *none = NULL;

    if (!m || !m->file || m->index >= MAX_RESOLVED ||
        atomic_load_explicit(&c->extents[m->index], memory_order_acquire)) {
        return;
    }
    new = make(m->file);
    if (!atomic_compare_exchange_strong_explicit(&c->extents[m->index], &none, new,
                                                 memory_order_release,
                                                 memory_order_relaxed)) {
        drop(new);
    }
}

bool extents_find(const struct code *c, const struct module *m, uint64_t vaddr,
                  uint64_t *begin, uint64_t *end)
{
    const struct extents *x =
        m->index < MAX_RESOLVED
            ? atomic_load_explicit(&c->extents[m->index], memory_order_acquire)
            : NULL;
    size_t low = 0, high = x ? x->n : 0;

    while (low < high) { /* the first one after vaddr */
        size_t mid = low + (high - low) / 2;

        if (x->v[mid].addr <= vaddr) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (low && vaddr < x->v[low - 1].end) {
        *begin = x->v[low - 1].addr;
        *end = x->v[low - 1].end;
        return true;
    }
    if (low && x->v[low - 1].end > *begin) {
        *begin = x->v[low - 1].end;
    }
    if (x && low < x->n && x->v[low].addr < *end) {
        *end = x->v[low].addr;
    }
    return false;
}

void extents_fini(struct code *c)
{
    for (uint32_t i = 0; c->extents && i < MAX_RESOLVED; i++) {
        drop(atomic_load_explicit(&c->extents[i], memory_order_relaxed));
    }
    free(c->extents);
}
