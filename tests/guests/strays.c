/* SPDX-License-Identifier: MIT */
/*
 * A process blocks and unblocks signals all the time while its parent sends it SIGILL, SIGFPE
 * and SIGSEGV: the host may give them to a thread of QEMU's own.  The process prints its id,
 * and how many its handler has got.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ENOUGH 1000

static volatile int got, wrong;
static pid_t parent;

static void handle(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    got++;
    wrong += info->si_pid != parent || info->si_code != SI_USER;
}

static int child(int ready)
{
    const struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaction(SIGILL, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    write(ready, "", 1);
    while (got < ENOUGH && getppid() == parent) {
        sigprocmask(SIG_BLOCK, &set, NULL);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
    }
    signal(SIGILL, SIG_IGN); /* so that the number is final */
    signal(SIGFPE, SIG_IGN);
    signal(SIGSEGV, SIG_IGN);
    printf("%d got %d, wrong %d\n", getpid(), got, wrong);
    fflush(stdout);
    return 0;
}

int main(void)
{
    static const int numbers[] = {SIGILL, SIGFPE, SIGSEGV};
    int ready[2], status = 0;
    char byte;
    pid_t pid;

    parent = getpid();
    if (pipe(ready) || (pid = fork()) < 0) {
        return 1;
    }
    if (pid == 0) {
        _exit(child(ready[1]));
    }
    if (read(ready[0], &byte, 1) != 1) {
        return 1;
    }
    for (unsigned i = 0; waitpid(pid, &status, WNOHANG) == 0; i++) {
        kill(pid, numbers[i % 3]);
        usleep(20);
    }
    return status != 0;
}
