/* SPDX-License-Identifier: MIT */
/* See pipe_child.h. */
#include "pipe_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START, END };

struct request {
    uint32_t what;
    int32_t fd; /* START: a descriptor of the target; END: a pid */
    uint64_t bytes;
};

static int nursery = -1;
static pid_t bystander;
static pid_t children[PIPE_CHILDREN]; /* 0: none */

static void die(const char *what)
{
    fprintf(stderr, "fuzz_pipe: %s: %s\n", what, strerror(errno));
    abort();
}

/* A process that waits until it is killed, with all signals blocked. */
static pid_t make_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            pause();
        }
    }
    return pid;
}

static void end_child(pid_t pid)
{
    syscall(SYS_kill, pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
}

static void start_children(pid_t target, const struct request *q, pid_t *pid)
{
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/fd/%d", (int)target, (int)q->fd);
    int fd = open(name, O_RDWR | O_CLOEXEC);
    void *p = fd < 0 ? MAP_FAILED
                     : mmap(NULL, q->bytes, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE, fd, 0);
    close(fd);
    for (int i = 0; i < PIPE_CHILDREN; i++) {
        pid[i] = p == MAP_FAILED ? -1 : make_child();
    }
    if (p != MAP_FAILED) {
        munmap(p, q->bytes);
    }
}

static void serve(pid_t target, int fd)
{
    struct request q;
    pid_t by = make_child();
    if (write(fd, &by, sizeof(by)) != (ssize_t)sizeof(by)) {
        return;
    }
    while (read(fd, &q, sizeof(q)) == (ssize_t)sizeof(q)) {
        pid_t pid[PIPE_CHILDREN] = {0};
        if (q.what == START) {
            start_children(target, &q, pid);
        } else {
            end_child(q.fd);
        }
        if (write(fd, pid, sizeof(pid)) != (ssize_t)sizeof(pid)) {
            return;
        }
    }
}

void pipe_nursery(void)
{
    int fd[2];
    sigset_t all, old;
    pid_t target = getpid();
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) < 0) {
        die("socketpair");
    }
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    pid_t pid = fork();
    if (pid < 0) {
        die("fork");
    }
    if (pid == 0) {
        close(fd[0]);
        serve(target, fd[1]);
        _exit(0);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    close(fd[1]);
    nursery = fd[0];
    if (read(nursery, &bystander, sizeof(bystander)) != (ssize_t)sizeof(bystander) ||
        bystander <= 0) {
        die("cannot start a process");
    }
}

pid_t pipe_bystander(void)
{
    return bystander;
}

void pipe_bystander_is_well(void)
{
    char name[64], line[256];
    int well = 0;
    snprintf(name, sizeof(name), "/proc/%d/status", (int)bystander);
    FILE *f = fopen(name, "re");
    while (f && fgets(line, sizeof(line), f)) {
        unsigned long long pending;
        char state;
        if (sscanf(line, "State: %c", &state) == 1) {
            well += state == 'S';
        } else if (sscanf(line, "SigPnd: %llx", &pending) == 1 ||
                   sscanf(line, "ShdPnd: %llx", &pending) == 1) {
            well += pending == 0;
        }
    }
    if (f) {
        fclose(f);
    }
    if (well != 3) {
        fprintf(stderr, "fuzz_pipe: a process that is not traced was sent a signal\n");
        abort();
    }
}

static void request(struct request q, pid_t pid[PIPE_CHILDREN])
{
    if (write(nursery, &q, sizeof(q)) != (ssize_t)sizeof(q) ||
        read(nursery, pid, PIPE_CHILDREN * sizeof(pid[0])) !=
            (ssize_t)(PIPE_CHILDREN * sizeof(pid[0]))) {
        die("the nursery is gone");
    }
}

void pipe_children_start(int fd, size_t bytes, pid_t pid[PIPE_CHILDREN])
{
    request((struct request){.what = START, .fd = fd, .bytes = bytes}, children);
    for (int i = 0; i < PIPE_CHILDREN; i++) {
        if (children[i] <= 0) {
            die("cannot start a process");
        }
        pid[i] = children[i];
    }
}

void pipe_child_end(pid_t pid)
{
    pid_t none[PIPE_CHILDREN];
    for (int i = 0; i < PIPE_CHILDREN; i++) {
        if (children[i] == pid) {
            request((struct request){.what = END, .fd = pid}, none);
            children[i] = 0;
        }
    }
}

/* Replaces the C library's. */
int kill(pid_t pid, int sig)
{
    bool ours = false;
    for (int i = 0; i < PIPE_CHILDREN; i++) {
        ours |= pid > 0 && children[i] == pid;
    }
    if (sig && !ours) {
        fprintf(stderr, "fuzz_pipe: signal %d for process %d, which is not traced\n", sig,
                (int)pid);
        abort();
    }
    return (int)syscall(SYS_kill, pid, sig);
}
