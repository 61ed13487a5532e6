/* SPDX-License-Identifier: MIT */
/*
 * The producing end of a mempipe in plain C: what QEMU's translated code and
 * its helpers do, for tests and benchmarks that need no QEMU.  One struct
 * producer is one guest thread; it is not shared between threads.
 */
#ifndef TESTS_MEMPIPE_PRODUCER_H
#define TESTS_MEMPIPE_PRODUCER_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cannoli/mempipe.h"

struct producer {
    uint8_t *base;
    const struct mempipe_ctl *ctl;
    struct mempipe_shared *shared;
    struct mempipe_pipe *p;
    struct mempipe_buffer *buffers;
    uint32_t pipe;
    uint32_t serial; /* of the pipe, while it is ours */
    uint32_t buffer; /* the buffer that is being filled */
    uint32_t seq;
    uint8_t *mem;
    uint8_t *low;      /* the next word goes here */
    uint8_t *high;     /* the last unit of data is here */
    const void *state; /* of the registers, recorded at the begin of each buffer */
    uint32_t state_bytes;
    uint64_t side_begin; /* side_head when the buffer was begun */
    bool placed;         /* the buffer has records besides its state */
    uint32_t next_id;    /* of a page of ids, unless that is at its end */
};

static inline uint64_t producer_now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void producer_die(const char *why)
{
    fprintf(stderr, "producer: %s\n", why);
    _exit(125);
}

/* Uses the pipe that is mapped at `base'. */
static inline void producer_use(struct producer *q, void *base)
{
    memset(q, 0, sizeof(*q));
    q->base = base;
    q->ctl = base;
    q->shared = (struct mempipe_shared *)(q->base + q->ctl->shared_off);
    q->buffers = (struct mempipe_buffer *)(q->base + q->ctl->headers_off);
}

