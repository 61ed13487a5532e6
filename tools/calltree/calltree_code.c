/* SPDX-License-Identifier: MIT */
/*
 * Functions, and the properties of a block of code that do not depend on its run.  A
 * block is described once, when it first appears, for all workers; only code whose place
 * depends on the time (libraries that were unloaded) is looked up repeatedly.
 */
#include "calltree_priv.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/isa.h"

int code_init(struct code *c, struct ctr_trace *tr, const struct places *places)
{
    struct ctr_info info;

    *c = (struct code){.places = places, .trace = tr};
    ctr_trace_info(tr, &info);
    c->partial = info.selection[0] != 0;
    c->machine = info.elf_machine;
    c->isa_flags = info.addr_bits == 32 ? CANNOLI_ISA_32 : 0;
    c->big_endian = info.big_endian && c->machine != CANNOLI_EM_AARCH64;
    c->pc_mask = c->machine == CANNOLI_EM_ARM ? ~UINT64_C(1) : UINT64_MAX;
    c->nr_buckets = 1024;
    c->table = calloc(c->nr_buckets, sizeof(*c->table));
    c->nr_pages = 1u << (31 - SPOT_PAGE_BITS);
    c->pages = calloc(c->nr_pages, sizeof(*c->pages));
    c->cold = calloc(MAX_RESOLVED, sizeof(*c->cold));
    c->extents = calloc(MAX_RESOLVED, sizeof(*c->extents));
    pthread_mutex_init(&c->lock, NULL);
    return c->table && c->pages && c->cold && c->extents ? 0 : -CTR_E_NOMEM;
}

void spot_drop(struct spot *s)
{
    while (s) {
        struct spot *next = s->next;

        free(s);
        s = next;
    }
}

void code_fini(struct code *c)
{
    for (uint32_t i = 0; c->pages && i < c->nr_pages; i++) {
        struct spot_page *page = atomic_load_explicit(&c->pages[i], memory_order_relaxed);

        for (unsigned k = 0; page && k < 1u << SPOT_PAGE_BITS; k++) {
            spot_drop(page->v[k].next);
        }
        free(page);
    }
    for (size_t i = 0; c->table && i < c->nr_buckets; i++) {
        for (struct fn *f = c->table[i], *next; f; f = next) {
            next = f->chain;
            free(f->name);
            free(f);
        }
    }
    free(c->table);
    free(c->pages);
    cold_fini(c);
    extents_fini(c);
    pthread_mutex_destroy(&c->lock);
}

/* -------------------------------------------------------------- functions */

