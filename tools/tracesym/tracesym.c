/* SPDX-License-Identifier: MIT */
/*
 * tracesym: shows what a recorded program did, with symbols; see tracesym(1).  This file
 * is its command line.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backtrace.h"
#include "bbv.h"
#include "call_counts.h"
#include "common/items.h"
#include "common/outfile.h"
#include "common/pager.h"
#include "common/quantity.h"
#include "query/filter_options.h"
#include "query/function_pattern.h"
#include "input/trace.h"
#include "dump/dump_options.h"
#include "dump/search.h"
#include "list.h"
#include "print.h"
#include "profile.h"
#include "prog.h"
#include "symbols/sym_options.h"
#include "timeline.h"
#include "trace_calls.h"

enum {
    OPT_MODULE = TOOL_OPT_LONG,
    OPT_FUNCTION,
    OPT_FUNCTIONS,
    OPT_CALLS,
    OPT_BBV,
    OPT_LIST,
    OPT_TRACE_CALLS,
    OPT_CALLERS_OF,
    OPT_CALLS_OF,
    OPT_BACKTRACE,
    OPT_LOCALS,
    OPT_BBV_PCS,
    OPT_INLINES,
    OPT_BASENAMES,
    OPT_COST,
    OPT_SORT,
    OPT_MIN_PERCENT,
    OPT_DEPTH,
    OPT_FULL_NAMES,
    OPT_BY,
    OPT_TIMELINE,
    OPT_NO_ACCESSES,
    OPT_MIN_SPAN,
    OPT_INVERTED,
    OPT_ICICLE,
    OPT_DIFF,
    OPT_DIFF_PID,
    OPT_DIFF_THREAD,
};

static const struct tool_option option_table[] = {
    {0, NULL, NULL, "What to print instead of the trace"},
    {OPT_FUNCTIONS, "functions", NULL, "a flat profile of functions"},
    {OPT_CALLS, "calls", NULL, "a call tree"},
    {OPT_BBV, "bbv", "N",
     "basic-block vectors of intervals of N instructions,\nfor SimPoint"},
    {OPT_TRACE_CALLS, "trace-calls", "FUNCTIONS",
     "each call with arguments, result, caller and length:\n"
     "NAME, a glob, MODULE!NAME, parse.c:NAME, a list\nof these"},
    {OPT_CALLERS_OF, "callers-of", "FUNCTIONS", "who called them, and how often"},
    {OPT_CALLS_OF, "calls-of", "FUNCTIONS", "what they called, and how often"},
    {OPT_BACKTRACE, "backtrace", "MOMENT",
     "the calls that a thread is in before ordinal N, at\ncrash, end, call:NAME/N ..."},
    {OPT_LOCALS, "locals", NULL, "with --backtrace: the variables of each frame"},
    {OPT_TIMELINE, "timeline", NULL,
     "of a machine: tasks, exceptions, halts over time, as\nJSON trace events for "
     "Perfetto"},
    SEARCH_OPTIONS,
    FIND_OPTIONS,
    {OPT_LIST, "list", "WHAT",
     "names: functions, marks, modules, moments,\nobjects, processes, syscalls, tasks or threads",
     &list_words},
    {'o', "output", "FILE", "write to FILE; with --bbv to FILE.TID for each thread"},
    {0, NULL, NULL, "What to look at"},
    FILTER_OPTIONS_ORDINALS,
    FILTER_OPTIONS_TIMES,
    FILTER_OPTIONS_THREADS,
    FILTER_OPTIONS_MACHINES,
    FILTER_OPTIONS_PLACES,
    {OPT_MODULE, "module", "GLOB", "only instructions of these programs and libraries"},
    {OPT_FUNCTION, "function", "GLOB",
     "only instructions of these functions; --calls: what\nthey call, too; "
     "--trace-calls: calls by them"},
    DUMP_OPTION_EVENTS("exec,sys,map,thr,time,mark"),
    DUMP_OPTIONS_ACCESSES,
    {0, NULL, NULL, "How to print"},
    {'d', "disassembly", NULL, "bytes and disassembly of instructions, too"},
    {OPT_INLINES, "inlines", NULL, "where inlined functions were called, too"},
    {OPT_BASENAMES, "basenames", NULL, "source files without their folders"},
    DUMP_OPTIONS_HOW,
    DUMP_OPTIONS_TERMINAL,
    {0, NULL, NULL, "Profiles and call trees"},
    {'f', "format", "FORMAT", "text, json, folded, callgrind, chrome or svg",
     &profile_format_words},
    {OPT_COST, "cost", "WHAT",
     "insns (default), loads or stores; not in --calls as\n"
     "json, callgrind and chrome",
     &profile_cost_words},
    {OPT_SORT, "sort", "ORDER", "of --functions: self (default), inclusive or calls",
     &profile_sort_words},
    {OPT_DIFF, "diff", "OLD", "compare with the trace OLD"},
    {OPT_DIFF_PID, "diff-pid", "LIST", "of OLD: these processes, not those of --pid"},
    {OPT_DIFF_THREAD, "diff-thread", "LIST",
     "of OLD: these threads, not those of --thread"},
    {OPT_INVERTED, "inverted", NULL, "--calls: by callee, with its callers below it"},
    {OPT_ICICLE, "icicle", NULL, "svg: with callers above what they call"},
    {OPT_MIN_PERCENT, "min-percent", "P", "put smaller shares together, in text and svg"},
    {OPT_DEPTH, "depth", "N", "at most N calls deep, in text and svg"},
    {OPT_MIN_SPAN, "min-span", "N",
     "chrome: leave out calls of less than N instructions"},
    {OPT_FULL_NAMES, "full-names", NULL, "do not shorten names"},
    {OPT_BY, "by", "WHAT",
     "thread: each thread separately; of a machine cpu, task\n"
     "(of its Linux), irq (exceptions and interrupts)",
     &profile_by_words},
    {OPT_NO_ACCESSES, "no-accesses", NULL, "do not count accesses, which is faster"},
    {0, NULL, NULL, "Basic-block vectors"},
    {OPT_BBV_PCS, "bbv-pcs", "FILE", "write address and function of each block to FILE"},
    {0, NULL, NULL, "Where symbols are"},
    SYM_OPTIONS,
    {0, NULL, NULL, "How to read"},
    DUMP_OPTIONS_READ,
    {0, NULL, NULL, "Other"},
    TOOL_OPTIONS_COMMON,
    {0},
};

enum mode {
    MODE_PRINT,
    MODE_FUNCTIONS,
    MODE_CALLS,
    MODE_BBV,
    MODE_LIST,
    MODE_TRACE_CALLS,
    MODE_BACKTRACE,
    MODE_TIMELINE,
    MODE_CALL_COUNTS,
    MODE_SEARCH,
    MODE_FIND,
};

struct command_line {
    struct dump_choice dump;
    struct filter_options filter, older_filter; /* for the trace of --diff */
    struct thread_names older_pids, older_tids; /* of --diff-pid and --diff-thread */
    struct sym_options sym;
    struct modset_options modset;
    struct tool_words modules, functions, traced;
    struct search_request search;
    struct find_request find;
    struct moment_text backtrace;
    bool locals, callees;
    struct site_options site;
    struct profile_options profile;
    uint64_t bbv, min_span, depth;
    const char *bbv_pcs, *output;
    struct outfile *out; /* of --output, but for --bbv */
    enum mode mode;
    enum list_what list;
    unsigned modes;  /* number of modes given */
    int print_key;   /* an option given that only printing has, or NULL */
    int profile_key; /* the same for --functions and --calls */
    int select_key;  /* the same for printing and these two */
    bool disas;
    struct profile_older older; /* path NULL: no --diff */
    struct expansion expansion; /* of that one */
};

