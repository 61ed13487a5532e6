/* SPDX-License-Identifier: MIT */
/*
 * Read-only mappings of a process that share a file, of which mprotect(2) can make writable
 * ones: then the process can change the file without a trace in its modification time.
 */
#ifndef RECORDER_EMBED_SHARED_H
#define RECORDER_EMBED_SHARED_H

#include "embed.h"

struct embed_shared;

/* NULL is allowed. */
void embed_shared_free(struct embed_shared *s);

/*
 * Reads a MAP event (events.h) of a process; *s: NULL before its first mapping that counts.
 * found is called with each file that counts as written to from now on; it is malloc'ed and
 * becomes the caller's.  Returns 0, -CTR_E_NOMEM, or what found returned if that was not 0.
 */
int embed_shared_event(struct embed_shared **s, const struct ctr_map *m, uint64_t time_ns,
                       pid_t pid, enum embed_mode mode,
                       int (*found)(void *arg, struct embed_file *file), void *arg);

#endif
