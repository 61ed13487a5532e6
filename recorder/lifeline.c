/* SPDX-License-Identifier: MIT */
/*
 * When a process ends, Linux (4.3 and later) releases its files from the highest
 * descriptor to the lowest.  The ties must still be there when the writing end goes, so
 * that one has a higher number than any of them.
 */
#include "lifeline.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attached.h"

/* The highest number for the writing end: the kernel keeps a table of this length. */
#define WRITER_MAX 65535
/* Descriptors for everything but processes, and of each process: its pidfd, a tie. */
#define OTHERS 128
#define PER_PROCESS 2

void lifeline_open(struct lifeline *l)
{
    struct rlimit limit;
    int fds[2], writer;

    *l = (struct lifeline){.reader = -1, .writer = -1};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur <= OTHERS ||
        pipe2(fds, O_CLOEXEC) < 0) {
        return;
    }
    writer = limit.rlim_cur > WRITER_MAX ? WRITER_MAX : (int)limit.rlim_cur - 1;
    l->reader = fds[0];
    l->writer = fcntl(fds[1], F_DUPFD_CLOEXEC, writer);
    close(fds[1]);
    if (l->writer < 0) {
        lifeline_close(l);
        return;
    }
    l->room = ((unsigned)writer - OTHERS) / PER_PROCESS;
}

void lifeline_close(struct lifeline *l)
{
    if (l->reader >= 0) {
        close(l->reader);
    }
    if (l->writer >= 0) {
        close(l->writer);
    }
    l->reader = l->writer = -1;
    l->room = 0;
}

int lifeline_tie(struct lifeline *l, pid_t pid, int pidfd)
{
    char name[32];
    int tie;

    if (!l->room || pidfd < 0) {
        return -1;
    }
    snprintf(name, sizeof(name), "/proc/self/fd/%d", l->reader);
    tie = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (tie < 0) {
        return -1;
    }
    /* After F_SETOWN the tie refers to the process, not to the number, which is another
     * process's if this one has ended before. */
    if (tie > l->writer || fcntl(tie, F_SETOWN, pid) < 0 || attached_has_ended(pidfd) ||
        fcntl(tie, F_SETSIG, SIGKILL) < 0 ||
        fcntl(tie, F_SETFL, O_NONBLOCK | O_ASYNC) < 0) {
        close(tie);
        return -1;
    }
    l->room--;
    return tie;
}

void lifeline_loosen(struct lifeline *l, int tie)
{
    if (tie >= 0) {
        close(tie);
        l->room++;
    }
}
