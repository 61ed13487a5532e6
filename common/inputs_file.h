/* SPDX-License-Identifier: MIT */
/* The folder of inputs (cannoli/inputs.h) has each mapped file by its number, for QEMU, and by
 * what a MAP event says of it, for cannoli-record. */
#ifndef COMMON_INPUTS_FILE_H
#define COMMON_INPUTS_FILE_H

#include <stddef.h>
#include <stdint.h>

/* An extended attribute of light traces that were recorded here: when, in nanoseconds since 1970,
 * decimal.  It gets lost where a file is copied to another machine, which is why it is there: such
 * a trace is a program of somebody else's, and only who names it to cannoli-expand executes it. */
#define LIGHT_MARK "user.cannoli.recorded"

/* The second name of a file in `folder' whose path has n bytes, malloc'ed; NULL: no memory. */
char *inputs_file_name(const char *folder, const char *path, size_t n, uint64_t dev,
                       uint64_t inode);

#endif