/* ----------------------------------------------------------------- options */

static bool set_mode(struct command_line *c, enum mode mode)
{
    c->modes += !c->modes || c->mode != mode;
    c->mode = mode;
    return true;
}

static bool parse_percent(const char *text, double *out)
{
    char *end;

    *out = strtod(text, &end);
    return end != text && !*end && *out >= 0 && *out <= 100;
}

/* Options of --functions and --calls; false if the argument is wrong. */
static bool parse_profile(struct command_line *c, int key, const char *arg)
{
    struct profile_options *p = &c->profile;

    switch (key) {
    case 'f':
        return profile_parse_format(arg, &p->graph.format);
    case OPT_COST:
        return profile_parse_cost(arg, &p->graph.cost);
    case OPT_SORT:
        return profile_parse_sort(arg, &p->graph.sort);
    case OPT_MIN_PERCENT:
        return parse_percent(arg, &p->graph.min_percent);
    case OPT_DEPTH:
        return quantity_parse(arg, &c->depth) && c->depth && c->depth <= UINT32_MAX;
    case OPT_MIN_SPAN:
        return quantity_parse(arg, &c->min_span);
    case OPT_FULL_NAMES:
        p->graph.full_names = true;
        return true;
    case OPT_BY:
        return profile_parse_by(arg, p);
    case OPT_INVERTED:
        p->graph.inverted = true;
        return true;
    case OPT_ICICLE:
        p->graph.icicle = true;
        return true;
    case OPT_DIFF:
        c->older.path = arg;
        return *arg;
    case OPT_DIFF_PID:
        return thread_names_add(&c->older_pids, arg);
    case OPT_DIFF_THREAD:
        return thread_names_add(&c->older_tids, arg);
    default:
        p->no_accesses = true;
        return true;
    }
}

