/* SPDX-License-Identifier: MIT */
/* What a thread of the recorder, or the program, has used of the machine. */
#ifndef RECORDER_EFFORT_H
#define RECORDER_EFFORT_H

#include <stdint.h>

struct effort {
    uint64_t user_us, system_us; /* of the processor */
    uint64_t sleeps;             /* it waited for something */
    uint64_t faults;             /* pages that it touched first */
};

/* What the calling thread has used so far. */
void effort_of_thread(struct effort *e);

/* What children that have been waited for have used. */
void effort_of_children(struct effort *e);

/* The most memory that this process ever had, in KiB. */
uint64_t effort_peak_kib(void);

/* Prints a line: who, the effort, and more as by printf. */
void effort_print(const char *prog, const char *who, const struct effort *e,
                  const char *more, ...) __attribute__((format(printf, 4, 5)));

#endif
