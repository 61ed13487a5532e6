/* SPDX-License-Identifier: MIT */
/*
 * A progress line on a terminal.
 *
 * Shown only if stderr is a terminal, results do not go to that same terminal,
 * and the work lasts longer than a moment.
 */
#ifndef COMMON_PROGRESS_H
#define COMMON_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    const char *prog;
    bool on; /* the line may be shown; otherwise callers need not count work */
    bool shown;
    uint64_t start_ns, next_ns;
};

/* `quiet' disables the line. */
void progress_init(struct progress *p, const char *prog, bool quiet);

/* The same for work that writes nothing to standard output before progress_clear, so that it
 * may be the same terminal. */
void progress_init_before_output(struct progress *p, const char *prog, bool quiet);

/*
 * Reports that `done' of `total' bytes of input (total 0: unknown) and `items'
 * things named `what' are done.  Cheap: it draws at most a few times a second.
 * One thread at a time.
 */
void progress_update(struct progress *p, uint64_t done, uint64_t total, uint64_t items,
                     const char *what);

/* Wipes the line; call before any message. */
void progress_clear(struct progress *p);

#endif
