/* SPDX-License-Identifier: MIT */
/*
 * Disassembly with counts: one line for an instruction, "    count: 0xaddr: text", with
 * the ways of a conditional branch at its end.
 */
#ifndef TRACECOV_LISTING_H
#define TRACECOV_LISTING_H

#include "guest/disas.h"
#include "tracecov/output.h"
#include "tracecov/report_priv.h"

struct listing {
    struct out *o;
    const struct cover *cover;
    bool color;
    bool places; /* write the source line before its instructions */
    /* private */
    struct insn_scan *scan;
    struct disas *disas;
    struct report_code *codes; /* by index in cover->modules, made on first use */
    struct report_code *code;  /* the one that listing_module chose */
};

/* False: no memory.  In either case call listing_fini. */
bool listing_init(struct listing *l, struct out *o, const struct cover *c, bool color);
void listing_fini(struct listing *l);

/* Chooses the module for the calls below; it must have a file.  False: no memory. */
bool listing_module(struct listing *l, const struct cover_module *m);

/* Whether an instruction ran at [from, to). */
bool listing_ran_at(const struct listing *l, uint64_t from, uint64_t to);

/* Writes the instructions at [from, to), and those that did not run. */
void listing_range(struct listing *l, uint64_t from, uint64_t to);

/*
 * Writes what ran at [from, to), below headings with the section, and separates pieces.
 * Nothing if nothing ran there.  wanted: NULL, or whether to write the code of a
 * source file (symfile_file); SYM_NONE: code without line information.
 */
void listing_between(struct listing *l, uint64_t from, uint64_t to,
                     bool (*wanted)(const void *arg, uint32_t file), const void *arg);

/* Writes the code that ran in a module without a file; no other code of it is known. */
void listing_ran(struct listing *l, const struct cover_module *m);

/* Writes a count like gcov: "#####" for 0, with the width of gcov's column. */
void listing_count(struct out *o, bool color, uint64_t count);

/* Writes a text from a file, or a name, without control characters. */
void listing_safe(struct out *o, const char *s, size_t n);

#define LISTING_RED "\x1b[31m"
#define LISTING_YELLOW "\x1b[33m"
#define LISTING_BOLD "\x1b[1m"
#define LISTING_PLAIN "\x1b[0m"

#endif
