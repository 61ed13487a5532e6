/* SPDX-License-Identifier: MIT */
/* Where the result goes: one of the formats of report.h, to a file or standard output. */
#ifndef TRACECOV_RESULT_H
#define TRACECOV_RESULT_H

#include <stdbool.h>

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

/* The name of a format; false if there is none of that name. */
bool result_format_parse(const char *name, enum result_format *format);

struct result {
    enum result_format format;
    const char *output; /* NULL: standard output */
    bool quiet;
    const struct report_options *report;
    const struct text_options *text;
};

/*
 * Makes the report and writes it.  A file appears, or is replaced, when it is complete.
 * A reader that went away is no error.  Returns a TOOL_* status, having said what is
 * wrong.
 */
int result_write(const struct result *r, struct cover *c);

#endif
