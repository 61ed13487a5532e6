/* SPDX-License-Identifier: MIT */
/*
 * What an argument can be completed with, and the writers of the scripts: one for each
 * shell, which writes the text of completions/completion.SHELL and what depends on the
 * program.
 */
#ifndef COMMON_COMPLETION_PRIV_H
#define COMMON_COMPLETION_PRIV_H

#include <stdio.h>

#include "common/options.h"

enum completion {
    COMPLETE_NOTHING, /* the user's own text */
    COMPLETE_WORD,    /* one of `words' */
    COMPLETE_WORDS,   /* a list of them with commas */
    COMPLETE_FILE,
    COMPLETE_DIR,
    COMPLETE_SOCKET,  /* *.ctl before other files */
    COMPLETE_LIBRARY, /* *.so before other files */
    /* names in the trace that is given, as tracesym --list prints them */
    COMPLETE_FUNCTION,
    COMPLETE_MODULE,
    COMPLETE_MOMENT,
    COMPLETE_FUNCTIONS, /* lists with commas */
    COMPLETE_OBJECTS,
    COMPLETE_THREADS,
    COMPLETE_TASKS,
    COMPLETE_PROCESSES,
};

/* Of an option or a sub-command.  name: the long one; arg: as in struct tool_option. */
enum completion completion_of(const struct tool_options *o, const char *name,
                              const char *arg, const struct words *words);

/* The word that tracesym --list takes for it, or NULL.  Of a moment: its words, some
 * with = and what --list takes for the names after "WORD:". */
const char *completion_query(enum completion c);

/* Whether an option needs an argument: it has one that is not optional. */
bool completion_needs_arg(const struct tool_option *t);

/* The name of an argument up to its first byte that is no capital: "N" of "N[/K]". */
int completion_arg_length(const char *arg);

/* Writes the words, each after a blank. */
void completion_put_words(const struct words *words, FILE *out);

void completion_bash(const struct tool_options *o, FILE *out);
void completion_zsh(const struct tool_options *o, FILE *out);
void completion_fish(const struct tool_options *o, FILE *out);

extern const char completion_bash_text[], completion_zsh_text[], completion_fish_text[];

#endif
