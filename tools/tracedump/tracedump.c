/* SPDX-License-Identifier: MIT */
/*
 * tracedump: shows what a recorded program did; see tracedump(1).  This file is
 * its command line.
 */
#include "tracedump.h"

#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/filter_options.h"
#include "dump/dump_options.h"

enum {
    OPT_NO_DISAS = TOOL_OPT_LONG,
    OPT_NO_MODULES,
    OPT_STATE,
};

static const struct tool_option option_table[] = {
    {0, NULL, NULL, "What to show"},
    FILTER_OPTIONS_ORDINALS,
    FILTER_OPTIONS_THREADS,
    FILTER_OPTIONS_PLACES,
    DUMP_OPTION_EVENTS("all there is"),
    {0, NULL, NULL, "How to show it"},
    {OPT_NO_DISAS, "no-disas", NULL, "do not disassemble"},
    {OPT_NO_MODULES, "no-modules", NULL, "no module+offset beside instructions"},
    DUMP_OPTIONS_HOW,
    {'i', "info", NULL, "what is known about the recording, no events"},
    {OPT_STATE, "state", "N[/K]",
     "registers, mappings and next instruction of a thread\nbefore its ordinal N; K: of "
     "the "
     "K-th thread selected"},
    DUMP_OPTIONS_TERMINAL,
    {0, NULL, NULL, "How to read"},
    DUMP_OPTIONS_READ,
    {0, NULL, NULL, "Other"},
    TOOL_OPTIONS_COMMON,
    {0},
};

/* What the command line says, before it is put together. */
struct command_line {
    struct dump_choice dump;
    struct filter_options filter;
    struct state_request state;
    bool info;
};

/* "N" or "N/K" */
static bool parse_state(const char *text, struct state_request *state)
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
    state->given = true;
    state->which = (uint32_t)k;
    return tool_parse_u64(text, &state->ordinal);
}

/* Takes one option in; false if its argument is wrong. */
static bool take_option(void *to, int key, const char *arg)
{
    struct command_line *c = to;
    enum tool_taken taken = filter_options_take(&c->filter, key, arg);

    if (taken == TOOL_NOT_MINE) {
        taken = dump_choice_take(&c->dump, key, arg);
    }
    if (taken != TOOL_NOT_MINE) {
        return taken == TOOL_TAKEN;
    }
    switch (key) {
    case OPT_NO_MODULES:
        c->dump.opt.no_modules = true;
        return true;
    case OPT_STATE:
        return parse_state(arg, &c->state);
    case OPT_NO_DISAS:
        c->dump.opt.no_disas = true;
        return true;
    case 'i':
        c->info = true;
        return true;
    default:
        return false;
    }
}

/* Puts the filter together; TOOL_OK or TOOL_USAGE. */
static int finish_options(struct command_line *c)
{
    int status = filter_options_finish(&c->filter, PROG, &c->dump.opt.filter);

    if (status) {
        return status;
    }
    if (c->info && c->state.given) {
        return tool_usage_error(PROG, "--info and --state cannot be used together");
    }
    dump_choice_finish(&c->dump, CTR_KIND_ALL);
    return TOOL_OK;
}

static int show(struct ctr_trace *tr, const void *arg)
{
    const struct command_line *c = arg;
    const struct dump_options *opt = &c->dump.opt;

    return c->info          ? dump_info(tr, opt)
           : c->state.given ? dump_state(tr, opt, &c->state)
                            : dump_events(tr, opt);
}

int main(int argc, char **argv)
{
    struct command_line c = {0};
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
    dump_choice_init(&c.dump, PROG);
    status = tool_options_parse(&o, take_option, &c, &c.dump.opt.path);
    if (status == TOOL_OK && c.dump.opt.path) {
        status = finish_options(&c);
        status = status ? status : dump_file(&c.dump.opt, show, &c);
    }
    tool_options_fini(&o);
    filter_options_fini(&c.filter);
    return status;
}
