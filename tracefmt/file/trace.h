/* SPDX-License-Identifier: MIT */
/* Internals of an open trace. */
#ifndef CTR_TRACE_H
#define CTR_TRACE_H

#include "file/blocktab.h"
#include "file/chunktab.h"
#include "model/regview.h"

struct trace_regs {
    struct regtable table;
    struct regview view;
};

struct ctr_trace {
    struct source src;
    uint64_t data_off; /* of the section after META */
    uint32_t version;
    uint32_t compat;   /* FILE_COMPAT_* */
    uint32_t next_seq; /* stream, scan: number of the next section */
    enum ctr_state state;
    struct ctr_diag damage;
    int has_index;
    struct ctr_diag index_damage; /* why a complete file was not opened by its index */
    uint64_t seek_off;            /* of the seek table, according to END, once END was
                                     read */
    uint64_t seek_hash;
    struct ctr_diag seek_damage; /* of a stream's */
    int has_root;                /* ends of processes and threads are known */

    /* META */
    char *meta; /* all strings */
    const char **argv;
    uint32_t argc;
    const char *target, *qemu_version, *recorder, *selection;
    uint64_t dropped_insns;
    uint64_t dropped_loads;
    uint64_t dropped_stores;
    uint64_t dropped_chunks;
    uint32_t events;
    uint32_t elf_machine;
    uint8_t big_endian;
    uint8_t addr_bits;
    uint64_t start_realtime_ns;
    uint64_t start_ns;
    uint64_t end_ns;

    /* REGS */
    struct trace_regs *regs_own;
    const struct regtable *regs; /* NULL: there was no such section */
    const struct regview *view;
    uint64_t regs_off; /* its place according to ROOT, or 0 */

    uint64_t embed_off; /* of the last EMBED, 0: there is none; files only */
    int embeds_checked; /* files without a mark were not changed */

    /* Tables; callbacks use them while the replay adds to them. */
    struct idtab procs;
    struct idtab threads;
    uint32_t nprocs;
    uint32_t nthreads;
    struct blocktab *blocks;

    struct chunktab *chunks; /* files only */
    uint64_t nchunks;

    uint64_t insns;
    uint64_t loads;
    uint64_t stores;
    uint64_t raw_bytes; /* of the columns of all chunks */

    /* See ctr_trace_work, which pairs with feed.c and part.c. */
    _Atomic uint64_t chunks_read;
    _Atomic uint64_t parts_read;

    ZSTD_DCtx *dctx; /* for opening and checking; one thread at a time */
    struct buf payload;
    struct buf raw;
};

struct thread {
    struct ctr_thread pub;
    uint64_t insns;    /* so far */
    uint64_t next;     /* first ordinal of its next chunk */
    uint64_t begun_ns; /* its last chunk, while a file is opened */
    uint64_t loads;
    uint64_t stores;
    uint64_t chunks;
};

static inline struct thread *trace_thread(const struct ctr_trace *tr, uint32_t i)
{
    return idtab_get(&tr->threads, i);
}

/* chunkrow.c: rows of chunks */

/*
 * Fills in what a chunk says about itself, and checks that it is possible. body:
 * ROW_CHUNK_BYTES of it.
 */
int trace_read_chunk(const struct ctr_trace *tr, const uint8_t *body, uint64_t off,
                     uint64_t bytes, uint64_t raw_bytes, struct chunk_row *out,
                     struct ctr_diag *diag);
/* The same for the header of its section. */
int trace_read_header(const struct ctr_trace *tr, const struct section *sec,
                      struct chunk_row *out, struct ctr_diag *diag);
/*
 * The rows of g->count chunks, from their headers, which are before `end'; *n: number
 * of good ones.
 */
int trace_scan_rows(struct ctr_trace *tr, const struct chunk_group *g, uint64_t end,
                    struct chunk_row *rows, uint32_t *n, struct ctr_diag *diag);

/* part.c: the PART of a group */

/* Its rows, as many as g->count. */
int trace_part_rows(struct ctr_trace *tr, const struct chunk_group *g, ZSTD_DCtx *dctx,
                    struct buf *payload, struct buf *raw, struct chunk_row *rows,
                    struct ctr_diag *diag);
/* Its frame (1 counts, 2 pages) into *out. */
int trace_part_frame(struct ctr_trace *tr, const struct chunk_group *g, unsigned frame,
                     ZSTD_DCtx *dctx, struct buf *payload, struct buf *out,
                     struct ctr_diag *diag);
/* Checks all frames, by their checksums; diag is not NULL. */
int trace_check_part(struct ctr_trace *tr, const struct chunk_group *g,
                     struct ctr_diag *diag);

/* trace_regs.c: the REGS section, whose payload is read here */
int trace_set_regs(struct ctr_trace *tr, const struct section *sec,
                   struct ctr_diag *diag);
void trace_free_regs(struct ctr_trace *tr);

/* ends.c: files without ROOT, when all chunks are known */
int trace_ends(struct ctr_trace *tr, struct ctr_diag *diag);

/* trace_table.c: adding to the tables, with checks */

/* The next section of a stream or scan is `sec'; none may be missing between. */
int trace_count_section(struct ctr_trace *tr, const struct section *sec,
                        struct ctr_diag *diag);
int trace_add_process(struct ctr_trace *tr, const uint8_t *body, uint64_t off,
                      struct ctr_diag *diag);
int trace_add_thread(struct ctr_trace *tr, const uint8_t *body, uint64_t off,
                     struct ctr_diag *diag);
int trace_set_meta(struct ctr_trace *tr, const struct section *sec,
                   struct ctr_diag *diag);
/* Checks that it is the next one, and adds it to the totals. */
int trace_count_chunk(struct ctr_trace *tr, const struct ctr_chunk *c,
                      struct ctr_diag *diag);
/* Makes the totals of the threads public, when all chunks are known. */
void trace_publish_totals(struct ctr_trace *tr);
/* ROOT section (payload is read here): ends of processes and threads; with
 * `all' the tables themselves. */
int trace_set_root(struct ctr_trace *tr, const struct section *sec, int all,
                   struct ctr_diag *diag);
/* END was read. */
void trace_set_end(struct ctr_trace *tr, const struct section *sec);

/* index_read.c: opens by the index; an error means that there is none */
int trace_open_index(struct ctr_trace *tr, struct ctr_diag *diag);

/* scan.c: opens by the headers of all sections */
int trace_open_scan(struct ctr_trace *tr, struct ctr_diag *diag);

/* embed.c: checks all bytes of files, by their checksums; diag is not NULL */
int trace_check_files(struct ctr_trace *tr, struct ctr_diag *diag);

/* check.c: reads all of the seek table, after trace_set_end */
int trace_read_seek_table(struct ctr_trace *tr, struct ctr_diag *diag);

#endif
