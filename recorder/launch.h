/* SPDX-License-Identifier: MIT */
/*
 * From the user's command to a running QEMU: finds the program to execute, and starts it
 * so that the guest notices nothing.
 */
#ifndef RECORDER_LAUNCH_H
#define RECORDER_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "signals.h"
#include "mempipe_host.h"

struct launch_plan {
    char *qemu;       /* path of the QEMU to execute */
    char **argv;      /* its arguments, with NULL at their end; the plan owns them */
    int argc;         /* without that NULL */
    bool system;      /* it emulates a machine, which has no program of ours */
    bool has_program; /* QEMU has its file from elsewhere */
    bool parallel;    /* each vCPU of that has a host thread (-accel tcg,thread=multi) */
    /* where they are known beforehand, else "": */
    const char *target;  /* QEMU's name of the machine */
    const char *program; /* what QEMU is to run */
};

/* Exit statuses of the recorder's own, as a shell has them. */
enum {
    LAUNCH_FAILED = 125,
    LAUNCH_NOT_EXECUTABLE = 126,
    LAUNCH_NOT_FOUND = 127,
};

/*
 * Decides what to execute for `command'.  qemu_dir (may be NULL) is the user's.
 * Returns 0, or an exit status after one line on stderr.
 */
int launch_plan_make(struct launch_plan *plan, char **command, const char *qemu_dir,
                     bool has_program);
void launch_plan_free(struct launch_plan *plan);

struct launch_env {
    const struct signals_saved *signals; /* to restore in the child */
    const struct rlimit *nofile;         /* to restore in the child */
    const struct mempipe_host *host;     /* whose memfds to pass */
    int stdout_fd;                       /* >= 0: becomes the guest's stdout */
    bool no_aslr;                        /* addresses are not random, for children, too */
};

/*
 * Forks and executes.  Returns 0 and the pid, or an exit status after one line
 * on stderr.
 */
int launch_start(const struct launch_plan *plan, const struct launch_env *env,
                 pid_t *pid);

#endif
