/* SPDX-License-Identifier: MIT */
/* What the recorder reports on stderr while it runs and at the end. */
#ifndef RECORDER_STATUS_H
#define RECORDER_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct status_numbers {
    uint64_t insns, loads, stores, bytes;
    uint32_t processes, threads, incomplete;
    bool ring;               /* bytes are those of what is kept: */
    uint64_t kept, dropped;  /* instructions */
    uint64_t waits, wait_ns; /* of the guest, for the recorder */
};

struct status {
    bool on, shown;
    uint64_t start_ns, next_ns, last_insns;
};

/* The progress line is drawn on a terminal only, and not if `quiet'. */
void status_init(struct status *st, bool quiet, uint64_t now_ns);

/* Whether it is time to draw; the numbers are not needed otherwise. */
bool status_is_due(const struct status *st, uint64_t now_ns);
void status_draw(struct status *st, uint64_t now_ns, const struct status_numbers *n);

/* Wipes the line; call before any message. */
void status_clear(struct status *st);

/* The line at the end.  `file' is where the trace went; selection: the options that
 * chose what was recorded, or NULL. */
void status_summary(const struct status *st, uint64_t now_ns,
                    const struct status_numbers *n, const char *file,
                    const char *selection);

#endif
