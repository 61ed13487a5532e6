/* SPDX-License-Identifier: MIT */
/*
 * libctr: writing .ctr traces. The recorder and tests use it; it is not installed. It
 * has three objects, each for one kind of thread:
 *
 *   ctr_dict     block definitions; for the thread that drains the pipes
 *   ctr_encoder  packs segments into a chunk; one for each worker
 *   ctr_writer   writes sections in order; for one thread
 *
 * Every function that returns int returns 0 or a negated enum ctr_error and takes a
 * diag that may be NULL.
 */
#ifndef CTR_WRITE_H
#define CTR_WRITE_H

#include "ctr.h"

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- dictionary */

struct ctr_dict;

/*
 * events: CTR_EVENTS_* mask of the recording. Without CTR_EVENTS_MEM the dictionary
 * drops access slots from the definitions, without CTR_EVENTS_REG register slots.
 */
int ctr_dict_new(struct ctr_dict **out, unsigned events);
void ctr_dict_free(struct ctr_dict *dict);

/*
 * Adds a definition under raw_id (1..0x7fffffff; QEMU hands them out nearly in
 * sequence). def is a block definition as in cannoli/events.h; it is checked and
 * copied. The same definition under another raw id gets the same canonical id. Only one
 * thread at a time may call this; encoders and the writer may run meanwhile.
 * Returns -CTR_E_CORRUPT for a bad definition, a raw id that is already known with a
 * different definition, or one far beyond all others; -CTR_E_NOMEM, -CTR_E_LIMIT.
 */
int ctr_dict_add(struct ctr_dict *dict, uint32_t raw_id, const void *def,
                 size_t def_bytes, struct ctr_diag *diag);

/*
 * forget: raw_id does not occur any more in what is packed, except in work that the
 * caller has numbered up to `stamp'. If no other raw id has the same definition,
 * ctr_dict_reap(dict, done) with done >= stamp may free it, once it is written if there
 * is a writer. reap returns 1 if other definitions still wait for that. Call both on
 * the thread that adds.
 */
void ctr_dict_forget(struct ctr_dict *dict, uint32_t raw_id, uint64_t stamp);
int ctr_dict_reap(struct ctr_dict *dict, uint64_t done);

/*
 * For packed chunks that are kept. ctr_dict_reuse_ids, called before anything is added:
 * canonical ids of freed definitions are handed out again. For ids up to ctr_dict_size
 * that have no definition, a writer emits a placeholder.
 *
 * hold: definitions with these canonical ids are not freed until they are released as
 * often as they were held. Both call fn, if it is not NULL, for each id of which this
 * is the first hold or the last release; memory: bytes that the definition takes. Any
 * one thread may call them. hold returns what fn returned, or -CTR_E_CORRUPT if an id
 * does not exist; then nothing is held.
 */
typedef int ctr_dict_hold_fn(void *arg, uint32_t id, const void *def, size_t def_bytes,
                             size_t memory);
void ctr_dict_reuse_ids(struct ctr_dict *dict);
int ctr_dict_hold(struct ctr_dict *dict, const uint32_t *ids, uint32_t n,
                  ctr_dict_hold_fn *fn, void *arg);
void ctr_dict_release(struct ctr_dict *dict, const uint32_t *ids, uint32_t n,
                      ctr_dict_hold_fn *fn, void *arg);

/*
 * Adds a definition with this canonical id and replaces the one that had it before; no
 * raw id refers to it.
 */
int ctr_dict_restore(struct ctr_dict *dict, uint32_t id, const void *def,
                     size_t def_bytes, struct ctr_diag *diag);
/*
 * After ctr_dict_restore, before any ctr_dict_add: adds a definition as ctr_dict_add
 * got it, with the raw and the canonical id that it had in another dictionary.
 */
int ctr_dict_restore_raw(struct ctr_dict *dict, uint32_t raw_id, uint32_t id,
                         const void *def, size_t def_bytes, struct ctr_diag *diag);

/* The highest canonical id handed out so far. */
uint32_t ctr_dict_size(const struct ctr_dict *dict);
/* 1 if raw_id is known. */
int ctr_dict_has(const struct ctr_dict *dict, uint32_t raw_id);
/* The canonical id of raw_id, or 0. Call it on the thread that adds and forgets. */
uint32_t ctr_dict_id(const struct ctr_dict *dict, uint32_t raw_id);

/*
 * With CTR_EVENTS_REG, before anything is packed: sets the register table, entries as
 * in cannoli/events.h. Later calls change nothing. Returns -CTR_E_CORRUPT for a bad
 * table, -CTR_E_NOMEM.
 */
