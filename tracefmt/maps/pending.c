/* SPDX-License-Identifier: MIT */
/* Map events, packed: differences to the previous one (see pending.h). */
#include "maps/pending.h"

#include <stdlib.h>
#include <string.h>
#include "base/le.h"

#define EVENT_MAX 96u   /* more than any event takes */
#define BLOCK_MIN 112u  /* bytes; most threads have few events ... */
#define BLOCK_MAX 8176u /* ... and a program's first one most of them */
#define HAS_OFFSET 0x40u
#define HAS_OLD 0x80u

struct map_queue_block {
    struct map_queue_block *next;
    uint32_t n, cap;
    uint8_t bytes[];
};

static struct map_queue_block *room(struct map_queue *q, size_t n)
{
    struct map_queue_block *b = q->tail;
    if (b && b->cap - b->n >= n) {
        return b;
    }
    uint32_t cap = b ? b->cap * 4 : BLOCK_MIN;
    cap = cap < BLOCK_MAX ? cap : BLOCK_MAX;
    b = malloc(sizeof(*b) + cap);
    if (b) {
        b->next = NULL;
        b->n = 0;
        b->cap = cap;
        *(q->tail ? &q->tail->next : &q->head) = b;
        q->tail = b;
    }
    return b;
}

size_t map_queue_put(struct map_queue *q, const struct map_event *e)
{
    uint8_t bytes[EVENT_MAX], *p = bytes;
    int old = e->old_start || e->old_size;
    *p++ = e->op;
    *p++ = (uint8_t)((e->prot & 7u) | (e->flags & MAP_EVENT_FLAGS) << 3 |
                     (e->offset ? HAS_OFFSET : 0u) | (old ? HAS_OLD : 0u));
    p += put_varint(p, e->time - q->in.time);
    p += put_varint(p, e->seq - q->in.seq);
    p += put_varint(p, e->ordinal - q->in.ordinal);
    p += put_varint(p, e->file);
    p += put_varint(p, zigzag64(e->start - q->in.start));
    p += put_varint(p, e->size);
    if (e->offset) {
        p += put_varint(p, e->offset);
    }
    if (old) {
        p += put_varint(p, e->old_start);
        p += put_varint(p, e->old_size);
    }
    size_t n = (size_t)(p - bytes);
    struct map_queue_block *b = room(q, n);
    if (!b) {
        return 0;
    }
    memcpy(b->bytes + b->n, bytes, n);
    b->n += (uint32_t)n;
    q->in.time = e->time;
    q->in.seq = e->seq;
    q->in.ordinal = e->ordinal;
    q->in.start = e->start;
    return n;
}

/* Events are never cut off, as only map_queue_put writes them. */
static uint64_t get(const uint8_t **p, const uint8_t *end)
{
    uint64_t v = 0;
    get_varint(p, end, &v);
    return v;
}

size_t map_queue_get(struct map_queue *q, struct map_event *e)
{
    struct map_queue_block *b = q->head;
    if (b && q->at == b->n) {
        q->head = b->next;
        q->at = 0;
        free(b);
        b = q->head;
    }
    if (!b) {
        q->tail = NULL;
        return 0;
    }
    const uint8_t *p = b->bytes + q->at, *end = b->bytes + b->n;
    memset(e, 0, sizeof(*e));
    e->op = p[0];
    uint8_t bits = p[1];
    p += 2;
    e->prot = bits & 7;
    e->flags = bits >> 3 & MAP_EVENT_FLAGS;
    e->time = q->out.time += get(&p, end);
    e->seq = q->out.seq += get(&p, end);
    e->ordinal = q->out.ordinal += get(&p, end);
    e->file = (uint32_t)get(&p, end);
    e->start = q->out.start += unzigzag64(get(&p, end));
    e->size = get(&p, end);
    if (bits & HAS_OFFSET) {
        e->offset = get(&p, end);
    }
    if (bits & HAS_OLD) {
        e->old_start = get(&p, end);
        e->old_size = get(&p, end);
    }
    size_t n = (size_t)(p - b->bytes) - q->at;
    q->at += (uint32_t)n;
    return n;
}

void map_queue_fini(struct map_queue *q)
{
    while (q->head) {
        struct map_queue_block *b = q->head;
        q->head = b->next;
        free(b);
    }
    q->tail = NULL;
}
