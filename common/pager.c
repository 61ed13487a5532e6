/* SPDX-License-Identifier: MIT */
/*
 * The pager of pager.h.  A child takes the other end of a pipe and becomes the pager when
 * there is something to read; less would draw on the terminal at once.
 *
 * Signal handlers must find their data without an argument, so this file has mutable state
 * of file scope.  They use only what signal-safety(7) allows.
 */
#include "common/pager.h"

#include <fcntl.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/options.h"

/* What a shell gives for a command that it cannot run. */
#define NOT_EXECUTABLE 126
#define NOT_FOUND 127

/* What has a meaning for a shell. */
#define SPECIAL "|&;<>()$`\\\"'*?[#~=%\n"

/* Signals with a handler, but for those that are ignored. */
static const int handled[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

static struct {
    pid_t pid;                    /* of the child; 0: there is none */
    int starting;                 /* a pipe that the child closes by becoming the pager */
    int terminal;                 /* stderr as it was, -1: not replaced */
    int held;                     /* the memory file that stderr is meanwhile */
    char *command;                /* for the shell */
    char *failure;                /* message: that did not run */
    volatile sig_atomic_t ending; /* its end ends nothing else */
} pager;

/* ---------------------------------------------------------------- the command */

/* Whether a folder of PATH has such a program. */
static bool is_program(const char *name, size_t len)
{
    const char *path = getenv("PATH");
    char file[4096];

    if (memchr(name, '/', len)) {
        snprintf(file, sizeof(file), "%.*s", (int)len, name);
        return access(file, X_OK) == 0;
    }
    while (path && *path) {
        size_t n = strcspn(path, ":");

        snprintf(file, sizeof(file), "%.*s%s%.*s", (int)n, path, n ? "/" : "./", (int)len,
                 name);
        if (access(file, X_OK) == 0) {
            return true;
        }
        path += n + (path[n] == ':');
    }
    return false;
}

/* The command of the pager, or NULL. */
static const char *pager_command(void)
{
    /* With privileges that the caller does not have there is no pager. */
    const char *term = secure_getenv("TERM"), *command = getenv("CANNOLI_PAGER");
    size_t len;

    command = command ? command : getenv("PAGER");
    command = command ? command : "less";
    command += strspn(command, " \t");
    len = strcspn(command, " \t");
    if (!term || !*term || !strcmp(term, "dumb") || !*command ||
        !strcmp(command, "cat")) {
        return NULL;
    }
    /* What only a shell understands, it has to find. */
    if (strcspn(command, SPECIAL) >= len && !is_program(command, len)) {
        return NULL;
    }
    return command;
}

/* ------------------------------------------------------------------ the child */

/* Becomes the pager when there is something to read. */
_Noreturn static void become_pager(int input, int starting, const sigset_t *mask)
{
    struct pollfd p = {.fd = input, .events = POLLIN};

    while (poll(&p, 1, -1) < 0 && errno == EINTR) {
    }
    if (!(p.revents & POLLIN)) {
        _exit(0);
    }
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    setenv("LESS", "FRX", 0);
    if (dup2(input, STDIN_FILENO) >= 0 && fcntl(STDIN_FILENO, F_SETFD, 0) >= 0) {
        execl("/bin/sh", "sh", "-c", pager.command, (char *)NULL);
    }
    close(starting);
    _exit(NOT_EXECUTABLE);
}

/* ------------------------------------------------------------------ messages */

/* Shows what was held back. */
static void release_stderr(void)
{
    char data[4096];
    off_t at = 0;
    ssize_t n;

    if (pager.terminal < 0) {
        return;
    }
    while ((n = pread(pager.held, data, sizeof(data), at)) > 0 &&
           (n = write(pager.terminal, data, (size_t)n)) > 0) {
        at += n;
    }
    dup2(pager.terminal, STDERR_FILENO);
    pager.terminal = -1;
}

/* Holds stderr back if it is the same terminal. */
static void hold_stderr(const struct stat *out)
{
    struct stat err;

    if (!isatty(STDERR_FILENO) || fstat(STDERR_FILENO, &err) ||
        err.st_rdev != out->st_rdev) {
        return;
    }
    pager.held = memfd_create("messages", MFD_CLOEXEC);
    if (pager.held < 0) {
        return;
    }
    pager.terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (pager.terminal >= 0) {
        dup2(pager.held, STDERR_FILENO);
    }
}

/* The pager has ended with this status of wait(2); returns whether it ran. */
static bool pager_ran(int how)
{
    int status = WIFEXITED(how) ? WEXITSTATUS(how) : 0;

    release_stderr();
    if (status != NOT_EXECUTABLE && status != NOT_FOUND) {
        return true;
    }
    (void)!write(STDERR_FILENO, pager.failure, strlen(pager.failure));
    return false;
}

/* ------------------------------------------------------------------- signals */

/* Whether the child runs the pager by now. */
static bool pager_runs(void)
{
    struct pollfd p = {.fd = pager.starting, .events = POLLIN};

    return poll(&p, 1, 0) == 1;
}

/* The pager ended before the output: nobody wants the rest. */
static void on_child(int sig)
{
    int saved = errno, how;

    (void)sig;
    if (!pager.ending && waitpid(pager.pid, &how, WNOHANG) == pager.pid) {
        _exit(pager_ran(how) ? TOOL_OK : TOOL_FAILED);
    }
    errno = saved;
}

/* What the keyboard sends is the pager's; other signals end both, the pager first, as it
 * puts the terminal right. */
static void on_fatal(int sig)
{
    int saved = errno;
    bool runs = pager_runs();

    if (!runs || (sig != SIGINT && sig != SIGQUIT)) {
        pager.ending = 1;
        if (runs && kill(pager.pid, SIGTERM) == 0) {
            while (waitpid(pager.pid, NULL, 0) < 0 && errno == EINTR) {
            }
        }
        release_stderr();
        signal(sig, SIG_DFL);
        raise(sig);
    }
    errno = saved;
}

static void fill_set(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
        sigaddset(set, handled[i]);
    }
}

