/* SPDX-License-Identifier: MIT */
/* What --info says of the files whose bytes are in a trace. */
#ifndef TOOLS_FILE_FACTS_H
#define TOOLS_FILE_FACTS_H

#include <stdbool.h>

#include "common/textbuf.h"
#include "ctr.h"

/* Nothing of a trace without any.  False: no memory.  files: NULL: there are none. */
bool file_facts_text(struct textbuf *b, const struct ctr_files *files);
bool file_facts_json(struct textbuf *b, const struct ctr_files *files);

#endif
