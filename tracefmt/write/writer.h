/* SPDX-License-Identifier: MIT */
/* Internals of the writer: writer.c writes sections, write_index.c the index. */
#ifndef CTR_WRITER_H
#define CTR_WRITER_H

#include <zstd.h>
#include "model/chunkspan.h"
#include "write/dict.h"
#include "base/format.h"
#include "write/packed.h"

struct writer_process {
    int32_t pid;
    int32_t ppid;
    int32_t host_pid;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t end_reason;
    int32_t end_status;
};

struct writer_thread {
    uint32_t process;
    int32_t tid;
    int32_t ptid;
    uint32_t flags;
    uint64_t start_ns;
    uint64_t end_ns;
    uint32_t end_reason;
    int32_t end_status;
    uint64_t next;    /* first ordinal of its next chunk */
    uint64_t late_ns; /* when its last chunk was begun */
    int gap;          /* its next chunk is its first one, after dropped ones */
    uint64_t first, insns, loads, stores, chunks;
};

/* How the room for the end of the file is kept, see reserve.c. */
enum writer_room {
    ROOM_NONE,
    ROOM_ALLOCATED, /* beyond the end of the file */
    ROOM_WRITTEN,   /* as zeros */
};

struct ctr_writer {
    int fd;
    int regular;   /* can be cut back */
    int broken;    /* half a section is out and cannot be taken back */
    int append;    /* what is written goes to the end of the file */
    int tail;      /* half a section is in the file after `off' */
    int finishing; /* writes may use the room for the end */
    int released;  /* that room was given back */
    enum writer_room room;
    uint64_t held;        /* the file has room up to here */
    struct ctr_diag fail; /* code != 0: of the write that failed */
    struct ctr_dict *dict;
    ZSTD_CCtx *cctx;
    uint64_t off; /* end of the last whole section */
    uint64_t meta_off;
    uint32_t seq;
    uint32_t dict_done; /* ids 1..dict_done are in the file */
    struct ctr_writer_stats stats;

    struct writer_process *proc;
    uint32_t nproc;
    uint32_t proc_cap;
    struct writer_thread *thread;
    uint32_t nthread;
    uint32_t thread_cap;

    uint64_t raw_bytes; /* of all columns of chunks */
    struct buf seek;    /* entries of the seek table */
    struct buf parts;   /* rows of ROOT */
    struct buf dicts;
    uint32_t nparts;
    uint32_t ndicts;
    struct buf regs; /* the register table */
    uint32_t nregs;  /* 0: none was written */
    uint64_t regs_off;
    uint64_t embed_off; /* of the last EMBED, 0: there is none */
    uint32_t nembeds;   /* contents of files */
    int embeds_checked; /* all that were changed are marked */

    /* the current part */
    struct buf rows;
    struct buf counts;
    struct buf pages;
    uint64_t part_first;
    uint64_t part_off; /* of its first chunk */
    struct chunk_span part;
    uint64_t coming; /* bytes that the current section will add to the part */

    struct buf raw; /* scratch */
    struct packed_frame z[SECT_MAX_FRAMES];
};

/* A section's payload frames. */
struct out_frame {
    const void *data;
    uint32_t csize;
    uint32_t dsize;
    uint64_t hash;
};

/* Compresses w->raw (or anything) into w->z[i] and describes it in *out. */
int writer_compress(struct ctr_writer *w, const struct buf *raw, unsigned i,
                    struct out_frame *out, struct ctr_diag *diag);

/*
 * Writes a section; its offset is w->off before the call. w->coming: what it adds to
 * the current part.
 */
int writer_section(struct ctr_writer *w, unsigned type, unsigned flags,
                   const uint8_t *body, unsigned body_bytes,
                   const struct out_frame *frames, unsigned nframes,
                   struct ctr_diag *diag);

/* Builds a section's header in head (SECT_MAX_HEAD), returns its length. */
uint32_t writer_section_head(uint8_t *head, unsigned type, unsigned flags, uint32_t seq,
                             const uint8_t *body, unsigned body_bytes,
                             const struct out_frame *frames, unsigned nframes);

/* Writes the head of the file; events: CTR_EVENTS_* that it can have. */
int writer_file_head(struct ctr_writer *w, const struct ctr_meta *meta,
                     struct ctr_diag *diag);

/* Writes all of the pieces, or cuts the file back to w->off. */
struct iovec;
int writer_out(struct ctr_writer *w, struct iovec *iov, unsigned n,
               struct ctr_diag *diag);

/* Room for the end of the file: reserve.c.  What returns int: 0 or an errno value. */
void reserve_init(struct ctr_writer *w);
/*
 * Before a section of so many bytes and frames, which adds `coming' bytes to the
 * current part: makes sure that it can be written, and the end after it.
 */
int reserve_section(struct ctr_writer *w, uint64_t bytes, uint64_t coming,
                    unsigned frames);
/* After a section: marks what follows it in the file as no section. */
int reserve_mark(struct ctr_writer *w);
/* Cuts the file after the last section, once. */
int reserve_release(struct ctr_writer *w);

/* Adds a chunk just written to the current part. */
int index_add_chunk(struct ctr_writer *w, const struct ctr_chunk *c, const uint8_t *body,
                    const struct ctr_packed *p, struct ctr_diag *diag);
/* Writes the current part, if it has chunks. */
int index_flush_part(struct ctr_writer *w, struct ctr_diag *diag);

#endif
