/* SPDX-License-Identifier: MIT */
/*
 * A small process that outlives the recorder: if the recorder is killed, it ends the
 * guest, reports why, finishes the trace if there is a ring, and exits.
 */
#ifndef RECORDER_WATCHDOG_H
#define RECORDER_WATCHDOG_H

#include <stdint.h>
#include <sys/types.h>

#include "attached.h"
#include "mempipe_host.h"
#include "rescue.h"

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
 * Forks the watchdog.  `will': what is left to do then, NULL: nothing.  To be called
 * before anything else is forked and before there are threads.  `argv' is that of main:
 * the process is renamed.  Returns 0 or a negated errno value.
 */
int watchdog_start(struct watchdog *w, struct mempipe_host *host,
                   const struct rescue_will *will, int argc, char **argv);

/* Reports to it that all is well and waits for its end. */
void watchdog_stop(struct watchdog *w);

#endif
