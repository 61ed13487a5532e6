/* SPDX-License-Identifier: MIT */
/* Both executions: the recorded one, and what was made of it. */
#ifndef EXPAND_SIDES_H
#define EXPAND_SIDES_H

#include <stdbool.h>

#include "light.h"

struct sides {
    const struct light *light;
    struct light made; /* only opened */
    const struct light *side[2];
    uint32_t thread[2]; /* index of the one that is compared, of each side */
};

/* TOOL_OK; TOOL_FAILED after one line on stderr, also if they are not comparable at all.  Call
 * sides_close in any case. */
int sides_open(struct sides *s, const struct light *l, const char *path);
void sides_close(struct sides *s);

/* QEMU has said that the second execution differs, and nothing else shows it: one line on stderr;
 * returns TOOL_FAILED. */
int sides_said(const struct sides *s);

/* Sets `thread' to the recorded thread i and the same one of the second execution, whose threads
 * may be in another order in the file; false: it has none. */
bool sides_find(struct sides *s, uint32_t i);

/* Kinds of events that are in both traces and are the program's, CTR_KIND_*. */
uint32_t sides_kinds(const struct sides *s);

/* Whether an event is one that the second execution has of its own. */
bool sides_is_own(const struct ctr_event *ev);

/* Wherever they are: ordinals are not compared, nor times, which are of the first execution in
 * both, if they are in both at all. */
bool sides_same(const struct ctr_event *a, const struct ctr_event *b);

#endif
