/* SPDX-License-Identifier: MIT */
/*
 * tracediff: where two recorded runs part; see tracediff(1).  This file is its command line.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/options.h"
#include "common/pager.h"
#include "common/quantity.h"
#include "compare.h"
#include "symbols/sym_options.h"

enum {
    OPT_WITH_THREAD = TOOL_OPT_LONG,
    OPT_AT,
    OPT_IGNORE,
    OPT_COUNTS,
    OPT_BY_FUNCTION,
    OPT_LOOKAHEAD,
    OPT_MAX,
    OPT_DATA,
    OPT_LINES,
    OPT_WIDTH,
    OPT_JSON,
    OPT_HTML,
    OPT_COLOR,
    OPT_NO_PAGER,
    OPT_NO_INDEX,
};

static const struct tool_option option_table[] = {
    {0, NULL, NULL, "What to compare"},
    {'t', "thread", "LIST", "only these threads of A: 4242, 4242/2, NAME"},
    {OPT_WITH_THREAD, "with-thread", "LIST",
     "with these threads of B, not those that were created\nin the same order"},
    {OPT_AT, "at", "N,M", "begin at ordinal N of A and M of B"},
    {OPT_IGNORE, "ignore", "LIST",
     "do not compare this: addresses, values, data (both),\nregisters, reg:NAME, calls, "
     "call:NAME, code at PLACES\n(FUNCTION, A-B, MODULE!FUNCTION), module:NAME"},
    {OPT_LOOKAHEAD, "lookahead", "N",
     "search N instructions for the place where both go\non alike; default 4M"},
    {OPT_BY_FUNCTION, "by-function", NULL,
     "of two builds: code is compared by function and offset"},
    {OPT_COUNTS, "counts", "WHAT",
     "compare how often functions or blocks ran, not the\nruns themselves",
     &counts_words},
    {0, NULL, NULL, "How to show it"},
    {OPT_MAX, "max", "N", "show N differences; default 10, of --counts all"},
    {OPT_DATA, "data", "N",
     "of differences of accesses, show N before each other\none; default 3"},
    {OPT_LINES, "lines", "N", "show N instructions before and of each; default 8"},
    {OPT_WIDTH, "width", "N",
     "columns of a line; default: those of the terminal, or 160"},
    {OPT_JSON, "json", NULL, "one JSON object per line"},
    {OPT_HTML, "html", "FILE", "write a page for a browser to FILE"},
    {OPT_COLOR, "color", "WHEN", "auto, always or never", &tool_color_words},
    {OPT_NO_PAGER, "no-pager", NULL, "write to the terminal without a pager"},
    {'q', "quiet", NULL, "no progress, no remarks, no last line"},
    {0, NULL, NULL, "Where programs and libraries are"},
    SYM_OPTIONS,
    {0, NULL, NULL, "How to read"},
    {OPT_NO_INDEX, "no-index", NULL, "read from start to end, without the index"},
    {0, NULL, NULL, "Other"},
    TOOL_OPTIONS_COMMON,
    {0},
};

struct command_line {
    struct compare_options compare;
    struct sym_options sym;
    struct tool_words modules, calls, registers;
    struct tool_words items; /* copies, of --ignore */
    enum tool_color color;
    bool no_pager, done;
};

static bool parse_at(struct command_line *c, const char *arg)
{
    const char *comma = strchr(arg, ',');
    char first[32];

    if (!comma || (size_t)(comma - arg) >= sizeof(first)) {
        return false;
    }
    memcpy(first, arg, (size_t)(comma - arg));
    first[comma - arg] = 0;
    c->compare.has_at = true;
    return quantity_parse(first, &c->compare.at[0]) &&
           quantity_parse(comma + 1, &c->compare.at[1]);
}

