/* SPDX-License-Identifier: MIT */
/*
 * The registers at any point of a thread: every chunk records all of them at its start,
 * so the one that contains the instruction is enough.
 */
#include "decode/walk.h"

#include <stdlib.h>
#include <string.h>

int ctr_trace_find(struct ctr_trace *tr, uint32_t thread, uint64_t ordinal,
                   struct ctr_chunk *out, struct ctr_diag *diag)
{
    struct chunk_row row;
    int got = chunktab_ordinal(tr->chunks, thread, ordinal, 1, &row, diag);
    if (got < 0) {
        return got;
    }
    /* A chunk that only describes a dropped part has no registers. */
    if (!got || (row.pub.flags & CHUNK_F_GAP && row.pub.runs == 0)) {
        return ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "state", "no such instruction");
    }
    *out = row.pub;
    return 0;
}

/* Walks up to the instruction; returns 0 or an error. */
static int go_to(struct walk *w, uint64_t ordinal, uint64_t *pc, uint64_t *time_ns)
{
    int err = 0;
    for (; !err; err = walk_next(w)) {
        while ((err = walk_event(w)) == 1) {
            if (w->events.ev.time_ns) {
                *time_ns = w->events.ev.time_ns;
            }
            err = evdec_next(&w->events);
            if (err) {
                break;
            }
        }
        if (err || !w->more) {
            return err;
        }
        if (walk_end(w) > ordinal) {
            break;
        }
    }
    if (err) {
        return err;
    }
    const struct run *r = &w->run;
    unsigned insn = r->first + (unsigned)(ordinal - r->ordinal);
    *pc = ctr_block_pc(&r->block->pub, insn);
    if (w->view) {
        if (!w->outs_done) {
            walk_outs(w);
        }
        if (insn) {
            expand_regs(r, &w->regs, &w->reg_next, insn - 1);
        }
    }
    return 0;
}

static void copy_values(struct walk *w, uint8_t *values)
{
    if (!w->outs_done) {
        walk_outs(w);
    }
    regstate_settle(&w->regs);
    for (uint32_t i = 0; i < w->view->n; i++) {
        memcpy(values + (size_t)i * CTR_REG_STRIDE, regstate_value(&w->regs, i),
               w->view->reg[i].pub.size);
    }
}

/* The decoded part of a chunk, and all values there. */
struct states {
    struct ctr_trace *tr;
    struct feed feed;
    struct walk walk;
    struct raw_chunk raw;
    struct ctr_chunk chunk;
    int open; /* the walk is in `chunk' */
    uint64_t pc, time_ns;
    uint8_t *values; /* or NULL */
    struct ctr_diag *diag;
};

static int states_init(struct states *s, struct ctr_trace *tr, struct ctr_diag *diag)
{
    memset(s, 0, sizeof(*s));
    s->tr = tr;
    s->diag = diag;
    int err = feed_init(&s->feed, tr, NULL, diag);
    if (err) {
        return err;
    }
    s->feed.want = tr->view ? DEC_REG : 0;
    s->feed.os = feed_os_kinds(&s->feed);
    if (walk_init(&s->walk)) {
        feed_fini(&s->feed);
        return ctr_fail_nomem(diag);
    }
    return 0;
}

static void states_fini(struct states *s)
{
    walk_fini(&s->walk);
    buf_free(&s->raw.payload);
    feed_fini(&s->feed);
}

/* Begins the chunk that holds the instruction, unless the walk is in it before it. */
static int states_seek(struct states *s, uint32_t thread, uint64_t ordinal)
{
    struct ctr_chunk c;
    int err = ctr_trace_find(s->tr, thread, ordinal, &c, s->diag);
    if (err || (s->open && c.index == s->chunk.index)) {
        return err;
    }
    s->open = 0;
    s->chunk = c;
    s->time_ns = c.start_ns;
    err = feed_read(&s->feed, &c, &s->raw, s->diag);
    if (!err) {
        err = walk_begin(&s->walk, &s->feed, &s->raw, s->diag);
    }
    s->open = !err;
    return err;
}

/* Goes to an instruction that is not before the last one; sets the values if the trace
 * has any. */
static int states_at(struct states *s, uint32_t thread, uint64_t ordinal)
{
    s->pc = 0;
    int err = states_seek(s, thread, ordinal);
    if (!err) {
        err = go_to(&s->walk, ordinal, &s->pc, &s->time_ns);
    }
    if (!err && s->walk.view && s->values) {
        copy_values(&s->walk, s->values);
    }
    return err;
}

int ctr_state_at(struct ctr_trace *tr, uint32_t thread, uint64_t ordinal, uint8_t *values,
                 uint64_t *pc, uint64_t *time_ns, struct ctr_diag *diag)
{
    struct states s;
    *pc = 0;
    *time_ns = 0;
    int err = states_init(&s, tr, diag);
    if (err) {
        return err;
    }
    s.values = values;
    err = states_at(&s, thread, ordinal);
    if (!err && !tr->view) {
        err = ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "state",
                       "registers were not recorded");
    }
    *pc = s.pc;
    *time_ns = s.time_ns;
    states_fini(&s);
    return err;
}

int ctr_states(struct ctr_trace *tr, uint32_t thread, const uint64_t *ordinals, size_t n,
               int (*fn)(void *arg, size_t i, const struct ctr_state_point *s), void *arg,
               struct ctr_diag *diag)
{
    struct states s;
    int err = states_init(&s, tr, diag);
    if (err) {
        return err;
    }
    if (tr->view) {
        s.values = calloc(tr->view->n + 1u, CTR_REG_STRIDE);
        err = s.values ? 0 : ctr_fail_nomem(diag);
    }
    for (size_t i = 0; !err && i < n; i++) {
        if (i && ordinals[i] < ordinals[i - 1]) {
            err = ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "state",
                           "the ordinals do not ascend");
        }
        if (!err) {
            err = states_at(&s, thread, ordinals[i]);
        }
        if (!err) {
            err = fn(arg, i, &(struct ctr_state_point){s.values, s.pc, s.time_ns});
        }
    }
    free(s.values);
    states_fini(&s);
    return err;
}
