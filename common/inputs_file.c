/* SPDX-License-Identifier: MIT */
/* The names of mapped files in a folder of inputs; see inputs_file.h. */
#include "common/inputs_file.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/hash.h"

char *inputs_file_name(const char *folder, const char *path, size_t n, uint64_t dev,
                       uint64_t inode)
{
    char *name;

    return asprintf(&name, "%s/%" PRIx64 "-%" PRIx64 "-%016" PRIx64, folder, dev, inode,
                    hash_bytes(HASH_START, path, n)) < 0
               ? NULL
               : name;
}
