/* SPDX-License-Identifier: MIT */
/*
 * Where code of a machine runs that a file was linked for: a kernel that KASLR has moved,
 * firmware that can be loaded anywhere.  Blocks of the trace are searched in the file.
 * Kernels change their code while they run (alternatives, static keys, calls for ftrace), so
 * the slide is the one at which most blocks are.  Hardly a block of a module is as in its file:
 * of blocks that it shares some instructions with, most of the bytes have to be the same.
 */
#include "places_slide.h"

#include <stdlib.h>
#include <string.h>

#include "cannoli/events.h"
#include "common/hash.h"

#define MIN_BYTES 24u /* of a block */
#define MIN_BYTES_OF_MODULE 16u
/* Each through the whole file, or with an index those that find it. */
#define MAX_SEARCHES 64u
#define MAX_INDEXED (4u << 20) /* bytes of code */
#define MAX_PROBES 16u
#define ENOUGH 200u /* blocks at one slide */
#define FEW 16u
#define FEW_OF_MODULE 8u
#define WINDOW 12u /* bytes that an index knows */

struct vote {
    uint64_t slide;
    unsigned blocks;
};

/* Where bytes of a block may be in a small file, by their hash. */
struct index {
    struct spot {
        uint32_t piece, off; /* piece + 1; 0: free */
    } *spots;
    uint32_t mask;
};

struct election {
    const struct slide_code *code;
    struct index index;
    struct vote vote[MAX_SEARCHES + 1];
    unsigned n, searches;
};

bool slide_in_upper_half(const struct slide_code *c)
{
    return c->n && c->v[0].vaddr >> (c->addr_bits - 1) & 1;
}

bool slide_is_eligible(const struct slide_code *c, const struct ctr_block *b)
{
    return !b->pcs && !(CTR_PRIVILEGE_USERS >> b->privilege & 1) &&
           (!slide_in_upper_half(c) || b->pc >> (c->addr_bits - 1) & 1);
}

const uint8_t *slide_bytes_at(const struct slide_code *c, const struct ctr_block *b,
                              uint64_t slide)
{
    const size_t len = b->off[b->ninsn];

    for (unsigned i = 0; i < c->n; i++) {
        uint64_t off = b->pc - slide - c->v[i].vaddr;
        if (off < c->v[i].n && c->v[i].n - off >= len) {
            return c->v[i].p + off;
        }
    }
    return NULL;
}

size_t slide_same_bytes(const uint8_t *p, const struct ctr_block *b)
{
    size_t same = 0;

    for (size_t i = 0; i < b->off[b->ninsn]; i++) {
        same += p[i] == b->code[i];
    }
    return same;
}

static bool is_at(const struct slide_code *c, const struct ctr_block *b, uint64_t slide)
{
    const uint8_t *at = slide_bytes_at(c, b, slide);
    const size_t len = b->off[b->ninsn];

    return at && (c->is_module ? 4 * slide_same_bytes(at, b) >= 3 * len
                               : !memcmp(at, b->code, len));
}

static uint32_t spot_of(const struct index *ix, const uint8_t *p)
{
    return (uint32_t)hash_bytes(HASH_START, p, WINDOW) & ix->mask;
}

/* Only a small file has an index: spots is NULL otherwise, or if there is no memory. */
static void make_index(struct index *ix, const struct slide_code *c)
{
    uint64_t bytes = 0;
    uint32_t n = 1024;

    for (unsigned i = 0; i < c->n; i++) {
        bytes += c->v[i].n < MAX_INDEXED ? c->v[i].n : MAX_INDEXED + 1;
    }
    for (; n < 2 * bytes && n < 2 * MAX_INDEXED; n *= 2) {
    }
    *ix = (struct index){.mask = n - 1};
    ix->spots = bytes <= MAX_INDEXED ? calloc(n, sizeof(*ix->spots)) : NULL;
    for (unsigned i = 0; ix->spots && i < c->n; i++) {
        for (size_t off = 0; off + WINDOW <= c->v[i].n; off++) {
            uint32_t at = spot_of(ix, c->v[i].p + off);
            for (unsigned k = 0; ix->spots[at].piece && k < MAX_PROBES; k++) {
                at = (at + 1) & ix->mask;
            }
            if (!ix->spots[at].piece) {
                ix->spots[at] = (struct spot){i + 1, (uint32_t)off};
            }
        }
    }
}

