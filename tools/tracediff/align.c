/* SPDX-License-Identifier: MIT */
/*
 * After a difference: where do both threads go on alike?  Of all places where the next
 * ALIKE instructions of both are equal the nearest one counts, with the least sum of
 * instructions in between.
 *
 * Places in functions that were called after the difference are left out at first: two
 * calls of the same function for different purposes are alike, but no place to go on.  Calls
 * and returns are known by the instructions and by where they go.  If there is no such
 * place nearby, any place counts.
 *
 * The first thread's places are in a table by a hash of the next instructions; those of
 * the second are looked up in it.  What is looked at grows until the nearest is known.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "pair.h"

#define ALIKE 16u        /* instructions */
#define FIRST_LOOK 1024u /* instructions of each thread; then eight times as many ... */
#define ANY_PLACE 65536u /* places in called functions count within these */
#define MAX_DEPTH 4096u  /* calls */
#define POWER_BASE UINT64_C(0x9e3779b97f4a7c15)

/* Instructions of one thread from the difference on. */
struct look {
    struct stream *stream;
    const struct code_table *codes;
    uint64_t *insn;  /* hash of each; 2 after the end of the thread */
    uint32_t *level; /* of calls: 0 in a function called since; else 1 + the number of
                        functions that were left */
    size_t n, insn_cap, level_cap;
    bool ended;
    /* where it goes on */
    struct batch *b;
    uint32_t i, off;
    /* the calls */
    uint64_t back[MAX_DEPTH]; /* the places where they return */
    uint32_t depth, left;
    const struct code *last; /* code whose last instruction was the one before */
};

struct aligning {
    struct look look[2];
    struct map64 table;
    size_t in_table; /* instructions of look[0] that it has */
};

/* Calls and returns between the run before and this one. */
static void follow_calls(struct look *l, const struct code *to, unsigned first)
{
    const struct code *c = l->last;

    if (!c || first) {
        return;
    }
    /* Returns are known by their targets: not all are made by an instruction for it. */
    for (uint32_t d = l->depth; d && d + 8 > l->depth; d--) {
        if (l->back[d - 1] == to->at) {
            l->depth = d - 1;
            return;
        }
    }
    if (c->call && to->at != c->after) {
        if (l->depth < MAX_DEPTH) {
            l->back[l->depth++] = c->after;
        }
    } else if (c->ret && to->at != c->after && !l->depth) {
        l->left++;
    }
}

/* Reads on until there are `upto' instructions, or to the end; false: no memory. */
static bool read_to(struct look *l, size_t upto)
{
    while (l->n < upto && !l->ended) {
        const struct code *c;
        uint32_t n;

        if (!l->b || l->i == l->b->n) {
            struct batch *next = stream_next(l->stream, l->b);
            if (!next) {
                l->ended = true;
                break;
            }
            l->b = next;
            l->i = l->off = 0;
            continue;
        }
        c = code_get(l->codes, run_code(l->b->key[l->i]));
        n = run_end(l->b->key[l->i]) - run_first(l->b->key[l->i]) - l->off;
        if (!array_reserve(&l->insn, &l->insn_cap, l->n + n + ALIKE, sizeof(*l->insn)) ||
            !array_reserve(&l->level, &l->level_cap, l->n + n + ALIKE,
                           sizeof(*l->level))) {
            return false;
        }
        follow_calls(l, c, run_first(l->b->key[l->i]) + l->off);
        memcpy(l->insn + l->n, c->insn + run_first(l->b->key[l->i]) + l->off,
               n * sizeof(*l->insn));
        for (uint32_t k = 0; k < n; k++) {
            l->level[l->n + k] = l->depth ? 0 : l->left + 1;
        }
        l->n += n;
        l->last = run_end(l->b->key[l->i]) == c->ninsn ? c : NULL;
        l->i++;
        l->off = 0;
    }
    if (!array_reserve(&l->insn, &l->insn_cap, l->n + ALIKE, sizeof(*l->insn)) ||
        !array_reserve(&l->level, &l->level_cap, l->n + ALIKE, sizeof(*l->level))) {
        return false;
    }
    for (unsigned k = 0; l->ended && k < ALIKE; k++) {
        l->insn[l->n + k] = 2;
        l->level[l->n + k] = 1;
    }
    return true;
}

/* Places with ALIKE instructions after them; the end is a place, too. */
static size_t places(const struct look *l)
{
    return l->ended ? l->n + 1 : l->n > ALIKE ? l->n - ALIKE : 0;
}

