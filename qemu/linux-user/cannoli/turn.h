/*
 * Execution tracing into shared memory: what the files of turns share
 *
 * Copyright (c) 2026 the cannoli-record authors
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * turns.c explains.
 */
#ifndef LINUX_USER_CANNOLI_TURN_H
#define LINUX_USER_CANNOLI_TURN_H

#include "user/safe-syscall.h"
#include "event.h"

/* The call of the host itself. */
#define host_syscall(pending, number, ...) \
    safe_syscall_base(pending, number, __VA_ARGS__)

/* The same with the arguments as the guest's call has them. */
static inline long host_call(int *pending, long number, const long a[6])
{
    return host_syscall(pending, number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* How long a thread waits before it looks again. */
#define CANNOLI_FIRST_LOOK_NS (2 * 1000 * 1000)

/* This thread's pipe, with turns; NULL: it takes no part. */
extern __thread struct mempipe_pipe *cannoli_mine;

static inline struct mempipe_turns *turns(void)
{
    return &cannoli_shared()->turns;
}

/* Pipes that were ever claimed have numbers below this. */
static inline uint32_t nr_pipes(void)
{
    return MIN(qatomic_read(&cannoli_shared()->pipes_high),
               cannoli_ctl->nr_pipes);
}

/* Its turn has changed. */
void cannoli_turn_wake(struct mempipe_pipe *p);
/* With a seed: this thread is not alone any more; its quantum is another. */
void cannoli_turn_redraw(void);
/* Passes the turn on, in a state that another thread changes to READY. */
void cannoli_turn_wait(uint32_t state);
/* Waits for the turn; this thread is READY. */
void cannoli_turn_get(void);

/* Around a call of the host that waits: gives the turn up, and gets it back. */
void cannoli_turn_away(void);
void cannoli_turn_back(void);
/* Around one that hardly ever does: another thread may take the turn. */
void cannoli_turn_call_begin(void);
void cannoli_turn_call_end(void);
/* If it was taken while the process was stopped. */
void cannoli_turn_regain(void);

/* The guest's call, with the turn given up for it. */
long cannoli_call_away(int *pending, long number, const long a[6]);
/* futex(2) for the guest: futex.c.  a: its arguments. */
long cannoli_futex_call(int *pending, long number, const long a[6]);

#endif
