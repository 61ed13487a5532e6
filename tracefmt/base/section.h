/* SPDX-License-Identifier: MIT */
/* Reading bytes and sections, from files and from streams. */
#ifndef CTR_SECTION_H
#define CTR_SECTION_H

#include <zstd.h>
#include "base/format.h"
#include "base/util.h"

struct source {
    int fd;
    int seekable;
    uint64_t size;         /* of a file, when it was opened */
    uint64_t pos;          /* of a stream: bytes read */
    _Atomic uint64_t work; /* bytes read in all */
};

/*
 * Reads n bytes at off. A stream can only be read at its position. Returns 0,
 * -CTR_E_IO, -CTR_E_TRUNCATED. *got, if not NULL, becomes the number of bytes that
 * there were.
 */
int source_read(struct source *s, uint64_t off, void *buf, size_t n, size_t *got,
                const char *field, struct ctr_diag *diag);

struct section_frame {
    uint32_t csize;
    uint32_t dsize;
    uint64_t hash;
};

struct section {
    uint64_t off;
    uint32_t head_bytes;
    uint16_t type; /* 0: a skippable frame of another program */
    uint16_t flags;
    uint32_t seq;
    uint32_t body_bytes;
    uint32_t nframes;
    struct section_frame frame[SECT_MAX_FRAMES]; /* of known types */
    uint64_t payload;                            /* bytes of all frames */
    uint64_t have_at; /* section_columns: first byte of the payload that was read */
    uint8_t body[SECT_MAX_BODY];
};

#define SECTION_EOF 1 /* nothing more at this offset */

/*
 * Reads and checks the section header at off: its checksum, its sizes, that its type is
 * known if that is required, and for known types the body size and number of frames. On
 * a file also that the payload is inside of it. Returns 0, SECTION_EOF,
 * -CTR_E_TRUNCATED, -CTR_E_CORRUPT, -CTR_E_UNSUPPORTED, -CTR_E_IO.
 */
int section_read(struct source *s, uint64_t off, struct section *out,
                 struct ctr_diag *diag);

/* Offset of the end of the section. */
static inline uint64_t section_end(const struct section *s)
{
    return s->off + s->head_bytes + s->payload;
}

/*
 * Reads the first nframes payload frames, as they are, into buf.  On a stream
 * all are consumed.
 */
int section_payload(struct source *s, const struct section *sec, unsigned nframes,
                    struct buf *buf, struct ctr_diag *diag);

/*
 * Reads the payload frames of the mask `columns' (bit i: frame i) for section_frame; on
 * a file only those, as far as they are adjacent.
 */
int section_columns(struct source *s, struct section *sec, unsigned columns,
                    struct buf *buf, struct ctr_diag *diag);

/* Skips the payload of a section that is not needed (streams). */
int section_skip(struct source *s, const struct section *sec, struct ctr_diag *diag);

/* Checks frame i of a payload read before against its checksum. */
int section_check(const struct section *sec, const struct buf *payload, unsigned i,
                  const char *field, struct ctr_diag *diag);

/* Checks and decompresses frame i of a payload read before into *out. */
int section_frame(const struct section *sec, const struct buf *payload, unsigned i,
                  ZSTD_DCtx *dctx, struct buf *out, const char *field,
                  struct ctr_diag *diag);

#endif
