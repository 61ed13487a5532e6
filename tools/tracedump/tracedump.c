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

#include "common/pager.h"
#include "common/quantity.h"
#include "dump/dump_options.h"
#include "dump/find.h"
#include "dump/search.h"
#include "query/filter_options.h"
#include "symbols/sym_options.h"

enum {
    OPT_NO_DISAS = TOOL_OPT_LONG,
    OPT_NO_MODULES,
    OPT_STATE,
    OPT_MEMORY,
    OPT_STACK,
    OPT_WRITERS,
    OPT_HISTOGRAM,
    OPT_TOP,
};

static const struct tool_option option_table[] = {
    {0, NULL, NULL, "What to show"},
    FILTER_OPTIONS_ORDINALS,
    FILTER_OPTIONS_TIMES,
    FILTER_OPTIONS_THREADS,
    FILTER_OPTIONS_MACHINES,
    FILTER_OPTIONS_PLACES,
    DUMP_OPTION_EVENTS("all there is"),
    DUMP_OPTIONS_ACCESSES,
    {0, NULL, NULL, "What to look for, with --addr"},
    SEARCH_OPTIONS,
    {0, NULL, NULL, "What values to look for"},
    FIND_OPTIONS,
    {0, NULL, NULL, "How to show it"},
    {OPT_NO_DISAS, "no-disassembly", NULL, "do not disassemble"},
    {OPT_NO_MODULES, "no-modules", NULL, "no module+offset next to instructions"},
    DUMP_OPTIONS_HOW,
    {'i', "info", NULL, "describe the recording; print no events"},
    {OPT_STATE, "state", "MOMENT",
     "registers, mappings and next instruction of a thread\nbefore its ordinal N, or at "
     "crash, end, call:NAME/N ..."},
    {OPT_STACK, "stack", NULL, "with --state: also the calls that the thread is in"},
    {OPT_MEMORY, "memory", "PLACES",
     "with --state: also what memory holds there: VARIABLE,\nA-B, A+LENGTH; phys:A-B: "
     "physical memory of a machine"},
    {OPT_WRITERS, "writers", NULL, "with --memory: also what wrote these bytes last"},
    {'c', "summary", NULL, "count what is selected; print no events"},
    {OPT_HISTOGRAM, "histogram", "LIST",
     "count what is selected by mnemonic, function, module,\npage or size; print no "
     "events",
     &hist_words},
    {OPT_TOP, "top", "N", "the N highest counts of each histogram"},
    DUMP_OPTIONS_TERMINAL,
    {0, NULL, NULL, "Where programs and libraries are"},
    SYM_OPTIONS_FILES,
    {0, NULL, NULL, "How to read"},
    DUMP_OPTIONS_READ,
    {0, NULL, NULL, "Other"},
    TOOL_OPTIONS_COMMON,
    {0},
};

/* The parsed command line. */
struct command_line {
    struct dump_choice dump;
    struct filter_options filter;
    struct sym_options sym;
    struct modset_options modset;
    struct moment_text state;
    struct locations memory;
    struct tool_ranges physical; /* --memory=phys: */
    bool writers, stack;
    struct search_request search;
    struct hist_request hist;
    struct find_request find;
    unsigned modes; /* number of chosen modes that print no events */
    bool info, summary, no_modules;
};