/* One item of --ignore, which is kept. */
static bool ignore_item(struct command_line *c, char *item)
{
    static const struct {
        const char *name;
        unsigned bits;
    } words[] = {{"addresses", IGNORE_ADDRESSES},
                 {"values", IGNORE_VALUES},
                 {"registers", IGNORE_REGISTERS},
                 {"data", IGNORE_ADDRESSES | IGNORE_VALUES},
                 {"calls", IGNORE_CALLS}};
    static const char module[] = "module:", call[] = "call:", reg[] = "reg:";

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (!strcmp(item, words[i].name)) {
            c->compare.ignore |= words[i].bits;
            return true;
        }
    }
    if (!strncmp(item, module, sizeof(module) - 1)) {
        return item[sizeof(module) - 1] &&
               tool_words_add(&c->modules, item + sizeof(module) - 1);
    }
    if (!strncmp(item, reg, sizeof(reg) - 1)) {
        return item[sizeof(reg) - 1] &&
               tool_words_add(&c->registers, item + sizeof(reg) - 1);
    }
    if (!strncmp(item, call, sizeof(call) - 1)) {
        return item[sizeof(call) - 1] &&
               tool_words_add(&c->calls, item + sizeof(call) - 1);
    }
    return location_list_add(&c->compare.ignored, item);
}

/* A list with commas; not those within the quotes of a name. */
static bool parse_ignore(struct command_line *c, const char *arg)
{
    const char *begin = arg;
    bool quoted = false;

    for (const char *p = arg;; p++) {
        quoted ^= *p == '\'';
        if (*p && (*p != ',' || quoted)) {
            continue;
        }
        char *item = strndup(begin, (size_t)(p - begin));
        if (!item || !tool_words_add(&c->items, item) || !*item ||
            !ignore_item(c, item)) {
            return false;
        }
        if (!*p) {
            return true;
        }
        begin = p + 1;
    }
}

static bool parse_count(const char *arg, uint64_t most, uint64_t *out)
{
    return quantity_parse(arg, out) && *out && *out <= most;
}

static bool set_option(struct command_line *c, int key, const char *arg)
{
    const enum tool_parsed parsed = sym_options_parse(&c->sym, key, arg);
    uint64_t n = 0;
    bool ok = true;

    if (parsed != TOOL_OTHER_GROUP) {
        return parsed == TOOL_PARSED;
    }
    switch (key) {
    case 't':
        return thread_names_add(&c->compare.threads, arg);
    case OPT_WITH_THREAD:
        return thread_names_add(&c->compare.with, arg);
    case OPT_AT:
        return parse_at(c, arg);
    case OPT_IGNORE:
        return parse_ignore(c, arg);
    case OPT_BY_FUNCTION:
        return c->compare.pair.by_function = true;
    case OPT_COUNTS:
        n = words_find(&counts_words, arg, strlen(arg));
        c->compare.counts = (enum counts_of)(COUNTS_FUNCTIONS + n);
        return n < counts_words.n;
    case OPT_LOOKAHEAD:
        ok = parse_count(arg, 1u << 28, &n);
        c->compare.pair.lookahead = (uint32_t)n;
        return ok;
    case OPT_MAX:
        return parse_count(arg, UINT64_MAX, &c->compare.report.max);
    case OPT_DATA:
        return quantity_parse(arg, &c->compare.report.data);
    case OPT_LINES:
        ok = parse_count(arg, 100000, &n);
        c->compare.report.lines = (unsigned)n;
        return ok;
    case OPT_WIDTH:
        ok = parse_count(arg, 10000, &n) && n >= 40;
        c->compare.report.width = (unsigned)n;
        return ok;
    case OPT_JSON:
        return c->compare.report.json = true;
    case OPT_HTML:
        c->compare.report.html = arg;
        return *arg;
    case OPT_COLOR:
        return tool_parse_color(arg, &c->color);
    case OPT_NO_PAGER:
        return c->no_pager = true;
    case OPT_NO_INDEX:
        c->compare.open_flags = CTR_OPEN_NO_INDEX;
        return true;
    case 'q':
        return c->compare.report.quiet = true;
    default:
        return false;
    }
}

static unsigned terminal_width(void)
{
    struct winsize size;

    return isatty(STDOUT_FILENO) && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) &&
                   size.ws_col >= 40
               ? size.ws_col
               : 160;
}

