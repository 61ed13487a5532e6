/* SPDX-License-Identifier: MIT */
/* The current state of an address space (see current.h). */
#include "maps/current.h"

#include <stdlib.h>
#include <string.h>

void mapset_fini(struct mapset *s)
{
    for (uint32_t i = 0; i < s->n; i++) {
        free(s->block[i]);
    }
    free(s->block);
    memset(s, 0, sizeof(*s));
}

struct map_pos mapset_find(const struct mapset *s, uint64_t addr)
{
    struct map_pos p = {0, 0};
    uint32_t lo = 0, hi = s->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        const struct map_block *b = s->block[mid];
        if (b->piece[b->n - 1].end > addr) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    p.block = lo;
    if (lo == s->n) {
        return p;
    }
    const struct map_block *b = s->block[lo];
    lo = 0;
    hi = b->n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (b->piece[mid].end > addr) {
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    p.i = lo;
    return p;
}

int mapset_prev(const struct mapset *s, struct map_pos *p)
{
    if (p->i) {
        p->i--;
        return 1;
    }
    if (p->block == 0) {
        return 0;
    }
    p->block--;
    p->i = s->block[p->block]->n - 1;
    return 1;
}

/* Puts an empty block before number at. */
static struct map_block *new_block(struct mapset *s, uint32_t at)
{
    if (s->n == s->cap) {
        uint32_t cap = s->cap * 2 + 8;
        void *p = realloc(s->block, cap * sizeof(s->block[0]));
        if (!p) {
            return NULL;
        }
        s->block = p;
        s->cap = cap;
    }
    struct map_block *b = malloc(sizeof(*b));
    if (b) {
        memmove(s->block + at + 1, s->block + at, (s->n - at) * sizeof(s->block[0]));
        s->block[at] = b;
        b->n = 0;
        s->n++;
    }
    return b;
}

int mapset_insert(struct mapset *s, struct map_piece piece)
{
    struct map_pos p = mapset_find(s, piece.start);
    if (s->n == 0) {
        if (!new_block(s, 0)) {
            return -1;
        }
    } else if (p.block == s->n) {
        p.block--;
        p.i = s->block[p.block]->n;
    }
    struct map_block *b = s->block[p.block];
    if (b->n == MAPSET_BLOCK) {
        struct map_block *more = new_block(s, p.block + 1);
        if (!more) {
            return -1;
        }
        more->n = MAPSET_BLOCK / 2;
        b->n -= more->n;
        memcpy(more->piece, b->piece + b->n, more->n * sizeof(b->piece[0]));
        if (p.i > b->n) {
            p.i -= b->n;
            b = more;
        }
    }
    memmove(b->piece + p.i + 1, b->piece + p.i, (b->n - p.i) * sizeof(b->piece[0]));
    b->piece[p.i] = piece;
    b->n++;
    return 0;
}

void mapset_remove(struct mapset *s, struct map_pos *p)
{
    struct map_block *b = s->block[p->block];
    b->n--;
    memmove(b->piece + p->i, b->piece + p->i + 1, (b->n - p->i) * sizeof(b->piece[0]));
    if (b->n == 0) {
        free(b);
        s->n--;
        memmove(s->block + p->block, s->block + p->block + 1,
                (s->n - p->block) * sizeof(s->block[0]));
        p->i = 0;
    } else if (p->i == b->n) {
        p->block++;
        p->i = 0;
    }
}
