/* SPDX-License-Identifier: MIT */
/* Where a module was loaded, in every process: from a file's addresses to those of the
 * trace. */
#include "places_priv.h"

#include <stdlib.h>

#include "common/array.h"
#include "input/mappings.h"

/* The bytes at the begin of a mapping that may belong to no segment. */
#define SEARCH_BYTES 0x20000u
#define SEARCH_STEP 0x400u

struct bias_search {
    const struct places *p;
    const struct module *module;
    bool (*fn)(void *arg, const struct place_bias *b);
    void *arg;
    struct place_bias *found; /* of the current process */
    uint32_t nr_found;
    size_t cap;
    bool stopped;
};

/* What to add to a file's addresses to get those of the mapping; false: none of its bytes
 * is loaded from the file. */
static bool bias_of(const struct range *r, uint64_t *bias)
{
    struct place place;

    for (uint64_t pc = r->start; pc < r->end && pc - r->start < SEARCH_BYTES;
         pc += SEARCH_STEP) {
        if (range_place(r, pc, &place)) {
            *bias = pc - place.vaddr;
            return true;
        }
    }
    return false;
}

/* Passes on a bias that was not met yet in its process; 1: no memory, 2: stopped. */
static int add_bias(struct bias_search *s, struct place_bias b)
{
    for (uint32_t i = 0; i < s->nr_found; i++) {
        if (s->found[i].bias == b.bias && s->found[i].first == b.first) {
            return 0;
        }
    }
    if (!array_reserve(&s->found, &s->cap, s->nr_found + (size_t)1, sizeof(*s->found))) {
        return 1;
    }
    s->found[s->nr_found++] = b;
    s->stopped = !s->fn(s->arg, &b);
    return s->stopped ? 2 : 0;
}

static struct place_bias everywhere(uint32_t process, uint64_t bias)
{
    return (struct place_bias){process, bias, 0, UINT64_MAX};
}

static int on_mapping(void *arg, const struct ctr_mapping *m)
{
    struct bias_search *s = arg;
    struct mapped_file *f = m->prot & 4 ? places_file(s->p, m) : NULL;
    struct range r;
    uint64_t bias;

    if (!f || !f->mod || &f->mod->pub != s->module) {
        return 0;
    }
    r = range_of_mapping(m, f->mod);
    return bias_of(&r, &bias) ? add_bias(s, everywhere(m->process, bias)) : 0;
}

bool places_each_bias(const struct places *p, const struct ctr_trace *tr,
                      const struct module *m,
                      bool (*fn)(void *arg, const struct place_bias *b), void *arg)
{
    struct bias_search s = {.p = p, .module = m, .fn = fn, .arg = arg};
    int ret = 0;

    if (m->generated) {
        for (uint32_t i = 0; !ret && ctr_trace_process(tr, i); i++) {
            s.nr_found = 0;
            ret = places_jit_in(p, i, m) ? add_bias(&s, everywhere(i, 0)) : 0;
        }
        free(s.found);
        return !ret || s.stopped;
    }
    for (size_t i = 0; !ret && !p->mappings && i < p->ranges.n; i++) {
        const struct range *r = &p->ranges.v[i];
        uint64_t bias;
        if (r->mod && &r->mod->pub == m && bias_of(r, &bias)) {
            struct place_bias b = everywhere(PLACE_ANY_PROCESS, bias);
            if (r->section) {
                b.first = r->offset;
                b.last = r->offset + (r->end - r->start - 1);
            }
            ret = add_bias(&s, b);
        }
    }
    for (uint32_t i = 0; !ret && p->mappings && ctr_trace_process(tr, i); i++) {
        s.nr_found = 0;
        ret = ctr_maps_history(mappings_history(p->mappings, UINT64_MAX), i, on_mapping,
                               &s);
    }
    free(s.found);
    return !ret || s.stopped;
}

bool places_kernel(const struct places *p, struct place_kernel *out)
{
    if (p->has_kernel) {
        *out = p->kernel;
    }
    return p->has_kernel;
}

struct data_search {
    uint64_t addr;
    uint32_t process;
    struct place *out;
    bool found;
};

static bool on_data_bias(void *arg, const struct place_bias *b)
{
    struct data_search *s = arg;
    uint64_t vaddr = s->addr - b->bias;
    size_t n;

    if (vaddr >= b->first && vaddr <= b->last &&
        (b->process == s->process || b->process == PLACE_ANY_PROCESS) &&
        (symfile_bytes(s->out->module->file, vaddr, &n) ||
         symfile_cleared(s->out->module->file, vaddr))) {
        s->out->vaddr = vaddr;
        s->out->start = s->addr;
        s->out->end = s->addr + (n ? n : 1);
        s->found = true;
    }
    return !s->found;
}

bool places_find_data(const struct places *p, const struct ctr_trace *tr,
                      uint32_t process, uint64_t addr, struct place *out)
{
    struct data_search s = {.addr = addr, .process = process, .out = out};

    for (uint32_t i = 0; !s.found && i < modset_count(p->set); i++) {
        out->module = modset_module(p->set, i);
        /* Which process has a machine's addresses is not known here. */
        if (out->module->file && !places_tasks_have(p, out->module)) {
            places_each_bias(p, tr, out->module, on_data_bias, &s);
        }
    }
    return s.found;
}
