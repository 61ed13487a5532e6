/* SPDX-License-Identifier: MIT */
/*
 * The parts of the built-in filters (libcannoli-filter.so): arguments (args.c), mnemonics
 * (mnemonic.c), names (names.c, child.c, report.c), mapped files (modules.c), and the
 * hooks (filter.c).  Nothing here depends on QEMU, only on cannoli/jitter.h.
 */
#ifndef JITTER_FILTER_H
#define JITTER_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cannoli/jitter.h"
#include "cannoli/names.h"

/* ---- spans.c: memory, and sets of numbers ---- */

/* These abort the process when there is no memory, as QEMU itself does. */
void *filter_grow(void *array, size_t n, size_t *cap, size_t item_bytes);
char *filter_copy(const char *text, size_t n);

struct span {
    uint64_t start, end; /* end exclusive */
};

/* A set of numbers; after spans_finish ascending spans that do not touch. */
struct spans {
    struct span *v;
    size_t n, cap;
};

void spans_add(struct spans *s, uint64_t start, uint64_t end);
void spans_finish(struct spans *s);
bool spans_hold(const struct spans *s, uint64_t x);
/* The same, and the span, or the gap between two spans, that contains x. */
bool spans_around(const struct spans *s, uint64_t x, struct span *around);
void spans_free(struct spans *s);

/* What places are for: filters, and points where something begins or ends. */
enum use {
    USE_FUNCTION,
    USE_NOT_FUNCTION,
    USE_RANGE,
    USE_NOT_RANGE,
    USE_START,
    USE_STOP,
    USE_TREE,
    USES
};

/* Places in memory, or in a file. */
struct places {
    struct spans of[USES];
};

void places_finish(struct places *p);
void places_free(struct places *p); /* empties them */

/* ---- report.c ---- */

/* cannoli/names.h; v NULL: nobody wants a report. */
struct report {
    struct cannoli_name *v;
    size_t n;
};

/* Maps the report for so many names; without it the filters work as well. */
void report_open(struct report *r, const char *path, size_t names);
/* name: from 1. */
void report_found(const struct report *r, size_t name);
/* name 0: about files.  reason: below CANNOLI_NAME_REASONS; the first text of each is
 * kept. */
void report_why(const struct report *r, size_t name, unsigned reason, const char *text,
                size_t n);
void report_close(struct report *r);

/* ---- args.c ---- */

/* A pattern for a module or mnemonic, and whether it is negated. */
struct pattern {
    char *text;
    char *real; /* of a module's path: its realpath(3); else NULL */
    bool negated;
};

struct patterns {
    struct pattern *v;
    size_t n, cap;
    bool positive; /* at least one is not negated */
};

/* A place that has a name, as cannoli-names(7) describes them, or a function. */
struct name {
    enum use use;
    char *text;
};

/* Of each kind any positive and no negated item must match; all kinds must match. */
struct filter_args {
    struct patterns modules, opcodes;
    struct places addresses;
    struct name *names; /* in the order of the arguments */
    size_t nr_names, cap_names;
    bool wants_range, wants_function; /* only instructions of these are recorded */
    bool stores, loads, not_stores, not_loads;
    bool branches, not_branches;
    bool user, kernel, not_user, not_kernel;
    bool callees, once;
    bool starts_closed; /* recording begins with a window */
    char *report;       /* path of the report; NULL: none */
};

/*
 * text: "key=value,..." with the commas of values doubled.  Returns NULL, or a malloc'ed
 * message if it is wrong.  args must be freed either way.
 */
char *filter_args_parse(struct filter_args *args, const char *text);
void filter_args_free(struct filter_args *args);
bool filter_module_matches(const struct pattern *p, const char *path);

/* ---- mnemonic.c ---- */

/* The state of a Thumb IT block. */
struct thumb_it {
    uint64_t pc;   /* of the next instruction */
    uint8_t state; /* ITSTATE of the processor, 0: outside of an IT block */
};

/* The condition of this instruction in an IT block, or "".  Call it for each instruction
 * of a block. */
const char *mnemonic_condition(struct thumb_it *it, const struct cannoli_insn *insn,
                               uint32_t machine);
/* Whether the mnemonic is selected.  text: the instruction as the host's disassembler
 * writes it, "" if it cannot; len: its bytes. */
bool mnemonic_matches(const struct patterns *list, const char *text, uint32_t machine,
                      const char *condition, uint32_t len);

/* ---- child.c ---- */

/*
 * Runs fn in a child process that shares this one's memory, and waits for its end.  The
 * child has descriptors of its own, none of which is open, and whatever it changes besides
 * memory ends with it: no other thread notices it, and it works when the process has no
 * descriptor left.  No signal is delivered to it.  Returns 0 or a negated errno value.
 */
int child_run(int (*fn)(void *arg), void *arg);

/*
 * From fn: runs a program and waits for its end.  Returns what it printed, in memory that
 * stays mapped (NULL and *bytes 0: nothing), or NULL and a negated errno value in *error
 * if it could not be run.
 */
void *child_output(const char *program, char *const argv[], size_t *bytes, int *error);

/* ---- names.c ---- */

/* What looks for names. */
struct names {
    const struct filter_args *args;
    char *program; /* cannoli-locate */
    struct report report;
};

/* Returns NULL, or a malloc'ed message: names cannot be looked for.  `n' must be closed
 * either way. */
char *names_open(struct names *n, const struct filter_args *args);
void names_close(struct names *n);

/* Finds the names of the arguments in a file: *to is filled in with offsets in the file.
 * What cannot be read, or is not in the file, is noted in the report. */
void names_find(const struct names *n, struct places *to, const char *path);

/* ---- modules.c ---- */

/* A mapped file, and what the arguments select in it. */
struct module {
    char *path;
    bool named;     /* matches a --module */
    bool named_not; /* matches a --not --module */
    struct places offsets;
    struct file_stamp {
        uint64_t dev, ino, size;
        int64_t sec, nsec;
    } stamp;
    uint64_t generation; /* of the mappings, when the stamp was last checked */
};

struct modules {
    struct module **v;
    size_t n, cap;
};

/* The module of that path ("" for anonymous memory: NULL). */
const struct module *modules_get(struct modules *m, const struct names *names,
                                 const char *path, uint64_t generation);
void modules_free(struct modules *m);

#endif
