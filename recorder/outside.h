/* SPDX-License-Identifier: MIT */
/*
 * Memory that programs which are not recorded can write: what they write there is not in a
 * light trace, so that the program can only be executed again if they write nothing.
 */
#ifndef RECORDER_OUTSIDE_H
#define RECORDER_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/map64.h"
#include "ctr.h"

/* Zeroed at first. */
struct outside {
    struct map64 named;
};

void outside_fini(struct outside *o);

/*
 * Whether a mapping is of such memory, of which no earlier one was: a file that is shared and
 * can be written, a device, System V shared memory.  Then its name is in `name'.  Of a file
 * that the program itself only reads, others' writes count if it is one of memory (/dev/shm,
 * memfd).
 */
bool outside_found(struct outside *o, const struct ctr_map *m, char *name, size_t size);

#endif
