/* SPDX-License-Identifier: MIT */
/* The folder of inputs (cannoli/inputs.h) has each mapped file by its number, for QEMU, and by
 * what a MAP event says of it, for cannoli-record. */
#ifndef COMMON_INPUTS_FILE_H
#define COMMON_INPUTS_FILE_H

#include <stddef.h>
#include <stdint.h>

/* The second name of a file in `folder' whose path has n bytes, malloc'ed; NULL: no memory. */
char *inputs_file_name(const char *folder, const char *path, size_t n, uint64_t dev,
                       uint64_t inode);

#endif
