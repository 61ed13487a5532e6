/* SPDX-License-Identifier: MIT */
/* What embed.c, which has whole files, and embed_parts.c share: embed_entry.c. */
#ifndef RECORDER_EMBED_PRIV_H
#define RECORDER_EMBED_PRIV_H

#include <sys/stat.h>
#include <xxhash.h>

#include "common/map64.h"
#include "embed.h"

/* A file of the trace. */
struct embedded {
    struct embed_file *file;
    struct stat st; /* when it was read first */
    int fd;         /* or -1: it is not kept open */
    uint32_t number;
    bool there; /* the trace has some of it ... */
    bool said;  /* ... and says that it was changed */
    bool changed;
    uint8_t *done; /* of a file in part: a bit for each piece that is there; or NULL */
};

/* Contents of files, by number.  In part: size UINT64_MAX. */
struct contents {
    uint64_t size;
    XXH128_hash_t hash;
};

struct embed {
    int64_t real_ns;   /* CLOCK_REALTIME less CLOCK_MONOTONIC */
    uint64_t start_ns; /* of the recording, CLOCK_MONOTONIC */
    uint64_t tick_ns;  /* of modification times */
    unsigned keep;     /* so many more files may stay open */
    struct map64 seen; /* of each file: its number among `files' + 1, or 0: it has none */
    struct map64 written; /* files that mappings write to */
    bool unsure;          /* some of these are not known */
    struct embedded *files;
    size_t n_files, cap_files;
    struct contents *contents;
    size_t n_contents, cap_contents;
    uint8_t *piece; /* CTR_EMBED_BYTES */
    const char
        *inputs; /* the folder that has all files, or NULL: they are where they were */
};

/*
 * The entry of a file, which is made (*fd: its descriptor) if there is none (else *fd is
 * -1).  *out is NULL if it is not to be had.
 */
int embed_entry(struct embed *e, const struct embed_file *file, struct embedded **out,
                int *fd);
/* Keeps the descriptor of an entry, or closes it. */
void embed_keep(struct embed *e, struct embedded *f, int fd);
/* Another descriptor of an entry's file, and what fstat(2) says of it now; -1: it is not to be
 * found any more. */
int embed_again(const struct embed *e, const struct embedded *f, struct stat *now);
/* Whether they are one file that nobody has written to in between. */
bool embed_is_same(const struct stat *a, const struct stat *b);
/* Reads n bytes into e->piece; false: they are not there. */
bool embed_read(struct embed *e, int fd, uint64_t off, size_t n);
/* New contents; their number in *number. */
int embed_contents(struct embed *e, const struct contents *c, uint32_t *number);
/* Writes a section: n bytes of e->piece, at `off' of the file. */
int embed_section(struct embed *e, struct ctr_writer *w, struct embedded *f, uint64_t off,
                  size_t n, struct ctr_diag *diag);

/* A mapping writes to the file, which no modification time shows: it counts as changed, and the
 * trace says so at once, as the recorder may be killed. */
int embed_written(struct embed *e, struct ctr_writer *w, const struct embed_file *file,
                  struct ctr_diag *diag);

/* embed_parts.c: a process has mapped a file in part */
int embed_map(struct embed *e, struct embed_ranges *ranges,
              const struct embed_file *file);
/* ... and all that is not there yet of a file in part, which is whole then. */
int embed_rest(struct embed *e, struct ctr_writer *w, struct embedded *f,
               struct ctr_diag *diag);

#endif
