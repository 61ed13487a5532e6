/* SPDX-License-Identifier: MIT */
/*
 * tracecov: which code ran, and how often; see tracecov(1).  This file is its command
 * line, and the way from traces to a report.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/options.h"
#include "common/pager.h"
#include "common/progress.h"
#include "cover.h"
#include "report.h"
#include "result.h"
#include "symbols/sym_options.h"

enum {
    OPT_LISTING = TOOL_OPT_LONG,
    OPT_MODULE,
    OPT_INCLUDE,
    OPT_EXCLUDE,
    OPT_EXISTING,
    OPT_FUNCTION,
    OPT_TRACES_FROM,
    OPT_NO_INDEX,
    OPT_COLOR,
    OPT_NO_PAGER,
};

static const struct tool_option option_table[] = {
    {0, NULL, NULL, "Output"},
    {'f', "format", "FORMAT",
     "lcov (default), lcov2, cobertura, json, text,\nhtml-summary or drcov",
     &result_format_words},
    {'o', "output", "FILE", "write to FILE instead of standard output"},
    {OPT_LISTING, "listing", "DIR",
     "write a listing of each module without line\ninformation to DIR, as its source"},
    {OPT_FUNCTION, "function", "GLOB", "text: only functions whose name matches"},
    {'d', "disassembly", NULL, "text: instructions, not source lines"},
    {OPT_COLOR, "color", "WHEN", "text: auto, always or never", &tool_color_words},
    {OPT_NO_PAGER, "no-pager", NULL, "write to the terminal without a pager"},
    {0, NULL, NULL, "Programs and sources"},
    SYM_OPTIONS,
    {0, NULL, NULL, "What to count"},
    FILTER_OPTIONS_THREADS,
    FILTER_OPTIONS_MACHINES,
    FILTER_OPTIONS_ORDINALS,
    FILTER_OPTIONS_TIMES,
    {OPT_MODULE, "module", "GLOB",
     "only programs and libraries with such a name or path"},
    {OPT_INCLUDE, "include", "GLOB", "only source files whose path matches"},
    {OPT_EXCLUDE, "exclude", "GLOB", "no source files whose path matches"},
    {OPT_EXISTING, "existing", NULL, "only source files that can be read here"},
    {0, NULL, NULL, "How to read"},
    {OPT_TRACES_FROM, "traces-from", "FILE",
     "add the traces whose names are the lines of FILE,\n'-' is standard input; "
     "@FILE does the same"},
    {'k', "keep-going", NULL, "leave out traces that cannot be read"},
    {'j', "jobs", "N", "use N workers"},
    {OPT_NO_INDEX, "no-index", NULL, "read from start to end, without the index"},
    {'q', "quiet", NULL, "no progress, no remarks"},
    {0, NULL, NULL, "Other"},
    TOOL_OPTIONS_COMMON,
    {0},
};

/* The parsed command line. */
struct command_line {
    struct filter_options filter;
    struct sym_options sym;
    struct cover_filter cover;
    struct report_options report;
    struct text_options text;
    struct tool_words include, exclude, modules, traces;
    char **read; /* names of traces, read from files */
    size_t nr_read, cap_read;
    enum result_format format;
    const char *output;
    enum tool_color color;
    bool keep_going, quiet, no_pager, done;
};

/* "1.5" */
static int read_names(struct command_line *c, const char *path)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    int error = 0;

    if (!f) {
        tool_error(PROG, "%s: %s", path, strerror(errno));
        return TOOL_FAILED;
    }
    while (!error && (n = getline(&line, &size, f)) >= 0) {
        if (n && line[n - 1] == '\n') {
            line[--n] = 0;
        }
        if (n == 0) {
            continue;
        }
        if (c->nr_read == c->cap_read) {
            size_t cap = 2 * c->cap_read + 64;
            char **v = realloc(c->read, cap * sizeof(*v));
            if (!v) {
                error = ENOMEM;
                break;
            }
            c->read = v;
            c->cap_read = cap;
        }
        c->read[c->nr_read] = strdup(line);
        if (!c->read[c->nr_read] || !tool_words_add(&c->traces, c->read[c->nr_read])) {
            error = ENOMEM;
        }
        c->nr_read += c->read[c->nr_read] != NULL;
    }
    error = ferror(f) ? EIO : error;
    free(line);
    if (f != stdin) {
        fclose(f);
    }
    if (error) {
        tool_error(PROG, "%s: %s", path, strerror(error));
    }
    return error ? TOOL_FAILED : TOOL_OK;
}

