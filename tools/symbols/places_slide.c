/* SPDX-License-Identifier: MIT */
/*
 * Where code of a machine runs that a file was linked for: a kernel that KASLR has moved,
 * firmware that can be loaded anywhere.  Blocks of the trace are searched in the file.
 * Kernels change their code while they run (alternatives, static keys, calls for ftrace), so
 * the slide is the one at which most blocks are.
 */
#include "places_slide.h"

#include <string.h>

#include "cannoli/events.h"

#define MIN_BYTES 24u    /* of a block */
#define MAX_SEARCHES 64u /* each through the whole file */
#define ENOUGH 200u      /* blocks at one slide */
#define FEW 16u

struct vote {
    uint64_t slide;
    unsigned blocks;
};

struct election {
    const struct slide_code *code;
    struct vote vote[MAX_SEARCHES + 1];
    unsigned n, searches;
};

bool slide_in_upper_half(const struct slide_code *c)
{
    return c->n && c->v[0].vaddr >> (c->addr_bits - 1) & 1;
}

/* Whether a block can be of the file: users have code of their own. */
static bool is_eligible(const struct slide_code *c, const struct ctr_block *b)
{
    return !b->pcs && !(CTR_PRIVILEGE_USERS >> b->privilege & 1) &&
           (!slide_in_upper_half(c) || b->pc >> (c->addr_bits - 1) & 1);
}

/* What the file has where the block runs with this slide; NULL: nothing. */
static const uint8_t *bytes_at(const struct slide_code *c, const struct ctr_block *b,
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

static bool is_at(const struct slide_code *c, const struct ctr_block *b, uint64_t slide)
{
    const uint8_t *at = bytes_at(c, b, slide);

    return at && !memcmp(at, b->code, b->off[b->ninsn]);
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
    uint64_t slide;

    if (!is_eligible(e->code, b) || b->off[b->ninsn] < MIN_BYTES) {
        return 0;
    }
    for (unsigned i = 0; i < e->n; i++) {
        if (is_at(e->code, b, e->vote[i].slide)) {
            return ++e->vote[i].blocks >= ENOUGH;
        }
    }
    if (e->searches < MAX_SEARCHES) {
        e->searches++;
        if (search(e->code, b, &slide)) {
            e->vote[e->n++] = (struct vote){slide, 1};
        }
    }
    return 0;
}

bool slide_find(struct ctr_trace *tr, const struct slide_code *c, uint64_t *slide)
{
    struct election e = {.code = c, .vote = {{0, 0}}, .n = 1};
    const struct vote *best = &e.vote[0];

    /* Damage is reported by who reads the definitions for other reasons. */
    ctr_trace_each_block(tr, on_block, &e, NULL);
    for (unsigned i = 1; i < e.n; i++) {
        best = e.vote[i].blocks > best->blocks ? &e.vote[i] : best;
    }
    *slide = best->slide;
    return best->blocks >= FEW;
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
    const uint8_t *at = is_eligible(c->code, b) ? bytes_at(c->code, b, c->slide) : NULL;

    const size_t len = b->off[b->ninsn];
    size_t same = 0;

    for (size_t i = 0; at && i < len; i++) {
        same += at[i] == b->code[i];
    }
    if (at && 2 * same > len) {
        c->fit.same++;
    } else {
        c->fit.differ += at != NULL;
    }
    return 0;
}

struct slide_fit slide_fit(struct ctr_trace *tr, const struct slide_code *c,
                           uint64_t slide)
{
    struct count count = {.code = c, .slide = slide};

    ctr_trace_each_block(tr, count_block, &count, NULL);
    return count.fit;
}

bool slide_fits(const struct slide_fit *f)
{
    return f->differ <= (f->same + f->differ) / 10;
}
