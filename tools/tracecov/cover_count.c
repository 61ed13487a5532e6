/* SPDX-License-Identifier: MIT */
/* Counts of blocks, from the index or from a replay, into the cover. */
#include "cover_priv.h"

static bool count_tally(struct adding *a, uint32_t number, const struct tally_counts *c,
                        uint64_t insns)
{
    struct cover *pub = &a->cover->pub;

    if (number == UINT32_MAX || !tallies_add(&a->cover->tallies, number, c)) {
        return false;
    }
    pub->total = sum_u64(pub->total, insns);
    return true;
}

static uint64_t insns_of(const struct ctr_block *b, const struct tally_counts *c)
{
    return sum_u64(c->full * b->ninsn, c->partial * (c->end - c->first));
}

bool adding_counts(struct adding *a, const struct ctr_block *b, const struct place *place,
                   const struct tally_counts *c)
{
    static const struct module none = {.index = NO_MODULE};
    const struct place nowhere = {.module = &none, .vaddr = b->pc};
    uint64_t insns = insns_of(b, c);

    if (!place) {
        a->cover->pub.elsewhere = sum_u64(a->cover->pub.elsewhere, insns);
        if (!a->filter->elsewhere_code) {
            a->cover->pub.total = sum_u64(a->cover->pub.total, insns);
            return true;
        }
        place = &nowhere;
    }
    return count_tally(a, tallies_find(&a->cover->tallies, place, b, a->info.elf_machine),
                       c, insns);
}

bool adding_block(struct adding *a, const struct ctr_block *b,
                  const struct tally_counts *c)
{
    const struct block_place *at = &a->blocks[b->id];
    struct place place;

    if (at->found <= 0) {
        return adding_counts(a, b, NULL, c);
    }
    if (!a->number[b->id]) {
        place.module = modset_module(a->cover->pub.modset, at->module);
        place.vaddr = at->vaddr;
        a->number[b->id] =
            tallies_find(&a->cover->tallies, &place, b, a->info.elf_machine) + 1;
        if (!a->number[b->id]) {
            return false;
        }
    }
    return count_tally(a, a->number[b->id] - 1, c, insns_of(b, c));
}

/* Adds what the index holds of a block. */
static int on_count(void *arg, const struct ctr_count *count)
{
    struct adding *a = arg;
    struct tally_counts c = {.full = count->full,
                             .partial = count->partial,
                             .first = count->first,
                             .end = count->end,
                             .falls = count->fallthrough};

    if (count->end == count->block->ninsn) {
        c.ways = count->full + count->partial - count->unknown;
    }
    if (a->blocks[count->block->id].found < 0) {
        return 0; /* the replay counts it */
    }
    return adding_block(a, count->block, &c) ? 0 : 1;
}

int adding_index(struct adding *a)
{
    return ctr_trace_counts(a->tr, &a->filter->events, on_count, a, &a->diag);
}