/* Stores one of tracecov's own options; false if its argument is wrong. */
static bool parse_option(struct command_line *c, int key, const char *arg)
{
    switch (key) {
    case 'f':
        return result_format_parse(arg, &c->format);
    case 'o':
        c->output = arg;
        return *arg != 0;
    case OPT_LISTING:
        c->report.listing_dir = arg;
        return *arg != 0;
    case OPT_FUNCTION:
        c->text.function = arg;
        return true;
    case 'd':
        c->text.disassembly = true;
        return true;
    case OPT_COLOR:
        return tool_parse_color(arg, &c->color);
    case OPT_NO_PAGER:
        c->no_pager = true;
        return true;
    case OPT_MODULE:
        return tool_words_add(&c->modules, arg);
    case OPT_INCLUDE:
        return tool_words_add(&c->include, arg);
    case OPT_EXCLUDE:
        return tool_words_add(&c->exclude, arg);
    case OPT_EXISTING:
        c->report.existing = true;
        return true;
    case 'k':
        c->keep_going = true;
        return true;
    case 'j':
        return tool_parse_jobs(arg, &c->cover.jobs);
    case OPT_NO_INDEX:
        c->cover.no_index = true;
        return true;
    case 'q':
        c->quiet = true;
        return true;
    default:
        return false;
    }
}

static enum tool_parsed parse_any(struct command_line *c, int key, const char *arg)
{
    enum tool_parsed t = filter_options_parse(&c->filter, key, arg);

    t = t == TOOL_OTHER_GROUP ? sym_options_parse(&c->sym, key, arg) : t;
    if (t == TOOL_OTHER_GROUP) {
        t = parse_option(c, key, arg) ? TOOL_PARSED : TOOL_BAD_ARG;
    }
    return t;
}

/* Rejects options that contradict each other, and completes the others. */
static int finish_options(struct command_line *c)
{
    int status = filter_options_check(&c->filter, PROG);
    bool text = c->format == RESULT_TEXT;

    if (status) {
        return status;
    }
    if (!text && (c->text.function || c->text.disassembly)) {
        return tool_usage_error(PROG, "--function and --disassembly are options of the "
                                      "format text: add -f text");
    }
    if (c->format == RESULT_DRCOV && c->report.listing_dir) {
        return tool_usage_error(PROG, "drcov has no sources: leave out --listing");
    }
    c->cover.jobs = c->cover.jobs ? c->cover.jobs : tool_default_jobs();
    c->cover.quiet = c->quiet;
    c->cover.options = &c->filter;
    c->filter.ids_only = true; /* a process of one trace need not be in the others */
    c->report.include = c->include.v;
    c->report.nr_include = c->include.n;
    c->report.exclude = c->exclude.v;
    c->report.nr_exclude = c->exclude.n;
    c->report.modules = c->modules.v;
    c->report.nr_modules = c->modules.n;
    c->report.substitute = c->sym.substitute.v;
    c->report.nr_substitute = c->sym.substitute.n / 2;
    c->text.color = text && !c->output && tool_color_on(c->color, STDOUT_FILENO);
    c->cover.elsewhere_code =
        c->text.disassembly && !c->text.function && !c->modules.n && !c->include.n;
    return TOOL_OK;
}

static int parse_operands(struct command_line *c, struct tool_options *o)
{
    int status = TOOL_OK;

    for (int i = optind; !status && i < o->argc; i++) {
        const char *arg = o->argv[i];
        if (arg[0] == '@' && arg[1]) {
            status = read_names(c, arg + 1);
        } else if (!tool_words_add(&c->traces, arg)) {
            tool_error(PROG, "no memory");
            status = TOOL_FAILED;
        }
    }
    return status;
}

/* TOOL_OK, with c->done set if nothing is left to do. */
static int parse_command_line(struct command_line *c, struct tool_options *o)
{
    bool named = false;
    int key, status = TOOL_OK;

    while ((key = tool_options_next(o)) != TOOL_OPTIONS_END) {
        switch (key) {
        case TOOL_OPTIONS_ERROR:
            return TOOL_USAGE;
        case TOOL_OPT_HELP:
            tool_options_help(o, stdout);
            c->done = true;
            return TOOL_OK;
        case TOOL_OPT_VERSION:
            tool_print_version(PROG);
            c->done = true;
            return TOOL_OK;
        case TOOL_OPT_COMPLETION:
            c->done = true;
            return tool_print_completion(o);
        case OPT_TRACES_FROM:
            named = true;
            status = read_names(c, o->arg);
            if (status) {
                return status;
            }
            break;
        default:
            if (parse_any(c, key, o->arg) == TOOL_BAD_ARG) {
                return tool_bad_argument(o, key);
            }
        }
    }
    if (optind == o->argc && !named) {
        return tool_usage_error(PROG, "no trace file given ('-' is standard input)");
    }
    status = finish_options(c);
    status = status ? status : parse_operands(c, o);
    if (!status && !c->traces.n) {
        tool_error(PROG, "no trace file given: the list of names is empty");
        status = TOOL_FAILED;
    }
    return status;
}

