/* SPDX-License-Identifier: MIT */
/* Shows where the second execution differs from the first. */
#ifndef EXPAND_DIFFERENCE_H
#define EXPAND_DIFFERENCE_H

#include "light.h"

/* Writes both sides to stderr: what was recorded, and what was executed, an instruction or an
 * event of a thread (index) each; NULL: nothing more.  Returns TOOL_FAILED. */
int difference_show(const struct light *const side[2],
                    const struct ctr_event *const ev[2], uint32_t thread,
                    uint64_t ordinal);

#endif
