/* SPDX-License-Identifier: MIT */
/*
 * Goes through two threads as long as they run the same instructions.
 *
 * Equal runs are equal numbers, so most of the work is comparing two arrays.  Where blocks
 * are cut in different ways, single instructions are compared until both are at the begin of
 * a run again.
 */
#include "pair.h"

#include <stdlib.h>
#include <string.h>

/* Goes on to the next batch at the end of one; false at the end of the stream. */
static bool refill(struct pair *p, unsigned side)
{
    struct spot *s = &p->at[side];

    while (!s->ended && (!s->b || s->i == s->b->n)) {
        struct batch *next = stream_next(&p->stream[side], s->b);
        if (!next) {
            s->ended = true;
            break;
        }
        if (s->b) {
            stream_release(&p->stream[side], s->b);
        }
        *s = (struct spot){.b = next};
        space_go(&p->space[side], next->ordinal, false, next->time_ns);
        s->still = space_next(&p->space[side]) > batch_ordinal(next, next->ninsn);
    }
    return !s->ended;
}

/* ----------------------------------------------------------------- stretches */

/* The next n instructions of both are equal: the same m[i] runs, and then off[i]. */
static void pass(struct pair *p, uint32_t n, const uint32_t m[2], const uint32_t off[2])
{
    data_compare(p, n, false);
    p->equal += n;
    for (unsigned i = 0; i < 2; i++) {
        p->at[i].i += m[i];
        p->at[i].off = off[i];
    }
}

/* Equal runs from the begin of two runs on. */
static uint32_t equal_runs(const struct pair *p)
{
    const struct spot *s = p->at;
    const uint64_t *a = s[0].b->key + s[0].i, *b = s[1].b->key + s[1].i;
    const uint32_t na = s[0].b->n - s[0].i, nb = s[1].b->n - s[1].i;
    const uint32_t n = na < nb ? na : nb;
    uint32_t i = 0;

    /* By blocks that the compiler can compare at once. */
    for (; i + 16 <= n; i += 16) {
        uint64_t differ = 0;
        for (unsigned k = 0; k < 16; k++) {
            differ |= a[i + k] ^ b[i + k];
        }
        if (differ) {
            break;
        }
    }
    while (i < n && a[i] == b[i]) {
        i++;
    }
    return i;
}

/* The instructions that remain of the run at a spot. */
static const uint64_t *rest_of(const struct pair *p, const struct spot *s, uint32_t *n)
{
    const uint64_t key = s->b->key[s->i];
    const struct code *c = code_get(p->side[0]->codes, run_code(key));

    *n = run_end(key) - run_first(key) - s->off;
    return c->insn + run_first(key) + s->off;
}

/* Compares what remains of one run of each side; false at an instruction that differs. */
static bool compare_insns(struct pair *p)
{
    uint32_t n[2], m[2] = {0, 0}, off[2], k = 0;
    const uint64_t *a = rest_of(p, &p->at[0], &n[0]);
    const uint64_t *b = rest_of(p, &p->at[1], &n[1]);
    const uint32_t most = n[0] < n[1] ? n[0] : n[1];

    while (k < most && a[k] == b[k]) {
        k++;
    }
    for (unsigned i = 0; i < 2; i++) {
        m[i] = k == n[i];
        off[i] = m[i] ? 0 : p->at[i].off + k;
    }
    if (k) {
        pass(p, k, m, off);
    }
    return k == most;
}

/* ---------------------------------------------------------------- differences */

/* Skips n instructions of a side. */
static void skip(struct pair *p, unsigned side, uint64_t n)
{
    struct spot *s = &p->at[side];

    while (n && refill(p, side)) {
        const uint32_t left = s->b->ninsn - spot_pos(s);
        uint32_t take = n < left ? (uint32_t)n : left, in;
        n -= take;
        for (; take; take -= in) {
            const uint64_t key = s->b->key[s->i];
            const uint32_t rest = run_end(key) - run_first(key) - s->off;
            in = take < rest ? take : rest;
            s->off = in == rest ? 0 : s->off + in;
            s->i += in == rest;
        }
    }
    if (!refill(p, side)) {
        s->access = s->b ? s->b->naccess : 0;
        s->write = s->b ? s->b->nwrite : 0;
        s->event = s->b ? s->b->nevent : 0;
        return;
    }
    while (s->access < s->b->naccess && s->b->access[s->access].pos < spot_pos(s)) {
        s->access++;
    }
    while (s->write < s->b->nwrite && s->b->write[s->write].pos < spot_pos(s)) {
        s->write++;
    }
    while (s->event < s->b->nevent && s->b->event[s->event].pos < spot_pos(s)) {
        s->event++;
    }
}

static uint64_t insn_hash(const struct pair *p, const struct spot *s)
{
    uint32_t n;

    return s->b && !s->ended ? rest_of(p, s, &n)[0] : 1;
}

/* Reports that the code differs from here on, and goes on where both are alike again. */
static void code_differs(struct pair *p)
{
    struct difference d = {.kind = DIFFERENCE_CODE, .equal = p->equal};
    uint64_t n[2];

    data_compare(p, 0, true);
    if (p->full || p->error) {
        return;
    }
    d.hash = map64_mix(insn_hash(p, &p->at[0]), insn_hash(p, &p->at[1]));
    for (unsigned i = 0; i < 2; i++) {
        d.side[i].ordinal = spot_ordinal(p, i);
        d.side[i].ends = p->at[i].ended;
    }
    d.again = align_find(p, n);
    if (p->error) {
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        d.side[i].n = n[i];
    }
    p->full = !p->difference(p->arg, p, &d) || !d.again;
    if (!p->full) {
        skip(p, 0, n[0]);
        skip(p, 1, n[1]);
    }
}