/* Stores one option; false if its argument is wrong. */
static bool set_option(void *to, int key, const char *arg)
{
    struct command_line *c = to;
    enum tool_parsed parsed = filter_options_parse(&c->filter, key, arg);

    if (parsed == TOOL_OTHER_GROUP) {
        parsed = dump_choice_parse(&c->dump, key, arg);
    }
    if (parsed == TOOL_OTHER_GROUP) {
        parsed = sym_options_parse(&c->sym, key, arg);
    }
    if (parsed == TOOL_OTHER_GROUP) {
        bool first = !c->search.option;
        parsed = search_parse(&c->search, key, arg);
        c->modes += first && parsed != TOOL_OTHER_GROUP;
    }
    if (parsed == TOOL_OTHER_GROUP) {
        bool first = !c->find.text;
        parsed = find_option(&c->find, key, arg);
        c->modes += first && c->find.text;
    }
    if (parsed != TOOL_OTHER_GROUP) {
        return parsed == TOOL_PARSED;
    }
    switch (key) {
    case OPT_NO_MODULES:
        c->no_modules = true;
        return true;
    case OPT_STATE:
        c->modes += !c->state.kind;
        return moment_parse(arg, &c->state);
    case OPT_STACK:
        return c->stack = true;
    case OPT_MEMORY:
        return strncmp(arg, FILTER_PHYSICAL, strlen(FILTER_PHYSICAL)) != 0
                   ? location_list_add(&c->memory, arg)
                   : tool_parse_ranges(arg + strlen(FILTER_PHYSICAL), &c->physical);
    case OPT_WRITERS:
        return c->writers = true;
    case OPT_HISTOGRAM:
        c->modes += !c->hist.n;
        return hist_parse(&c->hist, arg);
    case OPT_TOP:
        return quantity_parse(arg, &c->hist.top) && c->hist.top;
    case OPT_NO_DISAS:
        c->dump.opt.no_disas = true;
        return true;
    case 'i':
        c->modes += !c->info;
        c->info = true;
        return true;
    case 'c':
        c->modes += !c->summary;
        c->summary = true;
        return true;
    default:
        return false;
    }
}

/* --state and what belongs to it; TOOL_OK or TOOL_USAGE. */
static int finish_state(struct command_line *c)
{
    const bool by_addr = c->filter.addrs.n || c->filter.phys_ranges.n;

    if (c->info && c->state.kind) {
        return tool_usage_error(PROG, "--info and --state cannot be used together");
    }
    if (c->state.kind && (by_addr || c->filter.pcs.n)) {
        return tool_usage_error(PROG,
                                "--state shows a place, not instructions or "
                                "accesses: %s does not go with it",
                                by_addr ? "--addr" : "--pc");
    }
    if (c->stack && !c->state.kind) {
        return tool_usage_error(PROG, "--stack is for --state only");
    }
    if ((c->memory.n || c->physical.n) && !c->state.kind) {
        return tool_usage_error(PROG, "--memory is for --state only");
    }
    if (c->writers && c->physical.n) {
        return tool_usage_error(PROG, "--writers searches virtual addresses: "
                                      "--memory phys: does not go with it");
    }
    if (c->writers && !c->memory.n) {
        return tool_usage_error(PROG, "--writers is for --memory only");
    }
    if (c->memory.n) {
        c->filter.addrs = c->memory;
        c->filter.addr_option = "--memory";
        c->memory = (struct locations){0};
    }
    return TOOL_OK;
}

/* What the trace must have, beside what --events names. */
static uint32_t needed_by(const struct command_line *c)
{
    const uint32_t values = CTR_HAS_MEM | CTR_HAS_VAL;
    uint32_t needed = c->filter.addrs.n || hist_of_accesses(&c->hist) ? CTR_HAS_MEM : 0;

    needed |= c->find.text || c->search.option ? values : 0;
    if (c->state.kind) {
        needed |= CTR_HAS_REG | (c->stack || c->filter.addrs.n ? values : 0);
    }
    return needed;
}

/* Replaces a moment by the ordinal that it is, as a window has only some of what is counted. */
static void set_ordinal(struct moment_text *m, uint64_t ordinal)
{
    m->kind = MOMENT_ORDINAL;
    m->value = ordinal;
    m->number = 0;
}

/* Which instructions --state needs: the one of the place. */
static int part_of_state(struct command_line *c, const struct locate_request *request,
                         uint64_t *from, uint64_t *to)
{
    const struct ctr_filter all = CTR_FILTER_INIT;
    struct ctr_moment at;
    int status;

    /* Calls and last writers are of all that ran before; times are those at which chunks
     * begin, which are others in a window. */
    if (c->stack || c->writers || moment_symbols(&c->state) ||
        c->state.kind == MOMENT_TIME) {
        return TOOL_OK;
    }
    status = moment_find(&c->state, &all, request, c->dump.opt.jobs, &at);
    if (!status && !at.before_system) {
        set_ordinal(&c->state, at.ordinal);
        *from = at.ordinal ? at.ordinal - 1 : 0;
        *to = at.ordinal + 1;
    }
    return status;
}

