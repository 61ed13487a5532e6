/* SPDX-License-Identifier: MIT */
/* Inside of an open trace. */
#ifndef CTR_TRACE_H
#define CTR_TRACE_H

#include "blockdef.h"
#include "section.h"

/* A definition with what decoding needs.  One piece of memory. */
struct block {
    struct ctr_block pub;
    uint8_t has_groups;
    const uint16_t *group_first; /* [ngroup + 1], see blockdef_groups */
    const uint16_t *group_end;
};

struct dict_row {
    uint64_t off;
    uint32_t first;
    uint32_t count;
};

struct part_row {
    uint64_t off;
    uint64_t first;
    uint32_t count;
};

struct ctr_trace {
    struct source src;
    uint64_t data_off; /* of the section behind META */
    uint32_t version;
    uint32_t next_seq; /* stream, scan: number of the next section */
    enum ctr_state state;
    struct ctr_diag damage;
    int has_index;

    /* META */
    char *meta; /* all strings */
    const char **argv;
    uint32_t argc;
    const char *target, *qemu_version, *recorder;
    uint32_t events;
    uint32_t elf_machine;
    uint8_t big_endian;
    uint8_t addr_bits;
    uint64_t start_realtime_ns;
    uint64_t start_ns;
    uint64_t end_ns;

    /* Tables; looked up by callbacks while the replay adds to them. */
    struct idtab procs;
    struct idtab threads;
    struct idtab blocks;
    uint32_t nprocs;
    uint32_t nthreads;
    _Atomic uint32_t nblocks; /* definitions loaded: ids 1..nblocks */
    uint32_t nblocks_known;   /* in the file, as far as known */
    uint64_t block_bytes;

    struct dict_row *dicts;
    uint32_t ndicts;
    uint32_t dicts_cap;
    uint32_t dicts_loaded;

    struct part_row *parts;
    uint32_t nparts;

    struct ctr_chunk *chunks; /* files only */
    uint64_t nchunks;
    uint64_t chunks_cap;

    uint64_t insns;
    uint64_t loads;
    uint64_t stores;

    ZSTD_DCtx *dctx; /* for everything but chunks; one thread at a time */
    struct buf payload;
    struct buf raw;
};

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
/* Definitions of a DICT section whose payload is in tr->payload. */
int trace_add_dict(struct ctr_trace *tr, const struct section *sec,
                   struct ctr_diag *diag);
int trace_add_dict_row(struct ctr_trace *tr, uint64_t off, uint32_t first, uint32_t count,
                       struct ctr_diag *diag);
/*
 * Checks what a chunk says of itself against what is known, fills in *out and
 * adds to the totals.  body: ROW_CHUNK_BYTES of it.  trace_add_chunk also puts
 * it into the table (files).
 */
int trace_count_chunk(struct ctr_trace *tr, const uint8_t *body, uint64_t off,
                      uint64_t bytes, uint64_t raw_bytes, struct ctr_chunk *out,
                      struct ctr_diag *diag);
int trace_add_chunk(struct ctr_trace *tr, const uint8_t *body, uint64_t off,
                    uint64_t bytes, uint64_t raw_bytes, struct ctr_diag *diag);
/* Makes the totals of the threads public, when all chunks are known. */
void trace_publish_totals(struct ctr_trace *tr);
/* ROOT section (payload is read here): ends of processes and threads; with
 * `all' the tables themselves. */
int trace_set_root(struct ctr_trace *tr, const struct section *sec, int all,
                   struct ctr_diag *diag);
/* Files: loads definitions until id is known. */
int trace_need_block(struct ctr_trace *tr, uint32_t id, struct ctr_diag *diag);

static inline const struct block *trace_block(const struct ctr_trace *tr, uint32_t id)
{
    return idtab_get(&tr->blocks, id);
}

struct thread {
    struct ctr_thread pub;
    uint64_t insns; /* so far: also first ordinal of its next chunk */
    uint64_t loads;
    uint64_t stores;
    uint64_t chunks;
};

static inline struct thread *trace_thread(const struct ctr_trace *tr, uint32_t i)
{
    return idtab_get(&tr->threads, i);
}

/* index_read.c: opens by the index; an error means that there is none */
int trace_open_index(struct ctr_trace *tr, struct ctr_diag *diag);
/* A PART's frame (1 counts, 2 pages) into *out. */
int trace_part_frame(struct ctr_trace *tr, uint32_t part, unsigned frame, struct buf *out,
                     struct ctr_diag *diag);

/* scan.c */
int trace_open_scan(struct ctr_trace *tr, struct ctr_diag *diag);

#endif
