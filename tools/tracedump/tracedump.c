/* SPDX-License-Identifier: MIT */
/*
 * tracedump: shows what a recorded program did; see tracedump(1).  This file is
 * its command line.
 */
#include "dump.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/filter_options.h"
#include "common/trace.h"

enum {
    OPT_NO_DISAS = TOOL_OPT_LONG,
    OPT_JSON,
    OPT_COLOR,
    OPT_NO_INDEX,
    OPT_NO_MODULES,
    OPT_STATE,
};

/* Bytes of a buffer of a system call that are shown; as strace has it. */
#define DEFAULT_STRING_MAX 32u

static const struct tool_option option_table[] = {
    {0, NULL, NULL, "What to show"},
    FILTER_OPTIONS_ORDINALS,
    FILTER_OPTIONS_THREADS,
    FILTER_OPTIONS_PLACES,
    {'e', "events", "LIST",
     "exec, load, store, mem (both), val (their values), reg,\nsys, map, thr, time, mark, "
     "all; default: all there is"},
    {0, NULL, NULL, "How to show it"},
    {OPT_NO_DISAS, "no-disas", NULL, "do not disassemble"},
    {OPT_NO_MODULES, "no-modules", NULL, "no module+offset beside instructions"},
    {'s', "strings", "N", "show N bytes of a buffer of a system call; default 32"},
    {OPT_JSON, "json", NULL, "one JSON object a line"},
    {'i', "info", NULL, "what is known about the recording, no events"},
    {OPT_STATE, "state", "N[/K]",
     "registers, mappings and next instruction of a thread\nbefore its ordinal N; K: of "
     "the "
     "K-th thread selected"},
    {OPT_COLOR, "color", "WHEN", "auto, always or never"},
    {'q', "quiet", NULL, "no progress, no remark on a partial trace"},
    {0, NULL, NULL, "How to read"},
    {'j', "jobs", "N", "work with N workers"},
    {OPT_NO_INDEX, "no-index", NULL, "read from start to end, without the index"},
    {0, NULL, NULL, "Other"},
    TOOL_OPTIONS_COMMON,
    {0},
};

/* What the command line says, before it is put together. */
struct command_line {
    struct dump_options opt;
    struct filter_options filter;
    enum tool_color color;
};

/* What a word of --events adds. */
static const struct kind_name {
    const char *name;
    uint32_t kinds;
    bool values, times;
} kind_names[] = {
    {"exec", CTR_KIND_EXEC},
    {"load", CTR_KIND_LOAD},
    {"store", CTR_KIND_STORE},
    {"mem", CTR_KIND_LOAD | CTR_KIND_STORE},
    {"val", 0, .values = true},
    {"reg", CTR_KIND_REG},
    {"sys", CTR_KIND_SYS},
    {"map", CTR_KIND_MAP},
    {"thr", CTR_KIND_THR},
    {"mark", CTR_KIND_MARK},
    {"time", 0, .times = true},
    {"all", CTR_KIND_ALL, .values = true, .times = true},
};

static bool parse_kinds(const char *text, struct dump_options *opt)
{
    const size_t nr = sizeof(kind_names) / sizeof(*kind_names);

    for (;;) {
        size_t len = strcspn(text, ","), i;
        for (i = 0; i < nr; i++) {
            const struct kind_name *k = &kind_names[i];
            if (strlen(k->name) == len && !memcmp(k->name, text, len)) {
                opt->kinds |= k->kinds;
                opt->values |= k->values;
                opt->times |= k->times;
                break;
            }
        }
        if (i == nr) {
            return false;
        }
        if (!text[len]) {
            return true;
        }
        text += len + 1;
    }
}

/* Values are shown with accesses, and times with what has them. */
static void finish_kinds(struct dump_options *opt)
{
    const uint32_t accesses = CTR_KIND_LOAD | CTR_KIND_STORE;
    const uint32_t timed =
        CTR_KIND_SYS | CTR_KIND_MAP | CTR_KIND_THR | CTR_KIND_MARK;

    if (!opt->kinds && !opt->values && !opt->times) {
        opt->kinds = CTR_KIND_ALL;
        opt->values = opt->times = true;
    }
    if (opt->values && !(opt->kinds & accesses)) {
        opt->kinds |= accesses;
    }
    if (opt->times && !(opt->kinds & timed)) {
        opt->kinds |= timed;
    }
}

static bool parse_strings(const char *text, unsigned *max)
{
    uint64_t v;

    if (!tool_parse_u64(text, &v)) {
        return false;
    }
    *max = v > UINT32_MAX ? UINT32_MAX : (unsigned)v;
    return true;
}

