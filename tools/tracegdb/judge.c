/* SPDX-License-Identifier: MIT */
/*
 * Which executions of breakpoints stop the program: those where a condition holds.
 *
 * A condition that is false a million times must not decode a chunk for each.  So all
 * executions in a stretch of a thread are judged in two passes over it: one that finds
 * them, one that has the registers of each.
 */
#include "judge.h"

#include <stdlib.h>

#include "common/array.h"

static int add_hit(void *arg, struct ctr_job *job, const struct ctr_exec *e)
{
    struct stretch *st = arg;

    (void)job;
    if (!array_reserve(&st->hits, &st->cap, st->n + 1, sizeof(*st->hits))) {
        return -CTR_E_NOMEM;
    }
    st->hits[st->n++] = e->ordinal;
    return 0;
}

/* The executions, all of them. */
static int find_hits(struct session *s, struct stretch *st)
{
    const struct ctr_replay_ops ops = {.exec = add_hit};
    struct ctr_filter filter = {.kinds = CTR_KIND_EXEC,
                                .threads = &st->thread,
                                .nthread = 1,
                                .from = st->from,
                                .to = st->to};
    const struct ctr_replay_opts opts = {.workers = 1, .filter = &filter};
    struct ctr_range *pcs;
    const int n = points_ranges(s, "01", &pcs);
    int ret = -CTR_E_NOMEM;

    if (n >= 0) {
        filter.pcs = pcs;
        filter.npc = (uint32_t)n;
        ret = ctr_replay(s->tr, &ops, st, &opts, &s->diag);
        free(pcs);
    }
    return ret;
}

struct judging {
    struct session *s;
    struct stretch *st;
    size_t kept;
};

/* Keeps the execution if a condition holds. */
static int judge_one(void *arg, size_t i, const struct ctr_state_point *p)
{
    struct judging *j = arg;
    const uint64_t ordinal = j->st->hits[i];
    const struct instant at = {
        .values = p->values,
        .pc = p->pc,
        .at = {.thread = j->st->thread, .ordinal = ordinal, .time_ns = p->time_ns}};

    if (points_hold(j->s, &at)) {
        j->st->hits[j->kept++] = ordinal;
    }
    return i % 64 == 63 && interrupt_pending(j->s);
}

int judge_stretch(struct session *s, uint32_t thread, uint64_t from, uint64_t to)
{
    struct stretch *st = &s->stretch;
    struct judging j = {.s = s, .st = st};
    int ret;

    st->known = false;
    st->thread = thread;
    st->from = from;
    st->to = to;
    st->n = 0;
    ret = find_hits(s, st);
    ret = ret ? ret : ctr_states(s->tr, thread, st->hits, st->n, judge_one, &j, &s->diag);
    st->n = j.kept;
    st->known = !ret;
    return ret < 0 ? ret : 0;
}

bool judge_knows(const struct session *s, uint32_t thread, uint64_t ordinal)
{
    const struct stretch *st = &s->stretch;

    return st->known && st->thread == thread && ordinal >= st->from && ordinal < st->to;
}

bool judge_next(const struct session *s, bool back, uint64_t *ordinal)
{
    const struct stretch *st = &s->stretch;
    size_t low = 0, high = st->n;

    /* The first one from there on. */
    while (low < high) {
        const size_t mid = low + (high - low) / 2;

        if (st->hits[mid] < *ordinal) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    if (back && (low == st->n || st->hits[low] > *ordinal)) {
        if (!low) {
            return false;
        }
        low--;
    }
    if (low == st->n) {
        return false;
    }
    *ordinal = st->hits[low];
    return true;
}
