/* SPDX-License-Identifier: MIT */
/* Places where the program would stop: which of two is met first. */
#include "resume_priv.h"

bool resume_nearer(bool back, const struct candidate *a, const struct candidate *b)
{
    if (!b->found || !a->found) {
        return a->found;
    }
    if (a->thread == b->thread) {
        const uint64_t x = resume_key(a->ordinal, a->stop.phase);
        const uint64_t y = resume_key(b->ordinal, b->stop.phase);

        return back ? x > y : x < y;
    }
    if (a->when != b->when) {
        return back ? a->when > b->when : a->when < b->when;
    }
    return back ? a->chunk > b->chunk : a->chunk < b->chunk;
}

/* When a place comes in recorded order: where threads ran one at a time, by its time, else
 * by its chunk. */
int resume_when(struct session *s, struct candidate *c)
{
    struct ctr_chunk chunk;
    uint64_t pc;
    int ret;

    if (s->info.events & CTR_HAS_ORDER) {
        ret = ctr_state_at(s->tr, c->thread, c->ordinal, NULL, &pc, &c->when, &s->diag);
        return ret == -CTR_E_INVAL ? 0 : ret;
    }
    ret = ctr_trace_find(s->tr, c->thread, c->ordinal, &chunk, &s->diag);
    c->when = chunk.start_ns;
    c->chunk = chunk.index;
    return ret;
}

int resume_keep_nearer(struct session *s, bool back, struct candidate *c,
                       struct candidate *best)
{
    int ret = c->found ? resume_when(s, c) : 0;

    if (!ret && resume_nearer(back, c, best)) {
        *best = *c;
    }
    return ret;
}
