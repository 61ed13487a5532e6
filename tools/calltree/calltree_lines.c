/* SPDX-License-Identifier: MIT */
/*
 * Counts the cost of each address.  Each worker counts for itself: by instruction of a
 * block if the block has one place in a file, else by address; at the end the counts are
 * added up.
 */
#include "calltree_priv.h"

#include <stdlib.h>
#include <string.h>

struct line_block {
    uint64_t full; /* runs of the whole block */
    struct cost v[];
};

struct line_at {
    struct fn *range; /* NULL: free */
    uint64_t vaddr;
    struct cost cost;
};

struct lines {
    struct line_block **blocks; /* by id */
    uint32_t nr_blocks;
    struct line_at *v; /* a hash by address */
    size_t n, cap;
};

struct lines *lines_new(void)
{
    return calloc(1, sizeof(struct lines));
}

void lines_free(struct lines *l)
{
    if (l) {
        for (uint32_t i = 0; i < l->nr_blocks; i++) {
            free(l->blocks[i]);
        }
        free(l->blocks);
        free(l->v);
        free(l);
    }
}

static struct line_block *block_of(struct lines *l, const struct ctr_block *b)
{
    if (b->id >= l->nr_blocks) {
        uint32_t n = 2 * b->id;
        struct line_block **v = realloc(l->blocks, n * sizeof(*v));

        if (!v) {
            return NULL;
        }
        memset(v + l->nr_blocks, 0, (n - l->nr_blocks) * sizeof(*v));
        l->blocks = v;
        l->nr_blocks = n;
    }
    if (!l->blocks[b->id]) {
        l->blocks[b->id] =
            calloc(1, sizeof(struct line_block) + b->ninsn * sizeof(struct cost));
    }
    return l->blocks[b->id];
}

int lines_run(struct lines *l, const struct ctr_block *b, unsigned first, unsigned end)
{
    struct line_block *v = block_of(l, b);

    if (!v) {
        return -CTR_E_NOMEM;
    }
    if (first == 0 && end == b->ninsn) {
        v->full++;
    } else {
        for (unsigned i = first; i < end; i++) {
            v->v[i].insns++;
        }
    }
    return 0;
}

int lines_access(struct lines *l, const struct ctr_mem *m)
{
    struct line_block *v = block_of(l, m->block);

    if (!v) {
        return -CTR_E_NOMEM;
    }
    v->v[m->insn].loads += !m->store;
    v->v[m->insn].stores += m->store;
    return 0;
}

static struct line_at *slot_of(struct line_at *v, size_t cap, const struct fn *range,
                               uint64_t vaddr)
{
    uint64_t h = (vaddr ^ (uint64_t)(uintptr_t)range) * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(h >> 24) & (cap - 1);

    while (v[i].range && (v[i].range != range || v[i].vaddr != vaddr)) {
        i = (i + 1) & (cap - 1);
    }
    return &v[i];
}

int lines_add(struct lines *l, struct fn *range, uint64_t vaddr, const struct cost *c)
{
    struct line_at *to;

    if (2 * l->n >= l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 1024;
        struct line_at *v = calloc(cap, sizeof(*v));

        if (!v) {
            return -CTR_E_NOMEM;
        }
        for (size_t i = 0; i < l->cap; i++) {
            if (l->v[i].range) {
                *slot_of(v, cap, l->v[i].range, l->v[i].vaddr) = l->v[i];
            }
        }
        free(l->v);
        l->v = v;
        l->cap = cap;
    }
    to = slot_of(l->v, l->cap, range, vaddr);
    if (!to->range) {
        to->range = range;
        to->vaddr = vaddr;
        l->n++;
    }
    to->cost.insns += c->insns;
    to->cost.loads += c->loads;
    to->cost.stores += c->stores;
    return 0;
}

static int add_block(struct fold *f, struct lines *all, const struct ctr_block *b,
                     const struct line_block *v)
{
    const struct spot *s = b ? code_spot_new(f->code, b) : NULL;
    struct spot nowhere = {.range = NULL};
    int ret = s ? 0 : -CTR_E_NOMEM;

    /* Accesses of an instruction in the chunk before; its place is not known here. */
    if (s && atomic_load_explicit(&s->state, memory_order_acquire) == SPOT_DEPENDS) {
        nowhere.range = code_fn(f->code, FN_STRETCH, NULL, 0);
        nowhere.pc = nowhere.vaddr = b->pc;
        nowhere.end = b->ninsn;
        s = &nowhere;
        ret = nowhere.range ? 0 : -CTR_E_NOMEM;
    }

    for (unsigned i = 0; !ret && i < b->ninsn; i++) {
        struct cost c = v->v[i];

        while (i >= s->end) {
            s = s->next;
        }
        c.insns += v->full;
        if (c.insns || c.loads || c.stores) {
            ret = lines_add(all, s->range, s->vaddr + (ctr_block_pc(b, i) - s->pc), &c);
        }
    }
    return ret;
}