/* Maps the pipe's two files, one directly after the other, and closes them. */
static inline void producer_map(struct producer *q, int ctl_fd, int shared_fd)
{
    struct mempipe_ctl head;
    uint8_t *base;

    if (pread(ctl_fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
        head.magic != MEMPIPE_MAGIC || head.version != MEMPIPE_VERSION) {
        producer_die("not a mempipe of this version");
    }
    base = mmap(NULL, head.total_bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED ||
        mmap(base, head.shared_off, PROT_READ, MAP_SHARED | MAP_FIXED, ctl_fd, 0) ==
            MAP_FAILED ||
        mmap(base + head.shared_off, head.total_bytes - head.shared_off,
             PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, shared_fd,
             0) == MAP_FAILED) {
        producer_die("cannot map the mempipe");
    }
    close(ctl_fd);
    close(shared_fd);
    producer_use(q, base);
}

/* What QEMU's first process writes about the target. */
static inline void producer_target(struct producer *q, uint32_t elf_machine,
                                   uint32_t addr_bytes, const char *target)
{
    q->shared->elf_machine = elf_machine;
    snprintf(q->shared->target, sizeof(q->shared->target), "%s", target);
    snprintf(q->shared->qemu_version, sizeof(q->shared->qemu_version), "fake");
    q->shared->addr_bytes = addr_bytes;
}

static inline struct mempipe_pipe *producer_pipe(const struct producer *q, uint32_t pipe)
{
    return (struct mempipe_pipe *)(q->base + q->ctl->pipes_off) + pipe;
}

static inline void producer_ring(struct producer *q)
{
    /* Pairs with the recorder's "asleep = 1, then read the doorbell". */
    __atomic_fetch_add(&q->shared->doorbell, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&q->shared->asleep, __ATOMIC_SEQ_CST)) {
        syscall(SYS_futex, &q->shared->doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

/* Claims a pipe; its state is CLAIMED, nothing else is set. */
static inline uint32_t producer_claim(struct producer *q)
{
    for (uint32_t i = 0; i < q->ctl->nr_pipes; i++) {
        uint32_t want = MEMPIPE_FREE;
        /* pairs with the recorder's release store of FREE */
        if (__atomic_compare_exchange_n(&producer_pipe(q, i)->state, &want,
                                        MEMPIPE_CLAIMED, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            uint32_t high = __atomic_load_n(&q->shared->pipes_high, __ATOMIC_RELAXED);
            struct mempipe_pipe unnamed = {
                .serial =
                    __atomic_fetch_add(&q->shared->next_serial, 1, __ATOMIC_RELAXED)};
            __atomic_store_n(&producer_pipe(q, i)->serial_pid, unnamed.serial_pid,
                             __ATOMIC_RELAXED);
            while (high < i + 1 && !__atomic_compare_exchange_n(
                                       &q->shared->pipes_high, &high, i + 1, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
            }
            return i;
        }
    }
    producer_die("no free pipe");
    return 0;
}

static inline bool producer_try_buffer(struct producer *q, uint32_t *buffer)
{
    /* pairs with the recorder's release store */
    if (!__atomic_load_n(&q->buffers[q->pipe].busy, __ATOMIC_ACQUIRE)) {
        __atomic_store_n(&q->buffers[q->pipe].busy, 1, __ATOMIC_RELAXED);
        *buffer = q->pipe;
        return true;
    }
    uint64_t head = __atomic_load_n(&q->shared->pool_head, __ATOMIC_ACQUIRE);
    while ((uint32_t)head) {
        uint32_t top = (uint32_t)head - 1;
        /* may be stale; the tag then makes the exchange fail */
        uint32_t below = __atomic_load_n(&q->buffers[top].next_free, __ATOMIC_RELAXED);
        uint64_t next = (((head >> 32) + 1) << 32) | below;
        if (__atomic_compare_exchange_n(&q->shared->pool_head, &head, next, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            *buffer = top;
            return true;
        }
    }
    return false;
}

/* As QEMU does while it waits: a thread that the recorder no longer knows ends. */
static inline void producer_check(const struct producer *q)
{
    uint32_t state = __atomic_load_n(&q->p->state, __ATOMIC_RELAXED);

    if (__atomic_load_n(&q->ctl->owner[0], __ATOMIC_RELAXED) & FUTEX_OWNER_DIED) {
        producer_die("the recorder is gone");
    }
    if (state == MEMPIPE_FREE || state == MEMPIPE_ENDED ||
        __atomic_load_n(&q->p->serial, __ATOMIC_RELAXED) != q->serial) {
        producer_die("the pipe is gone");
    }
}

typedef bool producer_try_fn(struct producer *q, uint32_t *arg);

/* Waits until `try' succeeds; calls it again whenever space has become free. */
static inline void producer_wait(struct producer *q, producer_try_fn *try, uint32_t *arg)
{
    uint64_t start;

    for (int i = 0; i < 100; i++) {
        if (try(q, arg)) {
            return;
        }
    }
    start = producer_now_ns();
    __atomic_fetch_add(&q->p->waits, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&q->shared->space_waiters, 1, __ATOMIC_SEQ_CST);
    producer_ring(q);
    for (;;) {
        const struct timespec ts = {0, 100 * 1000000};
        uint32_t seen = __atomic_load_n(&q->shared->space, __ATOMIC_SEQ_CST);
        if (try(q, arg)) {
            break;
        }
        if (syscall(SYS_futex, &q->shared->space, FUTEX_WAIT, seen, &ts, NULL, 0) < 0 &&
            errno == ETIMEDOUT) {
            producer_check(q);
        }
    }
    __atomic_fetch_sub(&q->shared->space_waiters, 1, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&q->p->wait_ns, producer_now_ns() - start, __ATOMIC_RELAXED);
}

static inline uint32_t producer_words(const struct producer *q)
{
    return (uint32_t)(q->low - q->mem) / 4;
}

static inline uint32_t producer_units(const struct producer *q)
{
    return (uint32_t)(q->mem + q->ctl->buffer_bytes - q->high) / q->shared->addr_bytes;
}

static inline bool producer_try_side_room(struct producer *q, uint32_t *bytes)
{
    /* pairs with the recorder's release store of the tail */
    uint64_t tail = __atomic_load_n(&q->p->side_tail, __ATOMIC_ACQUIRE);
    uint64_t head = q->p->side_head;
    uint32_t at = (uint32_t)head & (q->ctl->side_bytes - 1);
    uint32_t to_end = q->ctl->side_bytes - at;
    uint32_t need = *bytes <= to_end ? *bytes : to_end + *bytes;

    return q->ctl->side_bytes - (head - tail) >= need;
}

/* Puts a record (its length and type are filled in here) into the side queue. */
static inline void producer_side_record(struct producer *q, uint32_t type,
                                        struct mempipe_side_record *rec,
                                        uint32_t rec_bytes, const void *more,
                                        uint32_t more_bytes)
{
    uint8_t *queue = q->base + q->ctl->side_off + (uint64_t)q->pipe * q->ctl->side_bytes;
    uint32_t bytes = (rec_bytes + more_bytes + 7u) & ~7u;
    uint64_t head = q->p->side_head;
    uint32_t at = (uint32_t)head & (q->ctl->side_bytes - 1);

    producer_wait(q, producer_try_side_room, &bytes);
    if (bytes > q->ctl->side_bytes - at) {
        *(struct mempipe_side_record *)(queue + at) =
            (struct mempipe_side_record){q->ctl->side_bytes - at, MEMPIPE_SIDE_PAD};
        head += q->ctl->side_bytes - at;
        at = 0;
    }
    rec->bytes = bytes;
    rec->type = type;
    memcpy(queue + at, rec, rec_bytes);
    if (more_bytes) {
        memcpy(queue + at + rec_bytes, more, more_bytes);
    }
    /* pairs with the recorder's acquire load */
    __atomic_store_n(&q->p->side_head, head + bytes, __ATOMIC_RELEASE);
    if (head + bytes - __atomic_load_n(&q->p->side_tail, __ATOMIC_RELAXED) >
        q->ctl->side_bytes / 2) {
        producer_ring(q);
    }
}

/* A record of the buffer that is being filled, placed at its current end. */
static inline void producer_placed(struct producer *q, uint32_t type,
                                   struct mempipe_side_place *rec, uint32_t rec_bytes,
                                   const void *more, uint32_t more_bytes)
{
    rec->seq = q->seq;
    rec->words = producer_words(q);
    rec->units = producer_units(q);
    producer_side_record(q, type, &rec->h, rec_bytes, more, more_bytes);
    q->placed = true;
}

static inline void producer_next_buffer(struct producer *q)
{
    producer_wait(q, producer_try_buffer, &q->buffer);
    q->mem = q->base + q->ctl->buffers_off + (uint64_t)q->buffer * q->ctl->buffer_bytes;
    q->low = q->mem;
    q->high = q->mem + q->ctl->buffer_bytes;
    q->buffers[q->buffer].start_ns = producer_now_ns();
    __atomic_store_n(&q->p->live_seq, q->seq, __ATOMIC_RELAXED);
    /* The release orders it after live_seq for the recorder's look after a death. */
    __atomic_store_n(&q->p->live_buffer, q->buffer + 1, __ATOMIC_RELEASE);
    q->side_begin = q->p->side_head;
    if (q->state_bytes) {
        struct mempipe_side_place s = {.n = q->state_bytes};
        producer_placed(q, MEMPIPE_SIDE_STATE, &s, sizeof(s), q->state, q->state_bytes);
    }
    q->placed = false;
}

struct producer_identity {
    int32_t pid, tid, ppid, ptid;
    bool is_process;
    uint32_t process; /* otherwise: serial of the process's first pipe */
};

/* Makes this thread the owner of a claimed pipe. */
static inline void producer_attach(struct producer *q, uint32_t pipe,
                                   const struct producer_identity *id)
{
    q->pipe = pipe;
    q->p = producer_pipe(q, pipe);
    q->serial = q->p->serial;
    q->seq = 0;
    __atomic_store_n(&q->p->pid, id->pid, __ATOMIC_RELAXED);
    q->p->tid = id->tid;
    q->p->ppid = id->ppid;
    q->p->ptid = id->ptid;
    q->p->is_process = id->is_process;
    q->p->process = id->is_process ? q->p->serial : id->process;
    q->p->nested = 0;
    q->p->end_reason = 0;
    q->p->epoch = (uint32_t)id->pid;
    q->p->from_epoch = 0;
    q->p->from_process = 0;
    q->next_id = 0;
    q->p->start_ns = producer_now_ns();
    __atomic_store_n(&q->p->running, 1, __ATOMIC_RELAXED);
    producer_next_buffer(q);
    /* pairs with the recorder's acquire load */
    __atomic_store_n(&q->p->state, MEMPIPE_LIVE, __ATOMIC_RELEASE);
    producer_ring(q);
}

/* Hands the buffer over without claiming another one. */
static inline void producer_post(struct producer *q)
{
    struct mempipe_buffer *b = &q->buffers[q->buffer];

    b->pipe = q->pipe;
    b->seq = q->seq;
    b->words = producer_words(q);
    b->units = producer_units(q);
    b->side_pos = q->p->side_head;
    b->end_ns = producer_now_ns();
    /* pairs with the recorder's acquire load in read_mail */
    __atomic_store_n(&q->p->mail[q->seq % MEMPIPE_MAIL], q->buffer + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&q->p->live_buffer, 0, __ATOMIC_RELAXED);
    q->seq++;
    producer_ring(q);
}

static inline void producer_hand_over(struct producer *q)
{
    producer_post(q);
    producer_next_buffer(q);
}

/* Makes sure that so many words and units fit into the buffer. */
static inline void producer_room(struct producer *q, uint32_t words, uint32_t units)
{
    if ((size_t)(q->high - q->low) <
            words * 4u + units * q->shared->addr_bytes + MEMPIPE_SLACK ||
        q->p->side_head - q->side_begin > MEMPIPE_BUFFER_SIDE_BYTES) {
        producer_hand_over(q);
    }
}

static inline void producer_word(struct producer *q, uint32_t word)
{
    /* relaxed: the recorder reads it only after a hand-over or a death */
    __atomic_store_n((uint32_t *)q->low, word, __ATOMIC_RELAXED);
    q->low += 4;
}

static inline void producer_addr(struct producer *q, uint64_t addr)
{
    q->high -= q->shared->addr_bytes;
    memcpy(q->high, &addr, q->shared->addr_bytes);
}

/* The value of a slot, n bytes as an integer. */
static inline void producer_value(struct producer *q, const void *value, uint32_t n)
{
    q->high -= CTR_UNITS(n, q->shared->addr_bytes) * q->shared->addr_bytes;
    memcpy(q->high, value, n);
}

/* Outside of translated code the lengths of the columns are stored. */
static inline void producer_quiet(struct producer *q, bool quiet)
{
    __atomic_store_n(&q->p->quiet_words, producer_words(q), __ATOMIC_RELAXED);
    __atomic_store_n(&q->p->quiet_units, producer_units(q), __ATOMIC_RELAXED);
    __atomic_store_n(&q->p->running, !quiet, __ATOMIC_RELEASE);
}

/* Ends the thread: hands the rest over and leaves the pipe to the recorder. */
static inline void producer_end(struct producer *q, uint32_t reason, int32_t status)
{
    if (producer_words(q) || q->placed) {
        producer_post(q);
    }
    q->p->end_reason = reason;
    q->p->end_status = status;
    q->p->end_ns = producer_now_ns();
    /* pairs with the recorder's acquire load */
    __atomic_store_n(&q->p->state, MEMPIPE_ENDED, __ATOMIC_RELEASE);
    producer_ring(q);
}

/* An id that is free; a producer never returns any. */
static inline uint32_t producer_new_id(struct producer *q)
{
    uint8_t *pages = q->base + q->ctl->ids_off, zero = 0;

    if (q->next_id % MEMPIPE_ID_PAGE == 0) {
        uint32_t page = 0;

        while (!__atomic_compare_exchange_n(&pages[page], &zero, 1, false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            zero = 0;
            if (++page == MEMPIPE_ID_PAGES) {
                producer_die("no free id");
            }
        }
        q->next_id = page ? page * MEMPIPE_ID_PAGE : 1;
    }
    return q->next_id++;
}

/* Publishes a block definition; returns its id. */
static inline uint32_t producer_define(struct producer *q, const void *def,
                                       uint32_t bytes)
{
    struct mempipe_side_block b = {
        .id = producer_new_id(q),
        .def_bytes = bytes,
        .epoch = q->p->epoch,
    };

    producer_side_record(q, MEMPIPE_SIDE_BLOCK, &b.h, sizeof(b), def, bytes);
    return b.id;
}

#endif
