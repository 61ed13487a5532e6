/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the ring share: ring_memory.c maps it, ring_log.c keeps definitions,
 * ring.c keeps chunks and drops them, ring_fold.c folds the events of dropped ones,
 * ring_write.c makes a trace of it.
 *
 * The memory, in this order:
 *
 *   struct ring_image   what is valid of all others
 *   processes, threads  by number, as they were announced
 *   two logs            items: the description, registers, definitions of the blocks
 *                       of chunks; one is in use.  Of definitions with the same number
 *                       the last one is valid
 *   two areas           events of dropped chunks, in the order of dropping; one is in use
 *   chunks              a ring of bytes, mapped twice in a row so that none is split
 *
 * Everything is written before the word that makes it valid (release stores), and valid
 * data is changed only by one such store: a process that looks at the memory of a killed
 * one finds the state before or after.
 */
#ifndef RECORDER_RING_PRIV_H
#define RECORDER_RING_PRIV_H

#include "ring.h"

#include <pthread.h>
#include <unistd.h>

#include "cannoli/mempipe.h"

/* The last chunk that came, kept or not: what its thread has been committed to. */
struct ring_last {
    uint32_t thread; /* its number + 1, 0: there was none */
    uint32_t seq;
    uint32_t from_word, from_unit, from_side, from_insn;
    uint32_t state_bytes; /* after the events of the chunk, which ends at the head */
    uint32_t unsure;
    uint64_t next, last_ns; /* the thread's from now on */
};

/* Positions are bytes ever written; place: position modulo size. */
struct ring_state {
    uint64_t head, tail;
    uint64_t tail_seq; /* number of the oldest chunk kept */
    uint64_t head_seq; /* and of the next one */
    struct ring_numbers numbers;
    struct ring_last last;
};

struct ring_image {
    uint32_t now; /* the valid one of the states */
    uint32_t area;
    uint32_t nproc, nthread;
    uint32_t log;
    uint32_t files_missing; /* 1: the log had no room for one (ring_file) */
    uint64_t log_used[2];
    uint64_t area_used[2];
    uint32_t output;    /* enum ring_output */
    uint64_t folded[2]; /* of each area: what the folding into it has left */
    struct ring_state state[2];
};

struct ring_proc {
    int32_t pid, ppid;
    uint64_t start_ns, end_ns;
    uint32_t reason;
    int32_t status;
    uint32_t ended;
    int32_t host_pid; /* see ctr_writer_nested_process */
    uint32_t serial;  /* by which the pipes name it */
    uint32_t ending;  /* its end is known; chunks of its threads may still come */
};

struct ring_thread {
    uint32_t process;
    int32_t tid, ptid;
    uint32_t incomplete;
    uint64_t start_ns, end_ns;
    uint32_t reason;
    int32_t status;
    uint32_t ended;
    uint32_t ending;       /* its end is known; chunks of it may still come */
    uint32_t pipe, serial; /* where it comes from */
    uint32_t seq;          /* of the pipe's buffer that comes next */
    uint32_t unsure;       /* its last chunk ended inside a block */
    uint64_t next;         /* ordinal of what it executes next */
    uint64_t last_ns;      /* nothing of it that is to come is older */
};

/* Items of the log; n: entries of the register table, or the id of a definition. */
enum { RING_META = 1, RING_REGS = 2, RING_BLOCK = 3, RING_FILE = 4 };
struct ring_item {
    uint32_t kind;
    uint32_t n;
    uint64_t bytes; /* after it, rounded up to 8 for the next one */
};

/* An event: of a chunk (then seq and thread are 0), or of an area. */
struct ring_event {
    uint32_t bytes; /* with its payload, a multiple of 8 */
    uint32_t type;
    uint64_t time_ns;
    uint64_t seq; /* of its chunk, or 0: of none that is kept */
    uint32_t thread;
    uint32_t n; /* bytes of payload */
};

/* A chunk: this, what ctr_packed_save has written, events, registers where it stopped. */
struct ring_chunk {
    uint64_t bytes; /* of all of it, a multiple of 8 */
    uint64_t seq;
    uint64_t packed_bytes;
    uint32_t thread;
    uint32_t event_bytes;
    uint64_t first; /* ordinal */
    uint64_t insns, loads, stores;
    uint64_t start_ns, end_ns;
    uint64_t state_bytes;
};

/* The same in all processes that share the memory. */
struct ring {
    int fd;
    uint8_t *base;
    size_t bytes;  /* of all but the chunks */
    uint64_t size; /* of the chunks */
    struct ring_image *image;
    struct ring_proc *proc;
    struct ring_thread *thread;
    uint8_t *log[2];
    uint8_t *area[2];
    uint8_t *chunks;
    uint64_t max_threads, log_bytes, area_bytes;
    /* of the process that fills it */
    pthread_mutex_t log_lock; /* held to add to the log */
    struct ctr_dict *dict;
    uint64_t *item_at; /* of each id below n_items: where its definition, which chunks
                          that are kept need, is in the log + 1; 0: none is */
    uint32_t n_items;
    uint64_t needed;     /* bytes of these items ... */
    uint64_t needed_mem; /* ... and of memory of the dictionary for them */
};

static inline uint64_t ring_round(uint64_t n)
{
    return (n + 7) & ~7ull;
}

/* Rounded up to whole pages. */
static inline uint64_t ring_pages(uint64_t n)
{
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    return (n + page - 1) / page * page;
}

static inline const struct ring_state *ring_state(const struct ring *r)
{
    /* pairs with the store of the process that fills it */
    return &r->image->state[__atomic_load_n(&r->image->now, __ATOMIC_ACQUIRE) & 1];
}

/* The chunk at a position. */
static inline const struct ring_chunk *ring_at(const struct ring *r, uint64_t pos)
{
    return (const struct ring_chunk *)(r->chunks + pos % r->size);
}

/* ---- ring_log.c ---- */

/* Fills in diag (NULL is allowed) and returns -code. */
int ring_fail(struct ctr_diag *diag, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Keeps the definitions of a chunk that is about to be kept; drops them with it. */
int ring_hold_blocks(struct ring *r, const struct ctr_packed *packed,
                     struct ctr_diag *diag);
void ring_drop_blocks(struct ring *r, const struct ring_chunk *c);

/* The next item of the log after `at' (NULL: the first), or NULL. */
const struct ring_item *ring_item_next(const struct ring *r, const struct ring_item *at);

struct ring_kept {
    const struct ring_event *event; /* its thread is not the one of below */
    uint32_t thread;
    uint64_t time_ns;
    uint64_t order; /* of those of one thread and time */
};

/* What the events of dropped chunks come to: for each thread, in order. */
struct ring_fold {
    struct ring_kept *kept; /* by thread, then in order */
    size_t n;
    uint32_t *chunks; /* of each thread, that are in the ring */
    /* private */
    struct ring_event **made;
    size_t n_made, cap_made;
};

/* ---- ring_cancel.c ---- */

/*
 * Of the events of one process, in order: which map events are of no consequence,
 * whatever came before them.  Returns 0 or -CTR_E_NOMEM.
 */
int ring_cancel(const struct ctr_os_event *events, size_t n, bool *needless);

/* ---- ring_fold.c ---- */

int ring_fold_make(struct ring_fold *f, const struct ring *r, struct ctr_diag *diag);
void ring_fold_free(struct ring_fold *f);

#endif