int ctr_dict_regs(struct ctr_dict *dict, uint32_t n, const void *table, size_t bytes,
                  struct ctr_diag *diag);

/* ----------------------------------------------------------------- encoder */

/*
 * The segment ends inside a block that was still running (killed process). n_units is a
 * lower bound, as data may be 0: whole runs before the last one use what they need
 * after it. Then words must be at the start and data_end at the end of one piece of
 * memory, which is read down to words + n_words and is zero in between.
 */
#define CTR_SEGMENT_UNSURE 0x1u
/* It was begun when all that had been begun before had ended (CTR_EVENTS_ORDER). */
#define CTR_SEGMENT_FIRST 0x2u

/*
 * A buffer, or a part of one, of a thread; all of it is only read. side: the side
 * records of cannoli/mempipe.h that have a place in this buffer (types from
 * MEMPIPE_SIDE_ACCESS on), one after the other as they were in the side queue, 8-byte
 * aligned. That is the order of (words, units).
 */
struct ctr_segment {
    const uint32_t *words;
    uint32_t n_words;
    uint32_t n_units;
    const void *data_end; /* unit i at data_end - (i+1) * addr_bytes */
    const void *side;
    uint32_t side_bytes;
    uint32_t flags;    /* CTR_SEGMENT_* */
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t end_ns;
    /* Where to begin: 0, or what ctr_encoder_run_some stored. */
    uint32_t from_word;
    uint32_t from_unit;
    uint32_t from_side;
    uint32_t from_insn;
};

/* Whether a part of the segment has been packed. */
static inline int ctr_segment_goes_on(const struct ctr_segment *seg)
{
    return seg->from_word || seg->from_side || seg->from_insn;
}

/* Limits of one call of ctr_encoder_run, over all its segments: */
#define CTR_MAX_CHUNK_WORDS (1u << 20)
#define CTR_MAX_CHUNK_UNITS (1u << 22)
#define CTR_MAX_CHUNK_SIDE (64u << 20) /* bytes of side records */

/* The result: a chunk ready to be written. Reusable; it has its own buffers. */
struct ctr_packed;
int ctr_packed_new(struct ctr_packed **out);
void ctr_packed_free(struct ctr_packed *p);

struct ctr_packed_info {
    uint64_t insns;
    uint64_t loads;
    uint64_t stores;
    uint64_t runs;
    uint64_t events; /* enum ctr_event_type; with no runs either there is nothing to
                        write (ctr_writer_chunk skips it) */
    uint64_t bytes;  /* compressed, without the section's header */
    uint64_t raw_bytes;
    uint32_t unsure;         /* 1: its last block got CTR_LEFT_UNSURE */
    uint32_t dropped_faults; /* FAULT words that had no block before them in
                                the chunk; 0 unless something is wrong */
    uint32_t last_raw;       /* raw id of the last block entered, 0 if none */
    uint32_t key_bytes;      /* of `bytes' those of key frames, about */
};
void ctr_packed_info(const struct ctr_packed *p, struct ctr_packed_info *out);

/*
 * The guest pages of 4 KiB that the chunk touched, ascending. They are of the packed chunk
 * and are read one by one.
 */
enum ctr_touched { CTR_TOUCHED_READ, CTR_TOUCHED_WRITTEN, CTR_TOUCHED_KEYFRAME };
struct ctr_packed_pages {
    const unsigned char *p;
    uint64_t left, page;
};
/* Returns 0; 1: any page (too many); that is never so of key frames. */
int ctr_packed_pages(const struct ctr_packed *p, enum ctr_touched which,
                     struct ctr_packed_pages *out);
/* Returns 1 and the number of the next page, or 0. */
int ctr_packed_next_page(struct ctr_packed_pages *p, uint64_t *page);

/*
 * A chunk as one piece of memory, for later use by the same program only. save: `to'
 * has ctr_packed_bytes bytes. load returns -CTR_E_NOMEM, or -CTR_E_CORRUPT if the
 * memory is not what save wrote.
 */
size_t ctr_packed_bytes(const struct ctr_packed *p);
void ctr_packed_save(const struct ctr_packed *p, void *to);
int ctr_packed_load(struct ctr_packed *p, const void *from, size_t bytes);

/* The canonical ids of a chunk's blocks; of a saved chunk's blocks. */
const uint32_t *ctr_packed_ids(const struct ctr_packed *p, uint32_t *n);
const uint32_t *ctr_packed_saved_ids(const void *from, uint32_t *n);

/*
 * With CTR_EVENTS_PHYS: what is known of a thread's physical pages. Each chunk of the
 * thread must pass ctr_physmap_apply, in order, before ctr_writer_chunk or
 * ctr_packed_save: it makes the chunk's column of pages. Returns -CTR_E_NOMEM,
 * -CTR_E_CORRUPT or -CTR_E_LIMIT. forget: a chunk of the thread was left out. learn:
 * instead of apply, for a chunk whose column is made already.
 */
