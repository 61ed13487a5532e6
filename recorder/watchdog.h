/* SPDX-License-Identifier: MIT */
/*
 * A small process that outlives the recorder: should the recorder be killed,
 * it ends the guest, says why, writes what a ring holds, and goes.
 */
#ifndef RECORDER_WATCHDOG_H
#define RECORDER_WATCHDOG_H

#include <stdint.h>
#include <sys/types.h>

#include "attached.h"
#include "mempipe_host.h"
#include "ring.h"

/* What is left to do when the recorder was killed: write the ring.  NULL: nothing. */
struct watchdog_will {
    const struct ring *ring;
    const char *output; /* its name */
    int fd;
    int level;
};

/* Shared by recorder and watchdog, and nobody else. */
struct watchdog_shared {
    struct attached_shared attached;
    int32_t finished; /* 1: the recorder ends as it should */
};

struct watchdog {
    pid_t pid;
    int life; /* its other end sees EOF when the recorder is gone */
    struct watchdog_shared *shared;
};

/*
 * Forks the watchdog.  To be called before anything else is forked and before
 * there are threads.  `argv' is that of main: the process is renamed.
 * Returns 0 or a negated errno value.
 */
int watchdog_start(struct watchdog *w, const struct mempipe_host *host,
                   const struct watchdog_will *will, int argc, char **argv);

/* Tells it that all is well and waits for its end. */
void watchdog_stop(struct watchdog *w);

#endif
