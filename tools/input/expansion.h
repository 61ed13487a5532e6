/* SPDX-License-Identifier: MIT */
/*
 * The expansion of a light trace: the trace with more kinds of events that cannoli-expand makes
 * of it, kept beside it.  A tool that needs what a light trace does not have reads that
 * instead, and has it made if need be.
 */
#ifndef TOOLS_EXPANSION_H
#define TOOLS_EXPANSION_H

#include <stdbool.h>
#include <stdint.h>

#include "common/options.h"
#include "ctr.h"

/* ---------------------------------------------------------------- the file */

/* Its name for a light trace at `path', malloc'ed; NULL: no memory. */
char *expansion_name(const char *path);

/* What is there under that name. */
enum expansion_state {
    EXPANSION_NONE,   /* nothing */
    EXPANSION_KEPT,   /* an expansion of this trace */
    EXPANSION_OLD,    /* one of another recording, or of another version */
    EXPANSION_NOT_ONE /* a file that is none */
};
/* light: the light trace.  *events: CTR_HAS_* of one that is kept, else 0. */
enum expansion_state expansion_check(const char *name, const struct ctr_trace *light,
                                     uint32_t *events);

/*
 * A window: an expansion of some instructions, kept under a name of its own.  Of a light trace
 * whose program had one thread, for a question about a moment or a stretch of a long run.
 */
char *expansion_window_name(const char *path);
/* The same of it: EXPANSION_KEPT if it has these kinds of the instructions from..to-1; then it
 * is opened, with `flags' as for ctr_open. */
enum expansion_state expansion_window_open(struct ctr_trace **tr, const char *name,
                                           unsigned flags, const struct ctr_trace *light,
                                           uint32_t events, uint64_t from, uint64_t to);

/* The kinds that cannoli-expand can add, CTR_HAS_*. */
#define EXPANSION_KINDS                                                                  \
    (CTR_HAS_MEM | CTR_HAS_VAL | CTR_HAS_REG | CTR_HAS_SYS | CTR_HAS_MAP | CTR_HAS_THR | \
     CTR_HAS_TIME)
#define EXPANSION_TEXT 40
/* These kinds as a list for --events, "" if there is none; to has EXPANSION_TEXT bytes. */
void expansion_list(uint32_t events, char *to);
#define EXPANSION_WORDS 80
/* The same in words, for messages; to has EXPANSION_WORDS bytes. */
void expansion_describe(uint32_t events, char *to);

/* --------------------------------------------------------------- for tools */

enum { EXPANSION_OPT_NO_EXPAND = TOOL_OPT_LONG + 0x700, EXPANSION_OPT_LIMIT };

/* Rows of a table of struct tool_option. */
#define EXPANSION_OPTIONS                                                                \
    {EXPANSION_OPT_NO_EXPAND, "no-expand", NULL,                                         \
     "do not execute the program of a light trace again for\nwhat is not in it"},        \
        {EXPANSION_OPT_LIMIT, "expand-limit", "SIZE",                                    \
         "do not make an expansion larger than that; default 8G,\nall: any size"}

struct expansion {
    bool never;     /* --no-expand */
    uint64_t limit; /* --expand-limit, in bytes; 0: any size */
    /* Called about once a second, from the same thread, while the program is executed; NULL:
     * never. */
    void (*tick)(void *arg);
    void *arg;
    /*
     * Which instructions the tool needs of a light trace with one thread: *from..*to-1; it leaves
     * them alone if it needs all.  Not TOOL_OK, after a line on stderr: nothing can be shown, and
     * expansion_open returns that.  NULL: it needs all.
     */
    int (*part)(void *part_arg, struct ctr_trace *light, uint64_t *from, uint64_t *to);
    void *part_arg;
    /* private */
    char *name, *window;
    struct ctr_trace *light; /* that the trace opened is a window of */
    const char *light_path;
};
#define EXPANSION_INIT {.limit = UINT64_C(8) << 30}

enum tool_parsed expansion_parse(struct expansion *x, int key, const char *arg);

/*
 * Where the kinds `needed' (CTR_HAS_*) are of the trace tr, which was opened at `path': there, unless
 * it is a light trace without some of them that has an expansion, which is made now if there is
 * none.  Then one line on stderr says so, unless quiet.  If it cannot be made, a line says why, and
 * the result is `path'.  Valid until expansion_fini.
 */
const char *expansion_find(struct expansion *x, const char *prog, const char *path,
                           const struct ctr_trace *tr, uint32_t needed, bool quiet);

/* Opens the trace at *path as tool_trace_open does, or in its place the one of expansion_find, or
 * a window that has what x->part says: *path is that then.  What has no expansion is opened
 * once, so it may be a pipe. */
int expansion_open(struct expansion *x, const char *prog, const char **path,
                   unsigned flags, uint32_t needed, bool quiet, struct ctr_trace **tr);
/* As tool_trace_status, of what expansion_open opened; of a window, that of its light trace. */
int expansion_status(const struct expansion *x, const char *prog, const char *path,
                     const struct ctr_trace *tr, bool quiet);
void expansion_fini(struct expansion *x);

#endif