/* The slide by which the bytes of a block from off on are in the file, and most others, too. */
static bool search_window(const struct election *e, const struct ctr_block *b, size_t off,
                          uint64_t *slide)
{
    const struct index *ix = &e->index;
    uint32_t at = spot_of(ix, b->code + off);

    for (unsigned k = 0; ix->spots[at].piece && k < MAX_PROBES; k++) {
        const struct slide_piece *v = &e->code->v[ix->spots[at].piece - 1];
        *slide = b->pc + off - (v->vaddr + ix->spots[at].off);
        if (is_at(e->code, b, *slide) &&
            !(e->code->is_module && *slide % e->code->align)) {
            return true;
        }
        at = (at + 1) & ix->mask;
    }
    return false;
}

/* Of a module, any instruction may have been changed. */
static bool search_index(const struct election *e, const struct ctr_block *b,
                         uint64_t *slide)
{
    for (unsigned i = 0; i < b->ninsn && b->off[i] + WINDOW <= b->off[b->ninsn]; i++) {
        if (search_window(e, b, b->off[i], slide)) {
            return true;
        }
        if (!e->code->is_module) {
            break;
        }
    }
    return false;
}

static bool search(const struct slide_code *c, const struct ctr_block *b, uint64_t *slide)
{
    for (unsigned i = 0; i < c->n; i++) {
        const uint8_t *at = memmem(c->v[i].p, c->v[i].n, b->code, b->off[b->ninsn]);
        if (at) {
            *slide = b->pc - (c->v[i].vaddr + (uint64_t)(at - c->v[i].p));
            return true;
        }
    }
    return false;
}

static int on_block(void *arg, const struct ctr_block *b)
{
    struct election *e = arg;
    const unsigned least = e->code->is_module ? MIN_BYTES_OF_MODULE : MIN_BYTES;
    uint64_t slide;

    if (!slide_is_eligible(e->code, b) || b->off[b->ninsn] < least) {
        return 0;
    }
    for (unsigned i = 0; i < e->n; i++) {
        if (is_at(e->code, b, e->vote[i].slide)) {
            return ++e->vote[i].blocks >= ENOUGH;
        }
    }
    if (e->searches < MAX_SEARCHES) {
        bool found =
            e->index.spots ? search_index(e, b, &slide) : search(e->code, b, &slide);
        e->searches += found || !e->index.spots;
        if (found) {
            e->vote[e->n++] = (struct vote){slide, 1};
        }
    }
    return 0;
}

bool slide_find(struct ctr_trace *tr, const struct slide_code *c, uint64_t *slide)
{
    struct election e = {.code = c, .vote = {{0, 0}}, .n = 1};
    const struct vote *best = &e.vote[0];

    make_index(&e.index, c);
    /* Damage is reported by who reads the definitions for other reasons. */
    ctr_trace_each_block(tr, on_block, &e, NULL);
    free(e.index.spots);
    for (unsigned i = 1; i < e.n; i++) {
        best = e.vote[i].blocks > best->blocks ? &e.vote[i] : best;
    }
    *slide = best->slide;
    return best->blocks >= (c->is_module ? FEW_OF_MODULE : FEW);
}

/* A kernel changes some bytes of a block; another kernel has other code there. */
struct count {
    const struct slide_code *code;
    uint64_t slide;
    struct slide_fit fit;
};

static int count_block(void *arg, const struct ctr_block *b)
{
    struct count *c = arg;
    const uint8_t *at =
        slide_is_eligible(c->code, b) ? slide_bytes_at(c->code, b, c->slide) : NULL;

    if (at && 2 * slide_same_bytes(at, b) > b->off[b->ninsn]) {
        c->fit.same++;
    } else {
        c->fit.differ += at != NULL;
    }
    return 0;
}

struct slide_fit slide_fit(struct ctr_trace *tr, const struct slide_code *c,
                           uint64_t slide)
{
    struct count count = {.code = c, .slide = slide, .fit.is_module = c->is_module};

    ctr_trace_each_block(tr, count_block, &count, NULL);
    return count.fit;
}

bool slide_fits(const struct slide_fit *f)
{
    const uint64_t n = f->same + f->differ;

    return f->is_module ? f->same >= FEW_OF_MODULE || f->differ <= f->same
                        : f->differ <= n / 10;
}
