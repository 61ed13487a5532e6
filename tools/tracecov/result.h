/* SPDX-License-Identifier: MIT */
/* Output of the result in one of report.h's formats, to a file or standard output. */
#ifndef TRACECOV_RESULT_H
#define TRACECOV_RESULT_H

#include <stdbool.h>

#include "common/words.h"
#include "report.h"

enum result_format {
    RESULT_LCOV,
    RESULT_LCOV2,
    RESULT_COBERTURA,
    RESULT_JSON,
    RESULT_TEXT,
    RESULT_HTML,
    RESULT_DRCOV,
};

/* The names of formats. */
extern const struct words result_format_words;

/* Parses the name of a format; false if there is none with that name. */
bool result_format_parse(const char *name, enum result_format *format);

struct result {
    enum result_format format;
    const char *output; /* NULL: standard output */
    bool quiet;
    bool elfs; /* there are files of --elf */
    const struct report_options *report;
    const struct text_options *text;
    const struct cover_filter *filter; /* for messages */
};

/*
 * Makes the report and writes it.  A file is created or replaced when it is complete.
 * A closed pipe is no error.  Returns a TOOL_* status, after a message if it is not
 * TOOL_OK; with TOOL_NOTHING, the result is empty and only JSON was written.
 */
int result_write(const struct result *r, struct cover *c);

#endif