static int by_place(const void *a, const void *b)
{
    const struct line_at *x = a, *y = b;
    uint32_t mx = x->range->module ? x->range->module->index + 1 : 0;
    uint32_t my = y->range->module ? y->range->module->index + 1 : 0;

    if (mx != my) {
        return mx < my ? -1 : 1;
    }
    return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int by_vaddr(const void *a, const void *b)
{
    const struct fn *x = *(struct fn *const *)a, *y = *(struct fn *const *)b;

    if (x->range != y->range) {
        return x->range < y->range ? -1 : 1;
    }
    return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int by_function(const void *a, const void *b)
{
    const struct call_line *x = a, *y = b;

    if (x->function != y->function) {
        return x->function < y->function ? -1 : 1;
    }
    return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* The last entered function of its stretch that begins at or before vaddr; v is sorted.
 */
static struct fn *owner(struct fn **v, uint32_t n, const struct line_at *at)
{
    struct fn key = {.range = at->range, .vaddr = at->vaddr}, *k = &key;
    uint32_t low = 0, high = n;

    while (low < high) { /* the first function after it */
        uint32_t mid = low + (high - low) / 2;

        if (by_vaddr(&v[mid], &k) <= 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low && v[low - 1]->range == at->range ? v[low - 1] : NULL;
}

static int make_lines(struct fold *f, struct lines *all)
{
    struct calltree *t = f->tree;
    uint32_t n = t->nr_functions;
    struct fn **v = malloc((n + 1) * sizeof(*v)), *last = NULL;
    int ret = 0;

    t->lines = calloc(all->n + 1, sizeof(*t->lines));
    if (!v || !t->lines) {
        free(v);
        return -CTR_E_NOMEM;
    }
    memcpy(v, f->fns, n * sizeof(*v));
    qsort(v, n, sizeof(*v), by_vaddr);
    for (size_t i = 0, k = 0; i < all->cap; i++) { /* move used entries to the front */
        if (all->v[i].range) {
            all->v[k++] = all->v[i];
        }
    }
    qsort(all->v, all->n, sizeof(*all->v), by_place);
    for (size_t i = 0; !ret && i < all->n; i++) {
        const struct line_at *at = &all->v[i];
        struct fn *fn = at->range;

        if (fn->kind == FN_STRETCH) {
            fn = owner(v, n, at);
            if (!fn) {
                fn = last && last->range == at->range
                         ? last
                         : code_enter(f->code, at->range, at->vaddr);
                last = fn;
            }
        }
        if (!fn || !fold_number(f, fn)) {
            ret = -CTR_E_NOMEM;
            break;
        }
        t->lines[t->nr_lines++] = (struct call_line){fn->index, at->vaddr, at->cost};
    }
    qsort(t->lines, t->nr_lines, sizeof(*t->lines), by_function);
    free(v);
    return ret;
}

int lines_sum(struct fold *f, struct lines *const *v, unsigned n)
{
    struct lines *all = lines_new();
    int ret = all ? 0 : -CTR_E_NOMEM;

    for (unsigned w = 0; !ret && w < n; w++) {
        for (uint32_t i = 0; !ret && i < v[w]->nr_blocks; i++) {
            if (v[w]->blocks[i]) {
                const struct ctr_block *b = ctr_trace_block(f->tree->trace, i);
                ret = b ? add_block(f, all, b, v[w]->blocks[i]) : -CTR_E_CORRUPT;
            }
        }
        for (size_t i = 0; !ret && i < v[w]->cap; i++) {
            if (v[w]->v[i].range) {
                ret =
                    lines_add(all, v[w]->v[i].range, v[w]->v[i].vaddr, &v[w]->v[i].cost);
            }
        }
    }
    if (!ret) {
        ret = make_lines(f, all);
    }
    lines_free(all);
    return ret;
}
