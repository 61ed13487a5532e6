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

/* A window is for a run that takes longer than that (instructions), and a small part of it; it
 * has some more than is needed, as the next question is often about what is near. */
#define WINDOW_RUN UINT64_C(50000000)
#define WINDOW_PART 4u
#define WINDOW_MORE UINT64_C(4000000)

/* Of what an expansion is made, and where. */
struct order {
    const char *path, *name;
    struct ctr_info light;
    const char *made;         /* the name of a window until it is opened */
    uint32_t events, missing; /* of events, what the light trace has not */
    uint64_t from, to;        /* to 0: all */
};

static void say(const char *prog, const struct order *o)
{
    char what[EXPANSION_WORDS], which[64] = "";

    expansion_describe(o->missing, what);
    if (o->to) {
        snprintf(which, sizeof(which), " (ordinals %" PRIu64 " to %" PRIu64 ")", o->from,
                 o->to);
    }
    tool_error(prog, "%s has no %s: executing the program again, for %s%s", o->path, what,
               o->name, which);
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
static bool make(const struct expansion *x, const char *prog, const struct order *o,
                 bool quiet)
{
    char *program = program_sibling(prog, "cannoli-expand"), list[EXPANSION_TEXT],
         limit[40], from[40], to[40];
    const char *argv[12] = {program, "-e", list, limit};
    unsigned n = 4;
    int status = -1;
    pid_t pid;

    if (!program) {
        return false;
    }
    expansion_list(o->events, list);
    snprintf(limit, sizeof(limit),
             x->limit ? "--expand-limit=%" PRIu64 : "--expand-limit=all", x->limit);
    if (quiet) {
        argv[n++] = "-q";
    }
    if (o->to) {
        snprintf(from, sizeof(from), "--from=%" PRIu64, o->from);
        snprintf(to, sizeof(to), "--to=%" PRIu64, o->to);
        argv[n++] = "-o";
        argv[n++] = o->made;
        argv[n++] = from;
        argv[n++] = to;
    }
    argv[n++] = "--";
    argv[n++] = o->path;
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

/* Makes what is ordered, if that may be done; else a line says why not. */
static bool carry_out(const struct expansion *x, const char *prog, const struct order *o,
                      bool quiet)
{
    if (!is_own(o->path, &o->light)) {
        tool_error(prog,
                   "%s was not recorded by you, here: its program is not executed again "
                   "unless you run cannoli-expand",
                   o->path);
        return false;
    }
    if (!quiet) {
        say(prog, o);
    }
    return make(x, prog, o, quiet);
}

/* What has to be there of the whole trace; false: nothing, or there is no memory. */
static bool order_whole(struct order *o, struct expansion *x, const char *path,
                        const struct ctr_trace *tr, uint32_t needed)
{
    *o = (struct order){.path = path};
    ctr_trace_info(tr, &o->light);
    if (x->never || !(o->light.events & CTR_HAS_INPUT) || !o->light.seekable) {
        return false;
    }
    o->missing = needed & EXPANSION_KINDS & ~o->light.events;
    o->events = o->missing | (o->light.events & EXPANSION_KINDS);
    if (o->missing) {
        x->name = expansion_name(path);
    }
    o->name = x->name;
    return o->name;
}

static bool is_there(const struct order *o, const struct ctr_trace *tr)
{
    uint32_t kept;

    return expansion_check(o->name, tr, &kept) == EXPANSION_KEPT && !(o->missing & ~kept);
}

const char *expansion_find(struct expansion *x, const char *prog, const char *path,
                           const struct ctr_trace *tr, uint32_t needed, bool quiet)
{
    struct order o;

    return order_whole(&o, x, path, tr, needed) &&
                   (is_there(&o, tr) || carry_out(x, prog, &o, quiet))
               ? x->name
               : path;
}

/* Whether the last instructions may not be executed again: what clocks showed was lost. */
static bool may_lack_end(const struct ctr_trace *light)
{
    const struct ctr_process *p = ctr_trace_process(light, 0);

    return p && p->end_reason == CTR_END_KILLED;
}

/* Makes a window and opens it, before it gets its name: another tool may make one, too. */
static int make_window(const struct expansion *x, const char *prog, struct order *o,
                       unsigned flags, bool quiet, struct ctr_trace **window)
{
    char *made = NULL;
    int status;

    *window = NULL;
    if (asprintf(&made, "%s.%ld", o->name, (long)getpid()) < 0) {
        return TOOL_OK;
    }
    o->made = made;
    if (!carry_out(x, prog, o, quiet)) {
        free(made);
        return TOOL_OK;
    }
    status = tool_trace_open(prog, made, flags, window);
    if (!status && rename(made, o->name)) {
        tool_error(prog, "%s: %s", o->name, strerror(errno));
        ctr_close(*window);
        status = TOOL_FAILED;
    }
    if (status) {
        unlink(made);
    }
    free(made);
    return status;
}

/*
 * Opens a window that has what the tool needs of the whole, which is made now if it is not there.
 * *window NULL: there is none; *whole: then the whole expansion is what it needs.
 */
static int find_window(struct expansion *x, const char *prog, struct order o,
                       struct ctr_trace *tr, unsigned flags, bool quiet,
                       struct ctr_trace **window, bool *whole)
{
    const uint64_t insns = o.light.insns;
    uint64_t from = 0, to = UINT64_MAX;
    enum expansion_state state;
    int status;

    *window = NULL;
    *whole = true;
    if (!x->part || o.light.threads != 1 || insns < WINDOW_RUN || may_lack_end(tr)) {
        return TOOL_OK;
    }
    status = x->part(x->part_arg, tr, &from, &to);
    to = to < insns ? to : insns;
    if (status || from >= to || to - from >= insns / WINDOW_PART ||
        !(x->window = expansion_window_name(o.path))) {
        return status;
    }
    o.name = x->window;
    o.events = EXPANSION_KINDS; /* little of each */
    o.from = from > WINDOW_MORE ? from - WINDOW_MORE : 0;
    o.to = insns - to > WINDOW_MORE ? to + WINDOW_MORE : insns;
    state = expansion_window_open(window, o.name, flags, tr, o.events, from, to);
    if (state == EXPANSION_KEPT) {
        return TOOL_OK;
    }
    *window = NULL;
    *whole = state == EXPANSION_NOT_ONE; /* else, if this cannot be made, nor can that */
    return *whole ? TOOL_OK : make_window(x, prog, &o, flags, quiet, window);
}

int expansion_open(struct expansion *x, const char *prog, const char **path,
                   unsigned flags, uint32_t needed, bool quiet, struct ctr_trace **tr)
{
    int status = tool_trace_open(prog, *path, flags, tr);
    struct ctr_trace *window = NULL;
    bool there, whole = true;
    struct order o;

    if (status || !order_whole(&o, x, *path, *tr, needed)) {
        return status;
    }
    there = is_there(&o, *tr);
    if (!there) {
        status = find_window(x, prog, o, *tr, flags, quiet, &window, &whole);
    }
    if (status) {
        if (status == TOOL_NOTHING) {
            tool_trace_status(prog, *path, *tr, quiet);
        }
        ctr_close(*tr);
        return status;
    }
    if (window) {
        x->light = *tr;
        x->light_path = *path;
        *path = x->window;
        *tr = window;
    } else if (there || (whole && carry_out(x, prog, &o, quiet))) {
        ctr_close(*tr);
        *path = x->name;
        status = tool_trace_open(prog, *path, flags, tr);
    }
    return status;
}

int expansion_status(const struct expansion *x, const char *prog, const char *path,
                     const struct ctr_trace *tr, bool quiet)
{
    return x->light ? tool_trace_status(prog, x->light_path, x->light, quiet)
                    : tool_trace_status(prog, path, tr, quiet);
}

void expansion_fini(struct expansion *x)
{
    if (x->light) {
        ctr_close(x->light);
        x->light = NULL;
    }
    free(x->name);
    free(x->window);
    x->name = x->window = NULL;
}