/* Adds the functions of a list with commas, without their quotes; they are freed in main. */
static bool add_traced(struct command_line *c, const char *list)
{
    for (;;) {
        uint32_t len = item_length(list);
        char *item;

        if (!len && !strchr(list, ',')) { /* a glob with an odd bracket */
            len = (uint32_t)strlen(list);
        }
        item = len ? malloc(len + 1u) : NULL;
        if (!item) {
            return false;
        }
        location_name(list, len, item);
        if (!*item || !tool_words_add(&c->traced, item)) {
            free(item);
            return false;
        }
        if (!list[len]) {
            return true;
        }
        list += len + 1;
    }
}

static bool parse_own(struct command_line *c, int key, const char *arg)
{
    switch (key) {
    case OPT_FUNCTIONS:
        return set_mode(c, MODE_FUNCTIONS);
    case OPT_CALLS:
        return set_mode(c, MODE_CALLS);
    case OPT_BBV:
        return set_mode(c, MODE_BBV) && quantity_parse(arg, &c->bbv) && c->bbv;
    case OPT_TRACE_CALLS:
        return set_mode(c, MODE_TRACE_CALLS) && add_traced(c, arg);
    case OPT_CALLERS_OF:
    case OPT_CALLS_OF:
        c->callees = key == OPT_CALLS_OF;
        return set_mode(c, MODE_CALL_COUNTS) && add_traced(c, arg);
    case OPT_BACKTRACE:
        return set_mode(c, MODE_BACKTRACE) && moment_parse(arg, &c->backtrace);
    case OPT_TIMELINE:
        return set_mode(c, MODE_TIMELINE);
    case OPT_LOCALS:
        c->locals = true;
        return true;
    case OPT_LIST:
        return set_mode(c, MODE_LIST) && list_parse(arg, &c->list);
    case OPT_BBV_PCS:
        c->bbv_pcs = arg;
        return *arg;
    case 'o':
        c->output = arg;
        return *arg;
    case OPT_MODULE:
        return tool_words_add(&c->modules, arg);
    case OPT_FUNCTION:
        return tool_words_add(&c->functions, arg);
    case 'd':
        c->disas = true;
        return true;
    case OPT_INLINES:
        c->site.inlines = true;
        return true;
    case OPT_BASENAMES:
        c->site.basenames = true;
        return true;
    default:
        return parse_profile(c, key, arg);
    }
}

/* Remembers options that only one of the modes has, to reject them with others. */
static void note_mode(struct command_line *c, int key)
{
    switch (key) {
    case 'f':
    case OPT_COST:
    case OPT_SORT:
    case OPT_MIN_PERCENT:
    case OPT_DEPTH:
    case OPT_MIN_SPAN:
    case OPT_FULL_NAMES:
    case OPT_BY:
    case OPT_NO_ACCESSES:
    case OPT_INVERTED:
    case OPT_ICICLE:
    case OPT_DIFF:
    case OPT_DIFF_PID:
    case OPT_DIFF_THREAD:
        c->profile_key = key;
        break;
    case FILTER_OPT_PC:
    case 'a':
    case 'e':
    case DUMP_OPT_READS:
    case DUMP_OPT_WRITES:
    case DUMP_OPT_GROUP:
    case DUMP_OPT_PHYS:
    case 's':
    case 'd':
    case OPT_INLINES:
    case OPT_BASENAMES:
        c->print_key = key;
        break;
    case OPT_MODULE:
    case OPT_FUNCTION:
        c->select_key = key;
        break;
    default:
        break;
    }
}

/* Stores one option; false if its argument is wrong. */
static bool parse_option(void *to, int key, const char *arg)
{
    struct command_line *c = to;
    enum tool_parsed parsed = filter_options_parse(&c->filter, key, arg);

    note_mode(c, key);
    if (parsed == TOOL_PARSED) { /* the same for both traces */
        parsed = filter_options_parse(&c->older_filter, key, arg);
    }
    if (parsed == TOOL_OTHER_GROUP) {
        parsed = dump_choice_parse(&c->dump, key, arg);
    }
    if (parsed == TOOL_OTHER_GROUP) {
        parsed = sym_options_parse(&c->sym, key, arg);
    }
    if (parsed == TOOL_OTHER_GROUP) {
        parsed = search_parse(&c->search, key, arg);
        if (parsed != TOOL_OTHER_GROUP) {
            set_mode(c, MODE_SEARCH);
        }
    }
    if (parsed == TOOL_OTHER_GROUP) {
        parsed = find_option(&c->find, key, arg);
        if (key == FIND_OPT_FIND) {
            set_mode(c, MODE_FIND);
        }
    }
    return parsed == TOOL_OTHER_GROUP ? parse_own(c, key, arg) : parsed == TOOL_PARSED;
}

