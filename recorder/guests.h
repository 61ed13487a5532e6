/* SPDX-License-Identifier: MIT */
/*
 * The recorder's view of what runs: traced processes, each watched through a
 * pidfd, so that the end of any of them is noticed however it comes about.
 */
#ifndef RECORDER_GUESTS_H
#define RECORDER_GUESTS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "mempipe_host.h"
#include "pipeline.h"

struct guests {
    struct mempipe_host *host;
    struct guest_process *processes; /* that still hold a pipe or run */
    int epoll, stop;                 /* of the thread that rings on deaths */
    bool deaths;                     /* atomic: it rang since the last look */
    unsigned unwatched;              /* processes without a pidfd */
    pthread_t bellman;
};

/* Starts the thread that rings the doorbell when a process has ended.  Returns
 * 0 or a negated errno value. */
int guests_open(struct guests *g, struct mempipe_host *host);
void guests_close(struct guests *g);

/* The process with this pid that still runs, as far as is known, or NULL. */
struct guest_process *guests_find(struct guests *g, pid_t pid);

/* A new process, watched from now on; NULL when there is no memory. */
struct guest_process *guests_add(struct guests *g, pid_t pid, pid_t ppid);

/* Takes a process out of the list; it is the caller's then. */
void guests_remove(struct guests *g, struct guest_process *p);

/*
 * The pid of `p' has come up with a first thread once more: after execve, or, when
 * `p' has ended unnoticed, in a new process.  guests_find does not find it any
 * more; the next guests_poll takes it for dead.
 */
void guests_replace(struct guests *g, struct guest_process *p);

/*
 * Marks the processes that have ended as dead; asks only if there is reason to
 * think that some have.  With `look_exec' also asks the
 * system whether those inside execve are still the program that was traced.
 */
void guests_poll(struct guests *g, bool look_exec, uint64_t now_ns);

#endif
