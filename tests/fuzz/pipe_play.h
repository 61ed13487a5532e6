/* SPDX-License-Identifier: MIT */
/*
 * A small recording, played into the recorder's memory step by step.  Unlike
 * tests/mempipe/producer.h it keeps its own copy of the layout and never waits, because
 * fuzz_pipe overwrites all of that memory meanwhile.
 */
#ifndef PIPE_PLAY_H
#define PIPE_PLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cannoli/mempipe.h"
#include "sim.h"

#define PLAYERS 3 /* threads: two of the first process, one of the second */

struct player {
    const struct sim_thread *t;
    pid_t pid, ppid, tid;
    bool first; /* the first thread of its process */
    uint32_t pipe;
    uint32_t serial;
    uint32_t seq;
    unsigned seg; /* number of the next segment */
    uint64_t head;
    bool live, over;
};

struct play {
    const struct sim *sim;
    uint8_t *base;
    struct mempipe_ctl ctl; /* the layout */
    uint32_t nr_buffers;
    struct player player[PLAYERS];
};

/*
 * Begins to play events (CTR_EVENTS_*) into the memory at `base', with threads of these
 * two processes, in pipes from `first_pipe' on.  The recordings are the same each time.
 */
void play_begin(struct play *p, uint8_t *base, unsigned events, unsigned addr_bytes,
                uint32_t first_pipe, const pid_t pid[2]);

static inline struct mempipe_shared *play_shared(const struct play *p)
{
    return (struct mempipe_shared *)(p->base + p->ctl.shared_off);
}

static inline struct mempipe_pipe *play_pipe(const struct play *p, uint32_t pipe)
{
    return (struct mempipe_pipe *)(p->base + p->ctl.pipes_off) + pipe;
}

/*
 * The next step of a thread: it attaches, or hands a buffer over; the last one may stay
 * unsent, as after a kill.  Does nothing if there is no free buffer.
 */
void play_step(struct play *p, unsigned player, uint64_t now_ns);
/* Ends the thread in the regular way. */
void play_end(struct play *p, unsigned player, uint32_t reason, uint64_t now_ns);

#endif
