/* SPDX-License-Identifier: MIT */
/*
 * Who gets the turn next (mempipe.h): QEMU passes it on, and the recorder for a process
 * that has died with it.  Inline, so that both ends have the same.
 *
 * Threads: whoever has the turn, or acts for a process that is dead.  Nothing waits.
 */
#ifndef CANNOLI_TURNS_H
#define CANNOLI_TURNS_H

#include <stddef.h>
#include "cannoli/mempipe.h"

/* The next random number (splitmix64: Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t mempipe_turns_draw(struct mempipe_turns *t, uint64_t seed)
{
    uint64_t z = (t->drawn ? t->drawn : seed) + 0x9e3779b97f4a7c15ull;

    t->drawn = z ? z : 1;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

/* With `vary' and half of the seeds some threads get the turn up to 32 times as often. */
static inline uint64_t mempipe_turns_weight(const struct mempipe_ctl *ctl,
                                            const struct mempipe_pipe *p)
{
    struct mempipe_turns one = {.drawn = ctl->seed + p->serial + 1};

    return ctl->vary && ctl->seed & 1 ? 1ull << (mempipe_turns_draw(&one, 0) % 6) : 1;
}

static inline int mempipe_turns_is_ready(const struct mempipe_pipe *p)
{
    return __atomic_load_n(&p->turn, __ATOMIC_SEQ_CST) == MEMPIPE_TURN_READY;
}

/* Whether a thread among n pipes waits for the turn. */
static inline int mempipe_turns_any(const struct mempipe_pipe *pipes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (mempipe_turns_is_ready(&pipes[i])) {
            return 1;
        }
    }
    return 0;
}

/*
 * The thread among n pipes that comes after the one with this serial: the next one that
 * is ready in the order of serials, or with `vary' any of those that are, by their
 * weights.  NULL: none is.
 */
static inline struct mempipe_pipe *mempipe_turns_choose(const struct mempipe_ctl *ctl,
                                                        struct mempipe_turns *t,
                                                        struct mempipe_pipe *pipes,
                                                        uint32_t n, uint32_t serial)
{
    uint64_t all = 0, left = 0;
    uint32_t ready = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (mempipe_turns_is_ready(&pipes[i])) {
            ready++;
            all += mempipe_turns_weight(ctl, &pipes[i]);
        }
    }
    if (ready > 1 && ctl->vary) {
        left = mempipe_turns_draw(t, ctl->seed) % all;
    }
    /* How far a serial is after this one, which is last itself. */
    for (uint32_t from = 0;;) {
        struct mempipe_pipe *best = NULL;
        uint32_t best_after = UINT32_MAX;

        for (uint32_t i = 0; i < n; i++) {
            const uint32_t after = pipes[i].serial - serial - 1;

            if (mempipe_turns_is_ready(&pipes[i]) && after >= from &&
                (!best || after < best_after)) {
                best = &pipes[i];
                best_after = after;
            }
        }
        if (!best || left < mempipe_turns_weight(ctl, best)) {
            return best;
        }
        left -= mempipe_turns_weight(ctl, best);
        from = best_after + 1;
    }
}

static inline uint64_t mempipe_turns_name(const struct mempipe_pipe *pipes,
                                          const struct mempipe_pipe *p)
{
    return (uint64_t)(p - pipes) << 32 | (p->serial + 1);
}

/* The process that has the turn, by a holder that is not 0: the thread may have ended. */
static inline uint32_t mempipe_turns_process(const struct mempipe_turns *t,
                                             const struct mempipe_pipe *pipes,
                                             uint64_t holder)
{
    const struct mempipe_pipe *p = &pipes[holder >> 32];

    return __atomic_load_n(p->serial + 1 == (uint32_t)holder ? &p->process : &t->process,
                           __ATOMIC_RELAXED);
}

/*
 * Passes the turn on, from the thread `me' (its name) that has it.  Returns the thread
 * that is to be woken (futex on its turn), or NULL: nobody is ready, or somebody else has
 * passed it on.  A thread may be stopped anywhere in here: the recorder does the rest.
 */
static inline struct mempipe_pipe *mempipe_turns_pass(const struct mempipe_ctl *ctl,
                                                      struct mempipe_turns *t,
                                                      struct mempipe_pipe *pipes,
                                                      uint32_t n, uint64_t me)
{
    for (;;) {
        struct mempipe_pipe *next =
            mempipe_turns_choose(ctl, t, pipes, n, (uint32_t)me - 1);
        const uint64_t name = next ? mempipe_turns_name(pipes, next) : 0;
        uint32_t ready = MEMPIPE_TURN_READY;
        uint64_t nobody = 0, last = me;

        if (!__atomic_compare_exchange_n(&t->holder, &last, name, 0, __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST)) {
            return NULL;
        }
        if (next) {
            __atomic_store_n(&t->process, next->process, __ATOMIC_RELAXED);
            if (__atomic_compare_exchange_n(&next->turn, &ready, MEMPIPE_TURN_RUNS, 0,
                                            __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
                return next;
            }
            if (ready != MEMPIPE_TURN_OUT) {
                return NULL; /* it has seen its name */
            }
            me = name;
            continue;
        }
        /* One that became ready meanwhile has not seen that; pairs with its load. */
        if (!mempipe_turns_any(pipes, n) ||
            !__atomic_compare_exchange_n(&t->holder, &nobody, me, 0, __ATOMIC_SEQ_CST,
                                         __ATOMIC_SEQ_CST)) {
            return NULL;
        }
    }
}

#endif
