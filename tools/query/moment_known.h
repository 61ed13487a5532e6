/* SPDX-License-Identifier: MIT */
/* What a moment that is not found may have meant. */
#ifndef TOOLS_MOMENT_KNOWN_H
#define TOOLS_MOMENT_KNOWN_H

#include <stdbool.h>

#include "common/textbuf.h"
#include "ctr.h"
#include "query/moment.h"

/*
 * Appends the name of a mark or system call among the events of a filter that is like that
 * of the moment, or else a list of the names that there are; nothing if there are none.
 * Returns false if there is no memory or the trace cannot be read.
 */
bool moment_put_known(struct textbuf *b, struct ctr_trace *tr,
                      const struct moment_text *text, const struct ctr_filter *filter);

#endif
