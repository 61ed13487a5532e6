/* SPDX-License-Identifier: MIT */
/* cannoli-expand: executes a recorded program again; see cannoli-expand(1). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cannoli/inputs.h"
#include "command.h"
#include "common/options.h"
#include "compare.h"
#include "input/expansion.h"
#include "input/trace.h"
#include "inputs.h"
#include "light.h"
#include "run.h"
#include "start.h"

#define PROG "cannoli-expand"

/* Of executions that fail by chance */
#define ATTEMPTS 16u

enum { OPT_KEEP = TOOL_OPT_LONG, OPT_QEMU_DIR, OPT_FROM, OPT_TO, OPT_SELECT };

static const struct kind {
    const char *name;
    uint32_t events; /* CTR_HAS_* */
} kinds[] = {
    {"exec", CTR_HAS_EXEC}, {"mem", CTR_HAS_MEM},   {"val", CTR_HAS_MEM | CTR_HAS_VAL},
    {"reg", CTR_HAS_REG},   {"sys", CTR_HAS_SYS},   {"map", CTR_HAS_MAP},
    {"thr", CTR_HAS_THR},   {"time", CTR_HAS_TIME}, {"all", EXPANSION_KINDS},
};
static const struct words event_words = WORDS_OF_NAMES("event", kinds);

static const struct tool_option table[] = {
    {'o', "output", "FILE",
     "write the trace to FILE (default: LIGHT.ctr.expanded,\nwhere the tools look for it)"},
    {'e', "events", "LIST",
     "what to record, beside exec: mem, val, reg, sys, map,\n"
     "thr, time, all (default: all)",
     &event_words},
    {OPT_FROM, "from", "MOMENT",
     "record from there on: ordinal N, N/K of the K-th thread,\n1.5s, mark:TEXT, "
     "syscall:NAME/N, crash"},
    {OPT_TO, "to", "MOMENT", "stop before it"},
    {OPT_SELECT, "select", "OPTIONS",
     "record only what these options of cannoli-record choose:\n"
     "'--module libc.so.6 --stores'"},
    {EXPANSION_OPT_LIMIT, "expand-limit", "SIZE",
     "do not write a trace larger than that; default: all,\nany size"},
    {OPT_KEEP, "keep", NULL,
     "if the second execution differs, keep its trace as\n"
     "FILE.differs"},
    {OPT_QEMU_DIR, "qemu-dir", "DIR", "take qemu-ARCH from DIR"},
    {'q', "quiet", NULL, "no progress, no remarks"},
    {'v', "verbose", NULL, "say what is done"},
    TOOL_OPTIONS_COMMON,
    {0},
};

struct options {
    const char *output, *qemu_dir, *path, *select;
    struct run_options run;
    struct expansion expansion; /* its limit */
    struct moment_text from, to;
    struct window window;
    uint32_t events; /* CTR_HAS_*; 0: all */
    bool keep, quiet;
    bool differs; /* says QEMU */
};

static bool parse_events(const char *text, uint32_t *events)
{
    while (text) {
        const size_t i = words_next(&event_words, &text);

        if (i == event_words.n) {
            return false;
        }
        *events |= kinds[i].events;
    }
    return true;
}

static bool parse_option(void *arg, int key, const char *value)
{
    struct options *opt = arg;

    switch (key) {
    case 'o':
        opt->output = value;
        return *value;
    case 'e':
        return parse_events(value, &opt->events);
    case OPT_FROM:
        return moment_parse(value, &opt->from) && opt->from.kind != MOMENT_CALL;
    case OPT_TO:
        return moment_parse(value, &opt->to) && opt->to.kind != MOMENT_CALL;
    case OPT_SELECT:
        opt->select = value;
        return true;
    case OPT_KEEP:
        return opt->keep = true;
    case OPT_QEMU_DIR:
        opt->qemu_dir = value;
        return *value;
    case 'q':
        return opt->quiet = true;
    case 'v':
        return opt->run.verbose = true;
    default:
        return expansion_parse(&opt->expansion, key, value) == TOOL_PARSED;
    }
}

/* --------------------------------------------------------------------- work */

/* Whether the program itself ended with the status by which QEMU says something else. */
static bool ended_with(const struct light *l, int exit_status)
{
    const struct ctr_process *p = ctr_trace_process(l->tr, 0);

    return p->end_reason != CTR_END_SIGNAL && (p->end_status & 0xff) == exit_status;
}

/* QEMU's own memory has other addresses each time: it may be where the program had some. */
static int attempt(struct options *opt, const struct light *l, const char *folder,
                   const struct command *c, const struct run_signals *held)
{
    int exit_status, status;

    for (unsigned i = 0; i < ATTEMPTS; i++) {
        status = run_recorder(PROG, folder, c, &opt->run, held, &exit_status);
        if (status || exit_status != INPUTS_STATUS_PLACE || ended_with(l, exit_status)) {
            opt->differs = !status && exit_status == INPUTS_STATUS_DIFFERS &&
                           !ended_with(l, exit_status);
            return status;
        }
        unlink(opt->run.output);
    }
    return light_refuse(l, "QEMU could not map the program's memory at its addresses");
}

