/* SPDX-License-Identifier: MIT */
/*
 * What the user chose to be recorded: the options for it, and what they come to:
 * lines for the libraries that decide (cannoli/jitter.h), and fields of the pipe's
 * control area.
 */
#ifndef RECORDER_SELECTION_H
#define RECORDER_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cannoli/mempipe.h"
#include "common/options.h"
#include "names.h"

/* Keys of the options, above those of the program itself. */
enum {
    SELECTION_OPT = TOOL_OPT_LONG + 128,
    SELECTION_MODULE = SELECTION_OPT,
    SELECTION_FUNCTION,
    SELECTION_RANGE,
    SELECTION_OPCODE,
    SELECTION_STORES,
    SELECTION_LOADS,
    SELECTION_BRANCHES,
    SELECTION_USER,
    SELECTION_KERNEL,
    SELECTION_NOT,
    SELECTION_CALLEES,
    SELECTION_ONCE,
    SELECTION_START,
    SELECTION_STOP,
    SELECTION_JITTER,
    SELECTION_COVERAGE,
    SELECTION_AFTER,
    SELECTION_FOR,
    SELECTION_PAUSED,
    SELECTION_TASK,
    SELECTION_CONTEXT,
    SELECTION_OPT_END,
};

/* Rows for the table of options. */
#define SELECTION_OPTIONS                                                                \
    {SELECTION_MODULE, "module", "NAME",                                                 \
     "instructions of this program or shared library"},                                  \
        {SELECTION_FUNCTION, "function", "NAME", "instructions of this function"},       \
        {SELECTION_CALLEES, "callees", NULL,                                             \
         "... and all that is executed until it returns"},                               \
        {SELECTION_RANGE, "range", "PLACES",                                             \
         "instructions there: FUNCTION, FILE:LINE, A-B, A+LEN,\n"                        \
         "MODULE+0x10-MODULE+0x80 ..., see cannoli-names(7)"},                           \
        {SELECTION_STORES, "stores", NULL, "instructions that store, and their stores"}, \
        {SELECTION_LOADS, "loads", NULL, "instructions that load, and their loads"},     \
        {SELECTION_BRANCHES, "branches", NULL, "jumps, calls and returns"},              \
        {SELECTION_USER, "user", NULL, "of a machine: code without privileges"},         \
        {SELECTION_KERNEL, "kernel", NULL, "of a machine: all other code"},              \
        {SELECTION_TASK, "task", "LIST",                                                 \
         "of a machine's Linux: what these tasks do: pids, NAME,\n"                      \
         "kworker*"},                                                                    \
        {SELECTION_CONTEXT, "context", "LIST",                                           \
         "of a machine: in address spaces with these page tables"},                      \
        {SELECTION_OPCODE, "opcode", "LIST", "instructions with these mnemonics"},       \
        {SELECTION_NOT, "not", NULL, "the next one of these is what is not recorded"},   \
        {SELECTION_ONCE, "once", NULL, "each instruction when it runs first, no more"},  \
        {SELECTION_COVERAGE, "coverage", NULL,                                           \
         "each block of instructions when it runs first"},                               \
        {SELECTION_JITTER, "jitter", "LIB[,KEY=VALUE]..",                                \
         "what a shared library chooses, see cannoli-jitter(7)"},                        \
        {SELECTION_AFTER, "after-instructions", "N",                                     \
         "begin when N instructions have been executed"},                                \
        {SELECTION_FOR, "for-instructions", "N", "... and stop N instructions later"},   \
        {SELECTION_START, "start-at", "PLACES",                                          \
         "begin when one is executed: FUNCTION, FILE:LINE,\n"                            \
         "0xADDR, FUNCTION+0x8, MODULE+0x10 ..."},                                       \
        {SELECTION_STOP, "stop-at", "PLACES", "stop when one is executed"},              \
        {SELECTION_PAUSED, "paused", NULL, "begin paused, see --control"}

struct selection {
    /* Libraries, one a line, as struct mempipe_control has them; owned. */
    char *lines;
    size_t foreign_bytes; /* of them, at their begin: libraries that are not our own */
    char *text;           /* the options that were given, for the trace; owned */
    uint64_t after_insns, for_insns; /* UINT64_MAX: no such limit */
    bool paused;
    bool window; /* begins where a library says */
    bool coverage;
    bool functions;      /* some are chosen by name */
    const char *machine; /* an option that is for machines only; NULL: none was given */
    const char *program; /* one that names files or functions: for programs only */
    char *tasks;         /* a list with commas, as mempipe_control has it; NULL: all */
    uint64_t contexts[MEMPIPE_CONTEXTS];
    uint32_t nr_contexts; /* 0: all */
    struct names names;   /* of places */
    /* private */
    char *builtin; /* arguments of the library of built-in filters */
    bool negated;  /* the last option was --not */
    bool callees, once;
};

#define SELECTION_INIT                                                                   \
    {.after_insns = UINT64_MAX, .for_insns = UINT64_MAX, .names = NAMES_INIT}

/*
 * Handles an option whose key is from SELECTION_OPT to below SELECTION_OPT_END. Returns 0
 * or, after one line on stderr, the status to exit with.
 */
int selection_option(struct selection *sel, struct tool_options *o, int key);

/*
 * When there are no more options: completes `lines'.  Returns 0 or, after one line on
 * stderr, the status to exit with.
 */
int selection_finish(struct selection *sel, const char *prog);
void selection_free(struct selection *sel);

/*
 * Makes the line of a library of what a user wrote, "PATH[,KEY=VALUE]...", with an
 * absolute path, for programs that change their folder.  Returns a malloc'ed line, or
 * NULL with errno.
 */
char *selection_line(const char *text);

/* The path at the begin of a line; malloc'ed, or NULL.  rest, if it is not NULL, is set
 * to what comes after its comma, or to "". */
char *selection_path(const char *line, const char **rest);

#endif
