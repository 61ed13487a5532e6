/* SPDX-License-Identifier: MIT */
/*
 * Ends in the way that its argument names, after printing the address of its last store.
 *
 * With `children' it makes processes that die by each signal whose default action
 * ends a process, in several ways, and prints for each
 *
 *   died WAY NAME NUMBER PID
 *
 * after wait(2) has reported it; and for a child that must not die by the signal
 *
 *   lives WAY NAME NUMBER PID
 */
#include "guest.h"

#include <pthread.h>
#include <sys/wait.h>

static volatile uint32_t last;

static const struct {
    const char *name;
    int number;
} signals[] = {
    {"HUP", SIGHUP},
    {"INT", SIGINT},
    {"QUIT", SIGQUIT},
    {"ILL", SIGILL},
    {"TRAP", SIGTRAP},
    {"ABRT", SIGABRT},
    {"BUS", SIGBUS},
    {"FPE", SIGFPE},
    {"KILL", SIGKILL},
    {"USR1", SIGUSR1},
    {"SEGV", SIGSEGV},
    {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE},
    {"ALRM", SIGALRM},
    {"TERM", SIGTERM},
    {"XCPU", SIGXCPU},
    {"XFSZ", SIGXFSZ},
    {"VTALRM", SIGVTALRM},
    {"PROF", SIGPROF},
    {"IO", SIGIO},
    {"PWR", SIGPWR},
    {"SYS", SIGSYS},
    /* the first ones that the C library does not reserve */
    {"RT", 34},
    {"RT+1", 35},
};
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static void count(void)
{
    for (uint32_t i = 1; i <= 1000; i++) {
        last = i;
    }
}

static void *compute(void *arg)
{
    (void)arg;
    for (;;) {
        last++;
    }
    return NULL;
}

static void nothing(int number)
{
    (void)number;
}

/* The child; it writes to `ready' when the parent may send the signal. */
static int child(const char *way, int number, int ready)
{
    pthread_t thread;
    sigset_t set;

    count();
    if (strcmp(way, "kill") == 0) {
        kill(getpid(), number);
    } else if (strcmp(way, "raise") == 0) {
        raise(number);
    } else if (strcmp(way, "again") == 0) { /* the default after a handler */
        signal(number, nothing);
        raise(number);
        signal(number, SIG_DFL);
        raise(number);
    } else if (strcmp(way, "blocked") == 0) {
        sigemptyset(&set);
        sigaddset(&set, number);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(number);
        count();
        sigprocmask(SIG_UNBLOCK, &set, NULL);
    } else if (strcmp(way, "ignored") == 0) {
        signal(number, SIG_IGN);
        raise(number);
        return 7;
    } else if (strcmp(way, "waited") == 0) {
        int got = 0;

        sigemptyset(&set);
        sigaddset(&set, number);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(number);
        sigwait(&set, &got);
        return got == number ? 7 : 8;
    }
    for (int i = 0; strcmp(way, "threads") == 0 && i < 3; i++) {
        pthread_create(&thread, NULL, compute, NULL);
    }
    write(ready, "", 1);
    if (strcmp(way, "loop") == 0) {
        compute(NULL);
    }
    for (;;) {
        pause();
    }
}

static int try(const char *way, unsigned i)
{
    int number = signals[i].number, ready[2], status = 0;
    char byte;
    pid_t pid;

    if (pipe(ready) || (pid = fork()) < 0) {
        return 1;
    }
    if (pid == 0) {
        close(ready[0]);
        _exit(child(way, number, ready[1]));
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1) {
        kill(pid, number);
    }
    close(ready[0]);
    if (waitpid(pid, &status, 0) != pid) {
        return 1;
    }
    if (WIFSIGNALED(status)) {
        printf("died %s %s %d %d\n", way, signals[i].name, WTERMSIG(status), pid);
    } else if (WIFEXITED(status)) {
        printf("lives %s %s %d %d\n", way, signals[i].name, WEXITSTATUS(status), pid);
    }
    fflush(stdout);
    return 0;
}

static int children(void)
{
    static const char *const ways[] = {"raise", "sleep",   "loop",    "threads",
                                       "again", "blocked", "ignored", "waited"};
    int err = 0;

    for (unsigned i = 0; i < SIGNALS; i++) {
        err |= try("kill", i);
    }
    for (unsigned w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
        for (unsigned i = 0; i < SIGNALS; i++) {
            if (signals[i].number == SIGTERM || signals[i].number == SIGUSR1) {
                err |= try(ways[w], i);
            }
        }
    }
    return err;
}

int main(int argc, char **argv)
{
    volatile uint32_t *nowhere = (uint32_t *)0x30;

    if (argc > 1 && strcmp(argv[1], "children") == 0) {
        return children();
    }
    printf("last 0x%lx\n", (unsigned long)&last);
    fflush(stdout);
    count();
    switch (argc > 1 ? argv[1][0] : 0) {
    case 's': /* SIGSEGV */
        *nowhere = 1;
        break;
    case 'k': /* SIGKILL */
        kill(getpid(), SIGKILL);
        break;
    case 'a': /* SIGABRT */
        abort();
    case 't': /* SIGTERM */
        kill(getpid(), SIGTERM);
        break;
    }
    return 42;
}
