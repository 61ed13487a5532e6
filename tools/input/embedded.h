/* SPDX-License-Identifier: MIT */
/* The files whose bytes are in a trace (cannoli-record --embed), as files of this machine. */
#ifndef TOOLS_EMBEDDED_H
#define TOOLS_EMBEDDED_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

struct embedded;

/* Their list is read when it is needed first.  NULL: no memory.  One thread at a time. */
struct embedded *embedded_new(struct ctr_trace *tr);
/* NULL is allowed. */
void embedded_free(struct embedded *e);

/* A file that a mapping names, or NULL: it is not there. */
const struct ctr_file *embedded_find(struct embedded *e, const char *path, uint64_t dev,
                                     uint64_t inode);
/* A descriptor with its bytes, for reading, which the caller closes; -1: not all of them are
 * there, or they cannot be read. */
int embedded_open(struct embedded *e, const struct ctr_file *file);

/* Why a file that was looked for may have been missed, or its bytes: the trace is damaged; a
 * negated enum ctr_error, or 0. */
int embedded_error(const struct embedded *e, struct ctr_diag *diag);

/* A descriptor with these bytes, or -1. */
int embedded_image(const void *bytes, size_t n);

#endif