/* The option that needs a tree made of others, or 0. */
static int derived_key(const struct command_line *c)
{
    return c->profile.graph.inverted ? OPT_INVERTED
           : c->older.path           ? OPT_DIFF
                                     : c->select_key;
}

/* Rejects options that do not go with the mode, the format or each other. */
static int check_derived(const struct command_line *c, struct tool_options *o,
                         enum graph_format format)
{
    if (c->profile.graph.inverted && c->mode != MODE_CALLS) {
        return tool_usage_error(PROG, "--inverted is for --calls only");
    }
    if ((format == GRAPH_CALLGRIND || format == GRAPH_CHROME) && derived_key(c)) {
        return tool_usage_error(PROG, "%s is not for the formats callgrind and chrome",
                                tool_option_name(o, derived_key(c)));
    }
    if (c->profile.graph.icicle && format != GRAPH_SVG) {
        return tool_usage_error(PROG, "--icicle is for the format svg only");
    }
    if (c->profile.by_irq && format == GRAPH_CHROME) {
        return tool_usage_error(PROG, "--by=irq is not for the format chrome");
    }
    if (c->older.path && !strcmp(c->older.path, "-") && !strcmp(c->dump.opt.path, "-")) {
        return tool_usage_error(PROG, "standard input cannot be both traces");
    }
    if (!c->older.path && (c->older_pids.n || c->older_tids.n)) {
        return tool_usage_error(PROG, "%s needs --diff",
                                c->older_pids.n ? "--diff-pid" : "--diff-thread");
    }
    return TOOL_OK;
}

/* Rejects options that the format does not use; TOOL_OK or TOOL_USAGE. */
static int check_format(const struct command_line *c, struct tool_options *o)
{
    bool json = c->dump.opt.json || c->profile.graph.format == GRAPH_JSON;
    enum graph_format format = json ? GRAPH_JSON : c->profile.graph.format;
    bool calls = c->mode == MODE_CALLS, people = format == GRAPH_TEXT;

    if (c->depth && !(calls && (people || format == GRAPH_SVG))) {
        return tool_usage_error(PROG, "--depth is for --calls as text and svg only");
    }
    if (c->profile.graph.min_percent > 0 && !people && format != GRAPH_SVG) {
        return tool_usage_error(PROG,
                                "--min-percent is for the formats text and svg only");
    }
    if (c->profile.graph.cost && calls && !people && format != GRAPH_SVG &&
        format != GRAPH_FOLDED) {
        return tool_usage_error(PROG,
                                "--cost is for --functions, and for --calls as text, "
                                "folded and svg");
    }
    if (c->min_span && format != GRAPH_CHROME) {
        return tool_usage_error(PROG, "--min-span is for the format chrome only");
    }
    if (c->profile.graph.cost && c->profile.no_accesses) {
        return tool_usage_error(PROG, "--no-accesses leaves nothing for --cost");
    }
    return check_derived(c, o, format);
}

/* Rejects options that --list does not use; TOOL_OK or TOOL_USAGE. */
static int check_list(const struct command_line *c)
{
    const struct filter_options *f = &c->filter;

    if (f->pids.n || f->tids.n || f->tasks.n || f->contexts.n || f->user || f->kernel ||
        f->from.kind || f->to.kind || f->has_count || f->from_ns || f->to_ns ||
        c->dump.opt.json || c->bbv_pcs || c->functions.n) {
        return tool_usage_error(PROG,
                                "--list lists all names of the trace, as text; only "
                                "--module selects some");
    }
    if (c->modules.n && !list_needs_modules(c->list)) {
        return tool_usage_error(PROG, "--module does not select %s",
                                words_at(&list_words, c->list));
    }
    return TOOL_OK;
}

/* Whether a mode prints what it finds among all events. */
static bool searches(enum mode mode)
{
    return mode == MODE_SEARCH || mode == MODE_FIND;
}

/* Whether a mode uses the options of printing. */
static bool prints(enum mode mode)
{
    return mode == MODE_PRINT || searches(mode) || mode == MODE_TRACE_CALLS ||
           mode == MODE_BACKTRACE || mode == MODE_CALL_COUNTS;
}

