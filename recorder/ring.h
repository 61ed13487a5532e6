/* SPDX-License-Identifier: MIT */
/*
 * A flight recorder: the newest part of a trace, kept in memory until it is requested.
 *
 * It accepts what a writer accepts (ctr_write.h), chunk by chunk; when there is no room
 * the oldest chunks are dropped.  All of it is in memory that a child forked after
 * ring_new shares, and is consistent at every moment: when this process has been killed
 * the child can write the trace, after a ring_recover, and go on with it.
 *
 * One thread announces what there is (ring_begin to ring_thread, *_ending); one thread,
 * which may be another, keeps chunks and writes.  Functions that return int return 0 or a
 * negated enum ctr_error unless said otherwise.
 */
#ifndef RECORDER_RING_H
#define RECORDER_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctr_write.h"

#define RING_MIN_BYTES (1ull << 20)
#define RING_MAX_BYTES (1ull << 40)

struct ring;

/*
 * bytes: for chunks, compressed; what describes code, threads and mappings comes on
 * top: for definitions of blocks as much again and 32 MiB, or chunks are dropped early.
 * Returns 0 or a negated errno value.
 */
int ring_new(struct ring **out, uint64_t bytes);
void ring_free(struct ring *r);
uint64_t ring_size(const struct ring *r);

/* What a buffer of the pipe should hold at most, so that many fit. */
uint32_t ring_buffer_bytes(uint64_t ring_bytes, uint32_t most);

/* Before anything else: what is recorded, copied, and the dictionary of all chunks, to
 * which nothing was added yet. */
int ring_begin(struct ring *r, const struct ctr_meta *meta, struct ctr_dict *dict,
               struct ctr_diag *diag);
/* Whether there was a ring_begin. */
bool ring_has_begun(const struct ring *r);
/* The width of its addresses. */
uint32_t ring_addr_bytes(const struct ring *r);

/*
 * In the process that goes on with the ring of a killed one: what was half done is
 * undone, or finished.
 */
void ring_recover(struct ring *r);
/* ... a dictionary with the definitions that the chunks in it need, with their numbers;
 * the journal has those of chunks to come. */
int ring_make_dict(const struct ring *r, struct ctr_dict **out, struct ctr_diag *diag);
/* ... which then is that of all chunks to come. */
int ring_resume(struct ring *r, struct ctr_dict *dict, struct ctr_diag *diag);

int ring_regs(struct ring *r, uint32_t n, const void *table, size_t bytes,
              struct ctr_diag *diag);
/* A file whose bytes a trace is to have: struct embed_file.  Without room it is left out. */
void ring_file(struct ring *r, const void *file, size_t bytes);
/* Pipes name it by this serial number. */
int ring_process(struct ring *r, int32_t pid, int32_t ppid, int32_t host_pid,
                 uint64_t start_ns, uint32_t serial, uint32_t *index,
                 struct ctr_diag *diag);
/* It comes from a pipe, which has this serial number while it is the thread's. */
int ring_thread(struct ring *r, uint32_t process, int32_t tid, int32_t ptid,
                uint64_t start_ns, uint32_t pipe, uint32_t serial, uint32_t *index,
                struct ctr_diag *diag);
/* How it ends, before the last chunks are kept. */
void ring_process_ending(struct ring *r, uint32_t process, uint64_t end_ns,
                         uint32_t reason, int32_t status);
void ring_thread_ending(struct ring *r, uint32_t thread, uint64_t end_ns, uint32_t reason,
                        int32_t status, bool incomplete);
int ring_process_end(struct ring *r, uint32_t process, uint64_t end_ns, uint32_t reason,
                     int32_t status);
int ring_thread_end(struct ring *r, uint32_t thread, uint64_t end_ns, uint32_t reason,
                    int32_t status, bool incomplete);

/*
 * Events of a chunk that say what the rest of the trace needs: mappings, names,
 * labels, gates.  They outlive their chunk.
 */
struct ring_events {
    uint32_t bytes, cap;
    uint64_t *data; /* malloc'ed */
};

/* Collects those among the side records (mempipe.h) of a segment.  Returns 0 or
 * -CTR_E_NOMEM. */
int ring_events_collect(struct ring_events *e, const void *side, uint32_t side_bytes);

/*
 * Where a thread goes on after a chunk of the ring: in its pipe's buffer `seq', at the
 * place that ctr_encoder_run_some returned, then with these registers, if there are any.
 */
struct ring_place {
    uint32_t seq;
    uint32_t from_word, from_unit, from_side, from_insn;
    uint32_t state_bytes;
    const void *state;
};

/*
 * Keeps a chunk, as ctr_writer_chunk would write it.  start_ns and end_ns are those of
 * its segments.  `next' becomes valid at the same moment.
 */
int ring_chunk(struct ring *r, uint32_t thread, const struct ctr_packed *packed,
               uint64_t start_ns, uint64_t end_ns, const struct ring_events *events,
               const struct ring_place *next, struct ctr_diag *diag);

/* How far the output is, for a process that finds the ring. */
enum ring_output { RING_NOT_WRITTEN, RING_WRITING, RING_WRITTEN };
void ring_set_output(struct ring *r, enum ring_output output);
enum ring_output ring_get_output(const struct ring *r);

/* Where a thread goes on, after ring_recover; `state' points into the ring. */
void ring_goes_on(const struct ring *r, uint32_t thread, struct ring_place *next);

struct ring_numbers {
    uint64_t bytes; /* of the chunks kept */
    uint64_t chunks, insns, loads, stores;
    uint64_t dropped_chunks, dropped_insns, dropped_loads, dropped_stores;
};
void ring_numbers(const struct ring *r, struct ring_numbers *n);

/* What a thread has not handed over yet. */
struct ring_tail {
    uint32_t thread;
    struct ctr_segment seg;
};

/* What the chunks in the ring say of a thread's physical pages.  Returns 0 or an error. */
int ring_learn_pages(const struct ring *r, uint32_t thread, struct ctr_physmap *map);

/*
 * Writes what is kept as a finished trace; the ring stays as it is.  dict: that of
 * ring_begin, or NULL when it is gone with its process, and the guest with it.  Tails
 * come after what is kept, except those that make no sense.
 */
int ring_write(const struct ring *r, int fd, struct ctr_dict *dict, int level,
               const struct ring_tail *tails, uint32_t n_tails,
               struct ctr_writer_stats *stats, struct ctr_diag *diag);

#endif
