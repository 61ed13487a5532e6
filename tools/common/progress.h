/* SPDX-License-Identifier: MIT */
/*
 * One line on a terminal that says how far long work has come.
 *
 * Shown only if stderr is a terminal and results do not go to that same
 * terminal, and only when the work lasts longer than a moment.
 */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *prog;
    bool on; /* it may come; otherwise nobody need count the work */
    bool shown;
    uint64_t start_ns, next_ns;
};

/* `quiet' switches it off. */
void progress_init(struct progress *p, const char *prog, bool quiet);

/*
 * Says that `done' of `total' bytes of input (total 0: unknown) and `items'
 * things named `what' are behind us.  Cheap: it draws some times a second at
 * most.  One thread at a time.
 */
void progress_update(struct progress *p, uint64_t done, uint64_t total, uint64_t items,
                     const char *what);

/* Wipes the line; call before any message. */
void progress_clear(struct progress *p);

#endif
