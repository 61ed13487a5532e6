/* SPDX-License-Identifier: MIT */
/*
 * Short-lived child processes that share memory with this one, but no descriptors.
 *
 * The filters run inside the recorded process, whose other threads may open files at the
 * same time and must get the same descriptor numbers as without recording.  So a child
 * opens files and maps them; the mappings stay.  A program runs in a child of that child,
 * which the guest cannot wait for.  The threads that share the memory go on; the one that
 * made the child sleeps until its end, as after vfork(2).
 */
#include "filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES 65536

struct call {
    int (*fn)(void *arg);
    void *arg;
};

/* Limits that the guest may have set for itself. */
static void raise_limit(int what)
{
    struct rlimit l;

    if (getrlimit(what, &l) == 0) {
        l.rlim_cur = l.rlim_max;
        setrlimit(what, &l);
    }
}

static int child(void *arg)
{
    const struct call *call = arg;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Closes only the child's copies; an older kernel closes the rest at execve. */
    if (syscall(SYS_close_range, 0, ~0u, 0) < 0) {
        for (int fd = 0; fd < 3; fd++) {
            close(fd);
        }
    }
    raise_limit(RLIMIT_NOFILE);
    raise_limit(RLIMIT_FSIZE);
    return call->fn(call->arg);
}

/* Its end sends no signal to the guest, and no signal runs the guest's handlers in it. */
static int run(int (*fn)(void *), void *arg)
{
    char *stack = malloc(STACK_BYTES);
    int err = 0;
    pid_t pid;

    if (!stack) {
        abort();
    }
    pid = clone(fn, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, arg);
    if (pid < 0) {
        err = -errno;
    } else {
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR) {
        }
    }
    free(stack);
    return err;
}

int child_run(int (*fn)(void *arg), void *arg)
{
    struct call call = {fn, arg};
    sigset_t all, old;
    int err;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    err = run(child, &call);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return err;
}

/* ---- programs ---- */

struct program {
    const char *path;
    char *const *argv;
    int error;
};

static int execute(void *arg)
{
    struct program *p = arg;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setsid(); /* what is typed at the terminal does not end it */
    execve(p->path, p->argv, environ);
    p->error = -errno;
    return 127;
}

void *child_output(const char *program, char *const argv[], size_t *bytes, int *error)
{
    struct program p = {.path = program, .argv = argv};
    /* The first free number is 0, so that the program has 0 and 1. */
    int fd = memfd_create("cannoli-names", 0);
    void *data = MAP_FAILED;
    struct stat st;

    *bytes = 0;
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) {
        *error = -errno;
        return NULL;
    }
    open("/dev/null", O_WRONLY);
    *error = run(execute, &p);
    *error = *error ? *error : p.error;
    if (!*error && fstat(fd, &st) == 0 && st.st_size > 0) {
        data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        *error = data == MAP_FAILED ? -errno : 0;
    }
    if (data == MAP_FAILED) {
        return NULL;
    }
    *bytes = (size_t)st.st_size;
    return data;
}
