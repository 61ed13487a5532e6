/* SPDX-License-Identifier: MIT */
/*
 * Command lines: one table per tool feeds the parser and --help, so that the
 * two cannot disagree.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/words.h"
#include "ctr.h"

/* Exit statuses of all tools. */
enum tool_exit {
    TOOL_OK = 0,
    TOOL_FAILED = 1,
    TOOL_USAGE = 2,
    TOOL_PARTIAL = 3, /* done, but the trace was truncated or incomplete */
    TOOL_NOTHING = 4, /* a search found nothing */
};

/*
 * One option.  `key' is its short letter, or TOOL_OPT_LONG + n for an option
 * that has a long name only.  `arg' is the argument's name, NULL if there is none;
 * "[=FILE]" in brackets is optional.
 * A row with key 0 and a help text is a heading in --help.  The table ends
 * with a row of zeros.
 */
struct tool_option {
    int key;
    const char *name;
    const char *arg;
    const char *help;          /* --help breaks it into lines: a '\n' is a blank */
    const struct words *words; /* that the argument may be, or the items of a list with
                                  commas; NULL: anything else */
};

#define TOOL_OPT_LONG 256

/* Options that every tool has. */
enum {
    TOOL_OPT_HELP = 'h',
    TOOL_OPT_VERSION = 'V',
    TOOL_OPT_COMPLETION = TOOL_OPT_LONG + 0xf00,
};
extern const struct words tool_shell_words; /* its argument */
#define TOOL_OPTIONS_COMMON                                                              \
    {TOOL_OPT_COMPLETION, "completion", "SHELL",                                         \
     "print the completion for bash, zsh or fish, and exit", &tool_shell_words},         \
        {TOOL_OPT_HELP, "help", NULL, "show this help and exit"},                        \
        {TOOL_OPT_VERSION, "version", NULL, "show the version and exit"}

struct tool_options {
    const char *prog;  /* name for messages */
    const char *usage; /* "[OPTION]... FILE" */
    const char *about; /* what the tool does, for --help */
    const struct tool_option *table;
    int argc;
    char **argv;
    bool stop_at_operand; /* options after the first operand are not ours */
    /* For completion only: the words that the first operand may be, and the names of their
     * arguments, as tool_option.arg; NULL: operands are traces, or a command. */
    const struct words *commands, *command_args;
    const char *arg; /* argument of the option just returned */
    /* private */
    struct option *longopts;
    char *shortopts;
    size_t nopt;
    char name[32];
};

/* Keys that tool_options_next returns besides those of the table. */
enum {
    TOOL_OPTIONS_END = -1,   /* operands begin at argv[optind] */
    TOOL_OPTIONS_ERROR = -2, /* after a message: exit with TOOL_USAGE */
};

/*
 * Parses the next option.  prog, usage, about, table, argc and argv must be
 * set, the rest zero.  Uses getopt_long(3), so only one parser at a time.
 */
int tool_options_next(struct tool_options *o);

/* The result of passing a key to a shared group of options (filter_options.h, ...). */
enum tool_parsed {
    TOOL_OTHER_GROUP, /* the key does not belong to the group */
    TOOL_PARSED,
    TOOL_BAD_ARG, /* the key belongs to the group, but its argument is wrong */
};

/*
 * Parses the whole command line of a tool that reads one trace.  Passes each option
 * except --help and --version to `parse', which returns false if the argument is wrong.
 * Returns TOOL_OK and the operand in *path, NULL if there is nothing left to do; or
 * TOOL_USAGE.
 */
int tool_options_parse(struct tool_options *o,
                       bool (*parse)(void *arg, int key, const char *value), void *arg,
                       const char **path);

/*
 * One line on stderr about the argument o->arg of the option: what the first word is that
 * the option does not know, and which ones it knows; or that the argument is bad.  Returns
 * TOOL_USAGE.
 */
int tool_bad_argument(struct tool_options *o, int key);

/* Frees what tool_options_next allocated; does nothing on a zeroed parser. */
void tool_options_fini(struct tool_options *o);

/* The long name of an option of the table, with its dashes, for messages. */
const char *tool_option_name(struct tool_options *o, int key);

/* Prints the text of --help. */
void tool_options_help(const struct tool_options *o, FILE *out);

/* Prints "PROG (cannoli) VERSION". */
void tool_print_version(const char *prog);

/* Prints the completion for the shell o->arg.  Returns TOOL_OK, or TOOL_USAGE after one line
 * on stderr if it is no such shell. */
int tool_print_completion(struct tool_options *o);

/*
 * Call at the end of main: flushes and closes standard output, as some file systems
 * report write errors only on close.  name: of the output file, NULL for "standard
 * output".  Returns status, or TOOL_FAILED after one line on stderr.  A pipe whose reader
 * is gone is no failure.
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

/* The same for a word that is none of these: "unknown WHAT 'text' ...". */
int tool_unknown_word(const char *prog, const struct words *w, const char *text,
                      size_t len);

/* Values of options.  Each returns false if the text is not such a value. */
bool tool_parse_u64(const char *text, uint64_t *value); /* decimal or 0x... */
bool tool_parse_jobs(const char *text, unsigned *jobs); /* 1..1024 */
/*
 * A list of ranges for struct ctr_filter that grows with each option given: "A-B" (B not
 * included), "A+LENGTH", or "A" alone (one address); hexadecimal with 0x, or decimal;
 * several with commas.  A zeroed list is empty; free(3) v.
 */
struct tool_ranges {
    struct ctr_range *v;
    uint32_t n;
};
bool tool_parse_ranges(const char *text, struct tool_ranges *list);

/* A list of words that were given one by one; a zeroed list is empty, free(3) v.  False:
 * no memory. */
struct tool_words {
    const char **v;
    unsigned n;
};
bool tool_words_add(struct tool_words *list, const char *word);

/* --color=auto|always|never; auto uses isatty(fd) and NO_COLOR. */
extern const struct words tool_color_words;
enum tool_color { TOOL_COLOR_AUTO, TOOL_COLOR_ALWAYS, TOOL_COLOR_NEVER };
bool tool_parse_color(const char *text, enum tool_color *color);
bool tool_color_on(enum tool_color color, int fd);

/* The default number of workers: the processors that this process may use. */
unsigned tool_default_jobs(void);

#endif
