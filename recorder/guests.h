/* SPDX-License-Identifier: MIT */
/*
 * The recorder's view of what runs: traced processes, each watched through a pidfd, so
 * that every end of any of them is noticed.
 *
 * What a guest says of itself in its pipes names a process in the trace; the system shows
 * which process that is (attached.h).  One that the system does not know to be attached
 * has ended, or is a lie: either way nobody waits for it.
 */
#ifndef RECORDER_GUESTS_H
#define RECORDER_GUESTS_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "attached.h"
#include "lifeline.h"
#include "mempipe_host.h"
#include "pipeline.h"

/* Processes whose ends are remembered for guests_is_ours. */
#define GUESTS_GONE 64

struct guests {
    struct mempipe_host *host;
    struct attached_shared *attached;
    struct guest_process *processes; /* that still hold a pipe or run */
    int epoll, stop;                 /* of the thread that rings on deaths */
    bool deaths;                     /* atomic: it rang since the last look */
    bool ended;                      /* all processes have: see guests_open_ended */
    unsigned unwatched;              /* processes without a pidfd */
    pid_t gone[GUESTS_GONE];         /* host's numbers of the last ones that ended */
    unsigned n_gone;
    struct lifeline lifeline; /* ends the processes with us */
    pthread_t bellman;
};

/* What a pipe says of its process: copies, not trusted. */
struct guest_claim {
    uint32_t serial;   /* of the process: the serial of its first pipe */
    int32_t pid, ppid; /* as the guest knows them */
    bool nested;       /* ... in a PID namespace below the recorder's command's */
    bool inside_exec;  /* the pipe's thread is inside execve, or past it */
};

/* Starts the thread that rings the doorbell when a process has ended.  Returns
 * 0 or a negated errno value. */
int guests_open(struct guests *g, struct mempipe_host *host,
                struct attached_shared *attached);
void guests_close(struct guests *g);

/*
 * For a process that goes on when all traced processes have ended: nothing is searched
 * for, watched or signalled; each process is dead in the round after it was added.  Needs
 * no guests_close.
 */
void guests_open_ended(struct guests *g, struct mempipe_host *host);

/* The process with this serial that still runs, as far as is known, or NULL. */
struct guest_process *guests_find(struct guests *g, uint32_t serial);

/* A new process, watched from now on; NULL when there is no memory. */
struct guest_process *guests_add(struct guests *g, const struct guest_claim *claim);

/* Removes a process from the list; the caller owns it then. */
void guests_remove(struct guests *g, struct guest_process *p);

/* Whether the host's number is that of a traced process, or was until recently. */
bool guests_is_ours(const struct guests *g, pid_t pid);

/* Whether a process is attached to the memory that is not known yet. */
bool guests_has_strangers(const struct guests *g);

/*
 * Marks the processes that have ended as dead; queries them only if there is reason to
 * think that some have.  With `look_exec' also queries whether those inside execve are
 * still the program that was traced.
 */
void guests_poll(struct guests *g, bool look_exec, uint64_t now_ns);

#endif
