/* SPDX-License-Identifier: MIT */
/*
 * Signals of the recorder.  Handlers only set flags and ring the doorbell; the
 * main loop reads the flags.  What the guest inherits is what the recorder was
 * started with, to the bit.
 */
#ifndef RECORDER_SIGNALS_H
#define RECORDER_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "attached.h"
#include "mempipe_host.h"

/* Signals whose disposition the recorder changes, and what it was before. */
#define SIGNALS_CHANGED 12
struct signals_saved {
    sigset_t mask;
    unsigned changed; /* how many of them were */
    struct sigaction old[SIGNALS_CHANGED];
};

/* Which of the signals that users may give a meaning are handled. */
enum signals_user {
    SIGNALS_NO_USER = 0,
    SIGNALS_USR2 = 1,
    SIGNALS_BOTH = 2, /* SIGUSR1, too */
};

/*
 * Installs the handlers.
 *
 * SIGINT is counted: the terminal sends it to the guest as well, which is free to handle
 * it.  SIGTERM and SIGHUP request the end.  SIGQUIT and the stop signals of the terminal
 * are left to the guest; SIGPIPE and SIGXFSZ are ignored: a failed write says as much.  A
 * signal that was ignored when the recorder was started stays ignored, and so is one that
 * a recorded process sent to its whole process group.
 */
void signals_install(struct signals_saved *saved, enum signals_user user);

/*
 * Sorts the signals that other processes have sent since the last call: those from a
 * process that was attached then, or for which `is_guest' returns true, are ignored.  The
 * main loop calls it before it queries any.
 */
void signals_sort(bool (*is_guest)(void *arg, pid_t pid), void *arg);

/*
 * From now on handlers ring the doorbell of `host', and look which senders are attached;
 * NULL, NULL: no more.
 */
void signals_set_bell(struct mempipe_host *host, const struct attached_file *file);

/* Puts everything back.  Async-signal-safe: for the child too, before exec. */
void signals_restore(const struct signals_saved *saved);

/* The signal that requests the end of the recording now, or 0. */
int signals_end_wanted(void);

/* How often SIGUSR1 or SIGUSR2 (`sig') came since the last call. */
unsigned signals_user(int sig);

/* True once after each SIGCHLD. */
bool signals_child_changed(void);

/* Stops this process as the terminal's `sig' would have. */
void signals_stop_self(int sig);

#endif
