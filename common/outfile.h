/* SPDX-License-Identifier: MIT */
/*
 * An output file that appears whole or not at all: it is written under a temporary name
 * next to its own, and renamed at the end.
 */
#ifndef COMMON_OUTFILE_H
#define COMMON_OUTFILE_H

#include <stdio.h>

struct outfile {
    FILE *file;
    /* private */
    const char *path;
    char *part; /* the temporary name, NULL: written in place */
};

/*
 * path: borrowed until outfile_close; NULL or "-" is standard output.  What is there and
 * is no regular file (a device, a pipe) is written in place.  Returns 0 or a negated
 * errno.
 */
int outfile_open(struct outfile *o, const char *path);

/*
 * Closes the file, but not standard output.  If ret is not 0, or closing fails, removes
 * what was written; a file that had the name before remains.  Returns ret, 0 or a negated
 * errno.
 */
int outfile_close(struct outfile *o, int ret);

#endif
