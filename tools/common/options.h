/* SPDX-License-Identifier: MIT */
/*
 * Command lines: one table per tool feeds the parser and --help, so that the
 * two cannot disagree.
 */
#ifndef TOOLS_OPTIONS_H
#define TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "ctr.h"

/* Exit statuses that every tool shares. */
enum tool_exit {
    TOOL_OK = 0,
    TOOL_FAILED = 1,
    TOOL_USAGE = 2,
    TOOL_PARTIAL = 3, /* done, but the trace was truncated or incomplete */
    TOOL_NOTHING = 4, /* a search has found nothing */
};

/*
 * One option.  `key' is its short letter, or TOOL_OPT_LONG + n for an option
 * that has a long name only.  `arg' names the argument, NULL if there is none;
 * in brackets, "[=FILE]", it may be left out.
 * A row with key 0 and a help text is a heading in --help.  The table ends
 * with a row of zeros.
 */
struct tool_option {
    int key;
    const char *name;
    const char *arg;
    const char *help; /* may hold '\n': further lines are indented alike */
};

#define TOOL_OPT_LONG 256

/* Options that every tool has. */
enum {
    TOOL_OPT_HELP = 'h',
    TOOL_OPT_VERSION = 'V',
};
#define TOOL_OPTIONS_COMMON                                                              \
    {TOOL_OPT_HELP, "help", NULL, "show this help and exit"},                            \
    {                                                                                    \
        TOOL_OPT_VERSION, "version", NULL, "show the version and exit"                   \
    }

struct tool_options {
    const char *prog;  /* name for messages */
    const char *usage; /* "[OPTION]... FILE" */
    const char *about; /* what the tool does, for --help */
    const struct tool_option *table;
    int argc;
    char **argv;
    bool stop_at_operand; /* options after the first operand are not ours */
    const char *arg;      /* argument of the option just returned */
    /* private */
    struct option *longopts;
    char *shortopts;
    size_t nopt;
    char name[32];
};

/* Keys that tool_options_next returns beside those of the table. */
enum {
    TOOL_OPTIONS_END = -1,   /* operands stand from argv[optind] on */
    TOOL_OPTIONS_ERROR = -2, /* the mistake has been printed: exit TOOL_USAGE */
};

/*
 * Parses the next option.  prog, usage, about, table, argc and argv must be
 * set, the rest zero.  Uses getopt_long(3), so only one parser at a time.
 */
int tool_options_next(struct tool_options *o);

/* What a group of options that tools share (filter_options.h, ...) says to a key. */
enum tool_taken {
    TOOL_NOT_MINE, /* the key is not of the group */
    TOOL_TAKEN,
    TOOL_BAD_ARG, /* the option is, its argument is wrong */
};

/*
 * Parses the whole command line of a tool that reads one trace: hands each option but
 * --help and --version to `take', false: its argument is wrong.  Returns TOOL_OK and in
 * *path the operand, NULL if there is nothing left to do; or TOOL_USAGE.
 */
int tool_options_parse(struct tool_options *o,
                       bool (*take)(void *arg, int key, const char *value), void *arg,
                       const char **path);

/* Frees what tool_options_next took; does nothing on a zeroed parser. */
void tool_options_fini(struct tool_options *o);

/* The long name of an option of the table, with its dashes, for messages. */
const char *tool_option_name(struct tool_options *o, int key);

/* Prints what --help shows. */
void tool_options_help(const struct tool_options *o, FILE *out);

/* Prints "PROG (cannoli) VERSION". */
void tool_print_version(const char *prog);

/*
 * At the end of main: writes what is left of standard output, and closes it, as some file
 * systems tell only then what they could not write.  name: that of the file that it goes
 * to, NULL for "standard output".  Returns status, or after one line on stderr TOOL_FAILED;
 * that the reader of a pipe has gone is no failure.
 */
int tool_close_stdout(const char *prog, const char *name, int status);

/* One line on stderr: "prog: ...". */
void tool_error(const char *prog, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * One line on stderr: "prog: .... Try 'prog --help'."  Returns TOOL_USAGE, so
 * that a parser can `return tool_usage_error(...)'.
 */
int tool_usage_error(const char *prog, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Values of options.  Each returns false if the text is not such a value. */
bool tool_parse_u64(const char *text, uint64_t *value);  /* decimal or 0x... */
bool tool_parse_jobs(const char *text, unsigned *jobs);  /* 1..1024 */
bool tool_parse_seconds(const char *text, uint64_t *ns); /* "1.5" */
/*
 * Lists that grow with each option given, as struct ctr_filter wants them;
 * zero is empty, free(3) what is in them.
 *   ranges  "A-B" (B not included), "A+LENGTH", or "A" alone (one address);
 *           hexadecimal with 0x, or decimal; several with commas
 *   ids     process or thread ids: "4242,4243"
 */
struct tool_ranges {
    struct ctr_range *v;
    uint32_t n;
};
struct tool_ids {
    int32_t *v;
    uint32_t n;
};
bool tool_parse_ranges(const char *text, struct tool_ranges *list);
bool tool_parse_ids(const char *text, struct tool_ids *list);

/* A list of words that were given one by one; zero is empty, free(3) v.  False: no
 * memory. */
struct tool_words {
    const char **v;
    unsigned n;
};
bool tool_words_add(struct tool_words *list, const char *word);

/* --color=auto|always|never; auto asks isatty(fd) and NO_COLOR. */
enum tool_color { TOOL_COLOR_AUTO, TOOL_COLOR_ALWAYS, TOOL_COLOR_NEVER };
bool tool_parse_color(const char *text, enum tool_color *color);
bool tool_color_on(enum tool_color color, int fd);

/* Workers to use when the user does not say: the processors we may run on. */
unsigned tool_default_jobs(void);

#endif
