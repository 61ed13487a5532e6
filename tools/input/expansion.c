/* SPDX-License-Identifier: MIT */
/* The expansion of a light trace, kept beside it; see expansion.h. */
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

#define SUFFIX ".expanded"

static const struct {
    uint32_t has;
    const char *word, *what;
} kinds[] = {
    {CTR_HAS_MEM, "mem", "accesses"},      {CTR_HAS_VAL, "val", "values"},
    {CTR_HAS_REG, "reg", "registers"},     {CTR_HAS_SYS, "sys", "system calls"},
    {CTR_HAS_MAP, "map", "mappings"},      {CTR_HAS_THR, "thr", "threads"},
    {CTR_HAS_TIME, "time", "their times"},
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* ---------------------------------------------------------------- the file */

char *expansion_name(const char *path)
{
    char *name;

    return asprintf(&name, "%s" SUFFIX, path) < 0 ? NULL : name;
}

/*
 * Whether an expansion of the same recording has all of it: one that was made while it went on
 * has not.  Of a program that was killed, the last instructions may not be executed again.
 */
static bool has_all(const struct ctr_trace *light, const struct ctr_info *a,
                    const struct ctr_info *b)
{
    const struct ctr_process *p = ctr_trace_process(light, 0);
    const bool killed = p && p->end_reason == CTR_END_KILLED;

    return a->threads == b->threads &&
           (a->insns == b->insns || (killed && b->insns < a->insns));
}

/* Both are of one execution: nothing else has these times. */
static bool same_recording(const struct ctr_info *a, const struct ctr_info *b)
{
    return a->start_realtime_ns == b->start_realtime_ns && a->start_ns == b->start_ns &&
           !strcmp(a->target, b->target) && !strcmp(a->qemu_version, b->qemu_version);
}

enum expansion_state expansion_check(const char *name, const struct ctr_trace *light,
                                     uint32_t *events)
{
    enum expansion_state state = EXPANSION_OLD;
    struct ctr_info info, have;
    struct ctr_trace *tr;
    int ret;

    *events = 0;
    if (access(name, F_OK)) {
        return EXPANSION_NONE;
    }
    ret = ctr_open(&tr, name, 0, NULL);
    if (ret) {
        return ret == -CTR_E_UNSUPPORTED ? EXPANSION_OLD : EXPANSION_NOT_ONE;
    }
    ctr_trace_info(light, &info);
    ctr_trace_info(tr, &have);
    if (have.events & CTR_HAS_INPUT || have.selection[0] || have.dropped_insns) {
        state = EXPANSION_NOT_ONE; /* a part, if of a light trace: --from, --select */
    } else if (same_recording(&info, &have) && has_all(light, &info, &have)) {
        state = EXPANSION_KEPT;
    }
    *events = state == EXPANSION_KEPT ? have.events : 0;
    ctr_close(tr);
    return state;
}

void expansion_list(uint32_t events, char *to)
{
    size_t n = 0;

    to[0] = 0;
    for (size_t i = 0; i < NR_KINDS; i++) {
        if (events & kinds[i].has) {
            n += (size_t)snprintf(to + n, EXPANSION_TEXT - n, "%s%s", n ? "," : "",
                                  kinds[i].word);
        }
    }
}

/* --------------------------------------------------------------- for tools */

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
    char what[80] = "";
    size_t n = 0;

    for (size_t i = 0; i < NR_KINDS; i++) {
        if (missing & kinds[i].has) {
            n += (size_t)snprintf(what + n, sizeof(what) - n, "%s%s", n ? ", " : "",
                                  kinds[i].what);
        }
    }
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