/* Rejects options that exclude each other; TOOL_OK or TOOL_USAGE. */
static int check_modes(struct command_line *c, struct tool_options *o)
{
    enum graph_format format = c->profile.graph.format;
    bool profile = c->mode == MODE_FUNCTIONS || c->mode == MODE_CALLS;
    int status;

    if (c->modes > 1) {
        return tool_usage_error(PROG, "more than one of --functions, --calls, --bbv, "
                                      "--list, --trace-calls, --backtrace, "
                                      "--timeline, --find and the other searches");
    }
    if (c->locals && c->mode != MODE_BACKTRACE) {
        return tool_usage_error(PROG, "--locals needs --backtrace");
    }
    status = search_check(&c->search, c->mode == MODE_FIND, &c->filter, PROG);
    if (status) {
        return status;
    }
    if (c->print_key && !prints(c->mode)) {
        return tool_usage_error(PROG, "%s is for printing the trace only",
                                tool_option_name(o, c->print_key));
    }
    if (c->select_key &&
        (c->mode == MODE_BBV || c->mode == MODE_BACKTRACE || c->mode == MODE_TIMELINE)) {
        return tool_usage_error(PROG, "%s and %s cannot be used together",
                                tool_option_name(o, c->select_key),
                                c->mode == MODE_BBV         ? "--bbv"
                                : c->mode == MODE_BACKTRACE ? "--backtrace"
                                                            : "--timeline");
    }
    if (c->mode == MODE_TIMELINE && (c->filter.user || c->filter.kernel)) {
        return tool_usage_error(PROG, "--%s and --timeline cannot be used together",
                                c->filter.user ? "user" : "kernel");
    }
    if (c->select_key && c->mode == MODE_FIND) {
        return tool_usage_error(PROG, "--find searches all code: --pc selects some");
    }
    if (c->profile_key && !profile) {
        return tool_usage_error(PROG, "%s is for --functions and --calls only",
                                tool_option_name(o, c->profile_key));
    }
    if (c->profile.graph.sort && c->mode != MODE_FUNCTIONS) {
        return tool_usage_error(PROG, "--sort is for --functions only");
    }
    if (c->mode == MODE_LIST) {
        return check_list(c);
    }
    if (c->bbv_pcs && c->mode != MODE_BBV) {
        return tool_usage_error(PROG, "--bbv-pcs is for --bbv only");
    }
    if (c->dump.opt.json && c->mode == MODE_BBV) {
        return tool_usage_error(PROG, "--json and --bbv cannot be used together");
    }
    if (c->dump.opt.json && format != GRAPH_TEXT && format != GRAPH_JSON) {
        return tool_usage_error(PROG, "--json and --format cannot be used together");
    }
    if (c->mode == MODE_FUNCTIONS && format != GRAPH_TEXT && format != GRAPH_JSON) {
        return tool_usage_error(PROG, "--functions has the formats text and json only");
    }
    return check_format(c, o);
}

static void finish_print(struct command_line *c)
{
    struct site_options *s = &c->site;

    c->dump.opt.no_disas = c->dump.opt.no_bytes = !c->disas;
    s->json = c->dump.opt.json;
    s->color = c->dump.opt.color;
    s->modules = c->modules.v;
    s->nr_modules = c->modules.n;
    s->functions = c->functions.v;
    s->nr_functions = c->functions.n;
    s->substitute = c->sym.substitute.v;
    s->nr_substitute = c->sym.substitute.n / 2;
}

static void finish_profile(struct command_line *c)
{
    struct profile_options *p = &c->profile;

    p->graph.functions = c->mode == MODE_FUNCTIONS;
    p->graph.by_thread =
        p->graph.functions && (p->tree.separate_threads || p->tree.by_task || p->by_irq);
    p->graph.roots = p->tree.by_task ? "task" : p->by_irq ? "exception" : NULL;
    p->graph.format = c->dump.opt.json ? GRAPH_JSON : p->graph.format;
    p->graph.max_depth = (uint32_t)c->depth;
    p->graph.color = c->dump.opt.color;
    p->tree.jobs = c->dump.opt.jobs;
    p->tree.quiet = c->dump.opt.quiet;
    p->tree.span_min = c->min_span;
    p->selection = (struct profile_selection){c->modules.v, c->functions.v, c->modules.n,
                                              c->functions.n};
}

/* Selects threads of the older trace by options of its own, if there are any. */
static void finish_older(struct command_line *c)
{
    struct filter_options *f = &c->older_filter;

    if (!c->older_pids.n && !c->older_tids.n) {
        return;
    }
    thread_names_free(&f->pids);
    thread_names_free(&f->tids);
    f->pids = c->older_pids;
    f->tids = c->older_tids;
    c->older_pids = c->older_tids = (struct thread_names){0};
}

