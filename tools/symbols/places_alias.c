/* SPDX-License-Identifier: MIT */
/*
 * The second address of a kernel's code.  arm64's Linux leaves and enters the kernel in a few
 * pages that the page tables of users have, too, at a fixed address (TRAMP_VALIAS), which is
 * in no table of symbols.  Blocks that ran elsewhere than where the kernel is are searched in
 * the pages; only pages that some blocks show are taken, and none in which one differs.
 */
#include "places_slide.h"

#include <string.h>

#define MIN_BYTES 12u /* of a block */
#define MIN_BLOCKS 4u /* at other pcs */
#define MAX_VOTES 64u
#define PAGE SLIDE_ALIAS_PAGE

struct vote {
    uint64_t slide;
    uint64_t pcs[MIN_BLOCKS];
    unsigned n;      /* of pcs */
    unsigned blocks; /* all, also of one pc */
};

struct search {
    const struct slide_code *code;
    uint64_t vaddr, slide;
    struct vote vote[MAX_VOTES];
    unsigned n;
    const struct vote *best;
    uint32_t same, differ; /* pages */
};

static void vote(struct search *s, uint64_t slide, uint64_t pc)
{
    struct vote *v = s->vote;
    unsigned i = 0;

    while (v < s->vote + s->n && v->slide != slide) {
        v++;
    }
    if (v == s->vote + MAX_VOTES) {
        return;
    }
    if (v == s->vote + s->n) {
        s->vote[s->n++] = (struct vote){.slide = slide};
    }
    v->blocks++;
    while (i < v->n && v->pcs[i] != pc) {
        i++;
    }
    if (i == v->n && i < MIN_BLOCKS) {
        v->pcs[v->n++] = pc;
    }
}

static bool is_elsewhere(const struct search *s, const struct ctr_block *b)
{
    return slide_is_eligible(s->code, b) && !slide_bytes_at(s->code, b, s->slide);
}

static int find_page(void *arg, const struct ctr_block *b)
{
    struct search *s = arg;
    const size_t len = b->off[b->ninsn];

    if (len < MIN_BYTES || !is_elsewhere(s, b)) {
        return 0;
    }
    for (uint64_t i = 0; i < SLIDE_ALIAS_PAGES; i++) {
        const uint64_t slide = (b->pc & -PAGE) - (s->vaddr + i * PAGE);
        const uint8_t *at = slide_bytes_at(s->code, b, slide);

        if (at && !memcmp(at, b->code, len)) {
            vote(s, slide, b->pc);
        }
    }
    return 0;
}

/* The kernel changes some instructions before they run for the first time. */
static int check_page(void *arg, const struct ctr_block *b)
{
    struct search *s = arg;
    const uint64_t page = (b->pc - s->best->slide - s->vaddr) / PAGE;
    const uint8_t *at = slide_bytes_at(s->code, b, s->best->slide);
    const size_t len = b->off[b->ninsn];

    if (page < SLIDE_ALIAS_PAGES && at && is_elsewhere(s, b)) {
        const bool same = 4 * slide_same_bytes(at, b) >= 3 * len;
        *(same ? &s->same : &s->differ) |= 1u << page;
    }
    return 0;
}

bool slide_find_alias(struct ctr_trace *tr, const struct slide_code *c, uint64_t vaddr,
                      uint64_t slide, struct slide_alias *out)
{
    struct search s = {.code = c, .vaddr = vaddr & -PAGE, .slide = slide};
    unsigned second = 0;

    ctr_trace_each_block(tr, find_page, &s, NULL);
    for (unsigned i = 0; i < s.n; i++) {
        if (!s.best || s.vote[i].blocks > s.best->blocks) {
            second = s.best ? s.best->blocks : 0;
            s.best = &s.vote[i];
        } else if (s.vote[i].blocks > second) {
            second = s.vote[i].blocks;
        }
    }
    if (!s.best || s.best->n < MIN_BLOCKS || s.best->blocks == second) {
        return false;
    }
    ctr_trace_each_block(tr, check_page, &s, NULL);
    *out = (struct slide_alias){s.vaddr, s.best->slide, s.same & ~s.differ};
    return out->pages != 0;
}