static int finish_options(struct command_line *c, struct tool_options *o)
{
    struct compare_options *opt = &c->compare;
    int status;

    if (o->argc - optind != 2) {
        return tool_usage_error(opt->report.prog, "two traces are needed, not %d",
                                o->argc - optind);
    }
    opt->path[0] = o->argv[optind];
    opt->path[1] = o->argv[optind + 1];
    if (!strcmp(opt->path[0], "-") || !strcmp(opt->path[1], "-")) {
        return tool_usage_error(opt->report.prog,
                                "standard input cannot be compared: it cannot be read "
                                "again where the runs part");
    }
    if (opt->with.n && !opt->threads.n) {
        return tool_usage_error(opt->report.prog, "--with-thread needs --thread");
    }
    if (opt->report.html && (opt->report.json || opt->counts)) {
        return tool_usage_error(opt->report.prog,
                                "--html does not go with --json or --counts");
    }
    if (opt->counts && opt->has_at) {
        return tool_usage_error(opt->report.prog,
                                "--counts is of whole threads: --at does "
                                "not go with it");
    }
    if (!opt->report.max) {
        opt->report.max = opt->counts ? UINT64_MAX : 10;
    }
    status = sym_options_finish(&c->sym, opt->report.prog, &opt->modset);
    opt->modset.quiet = opt->report.quiet;
    opt->ignored_modules = c->modules.v;
    opt->nr_ignored_modules = c->modules.n;
    opt->ignored_registers = c->registers.v;
    opt->nr_ignored_registers = c->registers.n;
    opt->pair.ignored_calls = c->calls.v;
    opt->pair.nr_ignored_calls = c->calls.n;
    opt->site.substitute = c->sym.substitute.v;
    opt->site.nr_substitute = c->sym.substitute.n / 2;
    opt->site.basenames = true;
    opt->report.width = opt->report.width ? opt->report.width : terminal_width();
    opt->report.color =
        !opt->report.json && !opt->report.html && tool_color_on(c->color, STDOUT_FILENO);
    return status ? TOOL_USAGE : TOOL_OK;
}

static int parse_command_line(struct command_line *c, struct tool_options *o)
{
    int key;

    while ((key = tool_options_next(o)) != TOOL_OPTIONS_END) {
        switch (key) {
        case TOOL_OPTIONS_ERROR:
            return TOOL_USAGE;
        case TOOL_OPT_HELP:
            tool_options_help(o, stdout);
            c->done = true;
            return TOOL_OK;
        case TOOL_OPT_VERSION:
            tool_print_version(o->prog);
            c->done = true;
            return TOOL_OK;
        case TOOL_OPT_COMPLETION:
            c->done = true;
            return tool_print_completion(o);
        default:
            if (!set_option(c, key, o->arg)) {
                return tool_bad_argument(o, key);
            }
        }
    }
    return finish_options(c, o);
}

static void free_command_line(struct command_line *c)
{
    sym_options_fini(&c->sym);
    thread_names_free(&c->compare.threads);
    thread_names_free(&c->compare.with);
    location_list_free(&c->compare.ignored);
    for (unsigned i = 0; i < c->items.n; i++) {
        free((void *)(uintptr_t)c->items.v[i]);
    }
    free(c->items.v);
    free(c->modules.v);
    free(c->calls.v);
    free(c->registers.v);
}

int main(int argc, char **argv)
{
    struct command_line c = {
        .compare = {.report = {.prog = "tracediff", .data = 3, .lines = 8},
                    .pair = {.lookahead = 4u << 20}}};
    struct tool_options o = {
        .prog = "tracediff",
        .usage = "[OPTION]... A B",
        .about =
            "Show where two recorded runs part: the first instruction, access or system "
            "call\nthat differs, and the next ones.  A and B are traces made by "
            "cannoli-record.",
        .table = option_table,
        .argc = argc,
        .argv = argv,
    };
    int status;

    signal(SIGPIPE, SIG_IGN);
    status = parse_command_line(&c, &o);
    if (status == TOOL_OK && !c.done) {
        if (!c.no_pager) {
            pager_start(o.prog);
        }
        status = compare_traces(&c.compare);
    }
    tool_options_fini(&o);
    free_command_line(&c);
    /* As diff(1): 1 is a difference, and everything that goes wrong is 2. */
    return pager_close_stdout(o.prog, NULL, 0) ? COMPARE_TROUBLE : status;
}