struct ctr_physmap;
int ctr_physmap_new(struct ctr_physmap **out, unsigned addr_bytes, int level);
void ctr_physmap_free(struct ctr_physmap *map);
int ctr_physmap_apply(struct ctr_physmap *map, struct ctr_packed *packed,
                      struct ctr_diag *diag);
void ctr_physmap_forget(struct ctr_physmap *map);
int ctr_physmap_learn(struct ctr_physmap *map, const struct ctr_packed *packed);

struct ctr_encoder;

/*
 * One for each worker thread; dict is shared and must outlive it. addr_bytes: 4 or 8,
 * width of a unit of data. level: zstd level.
 */
int ctr_encoder_new(struct ctr_encoder **out, const struct ctr_dict *dict,
                    unsigned addr_bytes, int level);
void ctr_encoder_free(struct ctr_encoder *enc);

/*
 * Packs consecutive segments of one guest thread into one chunk. All raw ids must have
 * been added to the dictionary (happening before this call).
 * Returns -CTR_E_CORRUPT if the words make no sense (unknown id, group or count that
 * the block does not have, data missing or left over); diag then names word and segment
 * (off = segment << 32 | word). Returns -CTR_E_LIMIT if there is more than
 * CTR_MAX_CHUNK_*.
 */
int ctr_encoder_run(struct ctr_encoder *enc, const struct ctr_segment *segs,
                    unsigned n_segs, struct ctr_packed *out, struct ctr_diag *diag);

/*
 * The same, but it stops when the chunk holds so many blocks or side records that
 * reading it would take much memory. *taken: number of segments packed, 0 to all. The
 * others make another chunk. If it stopped within the first of these, that segment
 * holds where to continue (ctr_segment_goes_on); with registers this encoder must get
 * it next, as it knows their values there.
 */
int ctr_encoder_run_some(struct ctr_encoder *enc, struct ctr_segment *segs,
                         unsigned n_segs, unsigned *taken, struct ctr_packed *out,
                         struct ctr_diag *diag);

/*
 * After ctr_encoder_run_some, with registers: the encoder's state of them, for another
 * encoder that continues in its place, even in another process. get: NULL without
 * registers; valid until the next call. set returns -CTR_E_NOMEM, or -CTR_E_CORRUPT if
 * the state is not what get returned.
 */
const void *ctr_encoder_get_state(const struct ctr_encoder *enc, size_t *bytes);
int ctr_encoder_set_state(struct ctr_encoder *enc, const void *state, size_t bytes);

/* ------------------------------------------------------------------ writer */

struct ctr_writer;

/* What was recorded; strings and arrays are copied. */
struct ctr_meta {
    const char *target; /* QEMU's name of the target */
    const char *qemu_version;
    const char *recorder; /* "cannoli-record 0.1.0" */
    int argc;
    const char *const *argv;
    const char *selection;  /* NULL or "": everything is recorded */
    uint64_t dropped_insns; /* as in struct ctr_info */
    uint64_t dropped_loads;
    uint64_t dropped_stores;
    uint64_t dropped_chunks;
    uint32_t elf_machine;
    uint32_t events; /* CTR_EVENTS_* */
    uint8_t big_endian;
    uint8_t addr_bits; /* 32 or 64 */
    uint64_t start_realtime_ns;
    uint64_t start_ns; /* CLOCK_MONOTONIC at the same moment */
};

/*
 * Starts a trace on fd (regular file at offset 0, pipe, socket) by writing
 * header and description.  fd stays the caller's and is never closed here.
 * A regular file is cut to length 0 first.  SIGPIPE should be ignored.
 */
int ctr_writer_new(struct ctr_writer **out, int fd, struct ctr_dict *dict,
                   const struct ctr_meta *meta, int level, struct ctr_diag *diag);
/* Frees the writer; does not finish the file. NULL is allowed. */
void ctr_writer_free(struct ctr_writer *w);

/*
 * The register table (entries as in cannoli/events.h); call it before the first chunk
 * of a recording with CTR_EVENTS_REG. Returns -CTR_E_INVAL if there is a different one
 * already, -CTR_E_CORRUPT if it makes no sense.
 */
int ctr_writer_regs(struct ctr_writer *w, uint32_t n, const void *table, size_t bytes,
                    struct ctr_diag *diag);

/* A new process or thread; *index is its number from now on. */
int ctr_writer_process(struct ctr_writer *w, int32_t pid, int32_t ppid, uint64_t start_ns,
                       uint32_t *index, struct ctr_diag *diag);
