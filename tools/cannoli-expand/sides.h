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

/* Wherever they are: ordinals are not compared, nor times, which are of the first execution in
 * both, if they are in both at all. */
bool sides_same(const struct ctr_event *a, const struct ctr_event *b);

/* Reads the instructions, or the events, of a thread on both sides. */
struct sides_pair {
    const struct sides *sides;
    struct ctr_cursor *cursor[2];
    struct ctr_event ev[2]; /* where each side is */
    bool have[2];           /* else it has no more */
};

/* Of the threads that `thread' says and these kinds: from an ordinal on, up to another one (0: to
 * the end).  TOOL_OK, or TOOL_FAILED after one line on stderr; call sides_pair_close in any case. */
int sides_pair_open(struct sides_pair *p, const struct sides *s, uint32_t kinds,
                    uint64_t from, uint64_t to);
void sides_pair_close(struct sides_pair *p);
/* Moves a side on to the next one that is the program's. */
int sides_pair_next(struct sides_pair *p, unsigned side);

uint64_t sides_ordinal(const struct ctr_event *ev);

#endif
