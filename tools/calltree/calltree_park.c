/* SPDX-License-Identifier: MIT */
/*
 * Stacks that a thread left and may return to: coroutines.  Frames are stored one by
 * one, linked to those below and above, and found by the address they return to, the one
 * that was parked first before others: coroutines that take turns return in that order.
 */
#include "calltree_priv.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FRAMES 65536u
#define BUCKETS 4096u
#define NONE UINT32_MAX

struct parked {
    struct frame frame;
    uint32_t below, above;         /* in its stack */
    uint32_t hash_prev, hash_next; /* in a bucket, oldest first */
    uint32_t older, younger;       /* stacks; used in their lowest frame */
};

struct park {
    struct parked *v;
    uint32_t n, cap;
    uint32_t unused; /* list by `above' */
    uint32_t used;
    uint32_t oldest, youngest;
    uint32_t first[BUCKETS], last[BUCKETS];
};

static uint32_t bucket_of(uint64_t pc)
{
    return (uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> 52) & (BUCKETS - 1);
}

static void age_append(struct park *p, uint32_t i)
{
    p->v[i].older = p->youngest;
    p->v[i].younger = NONE;
    *(p->youngest == NONE ? &p->oldest : &p->v[p->youngest].younger) = i;
    p->youngest = i;
}

static void age_remove(struct park *p, uint32_t i)
{
    struct parked *f = &p->v[i];

    *(f->older == NONE ? &p->oldest : &p->v[f->older].younger) = f->younger;
    *(f->younger == NONE ? &p->youngest : &p->v[f->younger].older) = f->older;
}

static void hash_remove(struct park *p, uint32_t i)
{
    struct parked *f = &p->v[i];
    uint32_t b = bucket_of(f->frame.ret);

    *(f->hash_prev == NONE ? &p->first[b] : &p->v[f->hash_prev].hash_next) = f->hash_next;
    *(f->hash_next == NONE ? &p->last[b] : &p->v[f->hash_next].hash_prev) = f->hash_prev;
}

static void release(struct park *p, uint32_t i)
{
    hash_remove(p, i);
    p->v[i].above = p->unused;
    p->unused = i;
    p->used--;
}

static void forget_oldest(struct park *p)
{
    uint32_t i = p->oldest;

    age_remove(p, i);
    while (i != NONE) {
        uint32_t above = p->v[i].above;
        release(p, i);
        i = above;
    }
}

static struct park *make(void)
{
    struct park *p = malloc(sizeof(*p));

    if (p) {
        memset(p, 0xff, sizeof(*p));
        p->v = NULL;
        p->n = p->cap = p->used = 0;
    }
    return p;
}

static uint32_t allocate(struct park *p)
{
    uint32_t i = p->unused;

    if (i != NONE) {
        p->unused = p->v[i].above;
        return i;
    }
    if (p->n == p->cap) {
        uint32_t cap = p->cap ? 2 * p->cap : 64;
        struct parked *v = realloc(p->v, cap * sizeof(*v));
        if (!v) {
            return NONE;
        }
        p->v = v;
        p->cap = cap;
    }
    return p->n++;
}

void park_put(struct park **at, const struct frame *v, uint32_t n)
{
    struct park *p = *at ? *at : (*at = make());
    uint32_t below = NONE;

    if (!p || n < 2 || n > MAX_FRAMES / 4) {
        return;
    }
    while (p->used + n > MAX_FRAMES) {
        forget_oldest(p);
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = allocate(p), b = bucket_of(v[k].ret);
        struct parked *f;

        if (i == NONE) {
            return;
        }
        p->used++;
        f = &p->v[i];
        *f = (struct parked){.frame = v[k],
                             .below = below,
                             .above = NONE,
                             .hash_prev = p->last[b],
                             .hash_next = NONE};
        *(p->last[b] == NONE ? &p->first[b] : &p->v[p->last[b]].hash_next) = i;
        p->last[b] = i;
        if (below == NONE) {
            age_append(p, i);
        } else {
            p->v[below].above = i;
        }
        below = i;
    }
}

uint32_t park_remove(struct park *p, uint64_t pc, struct stack *to)
{
    uint32_t i = p->first[bucket_of(pc)], above, n = 0;

    /* The lowest frame of a stack returns to the stack that switched to it last. */
    while (i != NONE && (p->v[i].frame.ret != pc || p->v[i].below == NONE)) {
        i = p->v[i].hash_next;
    }
    if (i == NONE) {
        return 0;
    }
    for (uint32_t k = p->v[i].below; k != NONE; k = p->v[k].below) {
        n++;
    }
    if (!stack_reserve(to, n)) {
        return 0;
    }
    above = p->v[i].above;
    for (uint32_t k = p->v[i].below, at = n; k != NONE;) {
        uint32_t below = p->v[k].below;

        to->v[to->n + --at] = p->v[k].frame;
        if (below == NONE) {
            age_remove(p, k);
        }
        release(p, k);
        k = below;
    }
    release(p, i);
    if (above != NONE) {
        p->v[above].below = NONE;
        age_append(p, above);
    }
    to->n += n;
    return n;
}

uint32_t park_frames(const struct park *p)
{
    return p ? p->cap : 0;
}

void park_free(struct park *p)
{
    if (p) {
        free(p->v);
        free(p);
    }
}

void task_drop(struct task *k)
{
    free(k->stack.v);
    park_free(k->parked);
    k->stack = (struct stack){NULL, 0, 0};
    k->parked = NULL;
    k->signals = 0;
}
