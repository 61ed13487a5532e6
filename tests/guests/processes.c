/* SPDX-License-Identifier: MIT */
/*
 * vfork, execve of itself, a failing execve, a child killed by a signal, exit
 * of the first thread while others run, a fork from a second thread.  Prints
 * "processes N" and the number of stores of each.
 */
#include "guest.h"

#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>

static volatile uint32_t slots[8];

static NOINLINE void touch(volatile uint32_t *p, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        *p = i;
    }
}

static void *forking(void *arg)
{
    pid_t p;
    int status;

    (void)arg;
    touch(&slots[3], 40);
    p = fork();
    if (p == 0) {
        touch(&slots[4], 50);
        _exit(4);
    }
    waitpid(p, &status, 0);
    return (void *)(intptr_t)WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    char *again[] = {argv[0], "again", NULL};
    char *none[] = {"/nonexistent/program", NULL};
    char *env[] = {NULL};
    void *result;
    pthread_t t;
    int status, bad = 0;
    pid_t p;

    if (argc > 1) { /* the program that execve started */
        touch(&slots[7], 80);
        return 7;
    }
    touch(&slots[0], 10);
    p = vfork();
    if (p == 0) {
        execve(none[0], none, env);
        _exit(errno == ENOENT ? 3 : 4);
    }
    bad |= waitpid(p, &status, 0) != p || WEXITSTATUS(status) != 3;
    p = vfork();
    if (p == 0) {
        execve(again[0], again, env);
        _exit(5);
    }
    bad |= waitpid(p, &status, 0) != p;
    touch(&slots[1], 20);
    p = fork();
    if (p == 0) {
        touch(&slots[2], 30);
        raise(SIGKILL);
    }
    bad |= waitpid(p, &status, 0) != p || !WIFSIGNALED(status);
    bad |= pthread_create(&t, NULL, forking, NULL) || pthread_join(t, &result) ||
           result != (void *)4;
    for (int i = 0; i < 5; i++) {
        printf("stores 0x%lx %d\n", (unsigned long)&slots[i], 10 * (i + 1));
    }
    printf("processes 5\n");
    return bad;
}
