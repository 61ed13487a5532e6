/* SPDX-License-Identifier: MIT */
/* What cannoli-expand says of the execution that is to be recorded (cannoli/inputs.h). */
#ifndef RECORDER_INPUTS_H
#define RECORDER_INPUTS_H

#include <stdint.h>

struct inputs {
    const char *folder;
    uint64_t start_ns, start_realtime_ns; /* of the recording that it is to be like */
    uint64_t dropped; /* instructions of all threads before what is recorded */
    /* private */
    void *map;
    uint64_t bytes;
};

/* Reads them; `folder' must outlive it.  Malloc'ed; NULL after a line on stderr. */
struct inputs *inputs_read(const char *prog, const char *folder);
/* NULL is allowed. */
void inputs_free(struct inputs *in);

/* Instructions that a thread executes before it is recorded.  in NULL: 0.  Any thread. */
uint64_t inputs_first(const struct inputs *in, int32_t pid, int32_t tid,
                      uint64_t start_ns);

#endif
