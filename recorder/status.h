/* SPDX-License-Identifier: MIT */
/* What the recorder reports on stderr while it runs and at the end. */
#ifndef RECORDER_STATUS_H
#define RECORDER_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct status_numbers {
    uint64_t insns, loads, stores, bytes;
    uint64_t files; /* bytes of these: files that the program mapped */
    uint32_t processes, threads, incomplete;
    uint32_t left;           /* programs executed by execve, not recorded */
    bool ring;               /* bytes are those of what is kept: */
    uint64_t kept, dropped;  /* instructions */
    uint64_t waits, wait_ns; /* of the guest, for the recorder */
};

struct status {
    bool on;    /* there is progress */
    bool lines; /* ... as lines of text, not drawn */
    bool shown; /* the progress line is on the terminal now */
    bool drawn; /* ... or has been */
    uint64_t start_ns, next_ns, last_insns;
};

/*
 * Whether the terminal that is standard error is free for progress: the program, which has
 * our standard streams, neither reads from a terminal nor prints to one.  `to_stderr': its
 * standard output goes to standard error.
 */
bool status_terminal_is_free(bool to_stderr);

/* `progress': draw it on the terminal, or print a line now and then if there is none. */
void status_init(struct status *st, bool progress, uint64_t now_ns);

/* Whether it is time to draw; the numbers are not needed otherwise. */
bool status_is_due(const struct status *st, uint64_t now_ns);
void status_draw(struct status *st, uint64_t now_ns, const struct status_numbers *n);

/* Wipes the progress line. */
void status_clear(struct status *st);

/*
 * Call before any message once the program runs: wipes the progress line, and begins a new
 * line if the program left the terminal's cursor within one.
 */
void status_begin_message(struct status *st);

/* The line at the end.  `file' is where the trace went; selection: the options that
 * chose what was recorded, or NULL. */
void status_summary(struct status *st, uint64_t now_ns, const struct status_numbers *n,
                    const char *file, const char *selection);

#endif