static size_t bucket(const struct code *c, enum fn_kind kind, const struct module *m,
                     uint64_t key)
{
    uint64_t h = key * 4 + kind + (m ? (uint64_t)(m->index + 1) << 48 : 0);

    return (size_t)(h * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (c->nr_buckets - 1);
}

static void grow(struct code *c)
{
    size_t n = c->nr_buckets;
    struct fn **old = c->table, **v = calloc(2 * n, sizeof(*v));

    if (!v) {
        return;
    }
    c->table = v;
    c->nr_buckets = 2 * n;
    for (size_t i = 0; i < n; i++) {
        for (struct fn *f = old[i], *next; f; f = next) {
            size_t to = bucket(c, f->kind, f->module, f->vaddr);

            next = f->chain;
            f->chain = v[to];
            v[to] = f;
        }
    }
    free(old);
}

static bool is_twice(const struct sym_function *s)
{
    static const char *const names[] = {"setjmp",     "_setjmp",     "__setjmp",
                                        "sigsetjmp",  "__sigsetjmp", "savectx",
                                        "getcontext", "__getcontext"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(s->linkage, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

static struct fn *find(struct code *c, enum fn_kind kind, const struct module *m,
                       uint64_t key)
{
    struct fn **head = &c->table[bucket(c, kind, m, key)], *f = *head;

    while (f && (f->kind != kind || f->module != m || f->vaddr != key)) {
        f = f->chain;
    }
    if (f || !(f = calloc(1, sizeof(*f)))) {
        return f;
    }
    *f = (struct fn){.chain = *head, .module = m, .vaddr = key, .kind = kind};
    f->range = f;
    f->index = SYM_NONE;
    *head = f;
    if (++c->nr_fns > c->nr_buckets) {
        grow(c);
    }
    return f;
}

struct fn *code_fn(struct code *c, enum fn_kind kind, const struct module *m,
                   uint64_t vaddr)
{
    struct fn *f;

    pthread_mutex_lock(&c->lock);
    f = find(c, kind, m, vaddr);
    pthread_mutex_unlock(&c->lock);
    return f;
}

struct fn *code_numbered(struct code *c, enum fn_kind kind, uint32_t number)
{
    struct fn *f = code_fn(c, kind, NULL, number);

    if (f && f->number != number) {
        f->number = number;
    }
    return f;
}

struct fn *code_enter(struct code *c, struct fn *range, uint64_t vaddr)
{
    struct fn *f;

    if (range->kind != FN_STRETCH) {
        return range;
    }
    pthread_mutex_lock(&c->lock);
    f = find(c, FN_CODE, range->module, vaddr);
    if (f && f->range == f) {
        f->range = range;
    }
    pthread_mutex_unlock(&c->lock);
    return f;
}

/* Whether vaddr is where calls enter the function at addr; addr + 8 is the local entry
 * point of ELFv2. */
static bool is_entry(const struct code *c, uint64_t addr, uint64_t vaddr)
{
    return vaddr == addr || (c->machine == CANNOLI_EM_PPC64 && vaddr == addr + 8);
}

/* The same where there is no symbol: a function by its extent, or a stretch. */
static struct fn *find_unnamed(struct code *c, const struct module *m, uint64_t vaddr,
                               uint64_t *end, bool *start)
{
    const struct sym_function *v;
    uint32_t n = symfile_functions(m->file, &v);
    uint32_t i = symfile_functions_upto(m->file, vaddr);
    uint64_t begin = i ? v[i - 1].end : 0;

    if (i < n) {
        *end = v[i].addr;
    }
    if (extents_find(c, m, vaddr, &begin, end)) {
        *start = is_entry(c, begin, vaddr);
        return find(c, FN_CODE, m, begin);
    }
    return find(c, FN_STRETCH, m, begin);
}

/* The function that contains vaddr, or the stretch between functions; *end: its end. */
static struct fn *range_of(struct code *c, const struct module *m, uint64_t vaddr,
                           uint64_t *end, bool *start)
{
    const struct sym_function *s;
    struct fn *f;

    *start = false;
    *end = UINT64_MAX;
    if (!m && c->machine == CANNOLI_EM_ARM && vaddr >= CODE_KUSER) {
        *start = !(vaddr & 31); /* the kernel's helpers for programs */
        *end = (vaddr | 31) + 1;
        return find(c, FN_CODE, NULL, vaddr & ~UINT64_C(31));
    }
    if (!m || !m->file) {
        return find(c, FN_STRETCH, m, 0);
    }
    s = symfile_function(m->file, vaddr);
    if (s) {
        const struct sym_function *whole = cold_whole(c, m, s);

        *end = s->end;
        *start = s == whole && is_entry(c, s->addr, vaddr);
        f = find(c, FN_CODE, m, whole->addr);
        if (f &&
            !f->symbol) { /* new; other workers read an existing one without the lock */
            f->symbol = whole;
            f->end = whole->end;
            f->twice = is_twice(whole);
        }
        return f;
    }
    f = find_unnamed(c, m, vaddr, end, start);
    if (f && !f->end) {
        f->end = *end;
    }
    return f;
}

/* ------------------------------------------------------------------- spots */

static bool place_of(struct code *c, uint64_t pc, const struct when *w, struct place *out)
{
    return c->places &&
           places_find(c->places, w->process, w->time_ns, w->chunk_end_ns, pc, out);
}

/* Call it before range_of, without the lock. */
static void resolve(struct code *c, const struct module *m)
{
    cold_resolve(c, m);
    extents_resolve(c, m);
}

/* place NULL: in no file.  False: no memory; s->next has the spots made so far. */
static bool make(struct code *c, const struct ctr_block *b, const struct place *place,
                 struct spot *s)
{
    const struct module *m = place ? place->module : NULL;

    for (unsigned i = 0; i < b->ninsn;) {
        uint64_t pc = ctr_block_pc(b, i), end;
        unsigned k = i + 1;

        if (i) {
            s = s->next = aligned_alloc(64, sizeof(*s));
        }
        if (!s) {
            return false;
        }
        memset(s, 0, sizeof(*s));
        s->first = (uint16_t)i;
        s->pc = pc;
        s->vaddr = place ? place->vaddr + (pc - b->pc) : pc;
        s->range = range_of(c, m, s->vaddr, &end, &s->start);
        if (!s->range) {
            return false;
        }
        while (k < b->ninsn &&
               ctr_block_pc(b, k) == ctr_block_pc(b, k - 1) + ctr_block_len(b, k - 1) &&
               ctr_block_pc(b, k) - pc < end - s->vaddr) {
            k++;
        }
        s->end = (uint16_t)k;
        s->fall = ctr_block_pc(b, k - 1) + ctr_block_len(b, k - 1);
        code_leave(c, b, i, k - 1, s);
        s->after_call = code_may_return_to(c, m, s->vaddr, b->mode);
        if (s->range->kind == FN_STRETCH) {
            s->start = !s->after_call;
        } else {
            atomic_store_explicit(&s->entry, s->range, memory_order_relaxed);
        }
        i = k;
    }
    return true;
}

struct spot *code_spot_new(struct code *c, const struct ctr_block *b)
{
    struct place place;
    int where = c->places ? places_find_block(c->places, b, &place) : 0;
    struct spot_page *page;
    struct spot *s = NULL;

    resolve(c, where > 0 ? place.module : NULL);
    pthread_mutex_lock(&c->lock);
    page = atomic_load_explicit(&c->pages[b->id >> SPOT_PAGE_BITS], memory_order_relaxed);
    if (!page) {
        page = aligned_alloc(64, sizeof(*page));
        if (page) {
            memset(page, 0, sizeof(*page));
            atomic_store_explicit(&c->pages[b->id >> SPOT_PAGE_BITS], page,
                                  memory_order_release);
        }
    }
    if (page) {
        s = &page->v[b->id & ((1u << SPOT_PAGE_BITS) - 1)];
    }
    if (s && atomic_load_explicit(&s->state, memory_order_relaxed) == SPOT_NEW) {
        if (where >= 0 && !make(c, b, where ? &place : NULL, s)) {
            spot_drop(s->next);
            s->next = NULL;
            s = NULL;
        } else {
            atomic_store_explicit(&s->state,
                                  where < 0                  ? SPOT_DEPENDS
                                  : s->next || s->delay_open ? SPOT_KNOWN
                                                             : SPOT_WHOLE,
                                  memory_order_release);
        }
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

struct spot *code_spot_at(struct code *c, const struct ctr_block *b, const struct when *w)
{
    struct place place;
    bool found = place_of(c, b->pc, w, &place);
    struct spot *s = aligned_alloc(64, sizeof(*s));

    resolve(c, found ? place.module : NULL);
    pthread_mutex_lock(&c->lock);
    if (s && !make(c, b, found ? &place : NULL, s)) {
        spot_drop(s);
        s = NULL;
    }
    pthread_mutex_unlock(&c->lock);
    return s;
}

bool code_locate(struct code *c, uint64_t pc, const struct when *w, struct spot *out)
{
    struct place place;
    uint64_t end;
    bool found;

    memset(out, 0, sizeof(*out));
    out->pc = out->fall = pc & c->pc_mask;
    found = place_of(c, out->pc, w, &place);
    out->vaddr = found ? place.vaddr : out->pc;
    out->after_call = true;
    resolve(c, found ? place.module : NULL);
    pthread_mutex_lock(&c->lock);
    out->range = range_of(c, found ? place.module : NULL, out->vaddr, &end, &out->start);
    pthread_mutex_unlock(&c->lock);
    return out->range != NULL;
}
