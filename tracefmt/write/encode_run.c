/* SPDX-License-Identifier: MIT */
/* Functions for runs that several encoder files need. */
#include "write/encode_run.h"

int encode_bad_word(const struct segment_walk *w, uint32_t at, struct ctr_diag *diag,
                    const char *what)
{
    uint32_t word = at < w->seg->n_words ? w->seg->words[at] : 0;
    return ctr_fail(diag, CTR_E_CORRUPT, at, "words", "word %u (0x%08x): %s", at, word,
                    what);
}

const struct mempipe_side_place *encode_side_next(const struct recorded *rec,
                                                  const struct segment_walk *w,
                                                  const struct slow_run *r, uint32_t *at,
                                                  int *between)
{
    const struct mempipe_side_place *p;
    while ((p = encode_side(w, *at)) != NULL && p->words <= r->end && *at < r->side_end) {
        if (!encode_side_unwanted(rec, p) && encode_side_of_insn(p)) {
            return p;
        }
        if (between && !encode_side_unwanted(rec, p)) {
            *between = 1;
        }
        *at += p->h.bytes;
    }
    return NULL;
}

uint32_t encode_resume_at(const struct dict_entry *d, uint32_t n)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < d->def.nslot && d->slot[k].s.insn < n; k++) {
        if (d->slot[k].s.insn + 1u < n || slot_group(&d->slot[k].s)) {
            at = k + 1;
        }
    }
    return at;
}
