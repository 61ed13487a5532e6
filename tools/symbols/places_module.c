/* SPDX-License-Identifier: MIT */
/* Where a module of a Linux kernel is, by copies of the kernel's files. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "places_priv.h"
#include "symbols/jit.h"
#include "symbols/jit_kernel.h"

#define MAX_SYMBOLS 64u /* of a module that are looked at */
#define PAGE 4096u

/* Linux puts its tables of addresses and stubs before the code
 * (arch/s390/kernel/module.c). */
static bool has_tables_first(const struct elf_arg *e)
{
    return e->info.machine == EM_S390;
}

uint32_t places_module_align(const struct elf_arg *e)
{
    return has_tables_first(e) ? 8 : PAGE;
}

/* Where the module is, as each of its symbols says: several functions may have one name. */
struct election {
    const struct symfile *file;
    struct vote {
        uint64_t base;
        unsigned symbols;
    } vote[MAX_SYMBOLS];
    unsigned n, symbols;
};

static void vote(struct election *e, uint64_t base)
{
    unsigned i = 0;

    while (i < e->n && e->vote[i].base != base) {
        i++;
    }
    if (i < MAX_SYMBOLS) {
        e->vote[i] = (struct vote){base, i < e->n ? e->vote[i].symbols + 1 : 1};
        e->n += i == e->n;
    }
}

static bool on_symbol(void *arg, const struct jit_symbol *s)
{
    struct election *e = arg;
    const struct sym_function *v;
    const uint32_t n = symfile_functions(e->file, &v);
    bool found = false;

    for (uint32_t i = 0; i < n; i++) {
        const uint64_t off = symfile_in_module(e->file, v[i].addr);
        if (off != SYMFILE_NOT_IN_MODULE && off <= s->addr &&
            strlen(v[i].linkage) == s->n && !memcmp(v[i].linkage, s->name, s->n)) {
            vote(e, s->addr - off);
            found = true;
        }
    }
    e->symbols += found;
    return e->symbols < MAX_SYMBOLS;
}

static bool by_symbols(const struct jit_file *f, const struct elf_arg *a, uint64_t *base)
{
    struct election e = {.n = 0};
    struct symfile *own = NULL;
    const struct sym_function *v;
    struct symfile_error err;
    const struct vote *best = &e.vote[0];

    e.file = a->file;
    if (!symfile_functions(a->file, &v)) { /* only its headers were read */
        symfile_open(&own, a->path, NULL, &err);
        e.file = own;
    }
    if (e.file) {
        jit_module_symbols(f->p, f->n, a->name, on_symbol, &e);
    }
    for (unsigned i = 1; i < e.n; i++) {
        best = e.vote[i].symbols > best->symbols ? &e.vote[i] : best;
    }
    *base = best->base;
    symfile_close(own);
    return e.n != 0;
}

bool places_find_module(const struct places *p, const struct elf_arg *e, uint64_t *base)
{
    const struct modset_options *opt = &p->set->opt;
    const struct jit_trust any = {.any = true};
    bool found = false;

    for (unsigned i = 0; !found && i < opt->nr_kallsyms; i++) {
        struct jit_file f;
        char why[256]; /* said where its names are loaded */

        if (jit_file_read(&f, opt->kallsyms[i], &any, why, sizeof(why)) == JIT_READ) {
            found =
                jit_is_kernel(f.p, f.n) ? false
                : !jit_is_modules(f.p, f.n)
                    ? by_symbols(&f, e, base)
                    : !has_tables_first(e) && jit_module_base(f.p, f.n, e->name, base);
            free(f.p);
        }
    }
    return found;
}
