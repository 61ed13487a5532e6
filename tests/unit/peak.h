/* SPDX-License-Identifier: MIT */
/* Measures how much memory reading a trace needs, in a process of its own. */
#ifndef PEAK_H
#define PEAK_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* The most memory that this process has had so far, in KiB.  Sanitizers add to it. */
static inline long peak_kib(void)
{
    char line[128];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof(line), f)) {
        sscanf(line, "VmHWM: %ld", &kib);
    }
    if (f) {
        fclose(f);
    }
    return kib;
}

/* Runs this program again with these arguments; returns its status, or -1. */
static inline int run_again(const char *a, const char *b, const char *c)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "again", a, b, c, (char *)NULL);
        _exit(3);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

#endif
