/* SPDX-License-Identifier: MIT */
/* Lines on stderr about a result: why it is empty, what it leaves out. */
#ifndef TRACECOV_REMARKS_H
#define TRACECOV_REMARKS_H

#include "tracecov/result.h"

/*
 * TOOL_NOTHING after one line that says why the result is empty: nothing was executed,
 * recorded or selected, or the format has no place for it.  Otherwise TOOL_OK.
 * report: NULL for a format that needs none.
 */
int remarks_nothing(const struct result *r, const struct cover *c,
                    const struct report *report);

/* TOOL_NOTHING after a line: the choice of sources leaves no module. */
int remarks_none_left(const struct result *r);

/* Unless quiet: what lcov's and Cobertura's formats leave out, and what genhtml will
 * miss; traces whose code is in no file as they have no mappings. */
void remarks_left_out(const struct result *r, const struct report *report);
void remarks_unmapped(const struct result *r, const struct cover *c);

/* Unless quiet: what is not known of code that programs made at run time. */
void remarks_generated(const struct result *r, const struct cover *c);

#endif
