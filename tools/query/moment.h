/* SPDX-License-Identifier: MIT */
/*
 * Moments: how a user names a point in the run of a program.
 *
 *   1234, 1,234,567, 40K, 1.2M    before the instruction with that ordinal
 *   1.5s, 30ms, 20us, 5ns         a time since the start of the recording
 *   end                           the end of a thread
 *   crash                         the signal that ended a process: before the instruction
 *                                 that raised it, else after the last one
 *   mark:TEXT                     a mark, TEXT is a glob
 *   syscall:NAME                  before a system call, NAME is a glob
 *   call:FUNCTION                 before the first instruction of a function, a location
 *
 * The last three are the first of that kind; /N after them means the N-th one, /-1 the
 * last.  After the others /K means the K-th of the threads selected, after crash the K-th
 * process that crashed.
 */
#ifndef TOOLS_MOMENT_H
#define TOOLS_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"
#include "query/locate.h"

enum moment_kind {
    MOMENT_NONE, /* not given */
    MOMENT_ORDINAL,
    MOMENT_TIME,
    MOMENT_END,
    MOMENT_CRASH,
    MOMENT_MARK,
    MOMENT_SYSCALL,
    MOMENT_CALL,
};

/* A moment as it was written. */
struct moment_text {
    enum moment_kind kind;
    const char *text;  /* all of it; the argument itself, not a copy */
    const char *name;  /* of MARK, SYSCALL and CALL: begins here in `text' ... */
    uint32_t name_len; /* ... with this length */
    uint64_t value;    /* ordinal, or time in ns since the start */
    int64_t number;    /* N or K; 0: not given */
};

/* False: no moment. */
bool moment_parse(const char *text, struct moment_text *out);

/* The parts of symbol files that finding it needs: SYMFILE_*. */
unsigned moment_symbols(const struct moment_text *text);

/*
 * Finds a moment; `filter' selects threads.  option: for messages.  locate: for CALL; its
 * places may be NULL otherwise.  Returns TOOL_OK; TOOL_NOTHING after a line on stderr if
 * there is no such moment; or TOOL_USAGE, TOOL_FAILED.  Files only.
 */
int moment_find(const struct moment_text *text, const struct ctr_filter *filter,
                const struct locate_request *locate, unsigned jobs,
                struct ctr_moment *out);

#endif
