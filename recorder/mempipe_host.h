/* SPDX-License-Identifier: MIT */
/*
 * The recorder's end of a mempipe (cannoli/mempipe.h): makes the shared memory, reads
 * mail and side records out of it, gives buffers back.
 *
 * A guest may overwrite all of the second file at any time.  Callers of these functions
 * therefore read the layout from `layout' here, which is the recorder's own, and copy
 * each shared word once before they check and use it.
 *
 * All functions but mempipe_host_release and mempipe_host_ring are for one thread, the
 * one that drains the pipe.
 */
#ifndef RECORDER_MEMPIPE_HOST_H
#define RECORDER_MEMPIPE_HOST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cannoli/mempipe.h"

struct mempipe_config {
    uint32_t nr_pipes;     /* most guest threads alive at once */
    uint32_t nr_pool;      /* pool buffers, at most MEMPIPE_MAX_POOL */
    uint32_t buffer_bytes; /* power of two, 64 KiB .. 4 MiB */
    uint32_t side_bytes;   /* power of two, at least 128 KiB */
    uint32_t events;       /* CTR_EVENTS_* */
    uint32_t data_limit;   /* bytes kept of what system calls read and write */
    uint32_t follow;       /* MEMPIPE_FOLLOW_* */
    uint32_t epoch_blocks; /* see struct mempipe_ctl */
    uint32_t quantum;      /* of turns, see there */
    bool vary;
    uint64_t seed;
    uint64_t random_seed; /* see there */
    const char *inputs;   /* NULL: none */
    bool discard;
    bool live;
    /* what is recorded, see struct mempipe_control: */
    bool paused, window, coverage;
    bool watch;                      /* it may change while the program runs */
    uint64_t after_insns, for_insns; /* 0: no limit */
    const char *filter;              /* lines for libraries; NULL: none */
    const char *tasks;               /* NULL: all */
    const uint64_t *contexts;
    uint32_t nr_contexts;
};

struct mempipe_host {
    int ctl_fd, shared_fd; /* memfds, close-on-exec */
    dev_t dev;             /* of the second file */
    ino_t ino;
    uint8_t *base;
    struct mempipe_ctl layout; /* as it was made; the guest cannot reach it */
    uint32_t addr_bytes;       /* width of a unit of data, see mempipe_host_target */
    struct mempipe_ctl *ctl;
    struct mempipe_control *control;
    struct mempipe_requests *requests; /* of each pipe; the writer thread's */
    struct mempipe_shared *shared;
    struct mempipe_pipe *pipes;
    struct mempipe_buffer *buffers;
    bool stepwise;      /* each record is removed as soon as it was read: see journal.h */
    uint64_t side_most; /* bytes in the fullest queue drained; the user sets it to 0 */
    uint64_t *side_tails; /* of each pipe: bytes read from its side queue; a child forked
                          * after mempipe_host_open shares them, no guest does */
    uint32_t pipes_high;  /* pipes ever seen claimed are below this number */
    uint8_t *held; /* of each buffer: how often taken and not yet released (atomic) */
};

/* What the first process of the recording says about its target, checked. */
struct mempipe_target {
    char target[32], qemu_version[32]; /* ended by a NUL */
    uint32_t elf_machine;
    uint32_t addr_bytes; /* 4 or 8 */
    bool big_endian;
};

/*
 * Makes and maps the memory and locks the `owner' mutex in the calling thread: when that
 * thread dies the guest takes the recorder for dead.  Returns 0 or a negated errno value;
 * `h' needs no close then.
 */
int mempipe_host_open(struct mempipe_host *h, const struct mempipe_config *config);
void mempipe_host_close(struct mempipe_host *h);

/* Whether columns of so many words and units fit into a buffer. */
static inline bool mempipe_host_fits(const struct mempipe_host *h, uint32_t words,
                                     uint32_t units)
{
    return (uint64_t)words * sizeof(uint32_t) + (uint64_t)units * h->addr_bytes <=
           h->layout.buffer_bytes;
}

/*
 * Reads what the first process says and fixes the width of addresses from then on;
 * until it is called, a unit of data counts as 8 bytes.  Returns 0, or -EPROTO if the
 * width is impossible.
 */
int mempipe_host_target(struct mempipe_host *h, struct mempipe_target *target);

/* The number of pipes that may have been claimed.  It never falls. */
uint32_t mempipe_host_pipes_high(struct mempipe_host *h);

/* Bytes that a mempipe of this shape maps. */
uint64_t mempipe_host_size(const struct mempipe_config *config);

static inline uint8_t *mempipe_host_buffer(const struct mempipe_host *h, uint32_t buffer)
{
    return h->base + h->layout.buffers_off + (uint64_t)buffer * h->layout.buffer_bytes;
}