/* ------------------------------------------------------------------- traces */

static int add_traces(struct command_line *c, struct cover *cover)
{
    struct progress progress;
    int worst = TOOL_OK;

    progress_init(&progress, PROG, c->quiet);
    for (unsigned i = 0; i < c->traces.n; i++) {
        int status = cover_add(cover, c->traces.v[i], &c->cover);
        if ((status == TOOL_FAILED || status == TOOL_NOTHING) && !c->keep_going) {
            progress_clear(&progress);
            return status;
        }
        worst = status ? TOOL_PARTIAL : worst;
        cover->incomplete |= status != TOOL_OK;
        progress_update(&progress, i + 1, c->traces.n, i + 1, "traces");
    }
    progress_clear(&progress);
    if (!cover->traces) {
        tool_error(PROG, "none of the traces can be read: there is nothing to add up");
        return TOOL_FAILED;
    }
    return worst;
}

static int make_listing_dir(const char *dir)
{
    if (dir && mkdir(dir, 0777) && errno != EEXIST) {
        tool_error(PROG, "%s: %s", dir, strerror(errno));
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

static int run(struct command_line *c)
{
    struct modset_options mopt = {.flags = SYMFILE_LINES,
                                  .quiet = c->quiet,
                                  .modules = c->modules.v,
                                  .nr_modules = c->modules.n,
                                  .unmapped_quiet = true};
    struct modset *modset = NULL;
    struct cover *cover = NULL;
    struct result result = {.format = c->format,
                            .output = c->output,
                            .quiet = c->quiet,
                            .elfs = c->sym.elfs.n != 0,
                            .report = &c->report,
                            .text = &c->text,
                            .filter = &c->cover};
    int status, last;

    if (c->format == RESULT_DRCOV) {
        mopt.flags = 0; /* it uses addresses only, of files */
        mopt.no_generated = true;
    }
    mopt.flags |= filter_options_symbols(&c->filter);
    status = sym_options_finish(&c->sym, PROG, &mopt);
    status = status ? status : modset_open(&modset, &mopt);
    if (status) {
        return status;
    }
    if (cover_new(&cover, modset)) {
        tool_error(PROG, "no memory");
        status = TOOL_FAILED;
        goto out;
    }
    status = add_traces(c, cover);
    if (status == TOOL_FAILED || status == TOOL_NOTHING) {
        goto out;
    }
    last = modset_status(modset);
    if (!last && cover_finish(cover)) {
        tool_error(PROG, "no memory");
        last = TOOL_FAILED;
    }
    last = last ? last : make_listing_dir(c->report.listing_dir);
    if (!c->no_pager && !(c->output && strcmp(c->output, "-"))) {
        pager_start(PROG);
    }
    last = last ? last : result_write(&result, cover);
    /* What is missing from a damaged trace may be what was looked for. */
    status = last == TOOL_NOTHING && status ? status : last ? last : status;
out:
    cover_free(cover);
    modset_close(modset);
    return status;
}

static void free_command_line(struct command_line *c)
{
    filter_options_fini(&c->filter);
    sym_options_fini(&c->sym);
    for (size_t i = 0; i < c->nr_read; i++) {
        free(c->read[i]);
    }
    free(c->read);
    free(c->include.v);
    free(c->exclude.v);
    free(c->modules.v);
    free(c->traces.v);
}

int main(int argc, char **argv)
{
    struct command_line c = {.format = RESULT_LCOV};
    struct tool_options o = {
        .prog = PROG,
        .usage = "[OPTION]... TRACE...",
        .about =
            "Show which code ran, and how often: lines, functions and branches of "
            "programs\nand libraries, added up over all the traces given.  A TRACE is a "
            "file made by\ncannoli-record, '-' for one on standard input, or @FILE for a "
            "list of names.",
        .table = option_table,
        .argc = argc,
        .argv = argv,
    };
    int status;

    /* `tracecov | head' ends by EPIPE, without a message and with status 0. */
    signal(SIGPIPE, SIG_IGN);
    status = parse_command_line(&c, &o);
    if (status == TOOL_OK && !c.done) {
        status = run(&c);
    }
    tool_options_fini(&o);
    free_command_line(&c);
    return pager_close_stdout(PROG, NULL, status);
}
