/* SPDX-License-Identifier: MIT */
/*
 * libctr: writing .ctr traces.  Used by the recorder and by tests; not
 * installed.  Three objects, made to be used by three kinds of threads:
 *
 *   ctr_dict     block definitions, by the thread that drains the pipes
 *   ctr_encoder  one for each worker: packs segments into a chunk
 *   ctr_writer   one thread writes sections in order
 *
 * Every function that returns int returns 0 or a negated enum ctr_error and
 * takes a diag that may be NULL.
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
 * events: CTR_EVENTS_* mask of the recording.  Without CTR_EVENTS_MEM
 * definitions are kept without their access slots, without CTR_EVENTS_REG
 * without their register slots.
 */
int ctr_dict_new(struct ctr_dict **out, unsigned events);
void ctr_dict_free(struct ctr_dict *dict);

/*
 * Makes raw_id (1..0x7fffffff, as handed out by QEMU, nearly one after the other)
 * known.  def is a block
 * definition as in cannoli/events.h; it is checked and copied.  The same
 * definition under another raw id gets the same canonical id.  One thread at a
 * time; encoders and the writer may run meanwhile.
 * Returns -CTR_E_CORRUPT for a bad definition, a raw id that is already
 * known with a different definition, or one far beyond all others; -CTR_E_NOMEM,
 * -CTR_E_LIMIT.
 */
int ctr_dict_add(struct ctr_dict *dict, uint32_t raw_id, const void *def,
                 size_t def_bytes, struct ctr_diag *diag);

/*
 * raw_id will not be met any more in what is packed, but in what the caller knows as work
 * up to `stamp'.  If no other raw id means the same, its definition may be freed once that
 * is done (written, if it is): by ctr_dict_reap(dict, done), with done >= stamp.
 * Which returns 1 if there are others that wait for that.  The thread that adds.
 */
void ctr_dict_forget(struct ctr_dict *dict, uint32_t raw_id, uint64_t stamp);
int ctr_dict_reap(struct ctr_dict *dict, uint64_t done);

/*
 * For packed chunks that are kept (before anything is added): canonical ids of
 * definitions that were freed are given out again.  A writer tells something without a
 * meaning of ids below ctr_dict_size that nobody has.
 *
 * hold: definitions with these canonical ids are not freed until they were released as
 * often.  Both call fn (if there is one) of each whose first hold it is, or whose last it was; memory: bytes that it
 * takes.  Any one thread.  hold returns what fn returned, or -CTR_E_CORRUPT if there is no
 * such id; then nothing is held.
 */
typedef int ctr_dict_hold_fn(void *arg, uint32_t id, const void *def, size_t def_bytes,
                             size_t memory);
void ctr_dict_reuse_ids(struct ctr_dict *dict);
int ctr_dict_hold(struct ctr_dict *dict, const uint32_t *ids, uint32_t n,
                  ctr_dict_hold_fn *fn, void *arg);
void ctr_dict_release(struct ctr_dict *dict, const uint32_t *ids, uint32_t n,
                      ctr_dict_hold_fn *fn, void *arg);

/* A definition with this canonical id, in the place of what had it before; no raw id
 * means it. */
int ctr_dict_restore(struct ctr_dict *dict, uint32_t id, const void *def,
                     size_t def_bytes, struct ctr_diag *diag);
/* After these, before any ctr_dict_add: a definition as that got it, with the raw and the
 * canonical id that it had in another dictionary. */
int ctr_dict_restore_raw(struct ctr_dict *dict, uint32_t raw_id, uint32_t id,
                         const void *def, size_t def_bytes, struct ctr_diag *diag);

/* The highest canonical id that was handed out so far. */
uint32_t ctr_dict_size(const struct ctr_dict *dict);
/* 1 if raw_id is known. */
int ctr_dict_has(const struct ctr_dict *dict, uint32_t raw_id);
/* The canonical id of raw_id, or 0.  The thread that adds and forgets. */
uint32_t ctr_dict_id(const struct ctr_dict *dict, uint32_t raw_id);

/*
 * With CTR_EVENTS_REG, before anything is packed: the register table, entries as in
 * cannoli/events.h.  What it was told first stands.  Returns -CTR_E_CORRUPT for a bad
 * table, -CTR_E_NOMEM.
 */