/* The parts of symbol files that names and the mode need. */
static unsigned symbols_of(const struct command_line *c)
{
    unsigned flags = filter_options_symbols(&c->filter) |
                     moment_symbols(&c->search.moment) | moment_symbols(&c->backtrace);

    if (c->mode == MODE_CALL_COUNTS) {
        flags |= SYMFILE_LINES | SYMFILE_NAMES;
    } else if (c->mode == MODE_TRACE_CALLS) {
        flags |= SYMFILE_LINES | SYMFILE_NAMES | SYMFILE_LOCALS;
    } else if (c->mode == MODE_BACKTRACE) {
        flags |= SYMFILE_LINES | SYMFILE_LOCALS;
    } else if (searches(c->mode)) {
        flags |= SYMFILE_LINES;
    } else if (c->mode == MODE_LIST) {
        flags |= c->list == LIST_OBJECTS ? SYMFILE_DATA : SYMFILE_NAMES;
    }
    for (unsigned i = 0; i < c->functions.n; i++) {
        flags |= SYMFILE_NAMES; /* to know which names there are */
        flags |= function_pattern_has_source(c->functions.v[i]) ? SYMFILE_LINES : 0;
    }
    return flags;
}

/* What the trace must have, beside what --events names. */
static uint32_t needed_by(const struct command_line *c)
{
    const uint32_t values = CTR_HAS_MEM | CTR_HAS_VAL;

    switch (c->mode) {
    case MODE_TRACE_CALLS:
    case MODE_BACKTRACE:
        return values | CTR_HAS_REG;
    case MODE_SEARCH:
    case MODE_FIND:
        return values;
    default:
        return c->profile.graph.cost || c->filter.addrs.n ? CTR_HAS_MEM : 0;
    }
}

/* Completes the parsed options; TOOL_OK or TOOL_USAGE. */
static int finish_options(struct command_line *c, struct tool_options *o)
{
    const uint32_t kinds = CTR_KIND_EXEC | CTR_KIND_BETWEEN;
    int status = check_modes(c, o);

    status = status ? status : filter_options_check(&c->filter, PROG);
    status = status ? status : sym_options_finish(&c->sym, PROG, &c->modset);
    if (status) {
        return status;
    }
    if (c->output && !strcmp(c->output, "-")) {
        c->output = NULL;
    }
    if (c->output && c->mode != MODE_BBV) {
        c->dump.color =
            c->dump.color == TOOL_COLOR_ALWAYS ? TOOL_COLOR_ALWAYS : TOOL_COLOR_NEVER;
    }
    if (c->mode != MODE_BBV) {
        c->dump.opt.out = c->output;
        c->profile.out = c->output;
    } else {
        c->dump.opt.no_pager = true; /* it is for SimPoint */
    }
    status = dump_choice_finish(&c->dump, searches(c->mode) ? CTR_KIND_ALL : kinds);
    status = status ? status : find_finish(&c->find, PROG, c->dump.opt.kinds);
    finish_print(c);
    finish_profile(c);
    finish_older(c);
    c->modset.quiet = c->dump.opt.quiet;
    if (c->mode == MODE_PRINT) { /* calls depend on all of them */
        c->modset.modules = c->modules.v;
        c->modset.nr_modules = c->modules.n;
    }
    if (c->mode == MODE_PRINT || c->profile.graph.format == GRAPH_CALLGRIND) {
        c->modset.flags = SYMFILE_LINES;
    }
    c->modset.flags |= symbols_of(c);
    return status;
}

/* -------------------------------------------------------------------- work */

