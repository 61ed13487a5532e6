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
    return back ? a->thread > b->thread : a->thread < b->thread;
}

/* The time of its instruction, with all that the system did before it; of a process with one
 * thread it does not matter. */
int resume_when(struct session *s, struct candidate *c)
{
    uint64_t pc;
    int ret;

    c->when = 0;
    if (ctr_process_single(s->tr, s->here.process)) {
        return 0;
    }
    ret = ctr_state_at(s->tr, c->thread, c->ordinal, NULL, &pc, &c->when, &s->diag);
    return ret == -CTR_E_INVAL ? 0 : ret;
}

int resume_here(struct session *s, bool back, struct candidate *c)
{
    *c = (struct candidate){.found = true,
                            .thread = s->here.at.thread,
                            .ordinal = s->here.at.ordinal,
                            .when = s->here.passed.time_ns,
                            .stop.phase = s->here.phase};
    return s->here.passed.kind && s->here.passed_back == back ? 0 : resume_when(s, c);
}
