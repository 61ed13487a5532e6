/* SPDX-License-Identifier: MIT */
/*
 * Where a kernel runs that an image was made for: moved by KASLR, or not.  Blocks of the
 * trace are searched in the image; most of its code is the same in memory.
 */
#include "places_priv.h"

#include <string.h>

#include "cannoli/events.h"
#include "symbols/jit_kernel.h"

#define MIN_BYTES 24u    /* of a block */
#define MAX_SEARCHES 64u /* each through the whole image */
#define ENOUGH 200u      /* blocks at one slide */
#define FEW 16u

struct vote {
    uint64_t slide;
    unsigned blocks;
};

struct election {
    const struct jit_kernel *kernel;
    struct vote vote[MAX_SEARCHES + 1];
    unsigned n, searches;
};

/* Whether the block's bytes are in the image where it runs with this slide. */
static bool is_at(const struct jit_kernel *k, const struct ctr_block *b, uint64_t slide)
{
    const size_t len = b->off[b->ninsn];

    for (unsigned i = 0; i < k->nr_segments; i++) {
        uint64_t off = b->pc - slide - k->segment[i].vaddr;
        if (off < k->segment[i].n && k->segment[i].n - off >= len) {
            return !memcmp(k->segment[i].p + off, b->code, len);
        }
    }
    return false;
}

static bool search(const struct jit_kernel *k, const struct ctr_block *b, uint64_t *slide)
{
    for (unsigned i = 0; i < k->nr_segments; i++) {
        const uint8_t *at =
            memmem(k->segment[i].p, k->segment[i].n, b->code, b->off[b->ninsn]);
        if (at) {
            *slide = b->pc - (k->segment[i].vaddr + (uint64_t)(at - k->segment[i].p));
            return true;
        }
    }
    return false;
}

static int on_block(void *arg, const struct ctr_block *b)
{
    struct election *e = arg;
    uint64_t slide;

    if (b->pcs || b->off[b->ninsn] < MIN_BYTES || !(b->pc >> 63) ||
        CTR_PRIVILEGE_USERS >> b->privilege & 1) {
        return 0;
    }
    for (unsigned i = 0; i < e->n; i++) {
        if (is_at(e->kernel, b, e->vote[i].slide)) {
            return ++e->vote[i].blocks >= ENOUGH;
        }
    }
    if (e->searches < MAX_SEARCHES) {
        e->searches++;
        if (search(e->kernel, b, &slide)) {
            e->vote[e->n++] = (struct vote){slide, 1};
        }
    }
    return 0;
}

bool kernel_slide(struct ctr_trace *tr, const struct jit_kernel *k, uint64_t *slide)
{
    struct election e = {.kernel = k, .vote = {{0, 0}}, .n = 1};
    const struct vote *best = &e.vote[0];

    /* Damage is reported by who reads the definitions for other reasons. */
    ctr_trace_each_block(tr, on_block, &e, NULL);
    for (unsigned i = 1; i < e.n; i++) {
        best = e.vote[i].blocks > best->blocks ? &e.vote[i] : best;
    }
    *slide = best->slide;
    return best->blocks >= FEW;
}