int ctr_dict_regs(struct ctr_dict *dict, uint32_t n, const void *table, size_t bytes,
                  struct ctr_diag *diag);

/* ----------------------------------------------------------------- encoder */

/*
 * The segment ends inside a block that was still running (killed process).  n_units is
 * the least that there can be, as data may be 0: whole runs before the last one take
 * what they need behind it.  Then words must stand at the begin and data_end at the end
 * of one piece of memory, which is read down to words + n_words and zero between.
 */
#define CTR_SEGMENT_UNSURE 0x1u

/*
 * One pipe chunk of a thread, all of it only read.  aux: the records of
 * cannoli/mempipe.h that have a place in this chunk (types from
 * MEMPIPE_AUX_ACCESS on), one behind the other as they stood in the ring, 8-byte
 * aligned, which is the order of (words, units).
 */
struct ctr_segment {
    const uint32_t *words;
    uint32_t n_words;
    uint32_t n_units;
    const void *data_end; /* unit i at data_end - (i+1) * addr_bytes */
    const void *aux;
    uint32_t aux_bytes;
    uint32_t flags;    /* CTR_SEGMENT_* */
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t end_ns;
    /* Where to begin: 0, or as ctr_encoder_run_some told. */
    uint32_t from_word;
    uint32_t from_unit;
    uint32_t from_aux;
    uint32_t from_insn;
};

/* Whether a part of it has been packed. */
static inline int ctr_segment_goes_on(const struct ctr_segment *seg)
{
    return seg->from_word || seg->from_aux || seg->from_insn;
}

/* What one call of ctr_encoder_run may be given, over all its segments: */
#define CTR_MAX_CHUNK_WORDS (1u << 20)
#define CTR_MAX_CHUNK_UNITS (1u << 22)
#define CTR_MAX_CHUNK_AUX (64u << 20) /* bytes of aux records */

/* The result: a chunk ready to be written.  Reusable, has its own buffers. */
struct ctr_packed;
int ctr_packed_new(struct ctr_packed **out);
void ctr_packed_free(struct ctr_packed *p);

struct ctr_packed_info {
    uint64_t insns;
    uint64_t loads;
    uint64_t stores;
    uint64_t runs;
    uint64_t events; /* enum ctr_event_type; with no runs either there is nothing
                      to write (ctr_writer_chunk skips it) */
    uint64_t bytes;  /* compressed, without the section's header */
    uint64_t raw_bytes;
    uint32_t unsure;         /* 1: its last block got CTR_LEFT_UNSURE */
    uint32_t dropped_faults; /* FAULT words that had no block before them in
                              the chunk; 0 unless something is wrong */
    uint32_t last_raw;       /* raw id of the last block entered, 0 if none */
};
void ctr_packed_info(const struct ctr_packed *p, struct ctr_packed_info *out);

/*
 * A chunk as one piece of memory, to be kept for later; to be read by the same program
 * only.  save: `to' has ctr_packed_bytes.  load returns -CTR_E_NOMEM, or
 * -CTR_E_CORRUPT if it is no such piece.
 */
size_t ctr_packed_bytes(const struct ctr_packed *p);
void ctr_packed_save(const struct ctr_packed *p, void *to);
int ctr_packed_load(struct ctr_packed *p, const void *from, size_t bytes);

/* The canonical ids of its blocks; of such a piece of memory. */
const uint32_t *ctr_packed_ids(const struct ctr_packed *p, uint32_t *n);
const uint32_t *ctr_packed_saved_ids(const void *from, uint32_t *n);

struct ctr_encoder;

/*
 * One for each worker thread; dict is shared and must outlive it.
 * addr_bytes: 4 or 8, width of a unit of data.  level: of zstd.
 */
int ctr_encoder_new(struct ctr_encoder **out, const struct ctr_dict *dict,
                    unsigned addr_bytes, int level);
void ctr_encoder_free(struct ctr_encoder *enc);

/*
 * Packs consecutive segments of one guest thread into one chunk.  All raw ids must have been added to the dictionary
 * (happening before this call).
 * Returns -CTR_E_CORRUPT if the words make no sense (unknown id, group or
 * count that the block does not have, data missing or left over): diag
 * says which word of which segment (off = segment << 32 | word).
 * -CTR_E_LIMIT if there is more than CTR_MAX_CHUNK_*.
 */
