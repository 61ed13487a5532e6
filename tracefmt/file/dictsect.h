/* SPDX-License-Identifier: MIT */
/*
 * The sections of a file with block definitions: which one has which, and the ones read
 * last, in the form of the file. For one thread at a time.
 */
#ifndef CTR_DICTSECT_H
#define CTR_DICTSECT_H

#include "base/section.h"

/* A definition in a section, which starts at off in the file. */
struct dict_def {
    const uint8_t *p;
    uint32_t n;
    uint64_t off;
};

struct dictsect;

/* src, which must outlive it: the file or stream. */
struct dictsect *dictsect_new(struct source *src);
void dictsect_free(struct dictsect *d);

/* Drops all rows of sections; nothing was read, or nothing will be. */
void dictsect_reset(struct dictsect *d);

/*
 * The section at off has `count' definitions, with ids from `first' on, which must be
 * the highest known id + 1. More than could be unpacked are rejected.
 */
int dictsect_add(struct dictsect *d, uint64_t off, uint32_t first, uint32_t count,
                 uint32_t known, struct ctr_diag *diag);

/* How much may stay in memory, beside what is being read; initially nothing. */
void dictsect_keep(struct dictsect *d, size_t bytes);

/* The definition with that id, which a section has. Valid until the next call. */
int dictsect_find(struct dictsect *d, uint32_t id, struct dict_def *out,
                  struct ctr_diag *diag);

/*
 * Streams: the same for a section whose header was just read: reads its payload.
 * dictsect_of_stream then returns its definition i.
 */
int dictsect_stream(struct dictsect *d, const struct section *sec, struct ctr_diag *diag);
void dictsect_of_stream(const struct dictsect *d, uint32_t i, struct dict_def *out);

#endif
