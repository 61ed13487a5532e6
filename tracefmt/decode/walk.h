/* SPDX-License-Identifier: MIT */
/*
 * The walk over one chunk: its runs, the registers as they change, and the events
 * between the runs. Replay, cursor and ctr_state_at share it.
 */
#ifndef CTR_WALK_H
#define CTR_WALK_H

#include "decode/expand.h"

struct walk {
    const struct feed *feed;
    const struct ctr_thread *thread;
    struct selection sel;
    struct decoder dec;
    struct evdec events; /* events.have: there is one that was not delivered yet */
    struct regstate regs;
    const struct regview *view;
    struct ctr_chunk pub;
    uint64_t lo, hi; /* ordinals of the selected instructions */
    struct run run;
    int more;                       /* run is valid; otherwise the walk is at the
                                       chunk's end */
    uint64_t run_at;                /* its number in the chunk */
    uint32_t reg_next;              /* its register writes made so far */
    int outs_done;                  /* the changes before the run were made */
    const struct block *last_block; /* of the previous run, NULL: there was none */
    uint16_t last_insn;
    int selects;         /* see walk_selects, ... */
    uint32_t selects_at; /* ... as of events.lasts */
};

int walk_init(struct walk *w);
void walk_fini(struct walk *w);

/* Whether the walk follows register changes. */
static inline int walk_has_regs(const struct walk *w)
{
    return w->view != NULL;
}

/* Begins a chunk and moves to its first run. raw is not needed afterwards. */
int walk_begin(struct walk *w, const struct feed *f, const struct raw_chunk *raw,
               struct ctr_diag *diag);
void walk_diag(struct walk *w, struct ctr_diag *diag);

/* Whether the filter selects the task and the address space of the run. */
int walk_choose(struct walk *w);
static inline int walk_selects(struct walk *w)
{
    return !feed_chooses(w->feed) || walk_choose(w);
}

/* Makes the remaining register writes before and in this run. */
void walk_end_run(struct walk *w);
/* Moves to the end of the chunk, after its last run. */
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
 * Moves to the next run, after making the remaining register writes of this one.
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

/* Ordinal of the instruction after which the run ends. */
static inline uint64_t walk_end(const struct walk *w)
{
    return w->more ? w->run.ordinal + (uint64_t)(w->run.end - w->run.first)
                   : w->pub.first + w->pub.insns;
}

/*
 * Whether there is an event (w->events) before the run that was not delivered. Returns
 * 1, 0 or an error. evdec_next moves to the one after it.
 */
int walk_event(struct walk *w);

/* Whether there may be anything at all between the previous run and this one. */
static inline int walk_between(const struct walk *w)
{
    return w->events.have || w->view;
}

/* The number of the following runs that have nothing before them. */
uint64_t walk_runs_alone(const struct walk *w);

/* Whether the filter selects that event. */
int walk_event_selected(struct walk *w);

/*
 * The place of changes from outside before the run: the number of instructions executed
 * before. If the run starts with the rest of a resumed instruction, the changes come
 * before that, so the number is one less.
 */
static inline uint64_t walk_outs_key(const struct walk *w)
{
    return w->run.ordinal - (w->more && w->run.first && w->run.ordinal ? 1 : 0);
}

/* Makes these changes; regs.changed then lists the changed registers. */
void walk_outs(struct walk *w);

/* The event of changed register number k after walk_outs. */
void walk_out_event(const struct walk *w, uint32_t k, struct ctr_reg_change *c);

/* Whether the filter selects changes from outside at this place. */
int walk_out_selected(struct walk *w);

#endif
