/* SPDX-License-Identifier: MIT */
/*
 * What the files report*.c share.  A report is made module by module: its code is walked
 * once (report_code.c), which gives a list of sites, one for each instruction; lines
 * (report_lines.c), functions and branches (report_module.c) are read from that list, put
 * into the sources of the report (report_source.c) and the list is forgotten.
 */
#ifndef TRACECOV_REPORT_PRIVATE_H
#define TRACECOV_REPORT_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracecov/report.h"

#define NO_INDEX UINT32_MAX

/* Makes room for `need' elements of `size' bytes in the array *v; false: no memory. */
bool report_grow(void *v, size_t *cap, size_t need, size_t size);

/* ------------------------------------------------------------- instructions */

/* Where a branch goes whose bytes tell it; false if they do not (or it is none).
 * For PC-relative branches and calls of all machines that isa.h knows. */
bool insn_target(const struct cover *c, uint64_t addr, const uint8_t *bytes, unsigned len,
                 unsigned mode, uint64_t *target);

/* The length of an instruction, n bytes of which are at hand; 0 if there is none. */
unsigned insn_length(struct insn_scan *s, const uint8_t *bytes, size_t n, uint64_t vaddr,
                     unsigned mode);

/* Instructions behind a branch that run before it goes anywhere. */
unsigned insn_delay_slots(const struct cover *c);

/* -------------------------------------------------------------------- sites */

/* An instruction of a module's code, whether it ran or not. */
struct site {
    uint64_t addr;
    uint32_t insn;  /* the first of cover_module.insns at addr; NO_INDEX: it never ran */
    uint32_t range; /* of symfile_ranges; NO_INDEX: none */
    uint16_t flags; /* CANNOLI_INSN_* */
    uint8_t len;
    uint8_t mode;
};

struct report_code {
    const struct cover *cover;
    const struct cover_module *module;
    const struct symfile *file;
    uint32_t index; /* of the module */
    bool flow;      /* which way branches went is known: see report_lines.c */
    const struct sym_range *ranges;
    uint32_t nr_ranges;
    const struct sym_function *functions;
    uint32_t nr_functions;
    const struct sym_scope *scopes;
    uint32_t nr_scopes;
    struct site *sites; /* ascending by addr, disjoint */
    size_t nr_sites;
    struct jump *jumps; /* by `to', then `from' */
    size_t nr_jumps;
};

/* A direct branch, no call, that was taken, from one site to another. */
struct jump {
    uint32_t from, to;
    uint64_t count;
};

/* Lists the instructions of a module that has a file.  Returns 0 or -CTR_E_NOMEM; in
 * either case call report_code_fini. */
int report_code_init(struct report_code *k, const struct cover *c,
                     const struct cover_module *m, struct insn_scan *scan);
void report_code_fini(struct report_code *k);

/* How often a site ran, and if it is a branch, which way it went. */
struct site_count {
    uint64_t count, taken, not_taken;
};
struct site_count report_site_count(const struct report_code *k, const struct site *s);

/* Fills in k->jumps. */
int report_jumps(struct report_code *k);
/* Number of the first jump to a site or one behind it. */
size_t report_jump_at(const struct report_code *k, size_t site);
/* How often control fell into a site from the one before it: all of its count behind a
 * call, whose return it is. */
uint64_t report_fall(const struct report_code *k, size_t site);
/* Of n times that control came to a site, those that no known jump brought. */
uint64_t report_without_jumps(const struct report_code *k, size_t site, uint64_t n);

/* Number of the first site at or behind addr. */
size_t report_site_at(const struct report_code *k, uint64_t addr);

/* The function instance that a range of code belongs to; of code that is known to no
 * scope, the symbol's.  Only to be compared. */
uint32_t report_instance(const struct report_code *k, const struct site *s);

/* ------------------------------------------------------------------ sources */

struct report_maker {
    struct report *report;
    const struct cover *cover;
    const struct report_options *opt;
    struct insn_scan *scan;
    struct source_table *table;
};

/* The source with that path, made if there is none; NO_INDEX if it is not wanted.
 * Returns -CTR_E_NOMEM or 0. */
int report_source_find(struct report_maker *mk, const char *path, bool is_module,
                       uint32_t module, uint32_t *index);
int report_source_line(struct report_maker *mk, uint32_t source, uint32_t line,
                       uint64_t count);
int report_source_branch(struct report_maker *mk, uint32_t source, uint32_t line,
                         const struct site *site, const struct site_count *n,
                         uint32_t module);
/* Copies *f and its names (demangled: if name is NULL). */
int report_source_function(struct report_maker *mk, uint32_t source,
                           const struct report_function *f);
/* Sorts, joins, numbers, counts. */
void report_sources_finish(struct report_maker *mk);
void report_source_fini(struct report_source *s);

struct source_table *report_source_table_new(void);
void report_source_table_free(struct source_table *t); /* NULL is allowed */

/* ------------------------------------------------------------------ modules */

/* A module that has a file: lines and branches, functions of the source, and those that
 * only symbols know. */
int report_lines(struct report_maker *mk, const struct report_code *k,
                 const uint32_t *file_source);
int report_module(struct report_maker *mk, const struct cover_module *m);

/* How often control came to a site that begins an instance of a function from outside of
 * it.  SYM_NONE: of the function of that symbol. */
uint64_t report_entries(const struct report_code *k, size_t site, uint32_t scope,
                        const struct sym_function *symbol);
/* How often control came to each inlined instance (by number of scope; v is zeros), from
 * code that is not of it.  Returns 0 or -CTR_E_NOMEM. */
int report_inlined_entries(const struct report_code *k, uint64_t *v);
/* Whether a site is code of that instance or of one that was inlined into it. */
bool report_within(const struct report_code *k, const struct site *s, uint32_t scope);

/* Whether text matches one of the globs. */
bool report_match(const char *const *globs, unsigned n, const char *text);

/* Writes the disassembly of a module without lines to report_options.listing_dir, with
 * its lines and branches to the report as *source (NO_INDEX: not wanted).  *heading is
 * the line of each of the module's functions; free it.  -CTR_E_IO has been told on
 * stderr. */
int report_listing(struct report_maker *mk, const struct report_code *k, uint32_t *source,
                   uint32_t **heading);

#endif
