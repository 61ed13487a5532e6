/* SPDX-License-Identifier: MIT */
/*
 * Going through one chunk: its runs, the registers as they change, and the events
 * between the runs.  What replay, cursor and ctr_state_at have in common.
 */
#ifndef CTR_WALK_H
#define CTR_WALK_H

#include "decode/expand.h"

struct walk {
    const struct feed *feed;
    const struct ctr_thread *thread;
    struct decoder dec;
    struct evdec events; /* events.have: one that was not told yet */
    struct regstate regs;
    const struct regview *view;
    struct ctr_chunk pub;
    uint64_t lo, hi; /* ordinals of instructions that the filter selects */
    struct run run;
    int more;                       /* run is one; otherwise it is the chunk's end */
    uint64_t run_at;                /* its number in the chunk */
    uint32_t reg_next;              /* its register writes made so far */
    int outs_done;                  /* those before it were made */
    const struct block *last_block; /* of the run before, NULL: none yet */
    uint16_t last_insn;
};

int walk_init(struct walk *w);
void walk_fini(struct walk *w);

/* Are register changes gone through? */
static inline int walk_has_regs(const struct walk *w)
{
    return w->view != NULL;
}

/* Begins with a chunk and goes to its first run.  raw is needed only now. */
int walk_begin(struct walk *w, const struct feed *f, const struct raw_chunk *raw,
               struct ctr_diag *diag);
void walk_diag(struct walk *w, struct ctr_diag *diag);

/* Makes what is left of the register writes before and in this run. */
void walk_end_run(struct walk *w);
/* There is no run behind it. */
void walk_end_chunk(struct walk *w);

static inline int walk_advance(struct walk *w)
{
    int ret = w->feed->runs ? decoder_next(&w->dec, &w->run) : 0;
    w->more = ret;
    w->outs_done = 0;
    if (ret != 1) {
        walk_end_chunk(w);
    }
    return ret < 0 ? ret : 0;
}

/*
 * Goes on to the next run; what is left of this one's register writes is made.
 * Returns 0 or an error.
 */
static inline int walk_next(struct walk *w)
{
    if (w->view) {
        walk_end_run(w);
    }
    w->run_at++;
    return walk_advance(w);
}

/* Ordinal of the instruction behind which the run ends. */
static inline uint64_t walk_end(const struct walk *w)
{
    return w->more ? w->run.ordinal + (uint64_t)(w->run.end - w->run.first)
                   : w->pub.first + w->pub.insns;
}

/*
 * Is there an event (w->events) before the run that was not told?  Returns 1, 0
 * or an error.  evdec_next goes on to the one after it.
 */
int walk_event(struct walk *w);

/* May there be anything at all between the run before and this one? */
static inline int walk_between(const struct walk *w)
{
    return w->events.have || w->view;
}

/* Does the filter take that event? */
int walk_event_selected(const struct walk *w);

/*
 * Where the changes from outside before the run belong: as many instructions
 * were executed.  What is left of a resumed instruction comes behind them, so
 * there it is one less.
 */
static inline uint64_t walk_outs_key(const struct walk *w)
{
    return w->run.ordinal - (w->more && w->run.first && w->run.ordinal ? 1 : 0);
}

/* Makes these changes; regs.changed tells what became of them. */
void walk_outs(struct walk *w);

/* The event of changed register number k after walk_outs. */
void walk_out_event(const struct walk *w, uint32_t k, struct ctr_reg_change *c);

/* Does the filter take changes from outside at this place? */
int walk_out_selected(const struct walk *w);

#endif
