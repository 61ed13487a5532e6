/* SPDX-License-Identifier: MIT */
/* --from, --to: which instructions of each thread the new trace is to have. */
#ifndef EXPAND_WINDOW_H
#define EXPAND_WINDOW_H

#include <stdbool.h>

#include "light.h"
#include "query/moment.h"

#define WINDOW_ALL UINT64_MAX

/* Threads are those of the light trace, by index; ordinals are of each. */
struct window {
    bool given;           /* else all is wanted */
    char text[120];       /* as the user has it, for messages */
    uint64_t *first;      /* its first instruction that is wanted; WINDOW_ALL: none is */
    uint64_t *end;        /* after its last one */
    bool *begun;          /* it has by then */
    uint64_t after, upto; /* the slices that have them; threads with an order */
};

/* TOOL_OK, or TOOL_FAILED, TOOL_NOTHING, TOOL_USAGE after a line on stderr. */
int window_make(struct window *w, const struct light *l, const struct moment_text *from,
                const struct moment_text *to);
void window_free(struct window *w);

/* Whether a thread is in it: if all is wanted, each. */
bool window_has(const struct window *w, const struct ctr_thread *t);

#endif
