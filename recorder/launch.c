/* SPDX-License-Identifier: MIT */
/*
 * QEMU runs as   qemu-ARCH -cannoli pipe=FD,FD,INODE <the rest of the user's command>
 * A system emulator gets the same in its environment, as QEMU_CANNOLI.
 *
 * The descriptors are the pipe's memfds at numbers that the guest will hardly use; QEMU
 * maps and closes them before the guest starts.  The recorder recognizes its own QEMUs by
 * the inode, which is that of the second one (attached.h).  Everything that the recorder
 * opened is close-on-exec, and the child restores what the recorder changed of the
 * inherited state.
 */
#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/options.h"

#define PROG "cannoli-record"

/* Where the descriptors of the pipe are put, if the limit allows. */
#define PIPE_FD_MIN 200

/* The pipe at a high number, or as high as the limit permits. */
static int high_fd(int fd, const struct rlimit *limit)
{
    rlim_t min = PIPE_FD_MIN;
    int high = -1;

    if (limit->rlim_cur <= min) {
        min = limit->rlim_cur ? limit->rlim_cur - 1 : 0;
    }
    while (high < 0 && min > 2) {
        high = fcntl(fd, F_DUPFD, (int)min);
        if (high < 0 && errno != EMFILE && errno != EINVAL) {
            break;
        }
        min--;
    }
    return high;
}

/*
 * What QEMU is executed with.  `pipe' is where the name of the pipe goes when it is known,
 * in argv or envp; it has room for it, after what is there.
 */
struct execution {
    char **argv, **envp;
    char **pipe;
    char value[80];
};

static void child(const struct launch_plan *plan, const struct launch_env *env,
                  struct execution *x, int report, pid_t recorder)
{
    const size_t at = strlen(x->value);
    int ctl, shared, err;

    /* Whatever ends the recorder ends the program, too. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != recorder) {
        _exit(LAUNCH_FAILED);
    }
    setrlimit(RLIMIT_NOFILE, env->nofile);
    ctl = high_fd(env->host->ctl_fd, env->nofile);
    shared = ctl < 0 ? -1 : high_fd(env->host->shared_fd, env->nofile);
    if (shared < 0) {
        goto fail;
    }
    snprintf(x->value + at, sizeof(x->value) - at, "pipe=%d,%d,%lu", ctl, shared,
             (unsigned long)env->host->ino);
    *x->pipe = x->value;
    if (env->stdout_fd >= 0 && dup2(env->stdout_fd, STDOUT_FILENO) < 0) {
        goto fail;
    }
    signals_restore(env->signals);
    execve(plan->qemu, x->argv, x->envp);
fail:
    err = errno;
    if (write(report, &err, sizeof(err)) < 0) {
        _exit(LAUNCH_FAILED);
    }
    _exit(LAUNCH_NOT_EXECUTABLE);
}

/*
 * No random addresses for what is executed from now on.  Containers may forbid it; some
 * ignore it.
 */
static int disable_aslr(void)
{
    int persona = personality(0xffffffff);

    if (persona < 0 || personality((unsigned)persona | ADDR_NO_RANDOMIZE) < 0) {
        return -errno;
    }
    persona = personality(0xffffffff);
    return persona >= 0 && (persona & ADDR_NO_RANDOMIZE) ? 0 : -ENOTSUP;
}

/*
 * The arguments and the environment.  QEMU's own memory is among that of a 64-bit program.
 * Where its second thread has a malloc arena of its own, it maps that at a time that is
 * chance, and everything after that has other addresses.  A user who has chosen the number
 * of arenas keeps it.
 */
static int execution_make(struct execution *x, const struct launch_plan *plan,
                          bool no_aslr)
{
    static char name[] = "MALLOC_ARENA_MAX", one[] = "MALLOC_ARENA_MAX=1", unset[] = "-U";
    static char option[] = "-cannoli", variable[] = "QEMU_CANNOLI=";
    const bool one_arena = no_aslr && !plan->system && !getenv(name);
    size_t n = 1, n_env = 0;

    while (environ[n_env]) {
        n_env++;
    }
    x->argv = calloc((size_t)plan->argc + 5, sizeof(char *));
    x->envp = calloc(n_env + 3, sizeof(char *));
    if (!x->argv || !x->envp) {
        return -ENOMEM;
    }
    memcpy(x->envp + plan->system, environ, n_env * sizeof(char *));
    if (plan->system) {
        /* Before another of that name. */
        memcpy(x->value, variable, sizeof(variable));
        x->pipe = x->envp;
        n_env++;
    } else {
        x->argv[n++] = option;
        x->pipe = &x->argv[n++];
    }
    if (one_arena) {
        x->envp[n_env] = one;
        x->argv[n++] = unset;
        x->argv[n++] = name;
    }
    x->argv[0] = plan->argv[0];
    memcpy(x->argv + n, plan->argv + 1, (size_t)(plan->argc - 1) * sizeof(char *));
    return 0;
}

static void execution_free(struct execution *x)
{
    free(x->argv);
    free(x->envp);
}

int launch_start(const struct launch_plan *plan, const struct launch_env *env, pid_t *pid)
{
    struct execution x = {0};
    int report[2], err = env->no_aslr ? disable_aslr() : 0;
    const pid_t recorder = getpid();
    sigset_t all, mask;
    ssize_t n;

    if (err) {
        tool_error(PROG, "cannot disable the randomisation of addresses: %s",
                   strerror(-err));
        return LAUNCH_FAILED;
    }
    err = execution_make(&x, plan, env->no_aslr);
    if (!err && pipe2(report, O_CLOEXEC) < 0) {
        err = -errno;
    }
    if (err) {
        tool_error(PROG, "cannot start '%s': %s", plan->qemu, strerror(-err));
        execution_free(&x);
        return LAUNCH_FAILED;
    }
    /* A signal must not run our handlers in the child. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    *pid = fork();
    if (*pid == 0) {
        child(plan, env, &x, report[1], recorder);
    }
    err = *pid < 0 ? errno : 0;
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(report[1]);
    do {
        n = *pid < 0 ? 0 : read(report[0], &err, sizeof(err));
    } while (n < 0 && errno == EINTR);
    close(report[0]);
    execution_free(&x);
    if (err) {
        tool_error(PROG, "cannot start '%s': %s", plan->qemu, strerror(err));
        return *pid < 0 ? LAUNCH_FAILED : LAUNCH_NOT_EXECUTABLE;
    }
    return 0;
}