/*
 * A process in a PID namespace of its own; host_pid: its number where the recorder
 * runs, or 0 if unknown.
 */
int ctr_writer_nested_process(struct ctr_writer *w, int32_t pid, int32_t ppid,
                              int32_t host_pid, uint64_t start_ns, uint32_t *index,
                              struct ctr_diag *diag);
int ctr_writer_thread(struct ctr_writer *w, uint32_t process, int32_t tid, int32_t ptid,
                      uint64_t start_ns, uint32_t *index, struct ctr_diag *diag);

/*
 * Before the first chunk of a thread: sets the ordinal of its first instruction.
 * Everything before it was dropped.
 */
int ctr_writer_thread_first(struct ctr_writer *w, uint32_t thread, uint64_t ordinal);

/*
 * The end of a process or thread; kept, and written by ctr_writer_finish. end_reason:
 * CTR_END_*.
 */
int ctr_writer_process_end(struct ctr_writer *w, uint32_t process, uint64_t end_ns,
                           uint32_t end_reason, int32_t end_status);
int ctr_writer_thread_end(struct ctr_writer *w, uint32_t thread, uint64_t end_ns,
                          uint32_t end_reason, int32_t end_status, int incomplete);

/*
 * Writes the definitions that the chunk needs, then the chunk.  Chunks of one
 * thread must come in order; their first ordinal is filled in here.  `packed'
 * may be reused afterwards.
 */
int ctr_writer_chunk(struct ctr_writer *w, uint32_t thread,
                     const struct ctr_packed *packed, struct ctr_diag *diag);

/*
 * Bytes of a file that a process mapped, and what it is.  number: of its contents, which
 * files with equal contents share; a new one is the number of those there were.  n: at most
 * CTR_EMBED_BYTES, from `offset' on; 0: only another file with these contents, or news of
 * one.  path: shorter than CTR_EMBED_PATH.
 */
#define CTR_EMBED_BYTES (4u << 20)
#define CTR_EMBED_PATH 4096u
struct ctr_embed {
    const char *path;
    uint64_t dev, inode, size;
    uint64_t offset;
    const void *bytes;
    size_t n;
    uint32_t number;
    int changed; /* after its bytes were read */
};
int ctr_writer_embed(struct ctr_writer *w, const struct ctr_embed *file,
                     struct ctr_diag *diag);
/* Before ctr_writer_finish, which writes it: the trace says of each file that was changed that
 * it was.  Without this call readers take none as unchanged. */
void ctr_writer_embeds_checked(struct ctr_writer *w);

/* Bytes written so far, and totals of the chunks written. */
struct ctr_writer_stats {
    uint64_t bytes;
    uint64_t embed_bytes; /* of them those of files (ctr_writer_embed) */
    uint64_t chunks;
    uint64_t insns;
    uint64_t loads;
    uint64_t stores;
    uint32_t blocks;
};
void ctr_writer_stats(const struct ctr_writer *w, struct ctr_writer_stats *out);

/*
 * Writes the index, ends of threads and processes, and the seek table.
 *
 * Write errors: while it writes to a regular file, the writer has room reserved in the
 * file system for all that finishing takes, in addition to what is written. When a call
 * fails with -CTR_E_IO because a section would need more (a full disk, a quota, a file
 * size limit), nothing of that section is written. Calls that would write then fail
 * with the same error, but ctr_writer_finish succeeds: the trace is complete up to
 * there.
 * On other errors the file holds all sections before the failed one whole, and
 * ctr_writer_finish tries. The file is cut after the last section there, or when the
 * writer is freed, which gives the rest of the reserved room back.
 */
int ctr_writer_finish(struct ctr_writer *w, struct ctr_diag *diag);

/* ---------------------------------------------------------------- mappings */

/*
 * Reads a MAP event's payload as it came from the guest, which may be anything: 0, or
 * -CTR_E_CORRUPT if it is not a whole one. Strings of *out point into it.
 */
int ctr_mapping_read(const uint8_t *payload, size_t bytes, struct ctr_map *out);

/*
 * One MAP event's payload, valid during the call; a nonzero return value ends the
 * folding.
 */
typedef int ctr_maps_fold_fn(void *arg, const uint8_t *payload, size_t bytes);

/*
 * Takes the MAP and EXEC events of one process, in order, and ignores others. Calls
 * `emit' with the events that make the same address space as all of them,
 * CTR_MAP_INITIAL first. Between an EXEC event and the mappings of the new program no
 * trace of the EXEC is kept.
 */
int ctr_maps_fold(const struct ctr_os_event *const *events, size_t n,
                  ctr_maps_fold_fn *emit, void *arg, struct ctr_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