static int part_of_range(struct command_line *c, const struct locate_request *request,
                         uint64_t *from, uint64_t *to)
{
    struct filter_options *f = &c->filter;
    struct ctr_filter span;
    int status;

    if ((moment_symbols(&f->from) | moment_symbols(&f->to)) != 0 || f->from_ns ||
        f->to_ns) {
        return TOOL_OK;
    }
    status = filter_options_span(f, request, c->dump.opt.jobs, &span);
    if (status || (span.from_ns && !span.from_thread) ||
        (span.to_ns && !span.to_thread) || (span.to && span.from >= span.to)) {
        return status; /* times are no places of a thread; nothing is selected */
    }
    if (f->from.kind) {
        set_ordinal(&f->from, span.from);
    }
    if (f->to.kind || f->has_count) {
        set_ordinal(&f->to, span.to);
        f->has_count = false;
        *to = span.to;
    }
    *from = span.from;
    return TOOL_OK;
}

/* What of a light trace with one thread the command line is about; see expansion.h. */
static int part_of(void *arg, struct ctr_trace *light, uint64_t *from, uint64_t *to)
{
    struct command_line *c = arg;
    const struct locate_request request = {
        .prog = PROG, .path = c->dump.opt.path, .option = "--state", .trace = light};
    struct ctr_info info;

    if (c->info || c->search.option || c->find.text) {
        return TOOL_OK;
    }
    ctr_trace_info(light, &info);
    c->dump.opt.insns = info.insns;
    return c->state.kind ? part_of_state(c, &request, from, to)
                         : part_of_range(c, &request, from, to);
}

/* Completes the filter and the rest; TOOL_OK or TOOL_USAGE. */
static int finish_options(struct command_line *c)
{
    int status = filter_options_check(&c->filter, PROG);

    status = status ? status : sym_options_finish(&c->sym, PROG, &c->modset);
    if (status) {
        return status;
    }
    status = finish_state(c);
    if (status) {
        return status;
    }
    if (c->modes > 1) {
        return tool_usage_error(PROG, "more than one of --info, --summary, --histogram, "
                                      "--state, --find and the other searches");
    }
    if (c->hist.top && !c->hist.n) {
        return tool_usage_error(PROG, "--top is for --histogram only");
    }
    if (c->dump.opt.phys && c->modes) {
        return tool_usage_error(PROG, "--phys is for printing the trace only");
    }
    status = search_check(&c->search, c->find.text, &c->filter, PROG);
    status = status ? status : dump_choice_finish(&c->dump, CTR_KIND_ALL);
    c->modset.flags = SYMFILE_HEADERS; /* addresses are enough: the first line is fast */
    c->modset.quiet = c->dump.opt.quiet;
    c->modset.missing_ok = true;
    return status ? status : find_finish(&c->find, PROG, c->dump.opt.kinds);
}

/* The symbols that the command line needs; 0: none. */
static unsigned symbols_of(const struct command_line *c)
{
    return filter_options_symbols(&c->filter) | moment_symbols(&c->state) |
           moment_symbols(&c->search.moment) |
           (c->stack ? SYMFILE_LINES | SYMFILE_FRAMES : 0);
}

/* Opens the files that the trace names: for names, or only for addresses of files. */
static int open_modules(struct ctr_trace *tr, struct command_line *c,
                        const struct dump_options *opt, struct modset **modset,
                        struct places **places)
{
    bool shown =
        c->state.kind || (!c->no_modules && (c->find.text || dump_shows_modules(opt)));
    bool prints = !c->info && !c->summary && !c->hist.n;
    struct modset_options files = c->modset;

    files.flags = symbols_of(c);
    if (files.flags) {
        return open_symbols(modset, places, tr, opt, &files);
    }
    return prints && shown ? open_places(modset, places, tr, opt, &c->modset) : TOOL_OK;
}

