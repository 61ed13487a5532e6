/* SPDX-License-Identifier: MIT */
/* The queue of batches between the reading thread and the comparison. */
#include <stdlib.h>

#include "stream_priv.h"

/* Batches that wait for the comparison; each reader is ahead by these.  Either thread wakes
 * the other one when half of them are there, as each batch takes less time than waking. */
#define QUEUE 8u
#define HALF (QUEUE / 2)

struct batch *stream_take_spare(struct stream *s)
{
    struct batch *b;

    pthread_mutex_lock(&s->lock);
    b = s->spare;
    if (b) {
        s->spare = b->next;
    }
    pthread_mutex_unlock(&s->lock);
    if (!b) {
        b = malloc(sizeof(*b));
        if (b) {
            b->access = NULL;
            b->write = NULL;
            b->event = NULL;
            b->pool = NULL;
            b->access_cap = b->write_cap = b->event_cap = b->pool_cap = 0;
        }
    }
    if (b) {
        b->next = NULL;
        b->n = b->ninsn = 0;
        b->naccess = b->nwrite = b->nevent = b->npool = 0;
        b->pos = s->pos;
        b->time_ns = s->time_ns;
    }
    return b;
}

/* Hands the batch over; 0, STOP or an error. */
int stream_hand_over(struct stream *s)
{
    bool stop;

    if (!s->batch) {
        return 0;
    }
    pthread_mutex_lock(&s->lock);
    if (s->queued >= QUEUE) {
        while (s->queued > HALF && !s->stop) {
            pthread_cond_wait(&s->moved, &s->lock);
        }
    }
    if (s->last) {
        s->last->next = s->batch;
    } else {
        s->first = s->batch;
    }
    s->last = s->batch;
    s->queued++;
    stop = s->stop;
    s->batch = NULL;
    if (s->queued == HALF) {
        pthread_cond_signal(&s->moved);
    }
    pthread_mutex_unlock(&s->lock);
    return stop ? STOP : 0;
}

struct batch *stream_next(struct stream *s, struct batch *b)
{
    struct batch *next;

    pthread_mutex_lock(&s->lock);
    if (!s->queued) {
        while (s->queued < HALF && !s->ended) {
            pthread_cond_wait(&s->moved, &s->lock);
        }
    }
    next = b ? b->next : s->first;
    if (next) {
        s->queued--;
        if (s->queued == HALF) {
            pthread_cond_signal(&s->moved);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return next;
}

void stream_release(struct stream *s, struct batch *b)
{
    pthread_mutex_lock(&s->lock);
    s->first = b->next;
    if (s->last == b) {
        s->last = NULL;
    }
    b->next = s->spare;
    s->spare = b;
    pthread_mutex_unlock(&s->lock);
}