/* --------------------------------------------------------------------- main */

static void show_progress(struct pair *p)
{
    if (p->progress->on && p->equal - p->shown > 4000000) {
        p->shown = p->equal;
        progress_update(p->progress, p->equal, p->thread[0]->insns, p->equal,
                        "instructions");
    }
}

/* Compares what the streams have.  False: the code differs, and the streams do not go to the
 * end of the threads, or there is something to skip after the difference. */
static bool compare(struct pair *p, bool to_end)
{
    while (!p->full && !p->error) {
        const bool a = refill(p, 0), b = refill(p, 1);
        const uint32_t zero[2] = {0, 0};
        uint32_t n = 0;

        if (!a && !b) {
            data_compare(p, 0, true);
            return true;
        }
        if (a && b && !p->at[0].off && !p->at[1].off) {
            n = equal_runs(p);
        }
        if (n) {
            const struct spot *s = &p->at[0];
            const uint32_t m[2] = {n, n};
            pass(p, batch_at(s->b, s->i + n) - batch_at(s->b, s->i), m, zero);
        } else if (!a || !b || !compare_insns(p)) {
            uint64_t at[2], gap;
            if (!to_end) {
                return false;
            }
            code_differs(p);
            at[0] = spot_ordinal(p, 0);
            at[1] = spot_ordinal(p, 1);
            if (!p->full && !p->error && skip_find(p, at, &gap)) {
                return false;
            }
        }
        show_progress(p);
    }
    return true;
}

/* Closes the streams; damage of one is the pair's error. */
static void close_streams(struct pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        const int ret = stream_close(&p->stream[i]);
        if (ret && !p->error) {
            p->error = ret;
            p->failed = i;
            p->diag = p->stream[i].diag;
        }
        p->at[i] = (struct spot){.b = NULL};
    }
}

/* Compares from at on, up to before the instructions to[i]; returns as compare(), and at
 * becomes where it ended. */
static bool compare_part(struct pair *p, uint64_t at[2], const uint64_t to[2],
                         bool to_end)
{
    bool done = true;

    for (unsigned i = 0; i < 2; i++) {
        if (!stream_open(&p->stream[i], p->side[i], p->thread[i], at[i], to[i])) {
            p->error = -CTR_E_NOMEM;
        }
    }
    if (!p->error) {
        done = compare(p, to_end);
    }
    for (unsigned i = 0; i < 2; i++) {
        at[i] = done ? to[i] : spot_ordinal(p, i);
    }
    close_streams(p);
    return done;
}

/* The secrets of the thread's process: its own, or those of the process that it was forked
 * from.  False: no memory. */
static bool find_secrets(struct pair *p, unsigned side)
{
    const struct side *s = p->side[side];
    uint32_t process = p->thread[side]->process;

    if (!p->secrets_of[side]) {
        p->secrets_of[side] = calloc(s->info.processes + 1u, sizeof(struct secrets));
        if (!p->secrets_of[side]) {
            return false;
        }
    }
    while (process && !p->secrets_of[side][process].known) {
        const int32_t ppid = ctr_trace_process(s->view, process)->ppid;
        /* An id can be used again: its last use before counts. */
        do {
            process--;
        } while (process && ctr_trace_process(s->view, process)->pid != ppid);
    }
    p->secrets[side] = p->secrets_of[side][process];
    return true;
}

int pair_compare(struct pair *p, const uint64_t from[2])
{
    uint64_t at[2] = {from[0], from[1]};
    uint64_t end[2];

    p->equal = p->skipped = p->shown = 0;
    p->full = p->call_ignored = p->apart_known = false;
    p->other_load = 0;
    p->error = 0;
    map64_clear(&p->seen);
    memset(p->higher, 0, sizeof(p->higher));
    for (unsigned i = 0; i < 2; i++) {
        end[i] = p->thread[i]->first + p->thread[i]->insns;
        space_begin(&p->space[i], p->side[i]->maps, p->thread[i]);
        guest_init(&p->guest[i], &p->side[i]->info);
        if (!find_secrets(p, i)) {
            return p->error = -CTR_E_NOMEM;
        }
    }
    while (!p->full && !p->error) {
        uint64_t gap, to[2];
        const uint64_t n = skip_find(p, at, &gap);
        for (unsigned i = 0; i < 2; i++) {
            to[i] = n ? at[i] + gap : end[i];
        }
        if ((gap || !n) && !compare_part(p, at, to, !n) && n) {
            /* What can be skipped is no longer at the same distance. */
            compare_part(p, at, end, true);
            continue;
        }
        if (!n && at[0] == end[0] && at[1] == end[1]) {
            break;
        }
        at[0] += n;
        at[1] += n;
        p->equal += n;
        p->skipped += n;
    }
    for (unsigned i = 0; i < 2; i++) {
        p->secrets_of[i][p->thread[i]->process] = p->secrets[i];
    }
    return p->error;
}

void pair_fini(struct pair *p)
{
    for (unsigned i = 0; i < 2; i++) {
        stream_fini(&p->stream[i]);
        space_fini(&p->space[i]);
        free(p->secrets_of[i]);
    }
    map64_fini(&p->seen);
}
