/* SPDX-License-Identifier: MIT */
/* The files whose bytes are in a trace (cannoli-record --embed), as files of this machine. */
#ifndef TOOLS_EMBEDDED_H
#define TOOLS_EMBEDDED_H

#include <stdbool.h>
#include <stdint.h>

#include "ctr.h"

struct embedded;

/* Their list is read when it is needed first.  NULL: no memory.  Any thread may use it. */
struct embedded *embedded_new(struct ctr_trace *tr);
/* NULL is allowed. */
void embedded_free(struct embedded *e);

/* A file that a mapping names, or NULL: it is not there. */
const struct ctr_file *embedded_find(struct embedded *e, const char *path, uint64_t dev,
                                     uint64_t inode);
/* A descriptor with its bytes, for reading, which the caller closes; -1: not all of them are
 * there, or they cannot be read. */
int embedded_open(struct embedded *e, const struct ctr_file *file);

/*
 * The bytes that the file of a mapping has at addr, as they were when it was mapped, and in
 * *n their number; NULL: they are not known.  After the file's end they are zeros in its last
 * page, and then not known: to read them is a SIGBUS.  Valid until embedded_free.
 */
const uint8_t *embedded_bytes(struct embedded *e, const struct ctr_mapping *m,
                              uint64_t addr, size_t *n);
/*
 * Whether the file of a mapping was changed, so that another copy of it does not show what was
 * mapped.  Where the recorder could not look at the end (checked of struct ctr_file), only
 * programs and libraries with a build id count as unchanged, which is what is assumed of them
 * where they are not in the trace.
 */
bool embedded_changed(struct embedded *e, const struct ctr_mapping *m);

/* Why a file that was looked for may have been missed, or its bytes: the trace is damaged; a
 * negated enum ctr_error, or 0. */
int embedded_error(const struct embedded *e, struct ctr_diag *diag);

/* A descriptor with these bytes, or -1. */
int embedded_image(const void *bytes, size_t n);

#endif
