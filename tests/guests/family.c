/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads with names: reports each as "process PID PPID REASON STATUS
 * NAME" and "thread PID TID PTID NAME", in its final state.  With an argument it
 * also runs itself by execve, as a program of its own.
 */
#include "guest.h"

#include <pthread.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int at; /* descriptor of the report */

static int self(void)
{
    return (int)syscall(SYS_gettid);
}

static void report(const char *format, ...)
{
    char line[200];
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(line, sizeof(line), format, ap);
    va_end(ap);
    if (write(at, line, (size_t)n) != n) {
        _exit(99);
    }
}

struct job {
    int number, ptid;
};

static void *work(void *arg)
{
    struct job *j = arg;
    char name[16];

    snprintf(name, sizeof(name), "worker %d", j->number);
    prctl(PR_SET_NAME, name);
    report("thread %d %d %d %s\n", getpid(), self(), j->ptid, name);
    return NULL;
}

static void threads(int first, int n)
{
    pthread_t t[8];
    struct job j[8];

    for (int i = 0; i < n; i++) {
        j[i].number = first + i;
        j[i].ptid = self();
        pthread_create(&t[i], NULL, work, &j[i]);
    }
    for (int i = 0; i < n; i++) {
        pthread_join(t[i], NULL);
    }
}

/* The parent's view of a child. */
static void reap(pid_t p, const char *name)
{
    int status;

    if (waitpid(p, &status, 0) != p) {
        _exit(98);
    }
    if (WIFSIGNALED(status)) {
        report("process %d %d signal %d %s\n", p, getpid(), WTERMSIG(status), name);
    } else {
        report("process %d %d exit %d %s\n", p, getpid(), WEXITSTATUS(status), name);
    }
}

int main(int argc, char **argv)
{
    char *again[] = {argv[0], "again", NULL};
    char *env[] = {NULL};
    pid_t p;

    if (argc > 1 && argv[1][0] == 'a') {
        return 23;
    }
    at = dup(1);
    prctl(PR_SET_NAME, "the family");
    p = fork();
    if (p == 0) {
        pid_t q;

        prctl(PR_SET_NAME, "first");
        q = fork();
        if (q == 0) {
            prctl(PR_SET_NAME, "grandchild");
            threads(10, 2);
            exit(5);
        }
        reap(q, "grandchild");
        exit(200);
    }
    reap(p, "first");
    p = fork();
    if (p == 0) {
        prctl(PR_SET_NAME, "killed");
        for (;;) {
            kill(getpid(), SIGKILL);
        }
    }
    reap(p, "killed");
    p = fork();
    if (p == 0) {
        volatile int *nowhere = (int *)8;

        prctl(PR_SET_NAME, "faults");
        return *nowhere;
    }
    reap(p, "faults");
    threads(0, 5);
    p = vfork();
    if (p == 0) {
        _exit(11);
    }
    reap(p, "the family");
    if (argc > 1) {
        p = fork();
        if (p == 0) {
            execve(again[0], again, env);
            _exit(97);
        }
        reap(p, "");
    }
    report("process %d 0 exit 9 the family\n", getpid());
    return 9;
}
