/* SPDX-License-Identifier: MIT */
/* Shared by the files of the text format: output_text.c and the disassembly. */
#ifndef TRACECOV_OUTPUT_TEXT_PRIV_H
#define TRACECOV_OUTPUT_TEXT_PRIV_H

#include "tracecov/listing.h"

struct text {
    struct out *o;
    const struct report *r;
    const struct text_options *opt;
    struct listing listing;
};

/* Whether --function selects a function of a source. */
bool text_wanted(const struct text *t, const struct report_source *s,
                 const struct report_function *f);
/* The module that code ran in, NULL if none did. */
const struct cover_module *text_module_of(const struct text *t, uint32_t index);

/* "NAME83.3 % (5 of 6)" */
void text_ratio(struct out *o, const char *name, uint64_t hit, uint64_t of);
/* A heading, after an empty line. */
void text_title(struct text *t, const char *title);

/* output_text_code.c */

/* The functions of a source that ran, and others that --function selects. */
void text_disassemble(struct text *t, const struct report_source *s);
/* A module without lines: a table of its functions and its code that ran. */
void text_module(struct text *t, const struct report_source *s);
/*
 * All code that ran, each instruction once: every module's functions in the order of
 * addresses, with what is between them, then code in no file.
 */
void text_disassemble_all(struct text *t);

#endif
