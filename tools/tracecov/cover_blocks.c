/* SPDX-License-Identifier: MIT */
/*
 * Counts of blocks, identified by place, bytes and mode.  Their size grows only with the
 * code of a program, also over thousands of traces.
 */
#include "cover_priv.h"

#include <stdlib.h>
#include <string.h>

#define SLAB_BYTES (256u << 10)

#define EM_MIPS 8u
/* QEMU's flags of a block on mips: it begins in the delay slot of a branch that depends
 * on a condition, a likely one or not. */
#define MIPS_HFLAG_BMASK 0x3800u
#define MIPS_HFLAG_BC 0x1000u
#define MIPS_HFLAG_BL 0x1800u

static void *slab_alloc(struct tallies *t, size_t bytes)
{
    struct slab *s = t->slabs;
    void *p;

    bytes = (bytes + 7) & ~(size_t)7;
    if (!s || SLAB_BYTES - s->used < bytes) {
        s = malloc(sizeof(*s) + SLAB_BYTES);
        if (!s) {
            return NULL;
        }
        s->used = 0;
        s->next = t->slabs;
        t->slabs = s;
    }
    p = s->data + s->used;
    s->used += bytes;
    return p;
}

static uint8_t kind_of(const struct ctr_block *b, uint32_t machine)
{
    unsigned branch = b->tb_flags & MIPS_HFLAG_BMASK;

    return machine == EM_MIPS && (branch == MIPS_HFLAG_BC || branch == MIPS_HFLAG_BL)
               ? TALLY_SLOT
               : TALLY_ORDINARY;
}

static uint32_t hash_of(uint32_t module, uint64_t addr, const struct ctr_block *b,
                        uint8_t kind)
{
    const uint64_t k = 0x9e3779b97f4a7c15u;
    size_t n = b->off[b->ninsn];
    uint64_t h = addr * k ^ module ^ (uint64_t)b->ninsn << 32 ^ (uint64_t)kind << 48 ^
                 (uint64_t)b->mode << 56;

    for (size_t i = 0; i < n; i += 8) {
        uint64_t w = 0;
        memcpy(&w, b->code + i, n - i < 8 ? n - i : 8);
        h = (h ^ w) * k;
        h ^= h >> 29;
    }
    return (uint32_t)(h >> 32);
}

static bool same_block(const struct tally *t, const struct place *place, uint8_t kind,
                       const struct ctr_block *b)
{
    if (t->addr != place->vaddr || t->module != place->module->index ||
        t->ninsn != b->ninsn || t->mode != b->mode || t->kind != kind ||
        memcmp(t->off, b->off, (b->ninsn + 1u) * sizeof(*b->off)) ||
        memcmp(t->code, b->code, b->off[b->ninsn]) || !t->pcs != !b->pcs) {
        return false;
    }
    for (unsigned i = 0; b->pcs && i < b->ninsn; i++) {
        if (t->pcs[i] - t->addr != b->pcs[i] - b->pc) {
            return false;
        }
    }
    return true;
}

static bool grow(struct tallies *t)
{
    if (t->n == t->cap) {
        uint32_t cap = 2 * t->cap + 256;
        struct tally *v = cap > t->cap ? realloc(t->v, (size_t)cap * sizeof(*v)) : NULL;
        if (!v) {
            return false;
        }
        t->v = v;
        t->cap = cap;
    }
    if (t->n >= t->hash_size / 2) {
        uint32_t size = t->hash_size ? 2 * t->hash_size : 1024;
        uint32_t *hash = calloc(size, sizeof(*hash));
        if (!hash) {
            return false;
        }
        for (uint32_t i = 0; i < t->n; i++) {
            uint32_t at = t->v[i].hash & (size - 1);
            while (hash[at]) {
                at = (at + 1) & (size - 1);
            }
            hash[at] = i + 1;
        }
        free(t->hash);
        t->hash = hash;
        t->hash_size = size;
    }
    return true;
}

uint32_t tallies_find(struct tallies *t, const struct place *place,
                      const struct ctr_block *b, uint32_t machine)
{
    uint8_t kind = kind_of(b, machine);
    uint32_t hash = hash_of(place->module->index, place->vaddr, b, kind);
    size_t off_bytes = (b->ninsn + 1u) * sizeof(*b->off);
    size_t pcs_bytes = b->pcs ? b->ninsn * sizeof(*b->pcs) : 0;
    struct tally *new;
    uint8_t *p;
    uint32_t at;

    if (!grow(t)) {
        return UINT32_MAX;
    }
    for (at = hash & (t->hash_size - 1); t->hash[at];
         at = (at + 1) & (t->hash_size - 1)) {
        const struct tally *old = &t->v[t->hash[at] - 1];
        if (old->hash == hash && same_block(old, place, kind, b)) {
            return t->hash[at] - 1;
        }
    }
    p = slab_alloc(t, pcs_bytes + off_bytes + b->off[b->ninsn]);
    if (!p) {
        return UINT32_MAX;
    }
    new = &t->v[t->n];
    *new = (struct tally){
        .addr = place->vaddr,
        .pcs = b->pcs ? (uint64_t *)(void *)p : NULL,
        .off = (const uint16_t *)(const void *)(p + pcs_bytes),
        .code = p + pcs_bytes + off_bytes,
        .module = place->module->index,
        .hash = hash,
        .ninsn = b->ninsn,
        .mode = b->mode,
        .kind = kind,
    };
    for (unsigned i = 0; b->pcs && i < b->ninsn; i++) {
        new->pcs[i] = place->vaddr + (b->pcs[i] - b->pc);
    }
    memcpy(p + pcs_bytes, b->off, off_bytes);
    memcpy(p + pcs_bytes + off_bytes, b->code, b->off[b->ninsn]);
    t->hash[at] = ++t->n;
    return t->n - 1;
}

bool tallies_add(struct tallies *t, uint32_t i, const struct tally_counts *c)
{
    struct tally *to = &t->v[i];

    to->full = sum_u64(to->full, c->full);
    to->begun = sum_u64(to->begun, c->full);
    to->ways = sum_u64(to->ways, c->ways);
    to->falls = sum_u64(to->falls, c->falls);
    if (!c->partial) {
        return true;
    }
    if (!to->cut) {
        to->cut = slab_alloc(t, to->ninsn * sizeof(*to->cut));
        if (!to->cut) {
            return false;
        }
        memset(to->cut, 0, to->ninsn * sizeof(*to->cut));
    }
    if (c->first == 0) {
        to->begun = sum_u64(to->begun, c->partial);
    }
    for (unsigned k = c->first; k < c->end && k < to->ninsn; k++) {
        to->cut[k] = sum_u64(to->cut[k], c->partial);
    }
    return true;
}

void tallies_fini(struct tallies *t)
{
    for (struct slab *s = t->slabs, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    free(t->v);
    free(t->hash);
}
