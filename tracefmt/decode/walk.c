/* SPDX-License-Identifier: MIT */
/*
 * Merges the three columns that have an order in time - runs, changes of registers from
 * outside, events:
 *
 *   events before run k, changes from outside before run k, run k, ...
 *
 * and once more after the last run. Registers must be followed through all runs, even
 * those that are not selected.
 */
#include "decode/walk.h"

#include <string.h>

int walk_init(struct walk *w)
{
    memset(w, 0, sizeof(*w));
    evdec_init(&w->events);
    return decoder_init(&w->dec);
}

void walk_fini(struct walk *w)
{
    decoder_fini(&w->dec);
    evdec_fini(&w->events);
    regstate_fini(&w->regs);
}

void walk_diag(struct walk *w, struct ctr_diag *diag)
{
    w->dec.diag = w->events.diag = diag;
}

void walk_end_chunk(struct walk *w)
{
    w->more = 0;
    if (!w->feed->runs) {
        w->run.nout = 0;
    }
    w->run.block = NULL;
    w->run.ordinal = w->pub.first + w->pub.insns;
    w->run.nreg = 0;
}

int walk_begin(struct walk *w, const struct feed *f, const struct raw_chunk *raw,
               struct ctr_diag *diag)
{
    const struct ctr_trace *tr = f->tr;
    int err = 0;
    w->feed = f;
    w->pub = raw->pub;
    w->lo = raw->lo;
    w->hi = raw->hi;
    w->thread = ctr_trace_thread(tr, raw->pub.thread);
    feed_selection(f, w->thread, &w->sel);
    w->view = f->want & DEC_REG ? tr->view : NULL;
    w->run = (struct run){.block = NULL};
    w->run_at = 0;
    w->last_block = NULL;
    w->events.have = 0;
    walk_diag(w, diag);
    if (f->runs) {
        err = decoder_begin(&w->dec, tr, raw, f->want, diag);
    }
    w->events.task = raw->task;
    w->events.context = raw->context;
    w->selects_at = UINT32_MAX;
    w->events.lasts = 0;
    if (!err && (f->os || f->slices || f->follows)) {
        err = evdec_begin(&w->events, &raw->sec, &raw->payload, &raw->pub, w->dec.dctx,
                          diag);
    }
    if (!err && w->view) {
        if (w->regs.view != w->view && regstate_init(&w->regs, w->view)) {
            return ctr_fail_nomem(diag);
        }
        w->regs.wanted = f->registers;
        regstate_set(&w->regs, w->dec.state);
    }
    w->reg_next = 0;
    return err ? err : walk_advance(w);
}

static void make_outs(struct walk *w)
{
    for (uint32_t i = 0; w->view && i < w->run.nout; i++) {
        regstate_write(&w->regs, w->run.outs[i].reg, w->run.outs[i].value);
    }
    w->outs_done = 1;
}

void walk_end_run(struct walk *w)
{
    if (!w->outs_done) {
        make_outs(w);
    }
    expand_regs(&w->run, &w->regs, &w->reg_next, UINT32_MAX);
    w->reg_next = 0;
    w->last_block = w->run.block;
    w->last_insn = (uint16_t)(w->run.end - 1);
}

void walk_outs(struct walk *w)
{
    regstate_settle(&w->regs);
    make_outs(w);
    regstate_settle(&w->regs);
}

int walk_event(struct walk *w)
{
    const struct evdec *e = &w->events;
    if (!e->have || (w->more && e->run > w->run_at)) {
        return 0;
    }
    if (w->feed->runs && e->run == w->run_at && e->ev.ordinal != w->run.ordinal) {
        return ctr_fail(w->dec.diag, CTR_E_CORRUPT, w->pub.off, "chunk.events",
                        "chunk %llu: an event out of place",
                        (unsigned long long)w->pub.index);
    }
    return 1;
}

int walk_choose(struct walk *w)
{
    if (w->selects_at != w->events.lasts) {
        w->selects_at = w->events.lasts;
        w->selects = feed_selects(w->feed, &w->events.task, &w->events.context);
    }
    return w->selects;
}

/* An event that says what runs belongs to what it ends and to what it begins. */
static int selects_event(struct walk *w)
{
    struct ctr_os_event *e = &w->events.ev;
    struct ev_last *last = evdec_last(&w->events, e->type);
    if (walk_choose(w) || !last || e->size > EV_LAST_BYTES) {
        return w->selects;
    }
    const struct ev_last old = *last;
    last->size = e->size;
    memcpy(last->payload, e->payload, e->size);
    const int ret = feed_selects(w->feed, &w->events.task, &w->events.context);
    *last = old;
    return ret;
}

int walk_event_selected(struct walk *w)
{
    const struct selection *s = &w->sel;
    const struct ctr_os_event *e = &w->events.ev;
    return e->ordinal >= s->from && e->ordinal < s->to && w->events.now >= s->from_ns &&
           w->events.now < s->to_ns && (w->feed->os & event_kind(e->type)) != 0 &&
           (!feed_chooses(w->feed) || selects_event(w));
}

static uint64_t out_pc(const struct walk *w)
{
    return w->last_block ? ctr_block_pc(&w->last_block->pub, w->last_insn) : 0;
}

static uint64_t out_ordinal(const struct walk *w)
{
    return w->run.ordinal ? w->run.ordinal - 1 : 0;
}

int walk_out_selected(struct walk *w)
{
    uint64_t ordinal = out_ordinal(w);
    if (ordinal < w->lo || ordinal >= w->hi || w->sel.has_addrs || !walk_selects(w)) {
        return 0;
    }
    if (!w->last_block) {
        return !w->sel.has_pcs && w->sel.privileges == UINT32_MAX;
    }
    return select_block(&w->sel, &w->last_block->pub) && select_pc(&w->sel, out_pc(w));
}

void walk_out_event(const struct walk *w, uint32_t k, struct ctr_reg_change *c)
{
    uint16_t reg = w->regs.changed[k];
    c->ordinal = out_ordinal(w);
    c->pc = out_pc(w);
    c->reg = reg;
    c->size = w->view->reg[reg].pub.size;
    c->value = regstate_value(&w->regs, reg);
    c->outside = 1;
    c->insn = w->last_block ? w->last_insn : 0;
    c->block = w->last_block ? &w->last_block->pub : NULL;
    c->thread = w->thread;
}

uint64_t walk_runs_alone(const struct walk *w)
{
    const struct decoder *d = &w->dec;
    uint64_t n = UINT64_MAX, next = w->run_at + 1;
    if (w->events.have) {
        n = w->events.run > next ? w->events.run - next : 0;
    }
    if (d->have_extra && n > d->extra.run - d->run) {
        n = d->extra.run - d->run;
    }
    if (d->have_reg_extra && n > d->reg_extra.run - d->run) {
        n = d->reg_extra.run - d->run;
    }
    return n;
}
