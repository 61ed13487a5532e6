/* SPDX-License-Identifier: MIT */
/*
 * The names of places that the user gave to the filters, and what the recorded processes
 * report about them (cannoli/names.h): a mistyped name must not give an empty trace
 * without a word.
 */
#ifndef RECORDER_NAMES_H
#define RECORDER_NAMES_H

#include <stddef.h>

struct names {
    struct given_name {
        const char *option; /* "--start-at" */
        char *text;
    } *v;
    size_t n, cap;
    int fd; /* of the report, close-on-exec; -1: there is none */
};

#define NAMES_INIT {.fd = -1}

/* Adds a name that was given with an option, in the order of the filters' arguments.
 * Returns 0 or -ENOMEM.  option: a constant. */
int names_add(struct names *names, const char *option, const char *text);

/*
 * When all are known: makes the file for the report.  Returns the path by which a recorded
 * process opens it (malloc'ed), or NULL with errno.
 */
char *names_open(struct names *names);

/*
 * When all recorded processes have ended: calls `line' for each line that the user should
 * see: names that were not found in any file whose code ran, and files in which names
 * could not be looked for.  No line if no process has mapped the report.
 */
void names_report(const struct names *names, void (*line)(void *arg, const char *text),
                  void *arg);

void names_free(struct names *names);

#endif
