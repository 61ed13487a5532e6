/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files report*.c.  A report is made module by module.  One walk over the
 * code (report_code.c) gives a list of sites, one for each instruction.  Lines
 * (report_lines.c), functions and branches (report_module.c) are made from that list and
 * added to the sources of the report (report_source.c); then the list is freed.
 */
#ifndef TRACECOV_REPORT_PRIV_H
#define TRACECOV_REPORT_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracecov/report.h"

#define NO_INDEX UINT32_MAX

/* ------------------------------------------------------------- instructions */

/* The target of a branch, from its bytes; false if they do not have it (or it is not a
 * branch).  For PC-relative branches and calls of all machines that isa.h knows. */
bool insn_target(const struct cover *c, uint64_t addr, const uint8_t *bytes, unsigned len,
                 unsigned mode, uint64_t *target);

/* The length of an instruction in a buffer of n bytes; 0 if there is none. */
unsigned insn_length(struct insn_scan *s, const uint8_t *bytes, size_t n, uint64_t vaddr,
                     unsigned mode);

/* The number of instructions after a branch that run before it jumps. */
unsigned insn_delay_slots(const struct cover *c);

/* -------------------------------------------------------------------- sites */

/* An instruction of a module's code, whether it ran or not. */
struct site {
    uint64_t addr;
    uint32_t insn;  /* the first of cover_module.insns at addr; NO_INDEX: it never ran */
    uint32_t range; /* in symfile_ranges; NO_INDEX: none */
    uint16_t flags; /* CANNOLI_INSN_* */
    uint8_t len;
    uint8_t mode;
};

struct report_code {
    const struct cover *cover;
    const struct cover_module *module;
    const struct symfile *file;
    uint32_t index; /* of the module */
    bool flow;      /* the ways of branches are known: see report_lines.c */
    const struct sym_range *ranges;
    uint32_t nr_ranges;
    const struct sym_function *functions; /* by symbols and unwind tables, ascending */
    uint32_t nr_functions;
    bool thumb; /* arm: code without symbols is T32, as far as known */
    const struct sym_scope *scopes;
    uint32_t nr_scopes;
    struct site *sites; /* ascending by addr, disjoint */
    size_t nr_sites;
    struct jump *jumps; /* by `to', then `from' */
    size_t nr_jumps;
    struct sym_function
        *made_functions; /* memory of `functions' and their names, if they */
    char *made_names;    /* are not the symfile's */
};

/* A taken direct branch, not a call, from one site to another. */
struct jump {
    uint32_t from, to;
    uint64_t count;
};

/* Lists the instructions of a module that has a file.  Returns 0 or -CTR_E_NOMEM; in
 * either case call report_code_fini. */
int report_code_init(struct report_code *k, const struct cover *c,
                     const struct cover_module *m, struct insn_scan *scan);
void report_code_fini(struct report_code *k);

/* report_functions.c */

/* Lists the functions; needs k->file and k->cover.  Those without a symbol (SYM_UNWIND)
 * are named by their address, with "" as linkage.  Returns 0 or -CTR_E_NOMEM; in either
 * case call report_functions_free. */
int report_functions(struct report_code *k);
void report_functions_free(struct report_code *k);
/* The function that begins at addr, or NULL. */
const struct sym_function *report_function_at(const struct report_code *k, uint64_t addr);
/* How many functions begin at addr or before. */
uint32_t report_functions_upto(const struct report_code *k, uint64_t addr);

/* The count of a site and, for a branch, its ways. */
struct site_count {
    uint64_t count, taken, not_taken;
};
struct site_count report_site_count(const struct report_code *k, const struct site *s);

/* Fills in k->jumps. */
int report_jumps(struct report_code *k);
/* Index of the first jump to this site or a later one. */
size_t report_jump_at(const struct report_code *k, size_t site);
/* How often control fell through to a site from the one before it.  After a call this
 * includes its return. */
uint64_t report_fall(const struct report_code *k, size_t site);
/* The number of n entries to a site that were not by a known jump. */
uint64_t report_without_jumps(const struct report_code *k, size_t site, uint64_t n);

/* Index of the first site at or after addr. */
size_t report_site_at(const struct report_code *k, uint64_t addr);

/* Identifies the function instance of a site; for code without a scope, the symbol.  Use
 * it only for comparison. */
uint32_t report_instance(const struct report_code *k, const struct site *s);

/* ------------------------------------------------------------------ sources */

struct report_maker {
    struct report *report;
    const struct cover *cover;
    const struct report_options *opt;
    struct insn_scan *scan;
    struct source_table *table;
    struct report_module *module; /* the one that is being reported */
};

/* Finds or makes the source with that path; *index is NO_INDEX if it is not selected.
 * Returns -CTR_E_NOMEM or 0. */
int report_source_find(struct report_maker *mk, const char *path, bool is_module,
                       uint32_t module, uint32_t *index);
int report_source_line(struct report_maker *mk, uint32_t source, uint32_t line,
                       uint32_t module, uint64_t count);
/* Whether --include, --exclude and --existing select a path. */
bool report_source_selected(const struct report_options *o, const char *path,
                            bool is_module);
int report_source_branch(struct report_maker *mk, uint32_t source, uint32_t line,
                         const struct site *site, const struct site_count *n,
                         uint32_t module);
/* Copies *f and its names; demangles linkage if name is NULL. */
int report_source_function(struct report_maker *mk, uint32_t source,
                           const struct report_function *f);
/* Sorts, merges, numbers and counts. */
void report_sources_finish(struct report_maker *mk);
void report_source_fini(struct report_source *s);

struct source_table *report_source_table_new(const struct cover *c);
void report_source_table_free(struct source_table *t); /* NULL is allowed */

/* ------------------------------------------------------------------ modules */

/* Reports a module with a file: lines and branches, functions of the source, and those
 * that only symbols have. */
int report_lines(struct report_maker *mk, const struct report_code *k,
                 const uint32_t *file_source);
int report_module(struct report_maker *mk, const struct cover_module *m);

/* How often control came from outside to a site that begins an instance of a function.
 * scope SYM_NONE: the function of that symbol. */
uint64_t report_entries(const struct report_code *k, size_t site, uint32_t scope,
                        const struct sym_function *symbol);
/* How often control came to each inlined instance (by number of scope; v must be zeroed)
 * from code outside it.  Returns 0 or -CTR_E_NOMEM. */
int report_inlined_entries(const struct report_code *k, uint64_t *v);
/* Whether a site belongs to that instance or to one inlined into it. */
bool report_within(const struct report_code *k, const struct site *s, uint32_t scope);

/* Whether text matches one of the globs. */
bool report_match(const char *const *globs, unsigned n, const char *text);

/* Writes the disassembly of a module without lines to files below
 * report_options.listing_dir, and adds them to the report as sources, with lines,
 * branches and functions.  Returns 0, -CTR_E_NOMEM, or -CTR_E_IO after a message on
 * stderr. */
int report_listing(struct report_maker *mk, const struct report_code *k);

/* A stretch of code for a listing: a function, or what is between two. */
struct piece {
    uint64_t addr, end;
    const struct sym_function *symbol; /* NULL: it has none */
    bool function;                     /* known by a symbol or by unwind tables */
    bool thumb;                        /* arm: T32, as far as known */
    const char *section;               /* "": not known */
    uint32_t section_number;
};

/* Divides all executable sections into pieces, ascending; *v is to be freed.  They depend
 * on the file alone, never on what ran.  Returns 0 or -CTR_E_NOMEM. */
int report_pieces(const struct report_code *k, struct piece **v, size_t *n);

#endif
