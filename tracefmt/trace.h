/* SPDX-License-Identifier: MIT */
/* Inside of an open trace. */
#ifndef CTR_TRACE_H
#define CTR_TRACE_H

#include "blockdef.h"
#include "regview.h"
#include "section.h"

/* A derived access of a block; numbers as in block.access. */
struct derived_access {
    int64_t delta;
    uint16_t at;
    uint16_t root;      /* or CTR_DERIVE_CONST */
    uint16_t root_slot; /* its slot, or CTR_DERIVE_CONST */
    uint8_t bits;
    uint8_t is_signed;
};

/* A definition with what decoding needs.  One piece of memory. */
struct block {
    struct ctr_block pub;
    uint8_t has_groups;
    uint16_t nreg;               /* register slots */
    uint16_t reg_end;            /* highest register of a slot + 1, or 0 */
    const uint16_t *group_first; /* [ngroup + 1], see blockdef_groups */
    const uint16_t *group_end;
    const uint16_t *group_loads; /* [ngroup + 1], of one time that a group is made; 0: of
                                    what is always made */
    const uint16_t *group_stores;

    /*
     * Its accesses, by block_plan.c: first the nplain ones that every run makes that is
     * not left early, then those of groups; each kind in the order of the slots.
     */
    uint16_t nplain;
    uint16_t naccess;
    uint16_t nown; /* nplain without those that are derived */
    uint16_t nderived;
    uint32_t value_bytes;                 /* of the values of the nplain first */
    const struct ctr_access *access;      /* [naccess], all but addr and data */
    const uint16_t *at;                   /* [nslot], number of each slot's access */
    const uint16_t *own;                  /* [nown], numbers of those */
    const struct derived_access *derived; /* [nderived], ascending */
};

/* block_plan.c: bytes that block_plan needs, and making it there. */
size_t block_plan_bytes(const struct blockdef *d);
void block_plan(struct block *b, const struct blockdef *d, void *mem);

struct dict_row {
    uint64_t off;
    uint32_t first;
    uint32_t count;
};

/* What a chunk tells of runs whose end is in another one, see CHUNK_NEXT and on. */
struct chunk_ends {
    uint64_t next;
    uint32_t last;
    uint16_t last_first;
    uint16_t flags; /* CHUNK_F_NEXT, CHUNK_F_BREAK */
};

struct part_row {
    uint64_t off;
    uint64_t first;
    uint32_t count;
};

struct trace_regs {
    struct regtable table;
    struct regview view;
};

struct ctr_trace {
    struct source src;
    uint64_t data_off; /* of the section behind META */
    uint32_t version;
    uint32_t next_seq; /* stream, scan: number of the next section */
    enum ctr_state state;
    struct ctr_diag damage;
    int has_index;
    int has_root; /* ends of processes and threads are told */

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
    const struct regtable *regs; /* NULL: no section of that kind was met */
    const struct regview *view;
    uint64_t regs_off; /* ROOT's word for where it is, or 0 */

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
    struct chunk_ends *ends;  /* of each */
    uint32_t *order;          /* their numbers in order of time; NULL: as they stand */
    uint64_t nchunks;
    uint64_t chunks_cap;

    uint64_t insns;
    uint64_t loads;
    uint64_t stores;

    uint64_t chunks_read; /* see ctr_trace_work */
    uint64_t parts_read;

    ZSTD_DCtx *dctx; /* for everything but chunks; one thread at a time */
    struct buf payload;
    struct buf raw;
};

/* trace_regs.c: the REGS section, whose payload is read here */
int trace_set_regs(struct ctr_trace *tr, const struct section *sec,
                   struct ctr_diag *diag);
void trace_free_regs(struct ctr_trace *tr);

/* ends.c: files without ROOT, when all chunks are known */
int trace_ends(struct ctr_trace *tr, struct ctr_diag *diag);

/* order.c: files, when all chunks are known */
int trace_make_order(struct ctr_trace *tr, struct ctr_diag *diag);

/* Chunk number `at' in order of time. */
static inline const struct ctr_chunk *trace_chunk_at(const struct ctr_trace *tr,
                                                     uint64_t at)
{
    return &tr->chunks[tr->order ? tr->order[at] : at];
}

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
 * it into the table (files), with its CHUNK_NEXT.
 */
int trace_count_chunk(struct ctr_trace *tr, const uint8_t *body, uint64_t off,
                      uint64_t bytes, uint64_t raw_bytes, struct ctr_chunk *out,
                      struct ctr_diag *diag);
int trace_add_chunk(struct ctr_trace *tr, const uint8_t *body, uint64_t next,
                    uint64_t off, uint64_t bytes, uint64_t raw_bytes,
                    struct ctr_diag *diag);
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

/* The address just behind a block. */
static inline uint64_t block_end(const struct ctr_block *b)
{
    unsigned last = b->ninsn - 1u;
    return ctr_block_pc(b, last) + ctr_block_len(b, last);
}

struct thread {
    struct ctr_thread pub;
    uint64_t insns; /* so far */
    uint64_t next;  /* first ordinal of its next chunk */
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
