/* SPDX-License-Identifier: MIT */
/*
 * Places of code that a process made at run time: which of its functions, by time, a pc is
 * in.  Each layer of a process's functions (jit.h) is a module, whose addresses are those
 * in memory.  places_jit_load.c finds the files.
 *
 * A process that was made by fork has its parent's code, too.
 */
#include "places_priv.h"

#include <string.h>

#include "symbols/jit.h"

/* The modules of a process, then those of its parent ...; a hostile trace has long chains. */
#define MAX_ANCESTORS 64u

struct jit_cursor {
    const struct places *p;
    uint32_t process, i;
    unsigned ancestors;
};

static struct mod *next_mod(struct jit_cursor *c)
{
    while (c->process < c->p->nr_jit && c->ancestors < MAX_ANCESTORS) {
        const struct jit_process *j = &c->p->jit[c->process];
        if (c->i < j->nr_mods) {
            return j->mods[c->i++];
        }
        c->process = j->parent;
        c->i = 0;
        c->ancestors++;
    }
    return NULL;
}

static void set_place(const struct mod *m, const struct sym_function *fn, uint64_t pc,
                      struct place *out)
{
    *out =
        (struct place){.module = &m->pub, .vaddr = pc, .start = fn->addr, .end = fn->end};
}

bool jit_place(const struct mod *m, uint64_t pc, struct place *out)
{
    const struct sym_function *fn = symfile_function(m->pub.file, pc);

    if (fn) {
        set_place(m, fn, pc, out);
    }
    return fn != NULL;
}

static size_t function_number(const struct mod *m, const struct sym_function *fn)
{
    const struct sym_function *v;

    symfile_functions(m->pub.file, &v);
    return (size_t)(fn - v);
}

const uint8_t *jit_bytes(const struct mod *m, uint64_t vaddr, size_t *n)
{
    const struct sym_function *fn = symfile_function(m->pub.file, vaddr);
    const uint8_t *bytes = fn ? m->jit->bytes[function_number(m, fn)] : NULL;

    *n = bytes ? (size_t)(fn->end - vaddr) : 0;
    return bytes ? bytes + (vaddr - fn->addr) : NULL;
}

/* The newest function that existed then; if all are newer, the oldest one: it may have
 * been made after that time and before the pc was reached. */
bool places_jit_find(const struct places *p, uint32_t process, uint64_t time_ns,
                     uint64_t pc, struct place *out)
{
    struct jit_cursor c = {.p = p, .process = process};
    bool found = false;
    struct mod *m;

    while ((m = next_mod(&c)) != NULL) {
        const struct sym_function *fn = symfile_function(m->pub.file, pc);
        if (!fn) {
            continue;
        }
        set_place(m, fn, pc, out);
        found = true;
        if (!m->jit->time_ns || m->jit->time_ns[function_number(m, fn)] <= time_ns) {
            break;
        }
    }
    return found;
}

bool places_jit_add_ranges(struct places *p, const struct ctr_mapping *m)
{
    struct range r = {
        .start = m->start, .end = m->end, .offset = m->start, .fixed = true};
    struct jit_cursor c = {.p = p, .process = m->process};
    bool any = false;

    while ((r.mod = next_mod(&c)) != NULL) {
        any = true;
        if (!ranges_add(&p->ranges, &r)) {
            return false;
        }
    }
    r = range_of_mapping(m, NULL);
    return any || ranges_add(&p->ranges, &r);
}

bool places_jit_in(const struct places *p, uint32_t process, const struct module *module)
{
    struct jit_cursor c = {.p = p, .process = process};
    struct mod *m;

    while ((m = next_mod(&c)) != NULL && &m->pub != module) {
    }
    return m != NULL;
}
