/* SPDX-License-Identifier: MIT */
/*
 * The map events of a thread, in some 15 bytes each, from when they are read until they
 * are applied: first all those of its process that may come before them must be known.
 */
#ifndef CTR_MAP_QUEUE_H
#define CTR_MAP_QUEUE_H

#include <stddef.h>
#include <stdint.h>

/* An event, parsed from its payload. */
struct map_event {
    uint64_t time;
    uint64_t seq;     /* order in which they were read */
    uint64_t ordinal; /* of the thread */
    uint64_t start, size, offset, old_start, old_size;
    uint32_t file;
    uint8_t op; /* CTR_MAP_*, or 0: execve */
    uint8_t prot;
    uint8_t flags; /* those that matter, MAP_EVENT_FLAGS */
};
#define MAP_EVENT_FLAGS 0x7u

struct map_queue_block;
struct map_queue {
    struct map_queue_block *head, *tail;
    uint32_t at; /* of head: read so far */
    /* of the last event put in, and of the last one taken out */
    struct map_queue_end {
        uint64_t time, seq, ordinal, start;
    } in, out;
};

/* Returns the bytes that it takes, or 0 (no memory).  Times and seqs ascend. */
size_t map_queue_put(struct map_queue *q, const struct map_event *e);
/* Takes out the first one.  Returns its bytes, or 0: there is none. */
size_t map_queue_get(struct map_queue *q, struct map_event *e);
void map_queue_fini(struct map_queue *q);

#endif
