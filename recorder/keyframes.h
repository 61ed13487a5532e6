/* SPDX-License-Identifier: MIT */
/*
 * Which pages key frames are requested of (CTR_EVENTS_KEY): those that many chunks have
 * written since their last one, so that a reader need decode only so many chunks to know
 * what such a page holds.  How many follows from what key frames may take of the file.
 *
 * All functions are the writer thread's.
 */
#ifndef RECORDER_KEYFRAMES_H
#define RECORDER_KEYFRAMES_H

#include <stdint.h>

#include "common/map64.h"
#include "ctr_write.h"
#include "mempipe_host.h"

struct keyframes;

/* NULL: no memory. */
struct keyframes *keyframes_new(struct mempipe_host *host);
void keyframes_free(struct keyframes *k);

/*
 * Notes what a chunk has written, of a thread by its pipe and the serial number of that,
 * and requests key frames.  pages: those of its process, empty at first.  bytes: of the
 * file so far.  Without memory no more are requested.
 */
void keyframes_note(struct keyframes *k, struct map64 *pages, uint32_t pipe,
                    uint32_t serial, const struct ctr_packed *chunk, uint64_t bytes);

#endif
