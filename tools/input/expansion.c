/* SPDX-License-Identifier: MIT */
/* Has cannoli-expand make the expansion that a tool needs; see expansion.h. */
#include "input/expansion.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "common/inputs_file.h"
#include "common/qemu.h"
#include "common/quantity.h"
#include "input/trace.h"

enum tool_parsed expansion_parse(struct expansion *x, int key, const char *arg)
{
    switch (key) {
    case EXPANSION_OPT_NO_EXPAND:
        x->never = true;
        return TOOL_PARSED;
    case EXPANSION_OPT_LIMIT:
        x->limit = 0;
        return !strcmp(arg, "all") || (quantity_parse_size(arg, &x->limit) && x->limit)
                   ? TOOL_PARSED
                   : TOOL_BAD_ARG;
    default:
        return TOOL_OTHER_GROUP;
    }
}

static void say(const char *prog, const char *path, const char *name, uint32_t missing)
{
    char what[EXPANSION_WORDS];

    expansion_describe(missing, what);
    tool_error(prog, "%s has no %s: executing the program again, for %s", path, what,
               name);
}

/* Waits for cannoli-expand; its status as of waitpid(2), or -1. */
static int wait_for(const struct expansion *x, pid_t pid)
{
    const struct timespec nap = {.tv_nsec = 10 * 1000 * 1000};
    unsigned naps = 0;
    int status;
    pid_t ended;

    for (;;) {
        ended = waitpid(pid, &status, x->tick ? WNOHANG : 0);
        if (ended == pid) {
            return status;
        }
        if (ended < 0 && errno != EINTR) {
            return -1;
        }
        if (x->tick && ++naps % 100 == 0) {
            x->tick(x->arg);
        }
        if (x->tick) {
            nanosleep(&nap, NULL);
        }
    }
}

/* Runs cannoli-expand; whether it made the expansion. */
static bool make(const struct expansion *x, const char *prog, const char *path,
                 uint32_t events, bool quiet)
{
    char *program = program_sibling(prog, "cannoli-expand"), list[EXPANSION_TEXT],
         limit[40];
    const char *argv[8] = {program, "-e", list, limit};
    unsigned n = 4;
    int status = -1;
    pid_t pid;

    if (!program) {
        return false;
    }
    expansion_list(events, list);
    snprintf(limit, sizeof(limit),
             x->limit ? "--expand-limit=%" PRIu64 : "--expand-limit=all", x->limit);
    if (quiet) {
        argv[n++] = "-q";
    }
    argv[n++] = "--";
    argv[n++] = path;
    signal(SIGCHLD, SIG_DFL); /* where it is ignored there is nothing to wait for */
    pid = fork();
    if (!pid) {
        program_execute(prog, argv, environ);
    }
    if (pid < 0) {
        tool_error(prog, "cannot run %s: %s", program, strerror(errno));
    } else {
        status = wait_for(x, pid);
    }
    free(program);
    return pid > 0 && WIFEXITED(status) &&
           (WEXITSTATUS(status) == TOOL_OK || WEXITSTATUS(status) == TOOL_PARTIAL);
}

/* A light trace can make QEMU do anything: it is executed only for who recorded it. */
static bool is_own(const char *path, const struct ctr_info *info)
{
    struct stat st;
    char value[32], own[32];
    const ssize_t n = getxattr(path, LIGHT_MARK, value, sizeof(value));

    snprintf(own, sizeof(own), "%" PRIu64, info->start_realtime_ns);
    return !stat(path, &st) && st.st_uid == geteuid() && n == (ssize_t)strlen(own) &&
           !memcmp(value, own, (size_t)n);
}

const char *expansion_find(struct expansion *x, const char *prog, const char *path,
                           const struct ctr_trace *tr, uint32_t needed, bool quiet)
{
    struct ctr_info info;
    uint32_t missing, kept;

    ctr_trace_info(tr, &info);
    missing = needed & EXPANSION_KINDS & ~info.events;
    if (x->never || !missing || !(info.events & CTR_HAS_INPUT) || !info.seekable ||
        !(x->name = expansion_name(path))) {
        return path;
    }
    if (expansion_check(x->name, tr, &kept) == EXPANSION_KEPT && !(missing & ~kept)) {
        return x->name;
    }
    if (!is_own(path, &info)) {
        tool_error(prog,
                   "%s was not recorded by you, here: its program is not executed again "
                   "unless you run cannoli-expand",
                   path);
        return path;
    }
    if (!quiet) {
        say(prog, path, x->name, missing);
    }
    return make(x, prog, path, missing | (info.events & EXPANSION_KINDS), quiet) ? x->name
                                                                                 : path;
}

int expansion_open(struct expansion *x, const char *prog, const char **path,
                   unsigned flags, uint32_t needed, bool quiet, struct ctr_trace **tr)
{
    int status = tool_trace_open(prog, *path, flags, tr);
    const char *found =
        status ? *path : expansion_find(x, prog, *path, *tr, needed, quiet);

    if (found != *path) {
        ctr_close(*tr);
        *path = found;
        status = tool_trace_open(prog, found, flags, tr);
    }
    return status;
}

void expansion_fini(struct expansion *x)
{
    free(x->name);
    x->name = NULL;
}