/* The key of a place, 0: it does not count.  The end of a thread is left by all calls. */
static uint64_t key_of(const struct look *l, size_t x, uint64_t hash, bool any)
{
    const bool end = l->ended && x == l->n;

    if (!any && !l->level[x] && !end) {
        return 0;
    }
    return map64_mix(hash, any || end ? 0 : l->level[x]);
}

/* Hash of the instructions from x on, given that of x - 1. */
static uint64_t roll(const struct look *l, size_t x, uint64_t hash, uint64_t power)
{
    if (!x) {
        for (unsigned k = 0; k < ALIKE; k++) {
            hash = hash * POWER_BASE + l->insn[k];
        }
        return hash;
    }
    return (hash - l->insn[x - 1] * power) * POWER_BASE + l->insn[x + ALIKE - 1];
}

static bool fill_table(struct aligning *a, bool any)
{
    const struct look *l = &a->look[0];
    const size_t n = places(l);
    uint64_t hash = 0, power = 1;

    map64_clear(&a->table);
    for (unsigned k = 1; k < ALIKE; k++) {
        power *= POWER_BASE;
    }
    for (size_t x = 0; x < n; x++) {
        bool added;
        uint64_t key;
        hash = roll(l, x, hash, power);
        key = key_of(l, x, hash, any);
        if (key && !map64_put(&a->table, key, (uint32_t)x, &added)) {
            return false;
        }
    }
    return true;
}

/* The nearest pair of places among what was read. */
static bool nearest(const struct aligning *a, bool any, uint64_t n[2])
{
    const struct look *l = &a->look[1];
    const size_t most = places(l);
    uint64_t hash = 0, power = 1, best = UINT64_MAX;

    for (unsigned k = 1; k < ALIKE; k++) {
        power *= POWER_BASE;
    }
    for (size_t y = 0; y < most && y < best; y++) {
        const uint32_t *x;
        uint64_t key;
        hash = roll(l, y, hash, power);
        key = key_of(l, y, hash, any);
        x = key ? map64_get(&a->table, key) : NULL;
        if (x && *x + y < best &&
            !memcmp(a->look[0].insn + *x, l->insn + y, ALIKE * sizeof(*l->insn))) {
            best = *x + y;
            n[0] = *x;
            n[1] = y;
        }
    }
    return best != UINT64_MAX;
}

/* Looks at up to `limit' instructions of each.  1, 0: nothing found, -1: no memory. */
static int search(struct aligning *a, bool any, size_t limit, uint64_t n[2])
{
    for (size_t size = FIRST_LOOK;; size *= 8) {
        size = size < limit ? size : limit;
        if (!read_to(&a->look[0], size + ALIKE) || !read_to(&a->look[1], size + ALIKE) ||
            !fill_table(a, any)) {
            return -1;
        }
        /* Beyond what was read there is nothing nearer than `size'. */
        if (nearest(a, any, n) && (n[0] + n[1] <= size || size == limit)) {
            return 1;
        }
        if (size == limit || (a->look[0].ended && a->look[1].ended)) {
            return nearest(a, any, n);
        }
    }
}

static void begin(struct look *l, struct pair *p, unsigned side)
{
    const struct spot *s = &p->at[side];

    l->stream = &p->stream[side];
    l->codes = p->side[0]->codes;
    l->ended = s->ended;
    l->b = s->b;
    l->i = s->i;
    l->off = s->off;
}

bool align_find(struct pair *p, uint64_t n[2])
{
    struct aligning *a;
    int got = -1;

    n[0] = n[1] = 0;
    if (p->at[0].ended || p->at[1].ended) {
        for (unsigned i = 0; i < 2; i++) {
            n[i] = p->thread[i]->first + p->thread[i]->insns - spot_ordinal(p, i);
        }
        return false;
    }
    a = calloc(1, sizeof(*a));
    if (a) {
        begin(&a->look[0], p, 0);
        begin(&a->look[1], p, 1);
        got = search(a, false, p->opt->lookahead, n);
        if (!got) {
            got =
                search(a, true,
                       p->opt->lookahead < ANY_PLACE ? p->opt->lookahead : ANY_PLACE, n);
        }
        for (unsigned i = 0; i < 2; i++) {
            n[i] = got ? n[i] : a->look[i].n;
            free(a->look[i].insn);
            free(a->look[i].level);
        }
        map64_fini(&a->table);
        free(a);
    }
    if (got < 0) {
        p->error = -CTR_E_NOMEM;
    }
    return got > 0;
}
