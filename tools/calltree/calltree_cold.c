/* SPDX-License-Identifier: MIT */
/*
 * Finds the function that a cold part such as "parse.cold" belongs to; compilers move
 * parts that seldom run elsewhere.  DWARF says it, if there is any.  Else the name does,
 * if there is only one function "parse" and one such part: static functions of several
 * files may have the same name.
 */
#include "calltree_priv.h"

#include <stdlib.h>
#include <string.h>

struct part {
    const struct sym_function *part, *whole; /* whole == part: not known */
    size_t base;                             /* bytes of the whole function's name */
    uint32_t found;                          /* functions of that name */
};

struct cold {
    uint32_t n;
    struct part v[]; /* by address of part */
};

/* Bytes of the name before ".cold", 0: there is none. */
static size_t base_of(const char *name)
{
    const char *cold = strstr(name, ".cold");

    return cold && (!cold[5] || cold[5] == '.') ? (size_t)(cold - name) : 0;
}

static int compare_base(const char *name, size_t n, const struct part *p)
{
    int order = memcmp(name, p->part->linkage, n < p->base ? n : p->base);

    return order ? order : (n > p->base) - (n < p->base);
}

static int by_name(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    int order = compare_base(x->part->linkage, x->base, y);

    return order ? order : strcmp(x->part->linkage, y->part->linkage);
}

static int by_address(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    return (x->part > y->part) - (x->part < y->part);
}

/* The function that has code at vaddr according to DWARF, or NULL. */
static const struct sym_function *by_scope(const struct symfile *file, uint64_t vaddr)
{
    const struct sym_range *r = symfile_range(file, vaddr);
    const struct sym_scope *scopes;
    uint32_t n = symfile_scopes(file, &scopes), i = r ? r->scope : SYM_NONE;

    while (i < n && scopes[i].parent < i) {
        i = scopes[i].parent;
    }
    return i < n ? symfile_function(file, scopes[i].entry) : NULL;
}

/* The first part with that base, or NULL; parts are sorted by name. */
static struct part *first_of(struct cold *c, const char *name)
{
    size_t len = strlen(name);
    uint32_t low = 0, high = c->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;

        if (compare_base(name, len, &c->v[mid]) > 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < c->n && compare_base(name, len, &c->v[low]) == 0 ? &c->v[low] : NULL;
}

static void match_names(struct cold *c, const struct sym_function *v, uint32_t n)
{
    const struct part *first = NULL;

    qsort(c->v, c->n, sizeof(*c->v), by_name);
    for (uint32_t i = 0; c->n && i < n; i++) {
        struct part *p = first_of(c, v[i].linkage);

        if (p) {
            p->found++;
            p->whole = &v[i];
        }
    }
    for (uint32_t i = 0; i < c->n; i++) {
        struct part *p = &c->v[i];
        bool twice = (i && !strcmp(p->part->linkage, p[-1].part->linkage)) ||
                     (i + 1 < c->n && !strcmp(p->part->linkage, p[1].part->linkage));

        if (!first || compare_base(p->part->linkage, p->base, first)) {
            first = p;
        } else {
            p->found = first->found;
            p->whole = first->whole;
        }
        if (twice) {
            p->found = 0;
        }
    }
}

static struct cold *make(const struct symfile *file)
{
    const struct sym_function *v;
    uint32_t n = symfile_functions(file, &v), parts = 0;
    struct cold *c;

    for (uint32_t i = 0; i < n; i++) {
        parts += base_of(v[i].linkage) != 0;
    }
    c = calloc(1, sizeof(*c) + parts * sizeof(*c->v));
    if (!c) {
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        size_t base = base_of(v[i].linkage);

        if (base) {
            c->v[c->n++] = (struct part){.part = &v[i], .base = base};
        }
    }
    match_names(c, v, n);
    for (uint32_t i = 0; i < c->n; i++) {
        struct part *p = &c->v[i];
        const struct sym_function *whole = by_scope(file, p->part->addr);

        if (whole && whole != p->part && !base_of(whole->linkage)) {
            p->whole = whole;
        } else if (p->found != 1) {
            p->whole = p->part;
        }
    }
    qsort(c->v, c->n, sizeof(*c->v), by_address);
    return c;
}

void cold_resolve(struct code *c, const struct module *m)
{
    struct cold *new, *none = NULL;

    if (!m || !m->file || m->index >= MAX_RESOLVED ||
        atomic_load_explicit(&c->cold[m->index], memory_order_acquire)) {
        return;
    }
    new = make(m->file);
    if (!atomic_compare_exchange_strong_explicit(
            &c->cold[m->index], &none, new, memory_order_release, memory_order_relaxed)) {
        free(new);
    }
}

const struct sym_function *cold_whole(const struct code *c, const struct module *m,
                                      const struct sym_function *s)
{
    const struct cold *of = NULL;
    const struct part key = {.part = s}, *p = NULL;

    if (m->index < MAX_RESOLVED) {
        of = atomic_load_explicit(&c->cold[m->index], memory_order_acquire);
    }
    if (of && of->n) {
        p = bsearch(&key, of->v, of->n, sizeof(*of->v), by_address);
    }
    return p ? p->whole : s;
}

void cold_fini(struct code *c)
{
    for (uint32_t i = 0; c->cold && i < MAX_RESOLVED; i++) {
        free(atomic_load_explicit(&c->cold[i], memory_order_relaxed));
    }
    free(c->cold);
}
