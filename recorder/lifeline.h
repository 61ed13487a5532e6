/* SPDX-License-Identifier: MIT */
/*
 * The kernel ends the recorded processes when the recorder ends, whoever else has been
 * killed.  PR_SET_PDEATHSIG does that for the command only.
 *
 * This is a pipe of which only the recorder holds both ends.  For each process it opens
 * the reading end once more and has the kernel send SIGKILL to that process when
 * something happens there (O_ASYNC, F_SETOWN, F_SETSIG: fcntl(2)).  Only one thing can
 * happen: the recorder dies, which closes the writing end.
 *
 * All functions: the main thread only.
 */
#ifndef RECORDER_LIFELINE_H
#define RECORDER_LIFELINE_H

#include <sys/types.h>

struct lifeline {
    int reader, writer; /* -1: not open, lifeline_tie does nothing */
    unsigned room; /* how many more processes: descriptors are needed elsewhere, too */
};

/* Without descriptors it stays closed. */
void lifeline_open(struct lifeline *l);

/* All ties must have been loosened. */
void lifeline_close(struct lifeline *l);

/*
 * Ties a process, of which `pidfd' is a descriptor.  Returns a descriptor for
 * lifeline_loosen, or -1: it has ended, or there are no descriptors left.
 */
int lifeline_tie(struct lifeline *l, pid_t pid, int pidfd);
void lifeline_loosen(struct lifeline *l, int tie);

#endif
