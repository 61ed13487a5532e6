/* SPDX-License-Identifier: MIT */
/* What arguments can be completed with, and what the writers of all shells share. */
#include "common/completion_priv.h"

#include <string.h>

/*
 * The table says most by the names of arguments.  A name of an option counts more; the
 * options of a trace are those of programs that read one.
 */
static const struct {
    const char *option, *arg; /* one of them, the other NULL */
    enum completion what;
    bool of_trace;
} known[] = {
    {"pid", NULL, COMPLETE_PROCESSES, true},
    {"thread", NULL, COMPLETE_THREADS, true},
    {"task", NULL, COMPLETE_TASKS, true},
    {"diff-pid", NULL, COMPLETE_PROCESSES, true},
    {"diff-thread", NULL, COMPLETE_THREADS, true},
    {"module", NULL, COMPLETE_MODULE, true},
    {"function", NULL, COMPLETE_FUNCTION, true},
    {"addr", NULL, COMPLETE_OBJECTS, true},
    {NULL, "FUNCTION", COMPLETE_FUNCTION, true},
    {NULL, "FUNCTIONS", COMPLETE_FUNCTIONS, true},
    {NULL, "PLACE", COMPLETE_FUNCTION, true},
    {NULL, "MOMENT", COMPLETE_MOMENT, true},
    {NULL, "PLACES", COMPLETE_FUNCTIONS, true},
    {NULL, "FILE", COMPLETE_FILE, false},
    {NULL, "DIR", COMPLETE_DIR, false},
    {NULL, "LIB", COMPLETE_LIBRARY, false},
    {NULL, "SOCKET", COMPLETE_SOCKET, false},
};

int completion_arg_length(const char *arg)
{
    return (int)strspn(arg, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

enum completion completion_of(const struct tool_options *o, const char *name,
                              const char *arg, const struct words *words)
{
    bool trace = !o->stop_at_operand && !o->commands;

    if (!arg) {
        return COMPLETE_NOTHING;
    }
    arg += strspn(arg, "[=");
    if (words) {
        return !strncmp(arg, "LIST", 4) ? COMPLETE_WORDS : COMPLETE_WORD;
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        size_t n = known[i].arg ? strlen(known[i].arg) : 0;

        if ((trace || !known[i].of_trace) &&
            (n ? (int)n == completion_arg_length(arg) && !memcmp(arg, known[i].arg, n)
               : !strcmp(name, known[i].option))) {
            return known[i].what;
        }
    }
    return COMPLETE_NOTHING;
}

const char *completion_query(enum completion c)
{
    switch (c) {
    case COMPLETE_FUNCTION:
    case COMPLETE_FUNCTIONS:
        return "functions";
    case COMPLETE_MODULE:
        return "modules";
    case COMPLETE_MOMENT:
        return "crash end mark=marks syscall=syscalls call=functions";
    case COMPLETE_OBJECTS:
        return "objects";
    case COMPLETE_THREADS:
        return "threads";
    case COMPLETE_TASKS:
        return "tasks";
    case COMPLETE_PROCESSES:
        return "processes";
    default:
        return NULL;
    }
}

bool completion_needs_arg(const struct tool_option *t)
{
    return t->arg && t->arg[0] != '[';
}

void completion_put_words(const struct words *words, FILE *out)
{
    for (size_t i = 0; i < words->n; i++) {
        if (words_at(words, i)) {
            fprintf(out, " %s", words_at(words, i));
        }
    }
}