/* "N" or "N/K" */
static bool parse_state(const char *text, struct dump_options *opt)
{
    const char *slash = strchr(text, '/');
    char ordinal[32];
    uint64_t k = 0;

    if (slash) {
        if ((size_t)(slash - text) >= sizeof(ordinal) || !tool_parse_u64(slash + 1, &k) ||
            !k || k > UINT32_MAX) {
            return false;
        }
        memcpy(ordinal, text, (size_t)(slash - text));
        ordinal[slash - text] = 0;
        text = ordinal;
    }
    opt->state_which = (uint32_t)k;
    return tool_parse_u64(text, &opt->state_ordinal);
}

/* Takes one option in; false if its argument is wrong. */
static bool take_option(struct command_line *c, int key, const char *arg)
{
    enum tool_taken taken = filter_options_take(&c->filter, key, arg);

    if (taken != TOOL_NOT_MINE) {
        return taken == TOOL_TAKEN;
    }
    switch (key) {
    case 'e':
        return parse_kinds(arg, &c->opt);
    case 's':
        return parse_strings(arg, &c->opt.string_max);
    case OPT_NO_MODULES:
        c->opt.no_modules = true;
        return true;
    case OPT_STATE:
        c->opt.state = true;
        return parse_state(arg, &c->opt);
    case OPT_NO_DISAS:
        c->opt.no_disas = true;
        return true;
    case OPT_JSON:
        c->opt.json = true;
        return true;
    case 'i':
        c->opt.info = true;
        return true;
    case OPT_COLOR:
        return tool_parse_color(arg, &c->color);
    case 'q':
        c->opt.quiet = true;
        return true;
    case 'j':
        return tool_parse_jobs(arg, &c->opt.jobs);
    case OPT_NO_INDEX:
        c->opt.no_index = true;
        return true;
    default:
        return false;
    }
}

/* Puts the filter together; TOOL_OK or TOOL_USAGE. */
static int finish_options(struct command_line *c)
{
    int status = filter_options_finish(&c->filter, PROG, &c->opt.filter);

    if (status) {
        return status;
    }
    if (c->opt.info && c->opt.state) {
        return tool_usage_error(PROG, "--info and --state cannot be used together");
    }
    finish_kinds(&c->opt);
    c->opt.jobs = c->opt.jobs ? c->opt.jobs : tool_default_jobs();
    c->opt.color = !c->opt.json && tool_color_on(c->color, STDOUT_FILENO);
    return TOOL_OK;
}

/* Returns TOOL_OK with c->opt.path set, or NULL there if all is done already. */
static int parse_command_line(struct command_line *c, struct tool_options *o)
{
    int key;

    while ((key = tool_options_next(o)) != TOOL_OPTIONS_END) {
        switch (key) {
        case TOOL_OPTIONS_ERROR:
            return TOOL_USAGE;
        case TOOL_OPT_HELP:
            tool_options_help(o, stdout);
            return TOOL_OK;
        case TOOL_OPT_VERSION:
            tool_print_version(PROG);
            return TOOL_OK;
        default:
            if (!take_option(c, key, o->arg)) {
                return tool_usage_error(PROG, "bad argument '%s' for option '%s'", o->arg,
                                        tool_option_name(o, key));
            }
        }
    }
    if (optind == o->argc) {
        return tool_usage_error(PROG, "no trace file given ('-' is standard input)");
    }
    if (optind + 1 < o->argc) {
        return tool_usage_error(PROG, "more than one trace file given");
    }
    c->opt.path = o->argv[optind];
    return finish_options(c);
}

static int dump_file(const struct dump_options *opt)
{
    struct ctr_trace *tr;
    int status;

    status = tool_trace_open(PROG, opt->path, opt->no_index ? CTR_OPEN_NO_INDEX : 0, &tr);
    if (status) {
        return status;
    }
    status = opt->info    ? dump_info(tr, opt)
             : opt->state ? dump_state(tr, opt)
                          : dump_events(tr, opt);
    if (status == DUMP_CUT_SHORT) {
        status = TOOL_OK; /* what else is in the trace, nobody asked */
    } else if (status == TOOL_OK) {
        status = tool_trace_verdict(PROG, opt->path, tr, opt->quiet);
    }
    ctr_close(tr);
    return status;
}

int main(int argc, char **argv)
{
    struct command_line c = {.opt.string_max = DEFAULT_STRING_MAX};
    struct tool_options o = {
        .prog = PROG,
        .usage = "[OPTION]... FILE",
        .about =
            "Show what a recorded program did: instructions, memory accesses, registers, "
            "system\ncalls and more; FILE is a trace made by cannoli-record, or '-' for "
            "one on standard\ninput.",
        .table = option_table,
        .argc = argc,
        .argv = argv,
    };
    int status;

    /* `tracedump | head' ends by EPIPE, quietly and with status 0. */
    signal(SIGPIPE, SIG_IGN);
    status = parse_command_line(&c, &o);
    if (status == TOOL_OK && c.opt.path) {
        status = dump_file(&c.opt);
    }
    tool_options_fini(&o);
    filter_options_fini(&c.filter);
    return status;
}
