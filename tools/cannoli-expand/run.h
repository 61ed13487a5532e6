/* SPDX-License-Identifier: MIT */
/* Executes the program again under cannoli-record. */
#ifndef EXPAND_RUN_H
#define EXPAND_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "choice.h"
#include "command.h"

struct run_options {
    const char *events;   /* of cannoli-record --events */
    const char *output;   /* a file that does not exist */
    uint64_t limit;       /* of its size, in bytes; 0: none */
    struct choice choice; /* of instructions */
    bool order;           /* threads have one */
    bool verbose;
};

/* While there is a folder to remove and a recorder to wait for, signals that end this program
 * are held back. */
struct run_signals {
    sigset_t held, before;
};
void run_signals_hold(struct run_signals *s);
void run_signals_release(const struct run_signals *s);

/*
 * The folder for the inputs, made anew and empty; and its removal, with what is in it.
 * NULL after one line on stderr.
 */
char *run_folder_make(const char *prog);
void run_folder_remove(char *folder);

/*
 * TOOL_OK if there is a trace then, and in *exit_status the program's, as cannoli-record has
 * it; TOOL_FAILED, TOOL_USAGE after a line on stderr, which may be cannoli-record's.
 */
int run_recorder(const char *prog, const char *folder, const struct command *c,
                 const struct run_options *opt, const struct run_signals *held,
                 int *exit_status);

#endif
