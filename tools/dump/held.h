/* SPDX-License-Identifier: MIT */
/*
 * Lines that wait until their place in the order of time is certain: a queue for each
 * thread.  Queues share a limit of memory; what exceeds it waits in a temporary file.
 *
 * Not for several threads at a time.
 */
#ifndef TOOLS_DUMP_HELD_H
#define TOOLS_DUMP_HELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held_block;

/* The lines of one thread, oldest first; all 0 is an empty queue. */
struct held_queue {
    struct held_block *first, *last;
};

/* What all queues share. */
struct held_pool {
    size_t bytes; /* of their lines, in memory */
    int fd;       /* of the temporary file; -1: none yet */
    uint64_t stored_bytes;
    int sys_errno; /* why it cannot be written or read */
};

void held_pool_init(struct held_pool *p);
/* All queues must have been emptied by held_clear. */
void held_pool_fini(struct held_pool *p);
void held_clear(struct held_pool *p, struct held_queue *q);

bool held_is_empty(const struct held_queue *q);

/* Adds a line of a time that is not before that of the queue's last one; 0 or
 * DUMP_STOP_NOMEM. */
int held_push(struct held_pool *p, struct held_queue *q, uint64_t ns, const char *text,
              size_t len);

/* The time of the first line; the queue is not empty. */
uint64_t held_time(const struct held_queue *q);

/* The first line, valid until held_pop or held_store; 0 or an enum dump_stop. */
int held_first(struct held_pool *p, struct held_queue *q, const char **text, size_t *len);

/* Removes the line that held_first gave. */
void held_pop(struct held_pool *p, struct held_queue *q);

/* Moves a queue's lines to the temporary file; 0 or an enum dump_stop. */
int held_store(struct held_pool *p, struct held_queue *q);

#endif