int ctr_encoder_run(struct ctr_encoder *enc, const struct ctr_segment *segs,
                    unsigned n_segs, struct ctr_packed *out, struct ctr_diag *diag);

/*
 * The same, but it stops when there is so much in the chunk, of blocks or of records, that
 * reading it would take much memory.  *taken: how many segments were packed, 0 to all.  The
 * others make another chunk; if it stopped within the first of these, that one tells where
 * to go on (ctr_segment_goes_on), and with registers this encoder must be given it next,
 * as it knows their values there.
 */
int ctr_encoder_run_some(struct ctr_encoder *enc, struct ctr_segment *segs,
                         unsigned n_segs, unsigned *taken, struct ctr_packed *out,
                         struct ctr_diag *diag);

/*
 * After that, with registers: what the encoder knows of them, for another encoder that is
 * to go on in its place, in another process even.  get: NULL without registers; valid
 * until the next call.  set returns -CTR_E_NOMEM, or -CTR_E_CORRUPT if it is not what
 * get gave.
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
/* Frees it; does not finish the file.  NULL is allowed. */
void ctr_writer_free(struct ctr_writer *w);

/*
 * The register table (entries as in cannoli/events.h); before the first chunk of
 * a recording with CTR_EVENTS_REG.  Returns -CTR_E_INVAL if there is one already
 * and it is not the same, -CTR_E_CORRUPT if it makes no sense.
 */
int ctr_writer_regs(struct ctr_writer *w, uint32_t n, const void *table, size_t bytes,
                    struct ctr_diag *diag);

/* A new process or thread; *index is its number from now on. */
int ctr_writer_process(struct ctr_writer *w, int32_t pid, int32_t ppid, uint64_t start_ns,
                       uint32_t *index, struct ctr_diag *diag);
/* One in a PID namespace of its own; host_pid: its number where the recorder runs, or
 * 0 if that is not known. */
int ctr_writer_nested_process(struct ctr_writer *w, int32_t pid, int32_t ppid,
                              int32_t host_pid, uint64_t start_ns, uint32_t *index,
                              struct ctr_diag *diag);
int ctr_writer_thread(struct ctr_writer *w, uint32_t process, int32_t tid, int32_t ptid,
                      uint64_t start_ns, uint32_t *index, struct ctr_diag *diag);

/*
 * Before the first chunk of a thread: the ordinal of its first instruction.  What was
 * before has been dropped.
 */
int ctr_writer_thread_first(struct ctr_writer *w, uint32_t thread, uint64_t ordinal);

/* Their end; kept and written by ctr_writer_finish.  end_reason: CTR_END_*. */
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

/* Bytes written so far, and totals of the chunks written. */
struct ctr_writer_stats {
    uint64_t bytes;
    uint64_t chunks;
    uint64_t insns;
    uint64_t loads;
    uint64_t stores;
    uint32_t blocks;
};
void ctr_writer_stats(const struct ctr_writer *w, struct ctr_writer_stats *out);

/*
 * Writes index, ends of threads and processes, and the seek table.
 *
 * Errors of writing: while it writes to a regular file, the writer has room in the file
 * system for all that finishing takes, beside what is written already.  When a call fails
 * with -CTR_E_IO because a section would need more (a full disk, a quota, a limit on the
 * size of files), nothing of it is written.  Calls that would write fail with the same
 * error from then on, but ctr_writer_finish succeeds: the trace is complete up to there.
 * On other errors the file holds all sections before the failed one whole, and
 * ctr_writer_finish tries.  The file is cut behind the last section there, or when the
 * writer is freed, which gives the rest of the room back.
 */
int ctr_writer_finish(struct ctr_writer *w, struct ctr_diag *diag);

/* ---------------------------------------------------------------- mappings */

/* One MAP event's payload, valid during the call; what is not 0 ends the folding. */
typedef int ctr_maps_fold_fn(void *arg, const uint8_t *payload, size_t bytes);

/*
 * Of the MAP and EXEC events of one process, in order, others are ignored: calls `emit'
 * with the events that make the same address space as all of them, CTR_MAP_INITIAL
 * first.  Between an EXEC event and the mappings of the new program nothing is
 * remembered of the EXEC.
 */
int ctr_maps_fold(const struct ctr_os_event *const *events, size_t n,
                  ctr_maps_fold_fn *emit, void *arg, struct ctr_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
