/* SPDX-License-Identifier: MIT */
/*
 * Files that programs map, whose bytes go into the trace, so that it is read where they are
 * not: which ones, by the events of the mappings, and their bytes as they are soon after.
 */
#ifndef RECORDER_EMBED_H
#define RECORDER_EMBED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctr_write.h"

/* Of files with code (programs and libraries), and what is accessed of others; or of all that
 * are mapped.  BY_EVENTS: TOUCHED with values or registers, else none. */
enum embed_mode { EMBED_NONE, EMBED_TOUCHED, EMBED_ALL, EMBED_BY_EVENTS };

/* Whether a mapping writes to its file; MAY: more are not followed. */
enum { EMBED_READS, EMBED_WRITES, EMBED_MAY_WRITE };

/* A file that was mapped; one piece of memory. */
struct embed_file {
    uint64_t dev, inode;          /* as the event has them */
    uint64_t time_ns;             /* CLOCK_MONOTONIC, 0: not known */
    uint64_t start, size, offset; /* of the mapping */
    int32_t pid; /* of a process that has mapped it, for the recorder; 0: not known */
    uint32_t in_part; /* 1: only what is accessed of it is wanted */
    uint32_t written; /* EMBED_READS ... */
    uint32_t bytes;   /* of the path, with its NUL */
    char path[];
};

/* What a MAP event (events.h) says of a file whose bytes are wanted; malloc'ed.  NULL: it is
 * of no such file, or there is no memory. */
struct embed_file *embed_of_event(const struct ctr_map *m, uint64_t time_ns, pid_t pid,
                                  enum embed_mode mode);
size_t embed_file_bytes(const struct embed_file *file);
/* A hash of what identifies it, not 0. */
uint64_t embed_file_key(const struct embed_file *file);

/* Those that are in one trace.  One thread at a time.  What returns int: 0, -CTR_E_NOMEM or
 * what the writer returned; a file that cannot be read, or is not the one that was mapped, is
 * no error. */
struct embed;

/* keep: so many files stay open, by which embed_finish knows them when they have no name any
 * more.  inputs: the folder that has them as they were (common/inputs_file.h), which must
 * outlive it, or NULL.  NULL: no memory. */
struct embed *embed_new(const struct ctr_meta *meta, unsigned keep, const char *inputs);
void embed_free(struct embed *e);

/* Where a process has mapped files that are wanted in part.  Zeroed: none. */
struct embed_ranges {
    struct embed_range *v;
    size_t n, cap;
};
void embed_ranges_fini(struct embed_ranges *ranges);

/* A file was mapped: writes its bytes, unless they are there already; of one that is wanted in
 * part, adds the mapping to those of its process (NULL: these are not followed). */
int embed_mapped(struct embed *e, struct ctr_writer *w, struct embed_ranges *ranges,
                 const struct embed_file *file, struct ctr_diag *diag);
/* Writes what a chunk of the process accessed of such files, in pieces of 64 KiB.  What it has
 * unmapped again may count, too. */
int embed_accessed(struct embed *e, struct ctr_writer *w, struct embed_ranges *ranges,
                   const struct ctr_packed *chunk, struct ctr_diag *diag);

/* At the end: notes which of them have been changed since, and that this is known of all. */
int embed_finish(struct embed *e, struct ctr_writer *w, struct ctr_diag *diag);

#endif