static int print_events(struct ctr_trace *tr, const struct dump_options *opt)
{
    int status = dump_events(tr, opt);

    return status == TOOL_OK && !dump_wrote() ? dump_nothing(tr, opt) : status;
}

/* The place, and what was requested of its memory. */
static int show_state(struct ctr_trace *tr, const struct command_line *c,
                      const struct dump_options *opt, const struct ctr_moment *at)
{
    const struct search_request last = {
        .option = "--writers", .back = true, .kind = CTR_KIND_STORE};
    int status = dump_memory_check(tr, opt);

    status = status ? status : dump_state(tr, opt, at);
    if (!status && c->stack) {
        status = dump_stack(tr, opt, at);
    }
    if (!status && opt->filter.naddr) {
        status = dump_memory(tr, opt, at);
    }
    if ((!status || status == TOOL_NOTHING) && opt->filter.nphys) {
        const int physical = dump_physical(tr, opt, at);

        status = physical ? physical : status;
    }
    if ((!status || status == TOOL_NOTHING) && c->writers) {
        status = dump_search(tr, opt, &last, at);
    }
    return status;
}

/* Runs the chosen mode; the filter is known. */
static int show_mode(struct ctr_trace *tr, struct command_line *c,
                     const struct locate_request *request, const struct dump_options *opt)
{
    const struct moment_text *text = c->state.kind ? &c->state : &c->search.moment;
    struct ctr_moment at;
    int status = TOOL_OK;

    if (text->kind) {
        status = moment_find(text, &opt->filter, request, opt->jobs, &at);
    }
    if (status) {
        return status;
    }
    return c->info            ? dump_info(tr, opt)
           : c->summary       ? dump_summary(tr, opt)
           : c->hist.n        ? dump_histogram(tr, opt, &c->hist, &c->modset)
           : c->state.kind    ? show_state(tr, c, opt, &at)
           : c->search.option ? dump_search(tr, opt, &c->search, &at)
           : c->find.text     ? dump_find(tr, opt, &c->find)
                              : print_events(tr, opt);
}

static int show(struct ctr_trace *tr, void *arg)
{
    struct command_line *c = arg;
    struct dump_options opt = c->dump.opt;
    struct modset *modset = NULL;
    struct places *places = NULL;
    struct locate_request request = {
        .prog = PROG,
        .path = opt.path,
        .option = c->state.kind ? "--state" : c->search.option,
        .trace = tr,
    };
    int status = open_modules(tr, c, &opt, &modset, &places);

    opt.places = places;
    request.places = places;
    if (!status && !c->info) {
        status = filter_options_resolve(&c->filter, &request, opt.jobs, &opt.filter);
    }
    if (c->state.kind) {
        opt.filter.phys = c->physical.v;
        opt.filter.nphys = c->physical.n;
    }
    status = status ? status : show_mode(tr, c, &request, &opt);
    places_free(places);
    modset_close(modset);
    return status;
}

int main(int argc, char **argv)
{
    struct command_line c = {0};
    struct tool_options o = {
        .prog = PROG,
        .usage = "[OPTION]... FILE",
        .about =
            "Show what a recorded program did: instructions, memory accesses, registers,\n"
            "system calls and more; FILE is a trace made by cannoli-record, or '-' for "
            "one\non standard input.",
        .table = option_table,
        .argc = argc,
        .argv = argv,
    };
    int status;

    /* `tracedump | head' ends by EPIPE, without a message and with status 0. */
    signal(SIGPIPE, SIG_IGN);
    dump_choice_init(&c.dump, PROG);
    status = tool_options_parse(&o, set_option, &c, &c.dump.opt.path);
    if (status == TOOL_OK && c.dump.opt.path) {
        status = finish_options(&c);
        if (!status) {
            c.dump.expansion.part = part_of;
            c.dump.expansion.part_arg = &c;
            status = dump_choice_file(&c.dump, needed_by(&c), show, &c);
        }
    }
    tool_options_fini(&o);
    dump_choice_fini(&c.dump);
    filter_options_fini(&c.filter);
    location_list_free(&c.memory);
    free(c.physical.v);
    sym_options_fini(&c.sym);
    return pager_close_stdout(PROG, NULL, status);
}
