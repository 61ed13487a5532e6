/* SPDX-License-Identifier: MIT */
/*
 * cannoli-record runs in the environment that the guest had, with paths for all programs, and
 * without input: what the program reads comes from the trace.  What QEMU itself prints is for
 * the user, but no result.
 */
#include "run.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cannoli/inputs.h"
#include "common/options.h"
#include "common/qemu.h"

/* ------------------------------------------------------------------ signals */

void run_signals_hold(struct run_signals *s)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};

    sigemptyset(&s->held);
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaddset(&s->held, signals[i]);
    }
    signal(SIGCHLD, SIG_DFL); /* where it is ignored it does not come */
    sigprocmask(SIG_BLOCK, &s->held, &s->before);
}

void run_signals_release(const struct run_signals *s)
{
    sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/* ------------------------------------------------------------------- folder */

char *run_folder_make(const char *prog)
{
    const char *tmp = getenv("TMPDIR");
    char *folder;

    if (asprintf(&folder, "%s/cannoli-expand.XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0) {
        tool_error(prog, "no memory");
        return NULL;
    }
    if (!mkdtemp(folder)) {
        tool_error(prog, "cannot make the folder %s: %s", folder, strerror(errno));
        free(folder);
        return NULL;
    }
    return folder;
}

static int remove_one(const char *path, const struct stat *st, int what, struct FTW *at)
{
    (void)st;
    (void)what;
    (void)at;
    remove(path);
    return 0;
}

void run_folder_remove(char *folder)
{
    if (folder) {
        nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    free(folder);
}

/* ----------------------------------------------------------------- recorder */

/* The command line of cannoli-record; NULL: no memory. */
static const char **arguments(const char *recorder, const char *inputs,
                              const struct command *c, const struct run_options *opt)
{
    const char *const head[] = {recorder,      opt->verbose ? "-v" : "-q",
                                inputs,        "--data-limit=all",
                                "--embed=all", "-e",
                                opt->events,   "-o",
                                opt->output};
    const char **argv, *word = opt->choice.words;
    size_t argc = 0, n = sizeof(head) / sizeof(head[0]);

    while (c->argv[argc]) {
        argc++;
    }
    argv = calloc(n + opt->choice.n + 2 + argc + 1, sizeof(*argv));
    if (argv) {
        memcpy(argv, head, n * sizeof(*argv));
        for (size_t i = 0; i < opt->choice.n; i++) {
            argv[n++] = word;
            word += strlen(word) + 1;
        }
        if (opt->order) {
            argv[n++] = "--order";
        }
        argv[n++] = "--";
        memcpy(argv + n, c->argv, argc * sizeof(*argv));
    }
    return argv;
}

/* Whether the trace is larger than it may be. */
static bool is_too_large(const struct run_options *opt)
{
    struct stat st;

    return opt->limit && !stat(opt->output, &st) && (uint64_t)st.st_size > opt->limit;
}

/* Why a recorder was ended. */
struct ended {
    int interrupted; /* a signal came, or 0 */
    bool too_large;
};

/*
 * Waits for the recorder, and passes signals on to it, so that it ends; those of a terminal
 * it gets itself.  -1: it cannot be waited for; else its status.
 */
static int wait_for(pid_t pid, const sigset_t *blocked, const struct run_options *opt,
                    struct ended *why)
{
    const struct timespec tick = {.tv_nsec = 200 * 1000 * 1000};
    siginfo_t info;
    int status, signal;
    pid_t ended;

    for (;;) {
        ended = waitpid(pid, &status, WNOHANG);
        if (ended) {
            why->too_large |= ended == pid && is_too_large(opt);
            return ended == pid ? status : -1;
        }
        signal = sigtimedwait(blocked, &info, &tick);
        if (signal > 0 && signal != SIGCHLD) {
            why->interrupted = signal;
            if (info.si_code != SI_KERNEL) {
                kill(pid, signal);
            }
        }
        if (!why->too_large && is_too_large(opt)) {
            why->too_large = true;
            kill(pid, SIGTERM);
        }
    }
}

/* What the end of the recorder means. */
static int judge(const char *prog, int status, const struct ended *why,
                 const struct run_options *opt, int *exit_status)
{
    if (status == -1) {
        tool_error(prog, "cannot wait for cannoli-record: %s", strerror(errno));
        return TOOL_FAILED;
    }
    if (why->interrupted) {
        tool_error(prog, "interrupted by signal %d", why->interrupted);
        return TOOL_FAILED;
    }
    if (why->too_large) {
        tool_error(prog,
                   "the trace would be larger than %" PRIu64 " bytes (--expand-limit)",
                   opt->limit);
        return TOOL_FAILED;
    }
    if (WIFSIGNALED(status)) {
        tool_error(prog, "cannoli-record was ended by signal %d", WTERMSIG(status));
        return TOOL_FAILED;
    }
    *exit_status = WEXITSTATUS(status);
    /* If QEMU finds no place for the program there is none yet, either. */
    if (!access(opt->output, F_OK) || *exit_status == INPUTS_STATUS_PLACE) {
        return TOOL_OK;
    }
    if (WEXITSTATUS(status) == TOOL_USAGE) {
        return TOOL_USAGE; /* it has said what is wrong */
    }
    tool_error(prog, "cannoli-record made no trace: status %d", WEXITSTATUS(status));
    return TOOL_FAILED;
}

static void show(const char *prog, const char **argv)
{
    fprintf(stderr, "%s: runs", prog);
    for (; *argv; argv++) {
        fprintf(stderr, " %s", *argv);
    }
    fprintf(stderr, "\n");
}

int run_recorder(const char *prog, const char *folder, const struct command *c,
                 const struct run_options *opt, const struct run_signals *held,
                 int *exit_status)
{
    char *recorder = program_sibling(prog, "cannoli-record"), *inputs = NULL;
    const char **argv = NULL;
    struct ended why = {.interrupted = 0};
    int status = TOOL_FAILED;
    pid_t pid;

    if (!recorder) {
        return TOOL_FAILED;
    }
    if (asprintf(&inputs, "--inputs=%s", folder) < 0) {
        inputs = NULL;
    }
    argv = inputs ? arguments(recorder, inputs, c, opt) : NULL;
    if (!argv) {
        tool_error(prog, "no memory");
        goto out;
    }
    if (opt->verbose) {
        show(prog, argv);
    }
    pid = fork();
    if (pid == 0) {
        run_signals_release(held);
        program_execute(prog, argv, c->envp);
    }
    if (pid < 0) {
        tool_error(prog, "cannot run %s: %s", recorder, strerror(errno));
    } else {
        const int ended = wait_for(pid, &held->held, opt, &why);

        status = judge(prog, ended, &why, opt, exit_status);
    }
out:
    free(argv);
    free(inputs);
    free(recorder);
    return status;
}
