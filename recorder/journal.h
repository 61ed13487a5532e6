/* SPDX-License-Identifier: MIT */
/*
 * What was read out of the pipe and is not in the ring yet: the owners of the buffers
 * that the recorder holds, the side records that belong to buffers, and the definitions
 * of blocks that future chunks may need (the ring has only those of its own chunks).  It
 * is in memory that a child forked after journal_new shares, so that nothing is lost when
 * the recorder is killed: the child finds here what the pipe no longer has.
 *
 * Something is noted here before the pipe forgets it, and forgotten here after the ring
 * has it.  In between it is in both places; sequence numbers and positions show that.
 *
 * Without a ring there is no journal: NULL, and side records are in ordinary memory.
 */
#ifndef RECORDER_JOURNAL_H
#define RECORDER_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;

/* For a pipe of this shape.  Returns 0 or a negated errno value. */
int journal_new(struct journal **out, uint32_t nr_pipes, uint32_t nr_buffers);
void journal_free(struct journal *j);

/* In the process that goes on with it, before any function below. */
void journal_recover(struct journal *j);

/* ---------------------------------------------------------------- buffers */

struct journal_buffer {
    uint32_t thread; /* of the ring */
    uint32_t seq;
    bool unsure; /* it was being filled by a process that was killed */
};

/* A buffer is about to be removed from its pipe.  The thread that drains. */
void journal_accept(struct journal *j, uint32_t buffer,
                    const struct journal_buffer *what);
/* It is about to be given back.  Any thread. */
void journal_give_back(struct journal *j, uint32_t buffer);
/* Whether it is held, and for whom: after a sudden end. */
bool journal_holds(const struct journal *j, uint32_t buffer, struct journal_buffer *what);

/* ------------------------------------------------------------- definitions */

/*
 * A block of this raw id was defined, and added to the dictionary with this canonical id.
 * Nothing happens if it is there.  Returns 0, or -1 if there is no room.  The thread that
 * drains.
 */
int journal_define(struct journal *j, uint32_t raw_id, uint32_t id, const void *def,
                   uint32_t bytes);
/* The raw id means nothing any more.  The thread that drains. */
void journal_forget(struct journal *j, uint32_t raw_id);

struct journal_def {
    uint32_t id; /* canonical */
    uint32_t bytes;
    const void *def;
};

/* After a sudden end: goes through all of them, *raw_id from 0 on, ascending, and that of
 * what is found; false at the end. */
bool journal_next_def(const struct journal *j, uint32_t *raw_id, struct journal_def *def);

/* ----------------------------------------------------------------- records */

/* Side records of one buffer, as they were in a pipe's side queue. */
struct side_records {
    struct side_records *next; /* of a later buffer */
    uint32_t seq;              /* of the buffer */
    uint32_t bytes, cap;       /* used of data, and its size */
    /* of the journal: */
    uint32_t thread;
    uint32_t number;
    uint32_t bytes_before; /* without the last record */
    uint64_t end;          /* where that ends in the pipe's side queue */
    uint64_t data[];
};

/*
 * Makes room for at least `cap' bytes: new for a buffer, or in place of what there is of
 * it (`old', which then is gone).  NULL when there is no memory.  The thread that drains.
 */
struct side_records *journal_room(struct journal *j, struct side_records *old,
                                  uint32_t thread, uint32_t seq, uint32_t cap);
/* A record was appended; in the pipe's side queue it ends at `end'. */
void journal_add(struct side_records *r, uint32_t bytes, uint64_t end);
/* Forgets records.  NULL is allowed.  Any thread. */
void journal_drop(struct journal *j, struct side_records *r);

/*
 * After a sudden end: goes through all records, *at from 0 on; NULL at the end.  Those of
 * a thread whose side queue was emptied up to `tail' are cut to what came before.
 */
struct side_records *journal_next(struct journal *j, uint32_t *at);
void journal_cut(struct side_records *r, uint64_t tail);

#endif