/* Makes a file the standard output; TOOL_OK or TOOL_FAILED. */
static int redirect(struct outfile *out, const char *path)
{
    int error = outfile_open(out, path);

    if (!error && dup2(fileno(out->file), STDOUT_FILENO) < 0) {
        error = -errno;
    }
    if (error) {
        tool_error(PROG, "%s: %s", path, strerror(-error));
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

/* Gives the file its name if there is something in it; returns the exit status. */
static int end_output(struct outfile *out, const char *path, int status)
{
    bool keep = status != TOOL_FAILED && status != TOOL_NOTHING;
    int error;

    if (!out->file) {
        return status;
    }
    error = outfile_close(out, keep ? 0 : -EIO);
    if (error && keep) {
        tool_error(PROG, "%s: %s", path, strerror(-error));
        status = TOOL_FAILED;
    }
    return status;
}

static int write_vectors(struct ctr_trace *tr, const struct places *places,
                         const struct command_line *c)
{
    const struct dump_options *d = &c->dump.opt;
    struct bbv_options opt = {
        .prog = PROG,
        .path = d->path,
        .interval = c->bbv,
        .out = c->output,
        .pcs = c->bbv_pcs,
        .jobs = d->jobs,
        .quiet = d->quiet,
        .filter = d->filter,
    };

    return bbv_write(tr, places, &opt);
}

static int list_names(struct ctr_trace *tr, const struct modset *modset,
                      const struct command_line *c)
{
    struct list_request r = {
        .what = c->list,
        .modset = modset,
        .modules = c->modules.v,
        .nr_modules = c->modules.n,
    };

    return list_write(tr, &r, &c->dump.opt);
}

static int list_calls(struct ctr_trace *tr, const struct places *places,
                      const struct command_line *c)
{
    const struct trace_calls_options opt = {
        .patterns = c->traced.v,
        .nr_patterns = c->traced.n,
        .filter = c->dump.opt.filter,
        .dump = &c->dump.opt,
        .site = &c->site,
    };

    return trace_calls(tr, places, &opt);
}

static int count_calls(struct ctr_trace *tr, const struct places *places,
                       const struct command_line *c)
{
    const struct call_counts_options opt = {
        .patterns = c->traced.v,
        .nr_patterns = c->traced.n,
        .callees = c->callees,
        .filter = c->dump.opt.filter,
        .dump = &c->dump.opt,
        .site = &c->site,
    };

    return call_counts(tr, places, &opt);
}

/* Finds the moment that an option names. */
static int find_moment(struct ctr_trace *tr, const struct places *places,
                       const struct command_line *c, const char *option,
                       const struct moment_text *text, struct ctr_moment *at)
{
    const struct locate_request request = {.prog = PROG,
                                           .path = c->dump.opt.path,
                                           .option = option,
                                           .trace = tr,
                                           .places = places};

    return moment_find(text, &c->dump.opt.filter, &request, c->dump.opt.jobs, at);
}

static int show_backtrace(struct ctr_trace *tr, const struct places *places,
                          const struct command_line *c)
{
    struct ctr_moment at;
    const struct backtrace_options opt = {
        .at = &at, .locals = c->locals, .dump = &c->dump.opt, .site = &c->site};
    int status = find_moment(tr, places, c, "--backtrace", &c->backtrace, &at);

    return status ? status : backtrace(tr, places, &opt);
}

static int search(struct ctr_trace *tr, const struct places *places,
                  const struct command_line *c)
{
    struct ctr_moment at;
    int status = find_moment(tr, places, c, c->search.option, &c->search.moment, &at);

    return status ? status
                  : print_found(tr, places, &c->dump.opt, &c->site, &c->search, &at);
}

/* Runs the chosen mode on an open trace, or on that and c->older. */
static int show(struct ctr_trace *tr, const struct modset *modset,
                const struct places *places, const struct command_line *c)
{
    struct profile_options profile = c->profile;

    profile.older = c->older.trace ? &c->older : NULL;
    if (c->mode == MODE_BBV) {
        return write_vectors(tr, places, c);
    }
    if (c->output && redirect(c->out, c->output)) {
        return TOOL_FAILED;
    }
    switch (c->mode) {
    case MODE_LIST:
        return list_names(tr, modset, c);
    case MODE_PRINT:
        return print_trace(tr, places, &c->dump.opt, &c->site);
    case MODE_SEARCH:
        return search(tr, places, c);
    case MODE_FIND:
        return print_places(tr, places, &c->dump.opt, &c->site, &c->find);
    case MODE_TRACE_CALLS:
        return list_calls(tr, places, c);
    case MODE_BACKTRACE:
        return show_backtrace(tr, places, c);
    case MODE_CALL_COUNTS:
        return count_calls(tr, places, c);
    case MODE_TIMELINE:
        return timeline_write(tr,
                              &(struct timeline_options){.path = c->dump.opt.path,
                                                         .out = c->output,
                                                         .quiet = c->dump.opt.quiet,
                                                         .filter = c->dump.opt.filter});
    default:
        return profile_write(tr, places, &profile);
    }
}

/* Makes the filters for the trace and for the older one. */
static int resolve_all(struct ctr_trace *tr, const struct places *places,
                       struct command_line *c)
{
    struct profile_older *o = &c->older;
    struct locate_request request = {
        .prog = PROG, .path = o->path, .trace = o->trace, .places = o->places};
    unsigned jobs = c->dump.opt.jobs;
    int status = TOOL_OK;

    if (o->trace) {
        status = filter_options_resolve(&c->older_filter, &request, jobs, &o->filter);
    }
    if (status) {
        return status;
    }
    request.path = c->dump.opt.path;
    request.trace = tr;
    request.places = places;
    status = filter_options_resolve(&c->filter, &request, jobs, &c->dump.opt.filter);
    c->profile.tree.prog = PROG;
    c->profile.tree.filter = c->dump.opt.filter;
    return status;
}

/* The same, with the files for symbols. */
static int show_with_symbols(struct ctr_trace *tr, struct command_line *c)
{
    struct profile_older *older = &c->older;
    struct modset *modset = NULL;
    struct places *places = NULL;
    struct ctr_info info;
    int status;

    ctr_trace_info(tr, &info);
    if (c->mode == MODE_BACKTRACE && (info.selection[0] || info.dropped_insns)) {
        c->modset.flags |= SYMFILE_FRAMES; /* of functions that had begun before */
    }
    status = modset_open(&modset, &c->modset);
    if (!status) {
        status = places_load(&places, modset, tr, c->dump.opt.path);
    }
    if (!status && older->trace) {
        status = places_load(&older->places, modset, older->trace, older->path);
    }
    if (!status) {
        status = modset_status(modset);
        if (status) { /* that may be the cause */
            places_status(places);
        }
    }
    status = status ? status : resolve_all(tr, places, c);
    if (!status) {
        status = show(tr, modset, places, c);
        status = status ? status : places_status(places);
        status = status ? status : places_status(older->places);
    }
    places_free(older->places);
    places_free(places);
    modset_close(modset);
    return status;
}

/* Whether a mode shows calls one by one. */
static bool shows_calls(enum mode mode)
{
    return mode == MODE_TRACE_CALLS || mode == MODE_BACKTRACE || mode == MODE_CALL_COUNTS;
}

/* Warns that calls, profiles and vectors cover only what was recorded. */
static void note_part(const struct ctr_trace *tr, const char *path,
                      const struct command_line *c)
{
    if (c->dump.opt.quiet) {
        return;
    }
    if (shows_calls(c->mode)) {
        tool_note_part(PROG, path, tr,
                       "calls, callers and returns in the rest are not known");
    } else if (!prints(c->mode) && c->mode != MODE_LIST) {
        tool_note_part(PROG, path, tr, "counts are of that");
    }
}

/* Opens the older trace of --diff; TOOL_OK or TOOL_FAILED. */
static int open_older(struct command_line *c)
{
    struct profile_older *o = &c->older;

    if (!o->path) {
        return TOOL_OK;
    }
    c->expansion = c->dump.expansion;
    c->expansion.name = NULL;
    if (expansion_open(&c->expansion, PROG, &o->path,
                       c->dump.opt.no_index ? CTR_OPEN_NO_INDEX : 0, needed_by(c),
                       c->dump.opt.quiet, &o->trace)) {
        return TOOL_FAILED;
    }
    note_part(o->trace, o->path, c);
    return TOOL_OK;
}

static int show_file(struct ctr_trace *tr, void *arg)
{
    struct command_line *c = arg;
    int status = open_older(c);

    c->profile.path = c->dump.opt.path;
    if (status) {
        return status;
    }
    note_part(tr, c->dump.opt.path, c);
    if (!filter_options_named(&c->filter) &&
        (c->mode == MODE_TIMELINE ||
         (c->mode == MODE_BBV ? !c->bbv_pcs
                              : c->mode == MODE_LIST && !list_needs_modules(c->list)))) {
        status = resolve_all(tr, NULL, c);
        status = status ? status : show(tr, NULL, NULL, c);
    } else {
        status = show_with_symbols(tr, c);
    }
    ctr_close(c->older.trace);
    return status;
}

int main(int argc, char **argv)
{
    struct outfile out = {0};
    struct command_line c = {.out = &out};
    struct tool_options o = {
        .prog = PROG,
        .usage = "[OPTION]... FILE",
        .about =
            "Show what a recorded program did, with symbols: each instruction with "
            "module,\nfunction and source line, profiles, trees of calls, or basic-block "
            "vectors; FILE\nis a trace made by cannoli-record, or '-' for one on "
            "standard input.",
        .table = option_table,
        .argc = argc,
        .argv = argv,
    };
    int status;

    /* `tracesym | head' ends by EPIPE, without a message and with status 0. */
    signal(SIGPIPE, SIG_IGN);
    dump_choice_init(&c.dump, PROG);
    status = tool_options_parse(&o, parse_option, &c, &c.dump.opt.path);
    if (status == TOOL_OK && c.dump.opt.path) {
        status = finish_options(&c, &o);
        if (!status) {
            status = dump_choice_file(&c.dump, needed_by(&c), show_file, &c);
        }
    }
    tool_options_fini(&o);
    dump_choice_fini(&c.dump);
    expansion_fini(&c.expansion);
    filter_options_fini(&c.filter);
    filter_options_fini(&c.older_filter);
    thread_names_free(&c.older_pids);
    thread_names_free(&c.older_tids);
    sym_options_fini(&c.sym);
    free(c.modules.v);
    free(c.functions.v);
    for (unsigned i = 0; i < c.traced.n; i++) {
        free((char *)(uintptr_t)c.traced.v[i]);
    }
    free(c.traced.v);
    status = pager_close_stdout(PROG, c.dump.opt.out, status);
    return end_output(&out, c.output, status);
}