static void block_signals(sigset_t *before)
{
    sigset_t set;

    fill_set(&set);
    sigprocmask(SIG_BLOCK, &set, before);
}

static void set_handlers(void)
{
    struct sigaction a = {.sa_handler = on_fatal, .sa_flags = SA_RESTART}, before;

    fill_set(&a.sa_mask);
    for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++) {
        if (!sigaction(handled[i], NULL, &before) && before.sa_handler != SIG_IGN) {
            sigaction(handled[i], &a, NULL);
        }
    }
    a.sa_handler = on_child;
    a.sa_flags |= SA_NOCLDSTOP;
    sigaction(SIGCHLD, &a, NULL);
}

/* ------------------------------------------------------------- start and end */

/* Whether the terminal is ours to read from: not in the background. */
static bool in_foreground(void)
{
    pid_t group = tcgetpgrp(STDOUT_FILENO);

    return group < 0 || group == getpgrp();
}

/*
 * Makes the child; its output is the terminal.  What would end it while it waits is blocked
 * there: it ends this process, and then the child has no input.
 */
static bool start_child(int *output)
{
    int data[2], starting[2];
    sigset_t before;

    if (pipe2(data, O_CLOEXEC)) {
        return false;
    }
    if (pipe2(starting, O_CLOEXEC)) {
        close(data[0]);
        close(data[1]);
        return false;
    }
    block_signals(&before);
    pager.pid = fork();
    if (pager.pid == 0) {
        close(data[1]);
        close(starting[0]);
        become_pager(data[0], starting[1], &before);
    }
    close(data[0]);
    close(starting[1]);
    pager.starting = starting[0];
    *output = data[1];
    if (pager.pid > 0) {
        set_handlers();
    } else {
        pager.pid = 0;
        close(data[1]);
        close(starting[0]);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pager.pid != 0;
}

static void free_texts(void)
{
    free(pager.command);
    free(pager.failure);
    pager.command = pager.failure = NULL;
}

/* Makes the texts that the child and the handlers need. */
static bool make_texts(const char *prog, const char *command)
{
    /* A shell that waits for the pager would get the signals in its place. */
    const char *exec = command[strcspn(command, SPECIAL)] ? "" : "exec ";

    if (asprintf(&pager.command, "%s%s", exec, command) < 0) {
        pager.command = NULL;
        return false;
    }
    if (asprintf(&pager.failure, "%s: cannot run the pager '%s'\n", prog, command) < 0) {
        pager.failure = NULL;
        free_texts();
        return false;
    }
    return true;
}

void pager_start(const char *prog)
{
    const char *command = isatty(STDOUT_FILENO) ? pager_command() : NULL;
    struct stat terminal;
    int output;

    if (!command || !in_foreground() || fstat(STDOUT_FILENO, &terminal) ||
        !make_texts(prog, command)) {
        return;
    }
    pager.terminal = -1;
    if (!start_child(&output)) {
        free_texts();
        return;
    }
    dup2(output, STDOUT_FILENO);
    close(output);
    hold_stderr(&terminal);
}

int pager_close_stdout(const char *prog, const char *name, int status)
{
    int how = 0;

    pager.ending = 1;
    status = tool_close_stdout(prog, name, status);
    if (!pager.pid) {
        return status;
    }
    while (waitpid(pager.pid, &how, 0) < 0 && errno == EINTR) {
    }
    if (!pager_ran(how)) {
        status = TOOL_FAILED;
    }
    free_texts();
    return status;
}
