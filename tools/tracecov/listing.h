/* SPDX-License-Identifier: MIT */
/*
 * Disassembly with counts: one line for an instruction, "    count: 0xaddr: text", and
 * behind a conditional branch which way it went.
 */
#ifndef TRACECOV_LISTING_H
#define TRACECOV_LISTING_H

#include "common/disas.h"
#include "tracecov/output.h"
#include "tracecov/report_private.h"

struct listing {
    struct out *o;
    const struct cover *cover;
    bool color;
    bool places; /* say which source line the instructions after are of */
    /* private */
    struct insn_scan *scan;
    struct disas *disas;
    struct report_code *codes; /* by number in cover->modules, once asked for */
    struct report_code *code;  /* the one that listing_module chose */
};

/* False: no memory.  In either case call listing_fini. */
bool listing_init(struct listing *l, struct out *o, const struct cover *c, bool color);
void listing_fini(struct listing *l);

/* Which module the calls below are about; it must have a file.  False: no memory. */
bool listing_module(struct listing *l, const struct cover_module *m);

/* The instructions at [from, to). */
void listing_range(struct listing *l, uint64_t from, uint64_t to);

/* What ran of listing_module's module that lies in no function of its symbols. */
void listing_rest(struct listing *l);

/* What ran in a module without a file: that is all that is known of it. */
void listing_ran(struct listing *l, const struct cover_module *m);

/* A count as gcov shows it, "#####" for none, to the width of gcov's column. */
void listing_count(struct out *o, bool color, uint64_t count);

/* A text from a file or a name, without what would steer a terminal. */
void listing_safe(struct out *o, const char *s, size_t n);

#define LISTING_RED "\x1b[31m"
#define LISTING_YELLOW "\x1b[33m"
#define LISTING_BOLD "\x1b[1m"
#define LISTING_PLAIN "\x1b[0m"

#endif
