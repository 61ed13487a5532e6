/* SPDX-License-Identifier: MIT */
/*
 * The registers at any point of a thread: every chunk records all of them at its start,
 * so the one that contains the instruction is enough.
 */
#include "decode/walk.h"

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
        walk_outs(w);
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

int ctr_state_at(struct ctr_trace *tr, uint32_t thread, uint64_t ordinal, uint8_t *values,
                 uint64_t *pc, uint64_t *time_ns, struct ctr_diag *diag)
{
    struct ctr_chunk c;
    *pc = 0;
    *time_ns = 0;
    int err = ctr_trace_find(tr, thread, ordinal, &c, diag);
    if (err) {
        return err;
    }
    struct feed f;
    struct walk w;
    struct raw_chunk raw = {.payload = {0}};
    err = feed_init(&f, tr, NULL, diag);
    if (err) {
        return err;
    }
    f.want = tr->view ? DEC_REG : 0;
    f.os = feed_os_kinds(&f);
    *time_ns = c.start_ns;
    if (walk_init(&w)) {
        err = ctr_fail_nomem(diag);
    }
    if (!err) {
        err = feed_read(&f, &c, &raw, diag);
    }
    if (!err) {
        err = walk_begin(&w, &f, &raw, diag);
    }
    if (!err) {
        err = go_to(&w, ordinal, pc, time_ns);
    }
    if (!err && w.view && values) {
        copy_values(&w, values);
    }
    if (!err && !w.view) {
        err = ctr_fail(diag, CTR_E_INVAL, CTR_NO_OFF, "state",
                       "registers were not recorded");
    }
    walk_fini(&w);
    buf_free(&raw.payload);
    feed_fini(&f);
    return err;
}
