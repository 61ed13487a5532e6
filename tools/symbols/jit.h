/* SPDX-License-Identifier: MIT */
/*
 * Functions that a program made at run time, as it named them for perf(1): perf maps
 * (perf-PID.map) and jitdump files (jit-PID.dump); and functions of a machine's kernel, as
 * its /proc/kallsyms has them.
 *
 *   jit_code.c      the list of functions, which both parsers fill in
 *   jit_perfmap.c   the parser of perf maps
 *   jit_dump.c      the parser of jitdump files
 *   jit_kallsyms.c  the parser of /proc/kallsyms
 *   jit_modules.c   the parser of /proc/modules, and where a module is
 *   jit_kernel.c    the parser of kernel images (jit_kernel.h)
 *   jit_layers.c    functions that do not overlap, and older ones at the same addresses
 *   jit_symfile.c   a layer as a struct symfile, for queries
 *   jit_file.c      reads a file
 *
 * The files are not trusted: all sizes are bounded, every part is checked, and the
 * undamaged parts are used.  Nothing here prints.
 */
#ifndef TOOLS_JIT_H
#define TOOLS_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/symfile.h"

/* Limits: what is beyond them is left out like damage. */
#define JIT_MAX_BYTES (UINT32_C(1) << 28)     /* of a file */
#define JIT_MAX_FUNCTIONS (UINT32_C(1) << 22) /* in a file */
#define JIT_MAX_LINES (UINT32_C(1) << 23)     /* the same, rows of its line tables */

/* The source line of the code from addr on. */
struct jit_line {
    uint64_t addr;
    uint32_t file; /* a string */
    uint32_t line;
    uint32_t seq; /* of several at one address the last counts */
};

/* A function.  A string is an offset in jit_code.strings. */
struct jit_function {
    uint64_t addr, end;   /* not empty */
    uint64_t time_ns;     /* when it was made, if jit_code.timed */
    const uint8_t *bytes; /* its code, end - addr bytes in the file; NULL: not known */
    uint32_t name;
    uint32_t first_line, nr_lines;
};

/* What is in a file, in its order: a later function replaces earlier ones where they
 * overlap.  Zero it first. */
struct jit_code {
    struct jit_function *functions;
    size_t nr_functions, cap_functions;
    struct jit_line *lines; /* those of a function: ascending */
    size_t nr_lines, cap_lines;
    char *strings; /* begins with "" */
    size_t string_bytes, cap_strings;
    bool timed;        /* a jitdump whose times are CLOCK_MONOTONIC */
    uint64_t begun_ns; /* of a jitdump: the time in its header */
    /* The damage: how many parts were left out, and the first of them. */
    uint64_t nr_bad;
    uint64_t bad_at; /* line of a perf map, from 1; offset in a jitdump */
    const char *bad_why;
    bool bad_end; /* a jitdump: nothing after it could be used */
};

/* Adds a function, or counts it as damage; false: no memory. */
bool jit_add(struct jit_code *c, const struct jit_function *f, uint64_t at);
/* Adds n bytes without a NUL as a string; false: no memory. */
bool jit_add_string(struct jit_code *c, const void *text, size_t n, uint32_t *out);
void jit_bad(struct jit_code *c, uint64_t at, const char *why);
void jit_code_fini(struct jit_code *c);

/* Whether these are the first bytes of a jitdump. */
bool jit_is_dump(const uint8_t *p, size_t n);

/* Parsers of a whole file, which must stay as long as c is used; false: no memory. */
bool jit_parse_perf_map(struct jit_code *c, const uint8_t *p, size_t n);
bool jit_parse_dump(struct jit_code *c, const uint8_t *p, size_t n);
/* The same for a copy of a kernel's /proc/kallsyms. */
bool jit_parse_kallsyms(struct jit_code *c, const uint8_t *p, size_t n);
/* A line of /proc/kallsyms.  Texts are not ended by a NUL and have none. */
struct jit_symbol {
    uint64_t addr;
    const char *name, *module; /* module: without brackets, or NULL */
    uint32_t n, module_n;
    char type;
};
/* False: the line is none. */
bool jit_kallsyms_line(const char *p, const char *end, struct jit_symbol *s);
/* Where the line at p ends, without the "\r" of a terminal, and the next one begins; NULL:
 * it is not complete. */
const char *jit_line_end(const char *p, const char *end, const char **next);
/* The same for a copy of /proc/modules: each module is a function, named "[MODULE]". */
bool jit_parse_modules(struct jit_code *c, const uint8_t *p, size_t n);
/* Whether a file begins as /proc/modules does. */
bool jit_is_modules(const uint8_t *p, size_t n);
/* Where a module begins, by a copy of /proc/modules; name: that of its file.  False: the module
 * is not there. */
bool jit_module_base(const uint8_t *p, size_t n, const char *name, uint64_t *base);
/* Calls fn for each symbol of a module's code in a copy of /proc/kallsyms, until it returns
 * false. */
void jit_module_symbols(const uint8_t *p, size_t n, const char *name,
                        bool (*fn)(void *arg, const struct jit_symbol *s), void *arg);

/* ------------------------------------------------------------------- layers */

/* Addresses at which a function is the newest. */
struct jit_piece {
    uint64_t addr, end;
    uint32_t function;
};

/* Disjoint pieces, ascending. */
struct jit_layer {
    struct jit_piece *v;
    size_t n;
};

/*
 * Splits the functions into at most `max' layers, the newest first; without times into
 * one.  A function that is hidden in part by newer ones is whole in an older layer; in
 * the last layer it has what is left of it.  False: no memory; jit_layers_free in any case.
 */
bool jit_layers(const struct jit_code *c, unsigned max, struct jit_layer *out,
                unsigned *n);
void jit_layers_free(struct jit_layer *layers, unsigned n);

/*
 * A file with the functions and lines of a layer, whose vaddrs are the addresses in memory.
 * It has no bytes.  like: has the machine; false: no memory.  Function i of the file is
 * piece i.
 */
bool jit_symfile(struct symfile **out, const char *path, const struct symfile_info *like,
                 const struct jit_code *c, const struct jit_layer *layer);

/* --------------------------------------------------------------------- files */

/* Which files may be used without being named. */
struct jit_trust {
    bool any;                /* all */
    uint64_t from_ns, to_ns; /* else those last written then (since 1970; UINT64_MAX:
                                 no end), by this user or root */
};

struct jit_file {
    uint8_t *p;
    size_t n;
    bool cut; /* only the first JIT_MAX_BYTES */
};

enum jit_read { JIT_READ, JIT_MISSING, JIT_REFUSED, JIT_NOMEM };

/* Reads a file; JIT_REFUSED: `why' has a sentence without the file's name. */
enum jit_read jit_file_read(struct jit_file *out, const char *path,
                            const struct jit_trust *trust, char *why, size_t why_bytes);

#endif