/* A buffer that was handed over: a copy of its header. */
struct mempipe_mail {
    uint32_t buffer;
    uint32_t words, units;
    uint32_t set, first;
    uint64_t start_ns, end_ns;
};

/* The same of any buffer: what its producer, or the guest, has written there by now. */
struct mempipe_mail mempipe_host_header(const struct mempipe_host *h, uint32_t buffer);

/*
 * Reads the mail with sequence number `seq' out of a pipe.  Returns 1 and the buffer,
 * which the caller then holds, 0 if there is no such mail yet, or -EPROTO if the mail or
 * the buffer's header are impossible.
 */
int mempipe_host_read_mail(struct mempipe_host *h, uint32_t pipe, uint32_t seq,
                           struct mempipe_mail *mail);

/* Gives back a page of ids (see mempipe.h) that no block in use has any more. */
void mempipe_host_free_ids(struct mempipe_host *h, uint32_t page);

/*
 * The same in two steps: the caller holds the buffer, and the pipe still names it until
 * the mail is cleared.
 */
int mempipe_host_see_mail(struct mempipe_host *h, uint32_t pipe, uint32_t seq,
                          struct mempipe_mail *mail);
void mempipe_host_clear_mail(struct mempipe_host *h, uint32_t pipe, uint32_t seq);

/*
 * Called with each record of a pipe's side queue, in order; `rec' is valid during the
 * call and `bytes' long, within the queue.  What is there may change at any time if the
 * guest overwrites it.  A negative result stops the drain.  With `stepwise' the pipe's
 * side_tails is where this record begins.
 */
typedef int mempipe_record_fn(void *ctx, uint32_t pipe,
                              const struct mempipe_side_record *rec, uint32_t bytes);

/*
 * Reads all records out of a pipe's side queue.  Returns 1 if there was any, 0 if not, a
 * negative number from `fn', or -EPROTO if the queue is invalid (the guest has
 * overwritten it).
 */
int mempipe_host_drain_side(struct mempipe_host *h, uint32_t pipe, mempipe_record_fn *fn,
                            void *ctx);

/*
 * Notes that the recorder holds a buffer.  Mail does this by itself; this is for buffers
 * that were never sent.  What this thread reads of the buffer comes after the zeroing by
 * the thread that released it last, as the guest took it from there; the thread
 * sanitizer, which does not see the guest, needs the loads here.
 */
static inline void mempipe_host_hold(struct mempipe_host *h, uint32_t buffer)
{
    /* both pair with mempipe_host_release */
    if (buffer < h->layout.nr_pipes) {
        (void)__atomic_load_n(&h->buffers[buffer].busy, __ATOMIC_ACQUIRE);
    } else {
        (void)__atomic_load_n(&h->shared->pool_head, __ATOMIC_ACQUIRE);
    }
    __atomic_fetch_add(&h->held[buffer], 1, __ATOMIC_RELAXED);
}

/*
 * Gives back a buffer that is held after its columns, `words' and `units' long, have been
 * read: zeroes it, returns it to its pipe or to the pool, wakes the threads that wait.
 * `trim' gives the memory of a reserved buffer back to the system.  Any thread.
 */
void mempipe_host_release(struct mempipe_host *h, uint32_t buffer, uint32_t words,
                          uint32_t units, bool trim);

/*
 * Lengths of the columns of a buffer that was never handed over because its process died
 * while it filled it.  `words' is exact; `units' is the smallest length that the memory
 * permits, because addresses and values may be 0: after it, down to the words, all is
 * zero.
 */
void mempipe_host_measure(const struct mempipe_host *h, uint32_t buffer, uint32_t *words,
                          uint32_t *units);

/*
 * Before a pipe whose thread has ended is freed: true if its reserved buffer is back (or
 * was lost by a thread killed in the middle, and now is back), false if it is still held.
 */
bool mempipe_host_reserved_is_back(struct mempipe_host *h, uint32_t pipe);

/* Frees a pipe: no mail, no records and no live buffer are left in it. */
void mempipe_host_free_pipe(struct mempipe_host *h, uint32_t pipe);

/* Rings the recorder's own doorbell.  Async-signal-safe, any thread. */
void mempipe_host_ring(struct mempipe_host *h);

/*
 * Waits until the doorbell differs from `seen', at most timeout_ms (-1: as
 * long as it takes).  A signal ends the wait too.
 */
void mempipe_host_wait(struct mempipe_host *h, uint32_t seen, int timeout_ms);

/* Sleeps without being woken by producers; by mempipe_host_ring nearly always. */
void mempipe_host_nap(struct mempipe_host *h, int us);

static inline uint32_t mempipe_host_doorbell(const struct mempipe_host *h)
{
    /* pairs with the increment of those that ring */
    return __atomic_load_n(&h->shared->doorbell, __ATOMIC_SEQ_CST);
}

#endif
