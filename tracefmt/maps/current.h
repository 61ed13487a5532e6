/* SPDX-License-Identifier: MIT */
/*
 * The pieces of one address space at the current moment: ranges that do not overlap, in
 * order.
 */
#ifndef CTR_MAPSET_H
#define CTR_MAPSET_H

#include <stddef.h>
#include <stdint.h>

struct map_piece {
    uint64_t start;
    uint64_t end;
    uint64_t offset; /* of start in the file; 0 if there is none */
    uint32_t from;   /* the moment at which it began */
    uint32_t skew;   /* see map_skew_get */
    uint32_t file;
    uint8_t prot;
    uint8_t shared;
    uint8_t began; /* CTR_MAPPING_* */
};

/* Sorted array in blocks, so that a change moves little, however many there are. */
#define MAPSET_BLOCK 256u
struct map_block {
    uint32_t n; /* never 0 */
    struct map_piece piece[MAPSET_BLOCK];
};

struct mapset {
    struct map_block **block;
    uint32_t n;
    uint32_t cap;
};

/* A place in it; after the last piece: block == n. */
struct map_pos {
    uint32_t block;
    uint32_t i;
};

void mapset_fini(struct mapset *s);

/* The first piece that ends above addr. */
struct map_pos mapset_find(const struct mapset *s, uint64_t addr);

static inline struct map_piece *mapset_at(const struct mapset *s, struct map_pos p)
{
    return p.block < s->n ? &s->block[p.block]->piece[p.i] : NULL;
}

static inline struct map_pos mapset_next(const struct mapset *s, struct map_pos p)
{
    if (++p.i == s->block[p.block]->n) {
        p.block++;
        p.i = 0;
    }
    return p;
}

/* The place before; returns 0 if there is none. */
int mapset_prev(const struct mapset *s, struct map_pos *p);

/* Puts a piece that overlaps none into its place.  Returns 0 or -1 (no memory). */
int mapset_insert(struct mapset *s, struct map_piece piece);

/* Removes the piece at p; p is then the place of the next one. */
void mapset_remove(struct mapset *s, struct map_pos *p);

#endif