/* Makes the trace under a name of its own. */
static int execute(struct options *opt, const struct light *l, const struct start *s)
{
    struct command c = {.qemu = NULL};
    struct run_signals held;
    char *folder = NULL;
    int status = command_make(&c, l, s, opt->qemu_dir);

    run_signals_hold(&held);
    if (!status) {
        folder = run_folder_make(PROG);
        status = folder ? inputs_write(l, s, &opt->window, folder) : TOOL_FAILED;
    }
    if (!status) {
        status = attempt(opt, l, folder, &c, &held);
    }
    run_folder_remove(folder);
    if (status) {
        unlink(opt->run.output);
    }
    run_signals_release(&held);
    command_free(&c);
    return status;
}

static int rename_to(const char *from, const char *to)
{
    if (rename(from, to)) {
        tool_error(PROG, "%s: %s", to, strerror(errno));
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

/* Compares the new trace, and gives it its name, or removes it. */
static int finish(const struct options *opt, const struct light *l)
{
    bool differs = opt->differs;
    int status = opt->run.choice.n
                     ? compare_chosen(l, opt->run.output, &differs)
                     : compare(l, &opt->window, opt->run.output, opt->quiet, &differs);
    char *name = NULL;

    if (!status) {
        return rename_to(opt->run.output, opt->output);
    }
    if (differs && opt->keep && asprintf(&name, "%s.differs", opt->output) >= 0) {
        rename_to(opt->run.output, name);
        free(name);
    }
    unlink(opt->run.output);
    return status;
}

/* Makes the trace opt->output of the light trace. */
static int make(struct options *opt, const struct light *l)
{
    struct start start = {.bytes = NULL};
    char list[EXPANSION_TEXT], *made = NULL;
    int status = start_read(&start, l, 0);

    if (!status && !start.has_seed) {
        status = light_refuse(l, "the seed of random numbers is not in it");
    }
    if (!status && asprintf(&made, "%s.%ld.part", opt->output, (long)getpid()) < 0) {
        status = light_refuse(l, "no memory");
    }
    if (!status) {
        expansion_list(opt->events, list);
        opt->run.events = *list ? list : "exec";
        opt->run.output = made;
        opt->run.order = (l->info.events & CTR_HAS_ORDER) != 0;
        opt->run.limit = opt->expansion.limit;
        status = execute(opt, l, &start);
        status = status ? status : finish(opt, l);
    }
    free(made);
    start_free(&start);
    return status;
}

/* Without --output: what there is already is neither made again nor lost. */
static int keep(struct options *opt, const struct light *l)
{
    uint32_t have;
    char *name = expansion_name(opt->path);
    int status;

    if (!name) {
        return light_refuse(l, "no memory");
    }
    opt->output = name;
    opt->events |= l->info.events & EXPANSION_KINDS;
    if (expansion_check(name, l->tr, &have) == EXPANSION_NOT_ONE) {
        tool_error(PROG,
                   "%s: it is there already, and no expansion: say another name with -o",
                   name);
        status = TOOL_FAILED;
    } else if (!(opt->events & ~have)) {
        if (!opt->quiet) {
            tool_error(PROG, "%s: all of it is there already", name);
        }
        status = TOOL_OK;
    } else {
        opt->events |= have & EXPANSION_KINDS;
        status = make(opt, l);
    }
    opt->output = NULL;
    free(name);
    return status;
}

static int expand(struct options *opt)
{
    struct light light;
    int status = light_open(&light, PROG, opt->path);

    opt->events = opt->events ? opt->events : EXPANSION_KINDS;
    status = status ? status : light_check(&light);
    status = status ? status : window_make(&opt->window, &light, &opt->from, &opt->to);
    if (!status) {
        status = opt->output ? make(opt, &light) : keep(opt, &light);
    }
    if (!status) {
        status = tool_trace_status(PROG, opt->path, light.tr, opt->quiet);
    }
    window_free(&opt->window);
    light_close(&light);
    return status;
}

int main(int argc, char **argv)
{
    struct options opt = {.expansion = {.limit = 0}};
    struct tool_options o = {
        .prog = PROG,
        .usage = "[OPTION]... LIGHT.ctr",
        .about =
            "Executes a program again that was recorded with cannoli-record --light, and\n"
            "records what that trace does not have.  Nothing that the program does has\n"
            "an effect, and each instruction and event is compared with the trace.\n",
        .table = table,
        .argc = argc,
        .argv = argv,
    };
    int status = tool_options_parse(&o, parse_option, &opt, &opt.path);

    if (status == TOOL_OK && opt.path) {
        if (!opt.output && (opt.from.kind || opt.to.kind || opt.select)) {
            status = tool_usage_error(PROG, "the expansion of a trace has all of it: "
                                            "--from, --to and --select need -o");
        } else if (opt.select && (opt.from.kind || opt.to.kind)) {
            status = tool_usage_error(PROG, "--select does not go with --from and --to: "
                                            "ordinals count what is selected");
        } else if (opt.select &&
                   (status = choice_make(&opt.run.choice, PROG, opt.select))) {
            /* it has said why */
        } else if (opt.output && !strcmp(opt.output, "-")) {
            status = tool_usage_error(PROG, "the trace is compared first, so that it "
                                            "cannot go to standard output");
        } else {
            status = expand(&opt);
        }
    }
    tool_options_fini(&o);
    choice_free(&opt.run.choice);
    return tool_close_stdout(PROG, NULL, status);
}
