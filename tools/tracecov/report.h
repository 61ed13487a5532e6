/* SPDX-License-Identifier: MIT */
/*
 * tracecov, second half: converts counts of instructions (cover.h) to counts of source
 * lines, functions and branches; includes code that did not run, so that percentages are
 * right.
 *
 * The rules, which the manual page states (report_lines.c has the reasons):
 *
 * - line: in each instance of a function (out of line, or inlined somewhere), how often
 *   control came to the line from code of other lines, at least the largest count of an
 *   instruction of that line; summed over instances.  The line that declares a function
 *   has the function's count.
 * - function: how often control came from outside to its first instruction, or to the
 *   code of an inlined instance; summed.
 * - branch: each conditional branch instruction in the code of a line is one block of two
 *   branches, 0 taken, 1 not taken; instances in inlined copies of the same function are
 *   separate.
 */
#ifndef TRACECOV_REPORT_H
#define TRACECOV_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "cover.h"

struct report_line {
    uint32_t line;
    uint32_t module; /* index of a module that has it */
    uint64_t count;
};

struct report_branch {
    uint32_t line;
    uint32_t block;  /* number of the conditional branch in that line, from 0 */
    uint32_t branch; /* 0 taken, 1 not taken */
    bool reached;    /* the instruction ran, and its ways are known */
    uint64_t count;
    uint64_t addr;   /* of the instruction */
    uint32_t module; /* index of struct module */
};

struct report_function {
    const char *name;    /* demangled */
    const char *linkage; /* or name */
    uint32_t line;       /* of its declaration; 0: not known */
    uint32_t end_line;   /* last line with code, 0: not known */
    uint64_t count;
    uint64_t addr; /* of its first out-of-line instance, else of an inlined one */
    uint32_t module;
    uint64_t insns_total; /* instructions of its code (out of line) */
    uint64_t insns_hit;   /* those that ran */
};

struct report_totals {
    uint64_t lines, lines_hit;
    uint64_t functions, functions_hit;
    uint64_t branches, branches_hit;
};

/* A source file; or a module without line information: then lines and branches are empty
 * and functions have line 0. */
struct report_source {
    const char *path; /* after --substitute-path */
    bool is_module;
    uint32_t module;           /* is_module: its index */
    struct report_line *lines; /* ascending */
    size_t nr_lines;
    struct report_branch *branches; /* by line, block, branch */
    size_t nr_branches;
    struct report_function *functions; /* by line, then name (is_module: by addr) */
    size_t nr_functions;
    struct report_totals totals;
};

/*
 * A program or library.  What several modules have (a header's lines) counts in each of
 * them, but once in the totals of the report.
 */
struct report_module {
    bool selected; /* by --module */
    bool rest;     /* its code without lines is selected, too */
    bool *files; /* by number of symfile_file: that source is selected; NULL: no lines */
    uint32_t nr_files;
    struct report_totals totals; /* in source files */
    struct report_totals bare;   /* without line information: functions only */
    uint64_t insns, insns_hit;   /* of its functions: instructions, those that ran */
};

struct report {
    const struct cover *cover;
    struct report_source *sources; /* by path; then modules without lines */
    size_t nr_sources;
    struct report_module *modules; /* in the order of cover->modules */
    size_t nr_files;               /* sources that are files */
    size_t nr_lined;               /* modules with lines or functions in these */
    struct report_totals totals;   /* of the source files: what lcov has, too */
    struct report_totals bare;     /* of what has no line information: functions only */
};

/* The module with that index, which code ran in. */
struct report_module *report_module_of(const struct report *r, uint32_t index);

struct report_options {
    /* Globs on whole paths (fnmatch(3), `*' also matches '/'); a source is in the report
     * if it matches one of include (or there is none) and none of exclude.  The same for
     * modules by path or name. */
    const char *const *include;
    unsigned nr_include;
    const char *const *exclude;
    unsigned nr_exclude;
    const char *const *modules; /* --module: only these, by name, path or glob */
    unsigned nr_modules;
    /* --substitute-path: FROM and TO, nr_substitute pairs (sym_substitute()) */
    const char *const *substitute;
    unsigned nr_substitute;
    bool existing;           /* only sources that can be read here */
    const char *listing_dir; /* NULL, or a folder for disassembly listings, which are the
                                sources of modules without lines (report_listing.c) */
};

/* Returns 0, -CTR_E_NOMEM, or -CTR_E_IO for a listing, after a message on stderr. */
int report_make(struct report **out, const struct cover *c,
                const struct report_options *opt);
void report_free(struct report *r);

/* For output of code: the flags of the instruction at vaddr in a module's file, and its
 * length; 0 if there is none.  (isa.h, x86 lengths by Capstone.) */
struct insn_scan;
struct insn_scan *insn_scan_new(const struct cover *c);
void insn_scan_free(struct insn_scan *s);
unsigned insn_scan_at(struct insn_scan *s, const struct symfile *f, uint64_t vaddr,
                      uint16_t *flags, uint8_t *mode);
/* The same in a mode that the caller knows. */
unsigned insn_scan_mode(struct insn_scan *s, const struct symfile *f, uint64_t vaddr,
                        uint8_t mode, uint16_t *flags);

/* arm: the number of instructions that a T32 halfword makes conditional if it is an IT,
 * else 0.  isa.h sees one instruction at a time, so it does not mark a branch after an IT
 * as conditional: code that walks in order adds CANNOLI_INSN_COND.  insn_scan_at does so
 * if called for ascending addresses. */
static inline unsigned insn_it_length(uint32_t half)
{
    return (half & 0xff00) == 0xbf00 && (half & 15)
               ? 4 - (unsigned)__builtin_ctz(half & 15)
               : 0;
}

/* ------------------------------------------------------------------ output */

#include <stdio.h>

/* Each writes a whole file to out and flushes it; returns 0, a negated errno of a failed
 * write (-ENOMEM too), or OUTPUT_REFUSED after a message on stderr: the format cannot
 * represent the result. */
#define OUTPUT_REFUSED 1
int output_lcov(const struct report *r, FILE *out);  /* lcov 1; lcov 2 also reads it */
int output_lcov2(const struct report *r, FILE *out); /* with the ends of functions */
int output_cobertura(const struct report *r, FILE *out);
int output_json(const struct report *r, FILE *out);
int output_html(const struct report *r, FILE *out); /* summary on one page */
int output_drcov(const struct cover *c, FILE *out); /* version 2 */

struct text_options {
    bool color;
    bool disassembly;     /* list instructions even if there are sources */
    const char *function; /* only functions that match this glob, or NULL */
};
int output_text(const struct report *r, const struct text_options *opt, FILE *out);

#endif
